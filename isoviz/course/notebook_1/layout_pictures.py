"""Pictures and words of what lies where in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from isoviz.layouts import Linearization


def entry_told(linear: Linearization, index: tuple[int, ...]) -> str:
    """An entry in words, such as "x = 1, y = 2"."""
    return ", ".join(f"{dim} = {at}" for dim, at in zip(linear.space, index, strict=True))


def lying_at(linear: Linearization, byte: int) -> str:
    """What lies at a byte, in words."""
    if byte >= linear.nbytes:
        return "nothing more"
    found = linear.locate(byte)
    if found is None:
        return "padding"
    byte_of = f"byte {found.byte} of " if found.byte else ""
    field_of = f"{found.field} of " if len(linear.fields) > 1 else ""
    return f"{byte_of}{field_of}the entry {entry_told(linear, found.index)}"


def padding_begin(linear: Linearization) -> int:
    """The first byte of padding; without any, the number of bytes."""
    from isoviz.figures.layouts.tape import stretches

    whole = stretches(linear, 0, linear.nbytes)
    return next((stretch.begin for stretch in whole if stretch.found is None), linear.nbytes)


class Difference(NamedTuple):
    """The first byte at which two memories differ, and what lies there in each, in words."""

    byte: int
    one: str
    other: str


def difference(one: Linearization, other: Linearization) -> Difference | None:
    """Where two memories begin to differ; None where they do not."""
    from isoviz.figures.layouts.tape import first_difference

    byte = first_difference(one, other)
    return None if byte is None else Difference(byte, lying_at(one, byte), lying_at(other, byte))


class _Picture:
    def __init__(self, markup: str) -> None:
        self._markup = markup

    def _repr_html_(self) -> str:
        return self._markup


class Marked(NamedTuple):
    """Bytes that are marked in a tape, with a few words. `is_right` chooses the colour."""

    byte: int
    words: str
    is_right: bool = False
    nbytes: int = 1


def tape_picture(linear: Linearization, title: str, *marks: Marked, end: int | None = None, row: int = 32) -> Any:
    """Memory as a tape, byte after byte, `row` bytes in each row. Without `end`, to its last byte."""
    from isoviz.figures.layouts.tape import Tape, tapes_svg

    return _Picture(tapes_svg([Tape(linear, "", _tape_marks(linear, marks), end)], title, row=row))


def tapes_picture(one: Linearization, other: Linearization, names: tuple[str, str], title: str) -> Any:
    """Two tapes above each other, with the first byte at which they differ marked in both."""
    from isoviz.figures.layouts.tape import Tape, first_difference, tapes_svg

    byte = first_difference(one, other)
    tapes = []
    for each, name in zip((one, other), names, strict=True):
        marks = () if byte is None else (Marked(byte, "the first difference", nbytes=_rest_of_element(each, byte)),)
        tapes.append(Tape(each, name, _tape_marks(each, marks)))
    return _Picture(tapes_svg(tapes, title))


def _rest_of_element(linear: Linearization, byte: int) -> int:
    """The bytes of an element from a byte on; 1 for padding."""
    found = linear.locate(byte) if byte < linear.nbytes else None
    return 1 if found is None else linear.fields.sizes[linear.fields.index(found.field)] - found.byte


def _tape_marks(linear: Linearization, marks: tuple[Marked, ...]) -> Any:
    from isoviz.figures.layouts.tape import TapeMark

    found = (TapeMark(each.byte, each.words, "good" if each.is_right else "bad", each.nbytes) for each in marks)
    return tuple(mark for mark in found if mark.byte < linear.nbytes)
