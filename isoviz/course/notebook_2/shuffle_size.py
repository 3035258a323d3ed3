"""2.2: how many bytes does a conversion have to hold at a time?"""

from __future__ import annotations

import random
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, linear_of
from isoviz.course.notebook_2.two_layouts import block_picture, first_stray, told
from isoviz.layouts import Comparison, Linearization, compare

_DTYPES = ("uint8", "uint16", "float32", "float64")
_PAIRS = (
    ("<F, x, y>", "<F, x_in={n}, y_in={m}, x_out, y_out>"),
    ("<F, x_in={n}, y, x_out>", "<F, x_in={twice}, y, x_out>"),
    ("<F, c, x, y>", "<F, c, y_in={m}, x, y_out>"),
    ("<c, F, x, y>", "<c, x, F, y>"),
    ("<F, c, x, y>", "<F, c, x_in={n}, y_in={m}, x_out, y_out>"),
)
"""Pairs that have components in common at both ends."""


def _draw(source: random.Random) -> dict[str, Any]:
    m = source.choice((2, 3))
    block = {"n": source.choice((2, 4)), "m": m}
    pair = [each.format(**block, twice=2 * block["n"]) for each in source.choice(_PAIRS)]
    source.shuffle(pair)
    sizes = {"c": 3} if "c" in pair[0] else {}
    sizes |= {"x": source.choice((8, 16)), "y": m * source.choice((2, 3, 4))}
    fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
    return {"sizes": sizes, "fields": fields, "source": pair[0], "destination": pair[1]}


def _ends(given: Given) -> tuple[Linearization, Linearization]:
    return linear_of(given, given["source"]), linear_of(given, given["destination"])


def _compared(given: Given) -> Comparison:
    return compare(*_ends(given))


def _shuffle(given: Given) -> int:
    return _compared(given).shuffle_bytes


def _entries(given: Given) -> int:
    return _shuffle(given) // _ends(given)[0].fields.nbytes


def _judge(nbytes: int, given: Given) -> Verdict:
    here, there = _ends(given)
    right = _shuffle(given)
    words: dict[str, object] = {"answer": f"{nbytes:,}"}
    stray = first_stray(here, there, nbytes)
    if nbytes == right:
        key = "right"
    elif nbytes > here.nbytes:
        key = "behind"
    elif stray is None:
        # Where blocks are not of one length, their ends may fall into elements that lie at the same byte of both memories.
        key = "uneven" if here.nbytes % nbytes else "twice"
    else:
        key = "other"
        words |= {
            "element": told(stray.element, here),
            "here": f"{here.offset(*stray.element):,}",
            "there": f"{there.offset(*stray.element):,}",
            "piece": _piece(stray.piece * nbytes, (stray.piece + 1) * nbytes - 1),
        }
    says = SHUFFLE_SIZE.text("says", key, given=given, **words)
    title = SHUFFLE_SIZE.text("says", "picture", given=given)
    piece = stray.piece if stray else 0
    return Verdict(nbytes == right, says, words, lambda: block_picture(here, there, (piece * nbytes, nbytes), title))


def _piece(first: int, last: int) -> str:
    return f"byte {first:,} does" if first == last else f"the bytes {first:,} to {last:,} do"


def _words(given: Given) -> dict[str, object]:
    here, found = _ends(given)[0], _compared(given)
    (a, b), (size_a, size_b) = given["fields"].values(), here.fields.sizes
    sizes = ", ".join(f"{dim} = {size}" for dim, size in given["sizes"].items())
    return {
        "shape": sizes, "a": a, "b": b, "size_a": size_a, "size_b": size_b, "entry": here.fields.nbytes,
        "nbytes": f"{here.nbytes:,}", "shuffle": f"{found.shuffle_bytes:,}", "entries": _entries(given),
        "suffix": found.suffix_text, "prefix": found.prefix_text, "blocks": here.nbytes // found.shuffle_bytes,
    }  # fmt: skip


SHUFFLE_SIZE = Exercise(
    "2.2",
    Number("a shuffle size", "B", whole=True, least=1),
    _draw,
    _judge,
    (
        WrongModel("run-for-shuffle", lambda given: round(_compared(given).run_bytes)),
        WrongModel("whole-array", lambda given: _ends(given)[0].nbytes),
        WrongModel("entries-for-bytes", _entries),
        WrongModel("one-field-counted", lambda given: _entries(given) * max(_ends(given)[0].fields.sizes)),
        WrongModel("prefix-left-out", lambda given: _shuffle(given) // _compared(given).prefix_count),
        WrongModel("behind-the-prefix", lambda given: _ends(given)[0].nbytes // _compared(given).prefix_count),
    ),
    _shuffle,
    words=_words,
)
