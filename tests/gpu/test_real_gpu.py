"""Transfers on the real GPU of this computer. They are skipped, with the reason, where there is none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from run_cases import random_bytes, random_layout, random_spaces

from isoviz import Engine, Machine, Transfer, plan
from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.backends.devices import ThisComputer
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def needs_a_gpu() -> None:
    if loaded().driver is None:
        pytest.skip(f"needs a GPU: {loaded().reason}")


def machine() -> Machine:
    kinds = {"fbm0": MemoryKind.FBM, "zcm": MemoryKind.ZCM, "sys": MemoryKind.SYS, "dsk": MemoryKind.DSK}
    memories = tuple(Memory(f"node0.{name}", kind) for name, kind in kinds.items())
    rate = LatencyBandwidth(1e-7, 1e10)
    joined = (
        ("fbm0", "fbm0", ChannelKind.GPU_COPY),
        *(("fbm0", name, ChannelKind.GPU_READ) for name in ("zcm", "sys")),
        *((name, "fbm0", ChannelKind.GPU_WRITE) for name in ("zcm", "sys")),
        *(("dsk", name, ChannelKind.DISK_READ) for name in ("zcm", "sys")),
        *((name, "dsk", ChannelKind.DISK_WRITE) for name in ("zcm", "sys")),
        *((a, b, ChannelKind.MEMCPY) for a in ("zcm", "sys") for b in ("zcm", "sys")),
    )
    channels = tuple(Channel("", kind, f"node0.{a}", f"node0.{b}", rate, max_in_flight=2) for a, b, kind in joined)
    return Machine("this GPU", memories, channels)


def test_random_transfers_are_verified(tmp_path: Path, full: bool) -> None:
    import cupy

    rng = random.Random(1)
    made, pool, pinned = machine(), cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
    for number in range(1000 if full else 50):
        space, fields = random_spaces(rng, largest=rng.choice((12, 80)))
        here, there = random_layout(rng, space), random_layout(rng, space)
        near, far = rng.choice(made.memories).name, rng.choice(made.memories).name
        chosen = plan(Transfer.whole(space, fields, near, here, far, there), made)
        used, free = pool.used_bytes(), pinned.n_free_blocks()
        with Engine(made, ThisComputer(tmp_path)) as engine:
            assert engine.run(chosen).verified, (number, chosen)
        assert pool.used_bytes() == used and pinned.n_free_blocks() >= free


def test_an_array_of_cupy_is_copied(tmp_path: Path) -> None:
    import cupy
    import numpy as np

    data = random_bytes(random.Random(2), 1 << 20).view("u4").reshape(512, 512)
    out = cupy.zeros((512, 512), "u4")
    with Engine(machine(), ThisComputer(tmp_path)) as engine:
        engine.copy(data, "<F, x, y>", out, "<F, y, x>").wait(60)
    assert np.array_equal(out.get(), data.T)
