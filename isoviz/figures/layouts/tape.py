"""Memory as a tape: byte after byte in rows, each element a cell that is as wide as its bytes. Bytes are marked.

Several tapes stand above each other, row by row, so that one sees where they begin to differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isoviz.figures.charts.svg import Drawing, shorten, text_width, wrap
from isoviz.figures.charts.theme import MARGIN, RAMP_INK, ThemeName
from isoviz.figures.layouts.memory_picture import field_colour
from isoviz.layouts import Linearization, Location

_WIDTH = 760.0
_CELL = 34.0
_LABEL = 17.0
_AT_BEGIN = 2
"""Rows that are always drawn, so that the order can be read from byte 0 on."""
_MOST = 8
"""The most rows that are drawn without leaving any out."""


@dataclass(frozen=True)
class TapeMark:
    """Bytes that are marked in a tape, from `byte` on, with a few words above them. `colour` is a token of the theme."""

    byte: int
    words: str
    colour: str = "bad"
    nbytes: int = 1


@dataclass(frozen=True)
class Tape:
    """The memory of one layout in a drawing. `name` stands beside its rows; `end` leaves out the bytes from there on."""

    linear: Linearization
    name: str = ""
    marks: tuple[TapeMark, ...] = ()
    end: int | None = None

    @property
    def length(self) -> int:
        """The bytes that are drawn."""
        return self.linear.nbytes if self.end is None else min(self.end, self.linear.nbytes)


class Stretch(NamedTuple):
    """Bytes of one row that hold one element, or padding: begin and end, and what lies there (None: padding)."""

    begin: int
    end: int
    found: Location | None


def first_difference(one: Linearization, other: Linearization) -> int | None:
    """The first byte at which two memories hold something else: another byte of an element, padding, or nothing more."""
    for byte in range(max(one.nbytes, other.nbytes)):
        if byte >= min(one.nbytes, other.nbytes) or one.locate(byte) != other.locate(byte):
            return byte
    return None


def stretches(linear: Linearization, begin: int, end: int) -> Iterator[Stretch]:
    """What lies in the bytes from `begin` to `end`, in their order."""
    end = min(end, linear.nbytes)
    while begin < end:
        found = linear.locate(begin)
        upto = begin + 1
        if found is not None:
            upto = begin - found.byte + linear.fields.sizes[linear.fields.index(found.field)]
        else:
            while upto < end and linear.locate(upto) is None:
                upto += 1
        yield Stretch(begin, min(upto, end), found)
        begin = upto


def tapes_svg(tapes: Sequence[Tape], title: str, *, row: int = 32, theme: ThemeName = "auto") -> str:
    """Tapes above each other, `row` bytes in each row. Rows far from the start and from all marks are left out."""
    rows = _rows(tapes, row)
    left = MARGIN + max(text_width(_begin(rows[-1] * row), 11), *(text_width(tape.name, 12, bold=True) for tape in tapes)) + 10
    unit = (_WIDTH - MARGIN - left) / row
    drawing = Drawing(title, _described(tapes, row), theme)
    y = MARGIN
    for place, number in enumerate(rows):
        if place and number > rows[place - 1] + 1:
            words = f"… bytes {(rows[place - 1] + 1) * row:,} to {number * row - 1:,} are left out"
            drawing.text(left, y + 12, words, size=11.5, fill="muted")
            y += 24
        for tape in tapes:
            y = _draw_row(drawing, tape, number * row, row, left, y, unit)
        y += 6 if len(tapes) > 1 else 0
    last = (rows[-1] + 1) * row
    longest = max(tape.length for tape in tapes)
    if last < longest:
        drawing.text(left, y + 12, f"… bytes {last:,} to {longest - 1:,} are left out", size=11.5, fill="muted")
        y += 24
    for line in wrap(_caption(tapes), _WIDTH - 2 * MARGIN, 11.5):
        drawing.text(MARGIN, y + 12, line, size=11.5, fill="muted")
        y += 17
    return drawing.render(_WIDTH, y + MARGIN - 4)


def _rows(tapes: Sequence[Tape], row: int) -> list[int]:
    """The numbers of the rows that are drawn."""
    count = -(-max(tape.length for tape in tapes) // row)
    if count <= _MOST:
        return list(range(count))
    marked = {byte // row for tape in tapes for mark in tape.marks for byte in (mark.byte, mark.byte + mark.nbytes - 1)}
    around = {near for number in marked for near in (number - 1, number, number + 1)}
    return sorted(number for number in {*range(_AT_BEGIN), *around} if 0 <= number < count)


def _draw_row(drawing: Drawing, tape: Tape, begin: int, row: int, left: float, y: float, unit: float) -> float:
    """Draw one row of one tape; returns its bottom."""
    here = [mark for mark in tape.marks if mark.byte < begin + row and mark.byte + mark.nbytes > begin]
    words = _placed([mark for mark in here if mark.byte >= begin], lambda byte: left + (byte - begin) * unit)
    top = y + (_LABEL if words else 2)
    drawing.text(left - 8, top + 14, tape.name, size=12, anchor="end", bold=True)
    drawing.text(left - 8, top + (29 if tape.name else 21), _begin(begin), size=11, fill="muted", anchor="end")
    if begin >= tape.length:
        drawing.text(left, top + 21, "nothing more", size=11.5, fill="muted")
    cells = [
        (stretch, left + (stretch.begin - begin) * unit, (stretch.end - stretch.begin) * unit)
        for stretch in stretches(tape.linear, begin, min(begin + row, tape.length))
    ]
    for stretch, x, width in cells:
        _draw_cell(drawing, tape.linear, stretch, x, top, width)
    for mark in here:
        low, high = max(mark.byte, begin), min(mark.byte + mark.nbytes, begin + row)
        box = (left + (low - begin) * unit, top - 1, (high - low) * unit, _CELL + 2)
        drawing.rect(*box, stroke="paper", radius=2, stroke_width=6)
        drawing.rect(*box, stroke=mark.colour, radius=2, stroke_width=3)
    for stretch, x, width in cells:  # above the marks, so that they can be read
        _draw_label(drawing, tape.linear, stretch, x, top, width)
    for mark, x, anchor, is_above in words:
        baseline = top - 5 if is_above else top + _CELL + 14
        drawing.text(x, baseline, mark.words, size=12, fill=mark.colour, anchor=anchor, bold=True)
    return top + _CELL + (_LABEL if not all(is_above for *_, is_above in words) else 4)


def _placed(marks: Sequence[TapeMark], at: Callable[[int], float]) -> list[tuple[TapeMark, float, str, bool]]:
    """The words of marks: where they stand, their anchor, and whether above the row; below it where they would lie on others."""
    found, end = [], 0.0
    for mark in sorted(marks, key=lambda mark: mark.byte):
        low, high, width = at(mark.byte), at(mark.byte + mark.nbytes), text_width(mark.words, 12, bold=True)
        x, anchor, begin = (low, "start", low) if low < _WIDTH / 2 or width < high - low else (high, "end", high - width)
        found.append((mark, x, anchor, begin >= end))
        if begin >= end:
            end = begin + width
    return found


def _draw_cell(drawing: Drawing, linear: Linearization, stretch: Stretch, x: float, y: float, width: float) -> None:
    if stretch.found is None:
        drawing.rect(x, y, width, _CELL, fill="panel", stroke="line")
        lines = "".join(
            f"M{x + at:.1f} {y + _CELL:.1f}l{min(8.0, width - at):.1f} {-_CELL:.1f}" for at in range(0, int(width), 8)
        )
        drawing.path(lines, stroke="muted", width=0.8, stroke_opacity=0.7)
        return
    red, green, blue = field_colour(linear.fields.index(stretch.found.field))
    drawing.rect(x, y, width, _CELL, fill=f"#{red:02x}{green:02x}{blue:02x}", stroke="paper", tip=_told(linear, stretch))


def _draw_label(drawing: Drawing, linear: Linearization, stretch: Stretch, x: float, y: float, width: float) -> None:
    """What stands in a cell, where there is room for it."""
    if stretch.found is None:
        if width > 52:
            drawing.text(x + width / 2, y + 21, "padding", size=11, anchor="middle", halo="panel")
        return
    index = ",".join(map(str, stretch.found.index))
    lines = [index] if len(linear.fields) == 1 else [stretch.found.field, index]
    for place, text in enumerate(lines):
        size = 11 if text_width(text, 11) <= width else 9
        baseline = y + (21 if len(lines) == 1 else 14 + 14 * place)
        if width >= 9:
            drawing.text(x + width / 2, baseline, shorten(text, width + 2, size), size=size, fill=RAMP_INK, anchor="middle")


def _told(linear: Linearization, stretch: Stretch) -> str:
    assert stretch.found is not None
    at = ", ".join(f"{dim}={value}" for dim, value in zip(linear.space.dims, stretch.found.index, strict=True))
    begin = stretch.begin - stretch.found.byte
    end = begin + linear.fields.sizes[linear.fields.index(stretch.found.field)] - 1
    return f"{stretch.found.field} of {at}: bytes {begin:,} to {end:,}"


def _begin(byte: int) -> str:
    return f"byte {byte:,}"


def _caption(tapes: Sequence[Tape]) -> str:
    linear = tapes[0].linear
    dims = ", ".join(linear.space.dims)
    cell = f"{dims} of its entry" if len(linear.fields) == 1 else f"its field, and below it {dims} of its entry"
    padding = " Hatched bytes are padding." if any(tape.linear.is_padded for tape in tapes) else ""
    return f"A cell is an element, as wide as its bytes. In it stands {cell}.{padding}"


def _described(tapes: Sequence[Tape], row: int) -> str:
    """The picture in words: the first elements of each tape, and its marks."""
    sentences = []
    for tape in tapes:
        first = [
            "padding" if each.found is None else f"{each.found.field} {','.join(map(str, each.found.index))}"
            for each in stretches(tape.linear, 0, min(row, tape.length))
        ]
        name = f"{tape.name}: " if tape.name else ""
        sentences.append(f"{name}from byte 0 on lie {'; '.join(first)}.")
        sentences += [f"{name}{mark.words}, at byte {mark.byte:,}." for mark in tape.marks]
    return " ".join([*sentences, _caption(tapes)])
