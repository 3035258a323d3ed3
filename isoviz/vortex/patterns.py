"""Ways of sending that suit a Data Vortex: many packets at once over PCIe, and a matrix that turns while it is delivered."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from isoviz.checks import count, is_one_of
from isoviz.errors import InputError, show
from isoviz.vortex.packet import WORDS, headers, words
from isoviz.vortex.program import Vic
from isoviz.vortex.traffic import ORDERS, Whole

MOST = 1 << 20


class Aggregated:
    """Aggregation at the source (Gioiosa et al., section VI): packets of several sends, to any VICs, go over PCIe together.

        with Aggregated(vic, size=1024) as out:
            out.send(vics, addresses, values, counter=3)

    They go when there are `size` of them, at `flush`, and at the end of the `with`. In the network each remains a packet of one
    word.
    """

    def __init__(self, vic: Vic, size: int = 1024) -> None:
        self._vic, self._size = vic, count("Aggregated", "size", size, low=1, high=MOST)
        self._kept: list[tuple[Whole, Whole]] = []
        self._number = 0

    def send(self, vics: Any, addresses: Any, values: Any, counter: int | None = None) -> None:
        """As `Vic.send`; the arrays may be changed at once."""
        array = words("send, values", values).copy()
        to, array = headers("send", vics, addresses, counter, self._vic.nodes, values=array)
        self._kept.append((to, array))
        self._number += len(to)
        if self._number >= self._size:
            self.flush()

    def flush(self) -> None:
        """Send the packets that wait."""
        if self._number:
            to, values = (np.concatenate(each) for each in zip(*self._kept, strict=True))
            self._vic.send_packets(to, values)
            self._kept, self._number = [], 0

    def __enter__(self) -> Aggregated:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.flush()


def transposed(
    vic: Vic, rows: Any, *, counter: int, at: int = 0, order: str = ORDERS[0], pieces: int = 1
) -> np.ndarray[Any, Any]:
    """Transpose a matrix that is spread over the nodes. All nodes call it with their rows; each gets its rows of the result.

    Node k of n has rows k · r to (k + 1) · r of the matrix, in shape (r, n · c), and gets columns k · c to (k + 1) · c as rows,
    in shape (c, n · r). Every element goes straight to its place in the memory of its VIC, from address `at` on. `order` is an
    order of `Transposition`: the switch carries "word by word" best, a word to each node in turn.

    With several `pieces`, the result arrives in that many parts, alternately at two places. While a node stores one part, the
    next one is on its way, so the memory need not hold all of it.

    The call sets the group counter, and waits at a barrier before any node sends a piece.

    Raises:
        InputError: `rows` is not a matrix of 8 or 16 bytes an element whose columns divide among the nodes, the result does not
            fit in 32 MB, there are fewer rows of the result than pieces, or the counter or the order is wrong.
    """
    call = "transposed"
    given = np.asarray(rows)
    if given.ndim != 2 or given.dtype.kind not in "iufc" or given.itemsize not in (8, 16) or given.shape[1] % vic.nodes:
        what = f"{given.dtype} of shape {given.shape}"
        raise InputError(f"{call}: expected a matrix of 8 or 16 bytes an element, with columns for {vic.nodes} nodes, got {what}")
    if not is_one_of(order, ORDERS):
        raise InputError(f"{call}, order: expected one of {', '.join(map(repr, ORDERS))}, got {show(order)}")
    r, c, each = given.shape[0], given.shape[1] // vic.nodes, given.itemsize // 8
    count(call, "pieces", pieces, low=1, high=max(1, c))
    most = -(-c // pieces)
    place = most * r * vic.nodes * each
    room = place * min(pieces, 2)
    first = count(call, "at", at, high=WORDS)
    if first + room > WORDS:
        raise InputError(f"{call}, at: {room} words from {first} on end beyond the {WORDS} words of a VIC")
    # Axes: row, node, column, word of the element.
    values = np.ascontiguousarray(given).view(np.int64).reshape(r, vic.nodes, c, each)
    found = np.empty((c, vic.nodes * r), given.dtype)
    for piece in range(pieces):
        columns = slice(piece * c // pieces, (piece + 1) * c // pieces)
        into = found[columns]
        vic.set_counter(counter, into.size * each)
        vic.barrier()
        there = first + piece % 2 * place
        _scatter(vic, values[:, :, columns], counter, there, order)
        if piece:
            vic.finish()
        vic.wait(counter)
        vic.store(there, into.view(np.int64), wait=piece == pieces - 1)
    return found


def _scatter(vic: Vic, values: Whole, counter: int, at: int, order: str) -> None:
    """Send every word of a part of a matrix to its place."""
    r, _, c, each = values.shape
    row, node, column, word = np.ogrid[:r, : vic.nodes, :c, :each]
    addresses = at + ((column * vic.nodes + vic.rank) * r + row) * each + word
    turns = [
        np.broadcast_to(part, values.shape).transpose(1, 0, 2, 3).reshape(vic.nodes, -1) for part in (node, addresses, values)
    ]
    if order != ORDERS[2]:  # each begins with itself
        turns = [np.roll(part, -vic.rank, axis=0) for part in turns]
    sent = [part.T.reshape(-1) if order == ORDERS[0] else part.reshape(-1) for part in turns]
    if order == ORDERS[3]:
        shuffled = np.random.default_rng(vic.rank).permutation(values.size)
        sent = [part[shuffled] for part in sent]
    vic.send(sent[0], sent[1], sent[2], counter)
