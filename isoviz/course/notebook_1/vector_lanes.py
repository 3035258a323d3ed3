"""1.P: a layout for vector instructions, and for a file."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import LayoutAnswer, linear_of
from isoviz.course.notebook_1.layout_pictures import Marked, digits_swapped, entry_told, padding_begin, tape_picture
from isoviz.layouts import Linearization, Mode
from isoviz.layouts.hardware import LINE

LANES = 8
"""Neighbours in x that one vector instruction takes."""
SPAN = 1024
"""Bytes that a request to the file reads: all fields of an entry have to lie within as many."""
MOST_PADDING = 0.02
_FIELDS = {"p": "float32", "q": "float32", "r": "float32", "m": "float64"}
_RIGHT, _SMALL, _LARGE = "<x_in=8, F, x_out, y>", "<x_in=4, F, x_out, y>", "<x_in=48, F, x_out, y>"
_WIDE = "<x_in=64, F, x_out, y>"


def _draw(source: random.Random) -> dict[str, Any]:
    size = source.choice([size for size in range(98, 300) if -size % 8 < 0.02 * size and -size % 48 > 0.02 * size])
    return {"sizes": {"x": size, "y": source.randrange(3, 13)}, "fields": _FIELDS}


class Loose(NamedTuple):
    """Eight neighbours of one field that do not lie one after another: the first of them, and the bytes of all."""

    field: str
    first: tuple[int, int]
    bytes: tuple[int, ...]


def _groups(linear: Linearization, field: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The byte of each element by y, group and lane. The last group, which may be shorter, repeats its last element."""
    nx, ny = linear.space["x"], linear.space["y"]
    x = np.minimum(np.arange(-(-nx // LANES) * LANES), nx - 1)
    found: np.ndarray[Any, np.dtype[np.int64]] = linear.offsets({"x": x[None, :], "y": np.arange(ny)[:, None]}, field)
    return found.reshape(ny, -1, LANES)


def _first_loose(linear: Linearization) -> Loose | None:
    """The first eight neighbours that a vector instruction could not load at once."""
    full = linear.space["x"] // LANES  # a shorter last group is loaded element by element
    for field, size in zip(linear.fields.names, linear.fields.sizes, strict=True):
        groups = _groups(linear, field)[:, :full]
        loose = np.argwhere((np.diff(groups, axis=2) != size).any(axis=2))
        if len(loose):
            y, group = map(int, loose[0])
            return Loose(field, (group * LANES, y), tuple(map(int, groups[y, group])))
    return None


def _farthest(linear: Linearization) -> tuple[int, tuple[int, int], int]:
    """The most bytes between the start and the end of one entry's fields, the first entry with so many, and its first byte."""
    at = {"x": np.arange(linear.space["x"])[None, :], "y": np.arange(linear.space["y"])[:, None]}
    begins = np.stack([linear.offsets(at, field) for field in linear.fields.names])
    ends = begins + np.array(linear.fields.sizes)[:, None, None]
    spans = ends.max(axis=0) - begins.min(axis=0)
    y, x = map(int, np.argwhere(spans == spans.max())[0])
    return int(spans.max()), (x, y), int(begins.min(axis=0)[y, x])


def _lines(linear: Linearization) -> float:
    """The cache lines that eight neighbours with all their fields touch, on average."""
    touched: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for field, size in zip(linear.fields.names, linear.fields.sizes, strict=True):
        groups = _groups(linear, field)
        touched += [groups // LINE, (groups + size - 1) // LINE]
    lines = np.sort(np.concatenate(touched, axis=2), axis=2)
    return float((1 + (np.diff(lines, axis=2) != 0).sum(axis=2)).mean())


def _judge(linear: Linearization, given: Given) -> Verdict:
    words: dict[str, object] = {"answer": str(linear.layout)}
    loose = _first_loose(linear)
    span, index, begin = _farthest(linear)
    share = (linear.nbytes - linear.payload) / linear.payload
    words |= {"span": f"{span:,}", "share": f"{100 * share:.2g}", "left": f"{linear.nbytes - linear.payload:,}"}
    if loose is not None:
        size = linear.fields.sizes[linear.fields.index(loose.field)]
        gap = next(n for n, (one, two) in enumerate(zip(loose.bytes, loose.bytes[1:], strict=False)) if two - one != size)
        words |= {
            "field": loose.field, "entry": entry_told(linear, loose.first), "at": loose.bytes[gap],
            "one": loose.first[0] + gap, "two": loose.first[0] + gap + 1, "next": loose.bytes[gap + 1], "size": size,
        }  # fmt: skip
        says, marks = "loose", [Marked(byte, str(lane), nbytes=size) for lane, byte in enumerate(loose.bytes)]
    elif span > SPAN:
        words |= {"entry": entry_told(linear, index)}
        says, marks = "far", [Marked(begin, "its first byte"), Marked(begin + span - 1, "its last byte")]
    elif share >= MOST_PADDING:
        says, marks = "padding", []
    else:
        says, marks = "right", []
    title, has_padding = VECTOR_LANES.text("says", "picture", given=given), says == "padding"
    cost = VECTOR_LANES.text("says", "cost", given=given, lines=f"{_lines(linear):.3g}", **words) if says == "right" else ""
    told = VECTOR_LANES.text("says", says, given=given, **words)

    def picture() -> Any:
        found = [Marked(padding_begin(linear), "padding")] if has_padding else marks
        return tape_picture(linear, title, *found, row=LINE)

    return Verdict(says == "right", told, words, picture, cost=cost)


def _words(given: Given) -> dict[str, object]:
    nx, ny = given["sizes"]["x"], given["sizes"]["y"]
    entry = linear_of({**given, "layout": _RIGHT}).fields.nbytes
    return {
        "nx": nx, "ny": ny, "last_x": nx - 1, "last_y": ny - 1, "lanes": LANES, "limit": f"{SPAN:,}", "line": LINE,
        "least": -(-LANES * entry // LINE), "percent": f"{100 * MOST_PADDING:g}", "entry_bytes": entry, "longest": SPAN // entry,
        "right_layout": _RIGHT, "right_left": -nx % LANES, "right_share": f"{100 * (-nx % LANES) / nx:.2g}",
    }  # fmt: skip


def _in(layout: str) -> Callable[[Given], Linearization]:
    return lambda given: linear_of(given, layout)


def _pane(given: Given, check: Callable[[Any], Any]) -> Any:
    from isoviz.widgets.views.layout_views import LayoutEditor

    return LayoutEditor("<F, x, y>", space=given["sizes"], fields=given["fields"], check=check, fixed=True)


def _is_fields_first(linear: Linearization, _given: Given) -> bool:
    return linear.inner_count == 1


def _is_fields_last(linear: Linearization, _given: Given) -> bool:
    return linear.inner_count == linear.count


def _fails_by_padding(linear: Linearization, _given: Given) -> bool:
    return _first_loose(linear) is None and _farthest(linear)[0] <= SPAN


def _is_inner_digit_last(linear: Linearization, _given: Given) -> bool:
    last = linear.parts[-1]
    return isinstance(last, Mode) and last.dim == "x" and last.step == 1 and not last.top


def _has_small_block(linear: Linearization, _given: Given) -> bool:
    first = linear.parts[0]
    return isinstance(first, Mode) and first.dim == "x" and first.step == 1 and not first.top and first.extent % LANES != 0


def _has_wide_block(linear: Linearization, _given: Given) -> bool:
    return _first_loose(linear) is None and _farthest(linear)[0] > SPAN


VECTOR_LANES = Exercise(
    "1.P",
    LayoutAnswer(),
    _draw,
    _judge,
    (
        WrongModel("inner-digit-last", _in("<F, x_out, y, x_in=8>"), explains=_is_inner_digit_last),
        WrongModel("fields-innermost", _in("<F, x, y>"), explains=_is_fields_first),
        WrongModel("fields-outermost", _in("<x, y, F>"), explains=_is_fields_last),
        WrongModel("outer-digit-first", _in(digits_swapped(_RIGHT, "x"))),
        WrongModel("block-cuts-vectors", _in(_SMALL), explains=_has_small_block),
        WrongModel("block-too-long", _in(_WIDE), explains=_has_wide_block),
        WrongModel("padding-forgotten", _in(_LARGE), explains=_fails_by_padding),
    ),
    _in(_RIGHT),
    words=_words,
    pane=_pane,
)
