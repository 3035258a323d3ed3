"""The machines of submissions: the notebook and its ranks keep the same latest ones, however many are submitted."""

from __future__ import annotations

import random
from dataclasses import replace

from isoviz.launch.rank_station import MOST_MACHINES, RecentMachines, Station, bound_digest
from isoviz.machines import Machine, preset


def machines(count: int) -> list[Machine]:
    """Machines with different figures, as edits on the canvas make them."""
    first = preset("two-node")
    copy, *others = first.channels
    return [replace(first, channels=(replace(copy, setup=1e-6 * k), *others)) for k in range(count)]


def test_a_rank_has_every_machine_that_the_notebook_does_not_send_again() -> None:
    edited, draw = machines(3 * MOST_MACHINES), random.Random(41)
    assert len({bound_digest(machine) for machine in edited}) == len(edited)
    notebook, rank = RecentMachines(), Station()
    again = 0
    for _ in range(1000):
        machine = draw.choice(edited)
        digest = bound_digest(machine)
        is_known = digest in notebook
        again += is_known
        assert rank.submitted_machine(digest if is_known else machine) == machine
        notebook.keep(machine)
        assert len(notebook) <= MOST_MACHINES and len(rank._submitted) == len(notebook)
    assert 0 < again < 1000


def test_a_machine_that_is_used_stays() -> None:
    often, *edited = machines(3 * MOST_MACHINES)
    kept = RecentMachines()
    for machine in edited:
        kept.keep(often)
        kept.keep(machine)
    assert bound_digest(often) in kept and bound_digest(edited[0]) not in kept
