"""Layout conversions in host memory, each as a share of `memcpy` with the same bytes in the same run.

The peers are NumPy (`copyto` of strided views), PyTorch (`copy_` of strided tensors, one thread) and OpenCV (`transpose`), if
they are installed and have the case. The limit is `memcpy`: each byte is read once and written once.
"""

from __future__ import annotations

import ctypes
import math
import os
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host import kernels
from isoviz.backends.host.copying import copy_all
from isoviz.backends.pages import page_aligned
from isoviz.bench.predictions.random_transfers import random_fields, random_layout, random_space
from isoviz.bench.table import Table, seconds_of
from isoviz.errors import InputError
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, View, apply, strided_copies
from isoviz.layouts.numpy_copy import strided_view
from isoviz.units import format_bytes, format_rate, parse_bytes

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
LEAST_SIZE = 1 << 16
RANDOM = 40
"""Random conversions, a quarter as large as the others, and as many small ones."""
SMALL = 1 << 8
"""Factor by which small conversions are smaller than the others: they stay in a second-level cache."""
MORE = 4
"""Factor by which small conversions are measured more often: each takes some 50 µs."""
MOST_PADDED = 2
"""Largest size of a random layout with its padding, as a multiple of the size of the case."""
TOGETHER = 1.3
"""Aimed speed-up by two threads, if memory allows it."""


class Case(NamedTuple):
    """A conversion: `space` and `fields` of about `nbytes`, from one layout to another."""

    group: str
    name: str
    space: IndexSpace
    fields: FieldSpace
    source: str
    destination: str

    def copies(self) -> list[StridedCopy]:
        """The strided copies of the conversion."""
        here, there = (Layout(text).on(self.space, self.fields) for text in (self.source, self.destination))
        return strided_copies(View(here), View(there), Box.whole(self.space))


def cases(nbytes: int) -> Iterator[Case]:
    """The suite, each case of about `nbytes` bytes."""
    yield from _transposes(nbytes)
    yield from _structs(nbytes)
    yield from _blocks(nbytes)
    yield from _permutations(nbytes)
    yield from _images(nbytes)


def random_cases(nbytes: int, group: str = "random") -> Iterator[Case]:
    """Random conversions, the same in every run: cases that the suite does not select."""
    rng = random.Random(0)  # noqa: S311  # no secret
    count = 0
    while count < RANDOM:
        fields = random_fields(rng)
        space = random_space(rng, nbytes / fields.nbytes)
        source, destination = random_layout(rng, space), random_layout(rng, space)
        here, there = source.on(space, fields), destination.on(space, fields)
        if here.normal != there.normal and max(here.nbytes, there.nbytes) <= MOST_PADDED * nbytes:
            count += 1
            yield Case(group, f"{group} {count}", space, fields, str(source), str(destination))


def _transposes(nbytes: int) -> Iterator[Case]:
    for size, dtype in ((1, "u1"), (2, "u2"), (4, "f4"), (8, "f8"), (16, "c16")):
        near = 2 ** round(math.log2(nbytes / size) / 2)
        for side in (near, near + 1) if size != 4 else (near, near + 1, near - 1, near + 32, near * 3 // 4 + 5):
            space = IndexSpace(x=side, y=max(1, nbytes // size // side) if side > near * 1.2 else side)
            yield Case("2-D", f"{side}², {size} B", space, FieldSpace(v=dtype), "<F, x, y>", "<F, y, x>")
    for x in (16, 64, 1000):
        y = nbytes // 4 // x
        for a, b in ((x, y), (y, x)):
            yield Case("2-D", f"{a} × {b}, 4 B", IndexSpace(x=a, y=b), FieldSpace(v="f4"), "<F, x, y>", "<F, y, x>")


def _structs(nbytes: int) -> Iterator[Case]:
    some = {f"{count} × 4 B": {f"f{k}": "f4" for k in range(count)} for count in (2, 3, 4, 8, 16, 32)}
    some |= {"2 × 8 B": {"re": "f8", "im": "f8"}, "4 × 1 B": dict.fromkeys("rgba", "u1")}
    some |= {"4 + 8 B": {"a": "f4", "b": "f8"}, "1 + 2 + 4 + 8 B": {"a": "u1", "b": "u2", "c": "f4", "d": "f8"}}
    for name, dtypes in some.items():
        fields = FieldSpace.of(dtypes)
        space = IndexSpace(x=nbytes // fields.nbytes)
        yield Case("AOS, SOA", f"AOS → SOA, {name}", space, fields, "<F, x>", "<x, F>")
        yield Case("AOS, SOA", f"SOA → AOS, {name}", space, fields, "<x, F>", "<F, x>")
    fields = FieldSpace.of({f"f{k}": "f4" for k in range(8)})
    for block in (4, 8, 16):
        hybrid, space = f"<x_in={block}, F, x_out>", IndexSpace(x=nbytes // fields.nbytes // block * block)
        yield Case("hybrid", f"SOA → x_in={block}, 8 × 4 B", space, fields, "<x, F>", hybrid)
        yield Case("hybrid", f"AOS → x_in={block}, 8 × 4 B", space, fields, "<F, x>", hybrid)
        yield Case("hybrid", f"x_in={block} → AOS, 8 × 4 B", space, fields, hybrid, "<F, x>")


def _blocks(nbytes: int) -> Iterator[Case]:
    side = round((nbytes / 4) ** (1 / 2) / 64) * 64
    flat, edge = IndexSpace(x=side, y=side), round((nbytes / 4) ** (1 / 3) / 16) * 16
    cube, fields = IndexSpace(x=edge, y=edge, z=edge), FieldSpace(v="f4")
    for block in (8, 64):
        blocked = f"<F, x_in={block}, y_in={block}, x_out, y_out>"
        yield Case("blocks", f"2-D → {block}²", flat, fields, "<F, x, y>", blocked)
        yield Case("blocks", f"{block}² → 2-D", flat, fields, blocked, "<F, x, y>")
    blocked = "<F, x_in=8, y_in=8, z_in=8, x_out, y_out, z_out>"
    yield Case("blocks", "3-D → 8³", cube, fields, "<F, x, y, z>", blocked)
    yield Case("blocks", "8³ → 3-D", cube, fields, blocked, "<F, x, y, z>")


def _permutations(nbytes: int) -> Iterator[Case]:
    fields = FieldSpace(v="f4")
    for order in ("zyx", "yxz", "zxy", "dcba", "cadb", "cebda", "edcba", "dfbeac", "badcfe"):
        names = "xyz" if "x" in order else "abcdef"[: len(order)]
        side = (nbytes / 4) ** (1 / len(names))
        sizes = {name: max(2, round(side * (1 + 0.1 * (k % 2)))) for k, name in enumerate(names)}
        to = ", ".join(order)
        yield Case("3- to 6-D", f"{names} → {order}", IndexSpace(**sizes), fields, f"<F, {', '.join(names)}>", f"<F, {to}>")


def _images(nbytes: int) -> Iterator[Case]:
    fields = FieldSpace(v="f4")
    for channels, side in ((3, 224), (64, 224), (128, 112), (256, 56), (512, 28), (512, 14)):
        count = max(1, round(nbytes / 4 / channels / side**2))
        space = IndexSpace(c=channels, w=side, h=side, n=count)
        shape = f"{channels} × {side}²"
        yield Case("images", f"NHWC → NCHW, {shape}", space, fields, "<F, c, w, h, n>", "<F, w, h, c, n>")
        yield Case("images", f"NCHW → NHWC, {shape}", space, fields, "<F, w, h, c, n>", "<F, c, w, h, n>")
    pair = FieldSpace(re="f4", im="f4")
    yield Case("identical", "AOS → AOS", IndexSpace(x=nbytes // 8), pair, "<F, x>", "<F, x>")


# ---- the peers


PEERS = {"numpy": "NumPy", "torch": "PyTorch", "opencv": "OpenCV"}
"""Keys of rows → what people call them."""


def torch() -> Any:
    """PyTorch with one thread; None where it is not installed."""
    try:
        import torch as found
    except ImportError:
        return None
    found.set_num_threads(1)
    return found


def opencv() -> Any:
    """OpenCV with one thread; None where it is not installed."""
    try:
        import cv2
    except ImportError:
        return None
    cv2.setNumThreads(1)
    return cv2


_SCALARS = {1: "u1", 2: "i2", 4: "i4", 8: "i8", 16: "c16"}


def _by_torch(torch: Any, copies: Sequence[StridedCopy], source: Bytes, destination: Bytes) -> Callable[[], None] | None:
    if torch is None:
        return None
    pairs = []
    for copy in copies:
        if copy.run not in _SCALARS:  # Tensors have elements; a run of elements is one more dimension.
            part = math.gcd(copy.run, 8)
            copy = copy._replace(run=part, loops=(*copy.loops, (copy.run // part, part, part)))
        views = [strided_view(array, copy, np.dtype(_SCALARS[copy.run]), end) for array, end in ((destination, 2), (source, 1))]
        if any(stride % copy.run for view in views for stride in view.strides):
            return None  # tensors count their strides in elements
        pairs.append([torch.from_numpy(view) for view in views])

    def action() -> None:
        for there, here in pairs:
            there.copy_(here)

    return action


def _by_opencv(cv2: Any, copies: Sequence[StridedCopy], source: Bytes, destination: Bytes) -> Callable[[], None] | None:
    """OpenCV transposes matrices of one element, nothing else."""
    if cv2 is None or len(copies) != 1 or len(copies[0].loops) != 2:
        return None
    (columns, here, to), (rows, row, there), run = *copies[0].loops, copies[0].run
    dtype = _SCALARS.get(run)
    if dtype is None or run == 16 or here != run or there != run or row != columns * run or to != rows * run:
        return None
    if dtype == "i8":
        dtype = "f8"
    matrix, result = source.view(dtype).reshape(rows, columns), destination.view(dtype).reshape(columns, rows)
    return lambda: cv2.transpose(matrix, result)


# ---- measuring


def measure(size: str = "64MiB", repeat: int = 5) -> Table:
    """Medians of `repeat` interleaved rounds for conversions of about `size` bytes; peers that take very long get fewer.

    Raises:
        InputError: a size is invalid, or too small for a result.
    """
    nbytes = parse_bytes(size)
    if nbytes < LEAST_SIZE:
        raise InputError(f"bench layouts: --size {size}: expected at least {format_bytes(LEAST_SIZE)}")
    kernels.prepare(wait=True)
    peers = torch(), opencv()
    rows = [measured(case, repeat, *peers) for case in (*cases(nbytes), *random_cases(nbytes // 4))]
    rows += [measured(case, MORE * repeat, peers[0], None) for case in random_cases(nbytes // SMALL, "small")]
    missing = [name for name, module in zip(("PyTorch", "OpenCV"), peers, strict=True) if module is None]
    return Table(
        "layouts",
        f"layout conversions of about {format_bytes(nbytes)}: shares of memcpy, medians of {repeat}",
        {
            "case": ("conversion", str),
            "memcpy": ("memcpy", format_rate),
            "share": ("isoviz", share),
            "two_threads": ("2 threads", share),
            **{name: (heading, share) for name, heading in PEERS.items()},
        },
        rows,
        (*_notes(rows), *(f"{name} is not installed: no figures" for name in missing)),
    )


def _notes(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    suite = [row for row in rows if row["group"] not in ("random", "small")]
    converting = [row for row in suite if row["group"] != "identical"]
    shares = [row["share"] for row in converting]
    slower = [row["case"] for row in suite for peer in PEERS if (row[peer] or 0) > row["share"]]
    least = min(converting, key=lambda row: row["share"])
    yield f"{kernels.state()}; {kernels.suiting()}"
    yield f"{len(shares)} conversions: geometric mean {statistics.geometric_mean(shares):.2f} of memcpy, one thread"
    yield f"least {least['share']:.2f} ({least['case']}); slower than a peer: {', '.join(dict.fromkeys(slower)) or 'none'}"
    for group, what in (("random", "random conversions"), ("small", f"of a {SMALL}th of the size")):
        drawn = sorted([row for row in rows if row["group"] == group], key=lambda row: row["share"])
        mean, numpy = (statistics.geometric_mean([row[name] for row in drawn]) for name in ("share", "numpy"))
        behind = [row["case"] for row in drawn if row["numpy"] > row["share"]]
        tenth = drawn[len(drawn) // 10]["share"]
        yield (
            f"{len(drawn)} {what}: geometric mean {mean:.2f}, one in ten below {tenth:.2f}; NumPy {numpy:.2f}; "
            f"slower than NumPy: {', '.join(behind) or 'none'}"
        )
    both = [row for row in converting if row["two_threads"]]
    if both:
        most = max(row["two_threads"] for row in both)
        left = [row for row in both if row["share"] <= most / TOGETHER]
        gain = [statistics.geometric_mean([row["two_threads"] / row["share"] for row in rows]) for rows in (both, left) if rows]
        said = f"two threads: {gain[0]:.2f} times one, geometric mean; memory gives them {most:.2f} of memcpy at most"
        if left:
            said += f", and of the {len(left)} conversions that leave them {TOGETHER} times as much they make {gain[1]:.2f} times"
        yield said
    yield "the limit is memcpy, which reads and writes every byte once; it is not the sum of rates for reading and for writing"


def share(value: float | None) -> str:
    """A share of `memcpy`, written out."""
    return "–" if value is None else f"{value:.2f}"


def measured(case: Case, repeat: int, torch: Any, cv2: Any) -> dict[str, Any]:
    """A row: medians of interleaved rounds as shares of `memcpy`, for isoviz and for its peers (None: not there)."""
    copies = case.copies()
    total = sum(copy.nbytes for copy in copies)
    reach = [_reach(copies, end) for end in (1, 2)]
    source, destination, plain = (page_aligned(reach[k]) for k in (0, 1, 0))
    source[:] = np.random.default_rng(1).integers(0, 256, len(source), np.uint8)
    destination[:], plain[:] = 0, 0
    addresses = plain.ctypes.data, source.ctypes.data
    actions: dict[str, Callable[[], object] | None] = {
        "memcpy": lambda: ctypes.memmove(*addresses, total),
        "isoviz": lambda: copy_all(copies, source, destination, _nothing),
        "two_threads": (lambda: copy_all(copies, source, destination, _nothing, threads=2))
        if (os.cpu_count() or 1) > 1
        else None,
        "numpy": lambda: apply(copies, source, destination),
        "torch": _by_torch(torch, copies, source, destination),
        "opencv": _by_opencv(cv2, copies, source, destination),
    }
    times: dict[str, list[float]] = {name: [] for name, action in actions.items() if action is not None}
    for turn in range(repeat):
        for name in times:
            if turn >= 2 and name in ("numpy", "torch") and min(times[name]) > 4 * min(times["isoviz"]):
                continue  # It has lost, and more digits of its time are not needed.
            action = actions[name]
            assert action is not None
            times[name].append(seconds_of(action))
    medians = {name: statistics.median(found) for name, found in times.items()}
    shares = {name: medians["memcpy"] / medians[name] if name in medians else None for name in actions}
    return {
        "group": case.group,
        "case": case.name,
        "conversion": f"{case.source} → {case.destination} ({case.space}; fields of {', '.join(map(str, case.fields.sizes))} B)",
        "bytes": total,
        "memcpy": total / medians["memcpy"],
        "share": shares["isoviz"],
        **{name: shares[name] for name in ("two_threads", *PEERS)},
    }


def _nothing() -> None:
    """Nobody cancels."""


def _reach(copies: Sequence[StridedCopy], end: int) -> int:
    found = 0
    for copy in copies:
        offset = copy.source_offset if end == 1 else copy.destination_offset
        found = max(found, offset + copy.run + sum((loop[0] - 1) * loop[end] for loop in copy.loops))
    return found
