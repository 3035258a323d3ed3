"""What a page holds beside the state: typed dictionaries. `widgets/src/model/types.ts` is generated from them as well."""

from __future__ import annotations

from typing import Literal, TypedDict

from isoviz.schema import Named
from isoviz.widgets.panes.layout_pane import ShownField
from isoviz.widgets.panes.requests_pane import ShownPieces

PageKind = Literal["show", "simulate", "run", "explorer"]
"""What a page is about: a plan, its simulation, its run, or the state of an explorer."""


class PageLine(TypedDict):
    """A time of the whole transfer in seconds, with its rate in bytes per second. `name` says how it is known."""

    name: str
    seconds: float
    rate: float


class PageEnd(TypedDict):
    """One end of the transfer with its own spaces. `moved` says which part of it moves; it is empty where all of it does.

    `listed` are the bytes that move where a list names the entries: owners are thousandths of the way, so that the order can be
    seen. It is null without a list.
    """

    dims: Named[int]
    fields: list[ShownField]
    layout: str
    moved: str
    listed: ShownPieces | None


class PageEnds(TypedDict):
    """Both ends."""

    source: PageEnd
    destination: PageEnd


class PagePart(TypedDict):
    """The rest of a page: sentences and times for the summary, the ends, and the views behind it.

    `views` names the views that are folded below the summary, as the tabs of the dock are called; `opened` are those that are
    open at first.
    """

    kind: PageKind
    version: str
    said: list[str]
    lines: list[PageLine]
    ends: PageEnds
    views: list[str]
    opened: list[str]
