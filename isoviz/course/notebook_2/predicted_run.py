"""2.1: how many bytes lie together in both of two layouts?"""

from __future__ import annotations

import math
import random
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict
from isoviz.course.kinds import Number, Several, linear_of
from isoviz.course.notebook_2.two_layouts import (
    Element,
    PicturesBelow,
    elements_in_run,
    jump,
    mean_size,
    partly,
    parts_apart,
    plain_number,
    row_bytes,
    run_picture,
    suffix_bytes,
    told,
)
from isoviz.layouts import Comparison, Linearization, compare
from isoviz.layouts.modes import FIELDS

_DTYPES = ("uint16", "float32", "float64")
_COPIES = {
    "<F, x, y>": (("<F, x_in={n}, y, x_out>", "<F, y, x>"), ("<x, y, F>", "<x, F, y>", "<y, F, x>")),
    "<x, y, F>": (("<x_in={n}, F, x_out, y>", "<x_in={n}, y, x_out, F>", "<x, F, y>"), ("<F, x, y>", "<F, y, x>")),
    "<x, F, y>": (("<x_in={n}, F, x_out, y>", "<x_in={n}, y, F, x_out>", "<x, y, F>"), ("<F, x, y>", "<F, y, x>", "<y, F, x>")),
}
"""Layouts of a source, and of its two copies: of one that has a long run in common with it, and of one with a short run."""
_PARTS = ("first", "second")


def _draw(source: random.Random) -> dict[str, Any]:
    sizes = {"x": source.choice((8, 12, 16)), "y": source.choice((3, 5, 6, 7))}
    layout = source.choice(list(_COPIES))
    first, second = (source.choice(each).format(n=source.choice((2, 4))) for each in _COPIES[layout])
    fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
    return {"sizes": sizes, "fields": fields, "source": layout, "first": first, "second": second}


def _compared(given: Given, part: str) -> Comparison:
    return compare(linear_of(given, given["source"]), linear_of(given, given[part]))


def _runs(given: Given) -> dict[str, float]:
    return {part: _compared(given, part).run_bytes for part in _PARTS}


def _of_source(given: Given) -> dict[str, float]:
    return dict.fromkeys(_PARTS, row_bytes(linear_of(given, given["source"])))


def _of_copy(given: Given) -> dict[str, float]:
    return {part: row_bytes(linear_of(given, given[part])) for part in _PARTS}


def _slow_ends(given: Given) -> dict[str, float]:
    return {part: suffix_bytes(linear_of(given, given[part]), _compared(given, part)) for part in _PARTS}


def _fields_miscounted(given: Given) -> dict[str, float]:
    """All fields where each moves alone, and one where all move together."""
    fields = len(given["fields"])
    return {part: run / fields if FIELDS in _compared(given, part).prefix else run * fields for part, run in _runs(given).items()}


def _elements(given: Given) -> dict[str, float]:
    return {part: float(elements_in_run(_compared(given, part))) for part in _PARTS}


def _first_field(given: Given) -> dict[str, float]:
    """The run of the first field, where each field has its own."""
    size = linear_of(given, given["source"]).fields.sizes[0]
    runs = _runs(given)
    return {
        part: runs[part] if FIELDS in (found := _compared(given, part)).prefix else float(found.prefix_count * size)
        for part in _PARTS
    }


_ANSWERS = {
    "source-alone": _of_source,
    "copy-alone": _of_copy,
    "slow-ends": _slow_ends,
    "fields-miscounted": _fields_miscounted,
    "elements-for-bytes": _elements,
    "first-field-alone": _first_field,
}


def _apart(given: Given) -> bool:
    return parts_apart(_runs(given), [answer(given) for answer in _ANSWERS.values()])


def _judge(read: dict[str, float], given: Given) -> Verdict:
    right = _runs(given)
    says = " ".join(_said(read[part], right[part], part, given) for part in _PARTS)
    first_wrong = next((part for part in _PARTS if read[part] != right[part]), "first")
    words = {"copy": given[first_wrong], "answer": plain_number(read[first_wrong])}
    return Verdict(read == right, says, words, lambda: _picture(read, given))


def _picture(read: dict[str, float], given: Given) -> PicturesBelow:
    source = linear_of(given, given["source"])
    copies = [(linear_of(given, given[part]), _stretches(read[part], part, given)) for part in _PARTS]
    return run_picture(source, copies, PREDICTED_RUN.text("says", "picture", given=given, copy="{copy}"))


def _stretches(answer: float, part: str, given: Given) -> list[tuple[int, int]]:
    """The bytes of the source that the picture shows: those of the answer, or the run of each field where their mean is right."""
    source, found = linear_of(given, given["source"]), _compared(given, part)
    if answer != found.run_bytes or FIELDS in found.prefix:
        return [(0, max(1, math.ceil(answer)))]
    origin = (0,) * len(source.space)
    sizes = zip(source.fields.names, source.fields.sizes, strict=True)
    return [(source.offset(origin, name), size * found.prefix_count) for name, size in sizes]


def _said(answer: float, right: float, part: str, given: Given) -> str:
    """What is said of the run of one copy."""
    source = linear_of(given, given["source"])
    found = jump(source, linear_of(given, given[part]))
    words = {"copy": given[part], "answer": plain_number(answer), "last": told(found.run[-1], source)}
    own = {element.field: 0 for element in found.run}
    sizes = dict(zip(source.fields.names, source.fields.sizes, strict=True))
    shortest = right if len(own) > 1 else min(sizes.values()) * len(found.run)
    longest = right if len(own) > 1 else max(sizes.values()) * len(found.run)
    if answer == right:
        key = "right"
    elif answer > longest:
        key = "longer"
        words |= {"here": _or_end(found.here, source), "there": _or_end(found.there, source)}
    elif answer >= shortest:
        key = "between"
    elif len(found.run) == 1:
        key = "element"
    else:
        key = "shorter"
        words |= {"before": told(found.run[-2], source)}
    return PREDICTED_RUN.text("says", key, given=given, **words)


def _or_end(element: Element | None, linear: Linearization) -> str:
    return "nothing more" if element is None else told(element, linear)


def _words(given: Given) -> dict[str, object]:
    source = linear_of(given, given["source"])
    (a, b), (size_a, size_b) = given["fields"].values(), source.fields.sizes
    first, second = (_compared(given, part) for part in _PARTS)
    right = _runs(given)
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"], "a": a, "b": b, "size_a": size_a, "size_b": size_b,
        "run_first": plain_number(right["first"]), "run_second": plain_number(right["second"]),
        "why_first": _why(first, source), "why_second": _why(second, source),
    }  # fmt: skip


def _why(compared: Comparison, linear: Linearization) -> str:
    """The size of a run from its components."""
    count, sizes = compared.prefix_count, linear.fields.sizes
    if FIELDS in compared.prefix:
        return f"{compared.prefix_text} ({count} × {linear.fields.nbytes} B)"
    each = " and ".join(f"{count} × {size} B of {name}" for name, size in zip(linear.fields.names, sizes, strict=True))
    mean = plain_number(count * mean_size(linear))
    return f"{compared.prefix_text if compared.prefix else 'none'} ({each}, in the mean {mean} B)"


PREDICTED_RUN = Exercise(
    "2.1",
    Several({part: Number("a run", "B", least=0) for part in _PARTS}),
    _draw,
    _judge,
    tuple(partly(name, answer, _runs) for name, answer in _ANSWERS.items()),
    _runs,
    words=_words,
    is_prediction=True,
    apart=_apart,
)
