"""Layout changes on the way between two ranks: structures into arrays of fields and back, and short runs.

Each stands beside MPI's derived datatypes, beside NumPy that packs what `Send` sends, and beside the contiguous copy of as many
bytes into the peer's window.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.bench.ranks.here import Here, Order, here
from isoviz.bench.ranks.raw_mpi import datatype, packed, sent
from isoviz.bench.result_rows import compared
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import ChannelKind
from isoviz.planner import Instance, Transfer, cost, plan

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.bench.ranks.here import Way
    from isoviz.machines import Machine

RUNS = (8, 16, 32, 64)
FIELDS = FieldSpace(a="f8", b="f8", c="f8", d="f8")
WORDS, WORD = 4, 8
DERIVED_AIM, WHOLE_LINES_AIM, HALF_LINES_AIM = 2.0, 0.8, 0.5
CACHE_LINE = 64


class _Case(NamedTuple):
    """A transfer, how NumPy moves between the contiguous message and an end, and the datatype of the end that is no message."""

    what: str
    transfer: Transfer
    pack: Callable[[Bytes], Any] | None
    unpack: Callable[[Bytes, Bytes], None] | None
    datatype: Callable[[Any], Any]
    whole_lines: bool


def layout_changes_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Three rows for each case: beside derived datatypes, beside NumPy and Send, beside the contiguous copy into a window."""
    rows = []
    with here(machine, order) as rank:
        for case in (*_structures(order.nbytes), *(_runs(run, order.nbytes) for run in (RUNS[:1] if order.quick else RUNS))):
            rows += _rows(rank, case, order.repeat)
    return rows


def _structures(nbytes: int) -> list[_Case]:
    """Four fields of 8 bytes: an array of structures into a structure of arrays, and back."""
    count = nbytes // FIELDS.nbytes
    space = IndexSpace(x=count)

    def fields(mpi: Any) -> Any:
        column = mpi.BYTE.Create_contiguous(WORD).Create_vector(count, 1, WORDS)
        return column.Create_hindexed([1] * WORDS, [WORD * word for word in range(WORDS)])

    def split(source: Bytes) -> Any:
        return np.ascontiguousarray(source.view(np.uint64).reshape(count, WORDS).T).view(np.uint8)

    def join(message: Bytes, destination: Bytes) -> None:
        destination.view(np.uint64).reshape(count, WORDS)[...] = message.view(np.uint64).reshape(WORDS, count).T

    def transfer(here: str, there: str) -> Transfer:
        return Transfer.whole(space, FIELDS, "node0.reg", here, "node1.reg", there)

    return [
        _Case("AOS → SOA, 4 × 8 B", transfer("<F, x>", "<x, F>"), split, None, fields, True),
        _Case("SOA → AOS, 4 × 8 B", transfer("<x, F>", "<F, x>"), None, join, fields, True),
    ]


def _runs(run: int, nbytes: int) -> _Case:
    """One of two fields of `run` bytes each: runs at twice their length apart. Nothing between the runs moves."""
    count = nbytes // run
    space, both = IndexSpace(x=count), FieldSpace.of({"p": f"V{run}", "q": f"V{run}"})
    ends = Instance("node0.reg", space, both, "<F, x>"), Instance("node1.reg", space, both.subset(("p",)), "<F, x>")  # type: ignore[arg-type]

    def pack(source: Bytes) -> Any:
        return np.ascontiguousarray(source.reshape(count, 2 * run)[:, :run])

    def vector(mpi: Any) -> Any:
        return mpi.BYTE.Create_vector(count, run, 2 * run)

    return _Case(f"runs of {run} B, every other one", Transfer(*ends), pack, None, vector, run >= CACHE_LINE)


def _rows(rank: Here, case: _Case, repeat: int) -> list[dict[str, Any]]:
    transfer = case.transfer
    made = rank.agreed(lambda: plan(transfer, rank.machine))
    moved = Transfer.whole(IndexSpace(x=transfer.nbytes), FieldSpace(v="uint8"), "node0.reg", "<F, x>", "node1.reg", "<F, x>")
    window = rank.agreed(lambda: cost(moved, rank.machine, [f"node0.reg->node1.reg {ChannelKind.WINDOW}"]))
    ends = transfer.source, transfer.destination
    array = rank.array("reg", ends[rank.rank].linearization.nbytes)
    message = rank.array("sys", transfer.nbytes)
    pack, unpack = case.pack, case.unpack
    with ExitStack() as stack:
        kind = stack.enter_context(datatype(rank, case.datatype))
        types = (kind, None) if pack is not None else (None, kind)
        into = message if unpack is not None else array
        ways: dict[str, Way] = {
            "isoviz": rank.submitted(made, array, array),
            "derived datatype": sent(rank, array, array, types),
            "NumPy, Send": packed(
                rank,
                lambda: array if pack is None else pack(array),
                into,
                None if unpack is None else lambda found: unpack(found, array),
            ),
            "contiguous Window": rank.submitted(window, array[: transfer.nbytes], array[: transfer.nbytes]),
        }
        times = rank.interleaved(ways, repeat)
    aims = {
        "derived datatype": DERIVED_AIM,
        "contiguous Window": WHOLE_LINES_AIM if case.whole_lines else HALF_LINES_AIM,
        "NumPy, Send": None,
    }
    what = f"{case.what} by {' → '.join(str(hop.kind) for hop in made.hops)}"
    return [compared("layout changes", what, times, "isoviz", peer, aim, predicted=made.seconds) for peer, aim in aims.items()]
