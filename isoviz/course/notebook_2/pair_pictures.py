"""Pictures of the memories of two layouts: pieces that lie together in both or fall apart, and blocks."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from isoviz.layouts import Linearization

_ROW = 64
_MOST_MARKS = 24
"""Pieces that are marked, at most: behind them the picture shows nothing new."""


class PicturesBelow:
    """Pictures below each other, each with a caption ("": it has its own)."""

    def __init__(self, *pictures: tuple[str, Callable[[], str]]) -> None:
        self._pictures = pictures

    def _repr_html_(self) -> str:
        return "".join(
            f"<div>{f'<p><strong>{html.escape(caption)}</strong></p>' if caption else ''}{draw()}</div>"
            for caption, draw in self._pictures
        )


Stretch = tuple[int, int]
"""Bytes of a memory: the first one, and how many."""


def run_picture(source: Linearization, copies: Sequence[tuple[Linearization, Sequence[Stretch]]], title: str) -> PicturesBelow:
    """Stretches of the source, such as what somebody takes for a run, and where each copy has them."""

    def drawing(copy: Linearization, stretches: Sequence[Stretch]) -> tuple[str, Callable[[], str]]:
        caption = title.format(copy=copy.layout)
        return caption, lambda: _pieces_svg(source, copy, stretches, caption)

    return PicturesBelow(*(drawing(copy, stretches) for copy, stretches in copies))


def block_picture(here: Linearization, there: Linearization, block: Stretch, title: str) -> PicturesBelow:
    """A block of memory at the source, and where the destination has its elements."""
    return PicturesBelow((title, lambda: _pieces_svg(here, there, [block], title, is_block=True)))


def _pieces_svg(
    here: Linearization, there: Linearization, stretches: Sequence[Stretch], title: str, *, is_block: bool = False
) -> str:
    """The stretches in the one memory, and their pieces in the other. Those of a block may lie anywhere within its bytes."""
    from isoviz.figures.layouts.tape import Tape, TapeMark, tapes_svg

    marks, landed = [], []
    for begin, nbytes in stretches:
        shown = min(begin + nbytes, here.nbytes) - begin
        marks.append(TapeMark(begin, f"{shown:,} B", "path", shown))
        pieces = _pieces(here, there, begin, begin + shown)
        if is_block:
            landed.append(TapeMark(begin, f"bytes {begin:,} to {begin + shown - 1:,}", "path", shown))
            outside = (piece for piece in pieces if not begin <= piece[0] < begin + nbytes)
            landed += [TapeMark(at, "also of your block", "bad", size) for at, size in list(outside)[:_MOST_MARKS]]
            continue
        colour = "good" if len(pieces) == 1 else "bad"
        words = ["in one piece"] if len(pieces) == 1 else list(map(str, range(1, len(pieces) + 1)))
        landed += [TapeMark(at, text, colour, size) for text, (at, size) in list(zip(words, pieces, strict=True))[:_MOST_MARKS]]
    last = max(mark.byte + mark.nbytes for mark in (*marks, *landed))
    end = (last // _ROW + 2) * _ROW  # and a little of what follows
    return tapes_svg([Tape(here, "source", tuple(marks), end), Tape(there, "destination", tuple(landed), end)], title, row=_ROW)


def _pieces(here: Linearization, there: Linearization, begin: int, end: int) -> list[Stretch]:
    """Begin and length of the pieces that bytes of the source are at the destination, in the order of the source."""
    found: list[Stretch] = []
    before = None
    for index, field in here.order():
        at, size = here.offset(index, field), here.fields.sizes[here.fields.index(field)]
        low, high = max(at, begin), min(at + size, end)
        if low >= high:
            continue
        landed = there.offset(index, field) + low - at
        if found and before == (low, landed):
            found[-1] = (found[-1][0], found[-1][1] + high - low)
        else:
            found.append((landed, high - low))
        before = (high, landed + high - low)
    return found
