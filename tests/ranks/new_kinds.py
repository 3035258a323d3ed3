"""Uses of kinds that two new files each have added: `new_kinds.py memory FOLDER`, and `channel FOLDER` under mpiexec."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import added_modules
import numpy as np
from client_arrays import table, turned
from given.rank_program import begin

import isoviz
from isoviz.backends.mpi.world import World
from isoviz.figures import machine_throughput_figure, path_svg
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, memory_kinds, preset
from isoviz.measure.ranks import rank_probe
from isoviz.measure.ranks.ranks_machine import kinds_between
from isoviz.measure.ways import Effort
from isoviz.runtime.ranks.rank_engine import RankEngine
from isoviz.this_computer import this_computer
from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.consequences.where_it_runs import ranks_for
from isoviz.widgets.session import Session

SIZE = 200
FIELDS = isoviz.FieldSpace(a="float32", b="int64")
SHORT = Effort(repeats=1, samples=6, seconds=0.002, limit=0.0)
KIND = "NumpyWindow"


def transfer(source: str, destination: str) -> isoviz.Transfer:
    return isoviz.Transfer.whole(isoviz.IndexSpace(x=SIZE, y=SIZE), FIELDS, source, "<F, x, y>", destination, "<y, x, F>")


def drawn(machine: Machine) -> list[str]:
    """The words and colours of the curves of a machine."""
    plot = machine_throughput_figure(machine)
    (legend,) = plot.legend
    return sorted(f"{item.label.value} {item.renderers[0].glyph.line_color}" for item in legend.items)


def channel() -> dict[str, Any] | None:
    """A kind between ranks is planned, measured, run, drawn and offered. What rank 0 saw of it."""
    found: dict[str, Any] = {}
    with World(limit=20) as world:
        machine = preset("ranks", ranks=2, hosts=list(world.hosts), measure="assumed")
        with RankEngine(machine, world.devices, world.transport) as engine:
            plan = engine.agreed(lambda: isoviz.plan(transfer("node0.reg", "node1.reg"), machine))
            found["planned"] = [hop.kind for hop in plan.every_hop]
            given = table(SIZE)
            array = world.array(given.nbytes)
            if not world.rank:
                array[:] = given.reshape(-1).view(np.uint8)
            ends = (None, array) if world.rank else (array, None)
            report = engine.run(plan, *ends)
            arrived = engine.gather(world.rank == 1 and array.tobytes() == turned(given))
            found["run"] = [report.verified, arrived[1]]
        order = rank_probe.RankOrder(preset("local", measure="assumed"), this_computer(), SHORT, 64 << 20, "2026-01-01")
        listed = kinds_between()["same host"]
        found["listed"] = str(listed[-1])
        rank_probe.kinds_between = lambda: {"same host": (ChannelKind.WINDOW, listed[-1]), "other host": ()}  # two are enough
        probed = rank_probe.probe_in_rank(world, order, lambda _: None, threading.Event())
    if probed is None:
        return None
    measured = [each for each in probed.channels if each.kind == KIND]
    found["measured"] = sorted({each.provenance[: len("measured 2026")] for each in measured})
    found["samples"] = min(len(each.throughput.samples) for each in measured)
    found["drawn"] = [line for line in drawn(machine) if "NumPy" in line]
    found["refused"] = ranks_for(machine, PresetMachine("ranks"), plan).reason
    return found


def memory() -> dict[str, Any]:
    """A kind of memory is described, planned, run, drawn and offered."""
    names, rate = ("node0.sys", "node0.hpm"), LatencyBandwidth(1e-9, 1e10)
    copies = tuple(Channel("", "Memcpy", here, there, rate) for here in names for there in names)
    machine = Machine("huge", (Memory(names[0], "SYS"), Memory(names[1], "HPM")), copies)
    plan = isoviz.plan(transfer("node0.sys", "node0.hpm"), machine)
    given, arrived = table(SIZE), np.zeros(table(SIZE).nbytes, np.uint8)
    report = isoviz.run(plan, given, arrived)
    generated = isoviz.run(isoviz.plan(transfer("node0.hpm", "node0.hpm"), machine))
    ends = {"source": ("node0.sys", "<F, x>"), "destination": ("node0.hpm", "<x, F>")}
    session = Session(settings_for(machine=machine, space={"x": 64}, fields={"a": "f4", "b": "i8"}, **ends))
    derived = session.wait().derived
    session.close()
    picture = path_svg(machine)
    return {
        "listed": "HPM" in map(str, memory_kinds()),
        "run": [report.verified, arrived.tobytes() == turned(given), generated.verified],
        "drawn": picture.count("memory in huge pages") > 0,
        "explorer": [derived.problems, derived.plan is not None],
    }


if __name__ == "__main__":
    begin()
    assert added_modules.ADDED.is_dir()
    if said := {"channel": channel, "memory": memory}[sys.argv[1]]():
        print(json.dumps(said), flush=True)
