"""Layouts as somebody with a wrong model writes them."""

from __future__ import annotations


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
