"""Random transfers on the real GPU of this computer, bit for bit. They are skipped, with the reason, where there is none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from one_gpu import DSK, held, machine, taken
from run_cases import elements, random_bytes, random_layout, random_spaces

from isoviz import Engine, Options, Transfer, plan
from isoviz.backends.cuda import staging
from isoviz.backends.devices import ThisComputer

pytestmark = pytest.mark.gpu
TOGETHER = 10
"""Transfers of one engine."""


def test_random_transfers_move_every_element(
    tmp_path: Path, full: bool, report: Callable[[str, object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other transfer is between arrays and files of the caller; the others are verified by the engine alone."""
    rng, made = random.Random(1), machine()
    kinds: Counter[str] = Counter()
    count = 1000 if full else 40
    for batch in range(0, count, TOGETHER):
        monkeypatch.setattr(staging, "PIECE", rng.choice((4096, 1 << 18, 4 << 20)))
        with Engine(made, ThisComputer(tmp_path), request_bytes=rng.choice((4096, 1 << 16, 1 << 20))) as engine:
            for number in range(batch, batch + TOGETHER):
                space, fields = random_spaces(rng, largest=rng.choice((5, 12, 24, 24, 24, 80)))
                here, there = random_layout(rng, space), random_layout(rng, space)
                near, far = rng.choice(made.memories).name, rng.choice(made.memories).name
                a, b = here.on(space, fields), there.on(space, fields)
                transfer = Transfer.whole(space, fields, near, here, far, there)
                chosen = plan(transfer, made, rng.choice(("full", "simple")), Options(planning_time=0.05))
                kinds.update(str(hop.kind) for hop in chosen.every_hop)
                if number % 2:
                    assert engine.run(chosen).verified, (number, chosen)
                    continue
                data, source, destination = random_bytes(rng, a.nbytes), tmp_path / "in", tmp_path / f"{number}.out"
                ends = held(near, data, source), destination if far == DSK else held(far, np.zeros(b.nbytes, "u1"), destination)
                assert engine.run(chosen, *ends).verified, (number, chosen)
                assert elements(a, data) == elements(b, taken(ends[1])[: b.nbytes]), (number, chosen)
            assert engine.held_bytes == 0
    assert set(kinds) >= {"GPURead", "GPUWrite", "GPUCopy", "DiskRead", "DiskWrite"}, kinds
    report("random transfers on a GPU, equal element by element", count)
