"""Pictures and words of what lies where in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from isoviz.layouts import Linearization

# Layouts as somebody with a wrong model writes them.


def parts_of(layout: str) -> list[str]:
    """The components of a layout's text."""
    return [part.strip() for part in layout.strip("<> ").split(",")]


def written(parts: list[str]) -> str:
    """The text of a layout with these components."""
    return f"<{', '.join(parts)}>"


def fields_moved(layout: str, place: int) -> str:
    """The layout with F at another place, counted from the fastest (-1: the slowest)."""
    parts = [part for part in parts_of(layout) if part != "F"]
    parts.insert(len(parts) if place < 0 else place, "F")
    return written(parts)


def order_reversed(layout: str) -> str:
    """The layout with the last component fastest. Of a dimension in two digits the inner one stays the inner one."""
    parts = parts_of(layout)[::-1]
    inner = {part.partition("=")[0]: part for part in parts if "=" in part}
    found = []
    for part in parts:
        name = part.partition("=")[0]
        dim, _, digit = name.rpartition("_")
        if digit == "out" and f"{dim}_in" in inner:
            found.append(inner[f"{dim}_in"])
        elif digit == "in" and "=" in part:
            found.append(f"{dim}_out")
        else:
            found.append(part)
    return written(found)


def swapped(layout: str, one: str, other: str) -> str:
    """The layout with two dimensions exchanged, each named by one letter. The blocks stay where they are."""
    return layout.translate(str.maketrans(one + other, other + one))


def digits_swapped(layout: str, dim: str) -> str:
    """The layout in which both digits of a dimension have changed places."""
    parts = parts_of(layout)
    inner = next(place for place, part in enumerate(parts) if part.startswith(f"{dim}_in="))
    outer = parts.index(f"{dim}_out")
    parts[inner], parts[outer] = parts[outer], parts[inner]
    return written(parts)


def block_changed(layout: str, dim: str, block: int) -> str:
    """The layout with blocks of another size along a dimension."""
    return written([f"{dim}_in={block}" if part.startswith(f"{dim}_in=") else part for part in parts_of(layout)])


def block_dissolved(layout: str, dim: str) -> str:
    """The layout in which a dimension is not split: it stands where its inner digit stood."""
    parts = [part for part in parts_of(layout) if part != f"{dim}_out"]
    return written([dim if part.startswith(f"{dim}_in=") else part for part in parts])


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
