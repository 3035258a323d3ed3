"""Figure 5: random updates over time, on both networks (section VI)."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np

from isoviz.reproduce import Claim, experiment, under
from isoviz.reproduce.data_vortex.assumptions import MPI, VICS, VortexAssumptions, cycle_of, messages_of, vics
from isoviz.reproduce.data_vortex.timeline import RecordedVic, Timeline, Timelines, of_messages
from isoviz.vortex import Vic
from isoviz.vortex.workloads import random_updates
from isoviz.vortex.workloads.random_updates import AHEAD

TABLE = 1 << 12
SEED = 0


def _recorded(late: float, updates: int, vic: Vic) -> RecordedVic:
    recorded = RecordedVic(vic, late)
    random_updates.on_vics(cast("Vic", recorded), updates, TABLE, SEED)
    return recorded


def _message(found: Any) -> float:
    return float(np.mean([each.words - 1 for each in found["timelines"][MPI].passed]))


@experiment(
    "figure 5",
    "random updates over time",
    section="VI",
    quick={"nodes": 4, "updates": AHEAD},
    claims=(
        Claim("updates to the node of the next one, over chance", "no regularity to aggregate", 1.0, "next", "times").because(
            "which is why a message has as many updates as chance gives it"
        ),
        Claim("MPI: updates of a message, mean", "no figure", None, _message, "count").because(
            "1,024 updates that may be looked ahead, among all nodes"
        ),
    ),
    shows=(
        under("5a, all of it", "a", Timelines("Random updates on both networks")),
        under("5b, close up", "b", Timelines("Random updates on both networks, close up", (0.4, 0.65))),
    ),
    data=lambda found: {"figure5": {network: line.shares() for network, line in found["timelines"].items()}},
)
def figure5(given: VortexAssumptions, nodes: int = 8, updates: int = 8 * AHEAD) -> dict[str, Any]:
    """Timelines of both networks, and how often the `next` update goes to the same node, over chance."""
    with vics(given, nodes) as system:
        late = given.latency + cycle_of(given)
        run = system.run(partial(_recorded, late, updates))
        steps = [step for vic in run.results for step in vic.steps]
        passed = [each for vic in run.results for each in vic.passed]
        on_vics = Timeline(run.by_node, steps, passed).whole()
    with messages_of(given, nodes) as by_messages:
        by_mpi = of_messages(by_messages, by_messages.run(random_updates.on_messages, updates, TABLE, SEED))
    goals = [random_updates.drawn(SEED, node, updates) // TABLE % nodes for node in range(nodes)]
    same = float(np.mean([each[1:] == each[:-1] for each in goals]))
    return {"timelines": {VICS: on_vics, MPI: by_mpi}, "next": same * nodes}
