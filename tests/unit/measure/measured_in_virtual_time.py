"""A bench for probes on which the simulator runs the jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from isoviz.machines import Machine
from isoviz.measure.channel_timer import rates_together
from isoviz.measure.jobs import Job, job_plan
from isoviz.measure.steps import TWIN
from isoviz.planner import Plan, Transfer
from isoviz.planner import plan as make_plan
from isoviz.runtime import Simulator


class VirtualTimer:
    """A bench on which the simulator runs the jobs; `machine_with` gives the true machine for how many requests are in flight."""

    def __init__(self, machine_with: Callable[[Machine], Machine]) -> None:
        self.machine_with = machine_with
        self.jobs: list[Job] = []

    def seconds(self, machine: Machine, job: Job) -> float:
        self.jobs.append(job)
        true = self.machine_with(machine)
        return self._end(true, job_plan(true, job))

    def submitted_seconds(self, machine: Machine, job: Job) -> float:
        return self.seconds(machine, job)

    def prepared_seconds(self, machine: Machine, job: Job) -> float:
        return self.seconds(machine, job)

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        true = self.machine_with(machine)
        return self._end(true, make_plan(transfer, true))

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        true = self.machine_with(machine)
        if any(channel.name == TWIN for channel in machine.channels):
            twin = machine.channel(TWIN)
            (like,) = true.between(twin.source, twin.destination)
            true = replace(true, channels=(*true.channels, replace(like, name=TWIN)))
        simulator = Simulator(true)
        for job in jobs:
            simulator.submit(job_plan(true, job))
        rates = rates_together(simulator.run())
        assert rates is not None
        return rates

    @staticmethod
    def _end(true: Machine, plan: Plan) -> float:
        simulator = Simulator(true)
        simulator.submit(plan)
        return max(span.end for span in simulator.run().requests)
