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
