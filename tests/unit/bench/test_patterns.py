"""The access patterns of programs: as many blocks, as long, as their definitions say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from isoviz import Transfer
from isoviz.bench.patterns import kv_cache, pattern, patterns, sample
from isoviz.errors import InputError
from isoviz.layouts import Box, apply, strided_copies

Blocks = tuple[int, int]
BLOCKS: dict[str, Callable[..., Blocks]] = {
    "MILC_su3_zd": lambda x, y, z, t: (2 * t, 12 * x * y),
    "NAS_LU_x": lambda x, y: (1, 40 * x),
    "NAS_LU_y": lambda x, y: (y, 40),
    "NAS_MG_x": lambda x, y, z: ((y - 2) * (z - 2), 8),
    "NAS_MG_y": lambda x, y, z: (z - 2, 8 * (x - 2)),
    "NAS_MG_z": lambda x, y, z: (y - 2, 8 * (x - 2)),
    "SPECFEM3D_mt": lambda c, gap, n: (n, 4 * c),
    "FFT2": lambda n, ranks: (n // ranks, 16 * n // ranks),
    "WRF_x": lambda x, y, wide: (4 * y + 5 * 65 * y, 4 * x),
    "WRF_y": lambda x, y, wide: (4 * y + 5 * 65 * y, 4 * x),
}
"""The number of blocks of a pattern at its source, and the bytes of each, by its sizes."""


def blocks(transfers: list[Transfer], end: str) -> tuple[int, set[int]]:
    count, lengths = 0, set()
    for each in transfers:
        view = each.source_view() if end == "source" else each.destination_view()
        for copy in strided_copies(view, view, Box.whole(each.space), each.field_names):
            count += copy.nbytes // copy.run
            lengths.add(copy.run)
    return count, lengths


def test_blocks_of_ddtbench() -> None:
    seen = set()
    for each in patterns("DDTBench").values():
        kind, sizes = each.name.split()
        if kind not in BLOCKS:
            continue
        count, nbytes = BLOCKS[kind](*map(int, sizes.split("×")))
        transfers = each.transfers()
        assert sum(transfer.nbytes for transfer in transfers) == count * nbytes, each.name
        assert blocks(transfers, "source") == (count, {nbytes}), each.name
        seen.add(kind)
    assert seen == set(BLOCKS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MILC A", (64, 768)),
        ("MILC D", (64, 6144)),
        ("NAS_MG_y A", (64, 4080)),
        ("NAS_MG_y C", (118, 16368)),
        ("SPECFEM3D_mt C", (128, 4096)),
        ("vector 16 × 1024 B", (16, 1024)),
        ("stencil 128³, face x", (128 * 128, 8)),
        ("stencil 128³, face y", (128, 1024)),
        ("stencil 128³, face z", (1, 128 << 10)),
    ],
)
def test_sizes_of_paper_002(name: str, expected: Blocks) -> None:
    (made,) = (found := pattern(name)).transfers("node0.fbm0", "node1.fbm0")
    assert found.family == "UMR" and (made.source.memory, made.destination.memory) == ("node0.fbm0", "node1.fbm0")
    assert blocks([made], "source") == (expected[0], {expected[1]})


def test_an_exchange_that_transposes_turns_at_the_destination() -> None:
    (made,) = pattern("FFT2 256×4").transfers()
    assert made.converts
    assert blocks([made], "destination") == (64, {64 * 16})


@pytest.mark.parametrize(
    "name", ["WRF_y 11×3×19", "LAMMPS_atomic 114×1217", "SPECFEM3D_cm 1957×245", "KV all layers, an array each"]
)
def test_arrays_of_a_struct_are_one_transfer(name: str) -> None:
    found = pattern(name)
    several = found.transfers()
    assert len(several) > 1
    assert found.transfer().nbytes == sum(each.nbytes for each in several)
    assert pattern("MILC A").transfer() == pattern("MILC A").transfers()[0]


def test_a_cache_moves_the_pages_that_lists_name() -> None:
    """Tokens before heads become heads before tokens."""
    (made,) = kv_cache(("node0.sys", "node0.sys"), pages=2, of=3, heads=2, order=("NHD", "HND"))
    space = made.source.space
    cache = np.arange(space.volume, dtype=np.int64) % 60_000
    source = cache.astype("u2").reshape([space[dim] for dim in ("l", "kv", "p", "t", "h", "d")])
    room = np.zeros(space.volume, "u2")
    copies = strided_copies(made.source_view(), made.destination_view(), Box.whole(made.space), made.field_names)
    apply(copies, source.view(np.uint8).reshape(-1), room.view(np.uint8))
    found = room.reshape([space[dim] for dim in ("l", "kv", "p", "h", "t", "d")])
    for here, there in zip(sample(2, 3, 1), sample(2, 3, 2), strict=True):
        assert np.array_equal(found[0, :, there], source[0, :, here].swapaxes(1, 2))


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"pattern 'MILC Z': expected one of MILC A, MILC B, MILC C, MILC D"):
        pattern("MILC Z")
    with pytest.raises(InputError, match="family 'umr'; expected one of DDTBench"):
        patterns("umr")
