"""Pictures and words of what lies where in memory."""

from __future__ import annotations

from typing import Any

from isoviz.layouts import Linearization


def lying_at(linear: Linearization, byte: int) -> str:
    """What lies at a byte, in words."""
    found = linear.locate(byte)
    if found is None:
        return "padding"
    entry = ", ".join(f"{dim} = {at}" for dim, at in zip(linear.space, found.index, strict=True))
    return f"{f'byte {found.byte}' if found.byte else 'the begin'} of {found.field} of the entry {entry}"


class _Picture:
    def __init__(self, value: Any) -> None:
        self._value = value

    def _repr_html_(self) -> str:
        from isoviz.figures import notebook_html

        return notebook_html(self._value)


def layout_picture(linear: Linearization) -> Any:
    """The memory that a layout fills, by address."""
    return _Picture(linear)
