"""2.5: two layouts with blocks that do not nest."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict
from isoviz.course.kinds import Number, Several, linear_of
from isoviz.course.notebook_2.two_layouts import PicturesBelow, first_stray, partly, parts_apart, plain_number, told
from isoviz.layouts import Comparison, Linearization, compare

_BLOCKS = ((4, 6), (6, 9), (6, 10), (4, 10), (8, 12), (9, 12), (10, 15), (6, 15))
_DTYPES = ("uint16", "float32", "float64")


def _draw(source: random.Random) -> dict[str, Any]:
    here, there = source.sample(source.choice(_BLOCKS), 2)
    sizes = {"x": math.lcm(here, there) * source.choice((2, 3, 4)), "y": source.choice((3, 4, 5, 7, 8, 9, 11))}
    return {"sizes": sizes, "fields": {"v": source.choice(_DTYPES)}, "here": here, "there": there}


def _ends(given: Given) -> tuple[Linearization, Linearization]:
    here, there = (linear_of(given, f"<F, x_in={given[end]}, y, x_out>") for end in ("here", "there"))
    return here, there


def _compared(given: Given) -> Comparison:
    return compare(*_ends(given))


def _entry(given: Given) -> int:
    return _ends(given)[0].fields.nbytes


def _right(given: Given) -> dict[str, Any]:
    found = _compared(given)
    return {"run": found.run_bytes, "entries": found.shuffle_bytes // _entry(given)}


def _with_run(entries: int, given: Given) -> dict[str, Any]:
    return {**_right(given), "run": float(entries * _entry(given))}


def _with_entries(entries: int, given: Given) -> dict[str, Any]:
    return {**_right(given), "entries": entries}


def _lcm(given: Given) -> int:
    return math.lcm(given["here"], given["there"])


_ANSWERS: Mapping[str, Callable[[Given], dict[str, Any]]] = {
    "smaller-block": lambda given: _with_run(min(given["here"], given["there"]), given),
    "larger-block": lambda given: _with_run(max(given["here"], given["there"]), given),
    "nothing-shared": lambda given: _with_run(1, given),
    "entries-for-bytes": lambda given: _with_run(1, given) | {"run": float(math.gcd(given["here"], given["there"]))},
    "lcm-for-gcd": lambda given: _with_run(_lcm(given), given),
    "product-for-lcm": lambda given: _with_entries(given["here"] * given["there"] * given["sizes"]["y"], given),
    "rest-forgotten": lambda given: _with_entries(_lcm(given), given),
    "never-again": lambda given: _with_entries(given["sizes"]["x"] * given["sizes"]["y"], given),
}


def _apart(given: Given) -> bool:
    return parts_apart(_right(given), [answer(given) for answer in _ANSWERS.values()])


def _judge(read: dict[str, Any], given: Given) -> Verdict:
    words: dict[str, object] = {"run": plain_number(read["run"]), "entries": f"{read['entries']:,}"}
    run_key, run_words = _said_of_run(read["run"] / _entry(given), given)
    entries_key, entries_words = _said_of_entries(read["entries"], given)
    words |= run_words | entries_words
    says = " ".join(BLOCKS_OF_TWO_SIZES.text("says", key, given=given, **words) for key in (run_key, entries_key))
    return Verdict(read == _right(given), says, words, lambda: _picture(read, given))


def _said_of_run(run: float, given: Given) -> tuple[str, dict[str, object]]:
    """What is said of a run of so many entries. Pieces of this length may hold the end of a block."""
    if run != int(run) or run < 1:
        return "run torn", {}
    run, blocks = int(run), (given["here"], given["there"])
    if run == math.gcd(*blocks):
        return "run right", {}
    for end in range(1, math.lcm(*blocks)):
        block = next((each for each in blocks if end % each == 0), None)
        if block is not None and end % run:
            begin = end // run * run
            return "run cut", {"begin": begin, "last": begin + run - 1, "block": block, "end": end - 1}
    return "run short", {"last": run - 1}


def _said_of_entries(entries: int, given: Given) -> tuple[str, dict[str, object]]:
    """What is said of pieces of so many entries."""
    ends = _ends(given)
    if entries == _right(given)["entries"]:
        return "entries right", {}
    if entries > ends[0].space.volume:
        return "entries behind", {}
    stray = first_stray(*ends, entries * _entry(given))
    if stray is None:
        return "entries uneven" if ends[0].space.volume % entries else "entries twice", {}
    return "entries other", {"element": told(stray.element, ends[0])}


def _picture(read: dict[str, Any], given: Given) -> Any:
    from isoviz.figures.layouts.rulers import Ruler, rulers_svg

    blocks, run = (given["here"], given["there"]), read["run"] / _entry(given)
    both = math.lcm(*blocks)
    size = both + min(blocks)  # and a little of what follows
    rulers = [Ruler(f"blocks of {block}", block) for block in blocks]
    if run == int(run) and 1 <= run <= both:
        cut = tuple(end // int(run) for end in range(1, size) if end % int(run) and any(end % block == 0 for block in blocks))
        rulers.append(Ruler(f"runs of {int(run)}", int(run), "path", cut))
    title = BLOCKS_OF_TWO_SIZES.text("says", "picture", given=given)
    return PicturesBelow(("", lambda: rulers_svg(rulers, size, "x", title, cuts=(both,))))


def _words(given: Given) -> dict[str, object]:
    right, here, there = _right(given), given["here"], given["there"]
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"], "dtype": given["fields"]["v"], "entry": _entry(given),
        "gcd": math.gcd(here, there), "lcm": _lcm(given), "smaller": min(here, there), "larger": max(here, there),
        "product": here * there, "right_run": plain_number(right["run"]), "right_entries": right["entries"],
    }  # fmt: skip


BLOCKS_OF_TWO_SIZES = Exercise(
    "2.5",
    Several({"run": Number("a run", "B", least=0), "entries": Number("a number of entries", whole=True, least=1)}),
    _draw,
    _judge,
    tuple(partly(name, answer, _right) for name, answer in _ANSWERS.items()),
    _right,
    words=_words,
    apart=_apart,
)
