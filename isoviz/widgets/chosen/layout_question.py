"""The question of *Find a layout*, as it was typed: frozen texts, valid or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

UseKind = Literal["to", "from", "along"]
FoundSide = Literal["source", "destination"]


@dataclass(frozen=True)
class TypedUse:
    """A further use of the array: a copy to or from `memory` with the layout `what`, or an access along the dimension `what`.

    An access along a dimension with "" for `memory` stays in the memory of the array. `weight` is how often the use happens.
    """

    wire_name: ClassVar = "ShownTypedUse"

    kind: UseKind
    memory: str
    what: str
    weight: str = "1"


@dataclass(frozen=True)
class LayoutQuestion:
    """The layout of the end `side` is looked for; the other end stays as it is.

    The transfer itself is the first use, with its own `weight`; `uses` are the others. Layouts have runs of at least `least_run`
    along `run_dim`, at most `most_padding` percent of padding, and, where it is chosen, `fields_together` and the dimensions in
    the order of the array (`keep_order`). A demand whose text is "" demands nothing.
    """

    wire_name: ClassVar = "ShownLayoutQuestion"

    side: FoundSide
    weight: str = "1"
    uses: tuple[TypedUse, ...] = ()
    run_dim: str = ""
    least_run: str = ""
    most_padding: str = ""
    fields_together: bool = False
    keep_order: bool = False

    def with_layouts(self, change: Callable[[str], str]) -> LayoutQuestion:
        """The question with changed texts of the layouts of its uses."""
        return replace(self, uses=tuple(use if use.kind == "along" else replace(use, what=change(use.what)) for use in self.uses))

    def with_dimension(self, old: str, new: str) -> LayoutQuestion:
        """The question with another name for a dimension, outside of layouts."""
        uses = tuple(replace(use, what=new) if use.kind == "along" and use.what == old else use for use in self.uses)
        return replace(self, uses=uses, run_dim=new if self.run_dim == old else self.run_dim)
