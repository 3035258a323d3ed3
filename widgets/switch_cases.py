"""Runs of switches of a Data Vortex, for the tests of the browser's own switch (`tests/vortex-python.test.ts`).

    python widgets/switch_cases.py FILE [COUNT [SEED]]

Each case has a switch, its traffic (a list, or chances with a seed), and when each packet entered and left, with its deflections.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from isoviz.vortex import Drawn, Recorded, Switch


class Chances:
    """Traffic of any chances."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn

    def packets(self, *_: int) -> Drawn:
        return self.drawn


def case(rng: random.Random, number: int) -> dict[str, Any]:
    """A switch with a list in every second case, else with drawn packets."""
    angles = rng.randrange(1, 7)
    inputs, outputs = (rng.sample(range(angles), rng.randrange(1, angles + 1)) for _ in range(2))
    switch, cycles = Switch(2 ** rng.randrange(7), angles, inputs, outputs), rng.randrange(20, 200)
    found: dict[str, Any] = {"shape": {"heights": switch.heights, "angles": angles, "inputs": inputs, "outputs": outputs}}
    if number % 2:
        count = rng.randrange(1, 1 + min(3000, switch.inputs_count * cycles))
        sent = [[rng.randrange(size) for _ in range(count)] for size in (switch.inputs_count, switch.outputs_count, cycles)]
        run = switch.run(Recorded(*sent), cycles)
        found |= {"list": sent}
    else:
        load, seed, backlog = rng.choice((rng.random(), 1)), rng.randrange(1 << 32), rng.randrange(1, 20)
        to = [rng.randrange(-1, switch.outputs_count) for _ in range(switch.inputs_count)] if rng.random() < 0.2 else None
        chances = Drawn(load, rng.choice((0, 1 + 9 * rng.random())), rng.choice((0, rng.random())), switch.outputs_count - 1, to)
        run = switch.run(Chances(chances), cycles, seed=seed, backlog=backlog, record=True)
        drawn = {key: value for key, value in chances._asdict().items() if value is not None}
        found |= {"drawn": drawn, "seed": seed, "backlog": backlog, "refused": run.refused}
    assert run.packets is not None
    packets = [run.packets.inputs, run.packets.outputs, run.packets.entered, run.packets.left, run.packets.deflections]
    return found | {"cycles": cycles, "hops": run.hops, "offered": run.offered, "packets": [each.tolist() for each in packets]}


def written(path: Path, count: int, seed: int) -> None:
    """Write `count` cases."""
    rng = random.Random(seed)
    cases = [case(rng, number) for number in range(count)]
    path.write_text(json.dumps({"runs": cases}, separators=(",", ":")), encoding="ascii")


if __name__ == "__main__":
    _, target, *numbers = sys.argv
    written(Path(target), *(int(given) for given in (*numbers, *("100", "20261129")[len(numbers) :])))
