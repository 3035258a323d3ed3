"""Edits of the text of a layout that leave the rest of it, right or wrong, as it was typed."""

from __future__ import annotations

import re

_COMPONENT = re.compile(r"(?P<name>[^\W\d]\w*)(?P<rest>\s*(?:=\s*\d*)?)")


def _belongs(component: str, dim: str) -> bool:
    """Whether a component is the dimension or one of its digits: `x`, `x_in=4`, `x_2`."""
    found = _COMPONENT.fullmatch(component.strip())
    if found is None:
        return False
    name = found["name"]
    return name == dim or (name.startswith(f"{dim}_") and re.fullmatch(r"in|out|\d+", name[len(dim) + 1 :]) is not None)


def _components(text: str) -> tuple[str, list[str], str]:
    found = re.fullmatch(r"(\s*[<⟨]?\s*)(.*?)(\s*[>⟩]?\s*)", text, re.DOTALL)
    assert found is not None  # every part is optional
    return found[1], [part.strip() for part in found[2].split(",")] if found[2] else [], found[3]


def add_dimension(text: str, dim: str) -> str:
    """The layout with a further dimension, slowest: `<x, F>` → `<x, F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join((*parts, dim))}{closing}"


def remove_dimension(text: str, dim: str) -> str:
    """The layout without the digits of a dimension: `<x_in=4, F, x_out, y>` → `<F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(part for part in parts if not _belongs(part, dim))}{closing}"


def rename_dimension(text: str, old: str, new: str) -> str:
    """The layout with a dimension renamed: `<x_in=4, F, x_out>` → `<row_in=4, F, row_out>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(new + part[len(old) :] if _belongs(part, old) else part for part in parts)}{closing}"
