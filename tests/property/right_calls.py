"""A right call of every public function, constructor and method. Tests make them wrong."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from wrong_values import Call, call

import isoviz
from isoviz import layouts, machines, planner, redistribution, runtime
from isoviz.backends.devices import ThisComputer
from isoviz.cli import main
from isoviz.errors import Cancelled
from isoviz.planner.planners import plan as make_plan
from isoviz.runtime.ledger.ledger import Ledger
from isoviz.runtime.ledger.ledger_entry import LedgerEntry, entry_of
from isoviz.widgets import DescribedMachine, Entry, Explorer, FileMachine, PresetMachine, Selection, Settings, settings_in
from isoviz.widgets.chosen.session_file import session_text

MACHINE_FILE = Path(__file__).parents[2] / "examples" / "workstation.machine.json"
TRANSFER_FILE = """
[space]
x = 6
y = 4
[fields]
v = "f8"
[source]
memory = "node0.sys"
layout = "<F, x, y>"
[destination]
memory = "node0.sys"
layout = "<F, y, x>"
origin = {x = 0}
[box]
shape = {x = 5}
fields = ["v"]
[machine]
preset = "local"
measure = "assumed"
[options]
planner = "full"
slot_limit = "32KiB"
slots = 2
planning_time = 1.0
priority = 1
"""


class Things:
    """Right values for arguments. Everything is small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.space = isoviz.IndexSpace(x=6, y=4)
        self.fields = isoviz.FieldSpace(v="f8")
        self.pair = isoviz.FieldSpace(re="f4", im="f8")
        self.layout = isoviz.Layout("<F, x, y>")
        self.linear = self.layout.on(self.space, self.pair)
        self.other = isoviz.Layout("<F, y, x>").on(self.space, self.pair)
        self.machine = machines.preset("local", measure="assumed")
        self.cluster = machines.preset("two-node")
        self.options = isoviz.Options("full", slot_limit="64KiB", planning_time=5.0)
        self.here = isoviz.Instance("node0.sys", self.space, self.fields, "<F, x, y>")
        self.there = isoviz.Instance("node0.sys", self.space, self.fields, "<F, y, x>")
        self.transfer = isoviz.Transfer(self.here, self.there)
        self.plan = make_plan(self.transfer, self.machine)
        self.far = isoviz.Transfer.whole(self.space, self.fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
        self.far_plan = make_plan(self.far, self.cluster)
        self.parted = isoviz.Distribution({"x": 2}, {"x": 1}, (0, 1))
        self.spread = isoviz.DistributedInstance(self.space, self.fields, self.parted, "<F, x, y>", "sys")
        self.turned = isoviz.DistributedInstance(self.space, self.fields, isoviz.Distribution({"y": 2}), "<F, y, x>")
        bus = machines.Resource("bus", 1e9)
        self.shared = machines.Machine("shared", self.machine.memories, self.machine.channels, (bus,))
        self.two = machines.preset("ranks", ranks=2, measure="assumed")
        self.array = np.arange(24.0).reshape(4, 6)
        self.into = np.zeros((6, 4))

    @cached_property
    def engine(self) -> isoviz.Engine:
        return isoviz.Engine(self.machine).__enter__()

    @cached_property
    def trace(self) -> isoviz.Trace:
        return isoviz.simulate(self.far_plan, self.cluster)

    @cached_property
    def report(self) -> isoviz.Report:
        return self.engine.run(self.plan)

    @cached_property
    def explanation(self) -> planner.Explanation:
        return planner.explain(self.far_plan, self.cluster)

    @cached_property
    def layout_choice(self) -> planner.LayoutChoice:
        uses = [isoviz.Use.to("node0.sys", "<F, y, x>"), isoviz.Use.along("x")]
        return isoviz.find_layout(self.space, self.fields, "node0.sys", uses, self.machine, most_plans=4)

    @cached_property
    def whole(self) -> planner.WholeSolution:
        found = planner.whole_solution(self.transfer, self.machine, self.options)
        assert found is not None
        return found

    @cached_property
    def redistribution(self) -> redistribution.RedistributionPlan:
        return isoviz.plan_redistribution(self.spread, self.turned, self.two)

    @cached_property
    def npy(self) -> Path:
        np.save(self.folder / "source.npy", self.array)
        return self.folder / "source.npy"

    @cached_property
    def transfer_file(self) -> Path:
        (self.folder / "transfer.toml").write_text(TRANSFER_FILE, encoding="utf-8")
        return self.folder / "transfer.toml"

    @cached_property
    def plan_file(self) -> Path:
        path = self.folder / "plan.json"
        self.plan.save(path, self.machine)
        return path

    @property
    def fresh(self) -> str:
        return str(self.folder / f"new-{next(_NUMBERS)}")

    def close(self) -> None:
        if "engine" in vars(self):
            self.engine.close()
        planner.CACHE.clear()  # other tests count what is kept


_NUMBERS = itertools.count()
_OURS = object()


def run_words(words: list[str]) -> int:
    """A command line; its error, if it is one from inside."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(words)
    if "internal error" in said.getvalue() or "Traceback" in said.getvalue():
        raise AssertionError(said.getvalue())
    if status not in (0, 1, 2):
        raise AssertionError(f"exit status {status}")
    if status:
        from isoviz.errors import InputError

        raise InputError(said.getvalue())
    return status


def _simulated(things: Things, method: str, *arguments: Any, **keywords: Any) -> Call:
    simulator = isoviz.Simulator(things.cluster)
    simulator.submit(things.far_plan)
    return call(getattr(simulator, method), *arguments, **keywords)


def _submit_and_run(simulator: isoviz.Simulator, *arguments: Any, **keywords: Any) -> isoviz.Trace:
    simulator.submit(*arguments, **keywords)
    return simulator.run()


def _simulator(*, plan: Any, **keywords: Any) -> isoviz.Trace:
    simulator = isoviz.Simulator(**keywords)
    simulator.submit(plan)
    return simulator.run()


def _engine(*arguments: Any, plan: Any, **keywords: Any) -> isoviz.Report:
    with isoviz.Engine(*arguments, **keywords) as engine:
        return engine.run(plan)


def _ledger_line(data: object) -> LedgerEntry:
    return LedgerEntry.from_line(json.dumps(data).encode())


def _stopped(*_: object) -> None:
    raise Cancelled("the test has seen enough")


def _first(count: int, found: Iterator[Any]) -> list[Any]:
    return list(itertools.islice(found, count))


def _json(function: Callable[..., Any], data: Any, *more: Any) -> Call:
    return Call(function, [data, *more], is_json=True, kept=frozenset(range(1, 1 + len(more))))


def _text(read: Callable[[Any], Any], text: str, folder: Path | None = None) -> Call:
    """A reader of a text, or of a file in a folder."""

    def from_file(text: str) -> Any:
        assert folder is not None
        (folder / "read").write_bytes(text.encode("utf-8", "surrogatepass"))
        return read(folder / "read")

    return Call(read if folder is None else from_file, [text], is_text=True)


def _engine_of(memory: Any, channel: Any) -> isoviz.Report:
    """A run with devices of the caller, whose factories make these."""
    machine = machines.preset("local", measure="assumed")
    kinds = {machines.MemoryKind("SYS"): lambda _: memory}, {machines.ChannelKind("Memcpy"): lambda *_: channel}
    devices = ThisComputer(
        memories=kinds[0] if memory is not _OURS else None, channels=kinds[1] if channel is not _OURS else None
    )
    transfer = isoviz.Transfer.whole(
        isoviz.IndexSpace(x=4), isoviz.FieldSpace(v="f8"), "node0.sys", "<F, x>", "node0.sys", "<x, F>"
    )
    with isoviz.Engine(machine, devices) as engine:
        return engine.run(make_plan(transfer, machine))


def _prepared(engine: isoviz.Engine, *arguments: Any, **keywords: Any) -> None:
    """A prepared transfer, started twice."""
    with engine.prepare(*arguments, **keywords) as prepared:
        for _ in range(2):
            prepared.start().wait(5.0)


def _registered_preset(*fields: Any) -> machines.PresetInfo:
    return machines.register_preset(machines.PresetInfo(*fields))


def _shown(show: Callable[..., Any], *arguments: Any, **keywords: Any) -> str:
    """A widget, closed again."""
    widget = show(*arguments, **keywords)
    try:
        return repr(widget)
    finally:
        widget.close()


def _words(*words: str) -> Call:
    return Call(run_words, [list(words)], is_words=True)


def _kept(right: Call, *places: int | str) -> Call:
    right.kept = frozenset(places)
    return right


def _probe(things: Things) -> Call:
    return _kept(
        call(isoviz.probe, [str(things.folder)], ranks=None, gpus=False, thorough=False, progress=_stopped, keep=False),
        "progress",
    )


def _redistributed(things: Things) -> dict[str, Any]:
    return redistribution.redistribution_to_json(things.redistribution)


def _ranks(things: Things) -> Call:
    right = call(
        isoviz.ranks,
        2,
        cluster=None,
        attach=None,
        mpiexec="/no/such/mpiexec",
        python="/no/such/python",
        address=None,
        options=("-v",),
        environment={"A": "1"},
        heartbeat=0.5,
        silence=6.0,
        start_timeout=1.0,
    )
    return _kept(right, "mpiexec", "cluster", "attach")


SPACE_KEYS = {"x": 6, "y": 4}
CONSTANT = machines.Constant(1e9)
LATENCY = machines.LatencyBandwidth(1e-6, 1e9)
SAMPLED = machines.Sampled(((1.0, 1e8), (100.0, 1e9)))

LAYOUTS: dict[str, Callable[[Things], Call]] = {
    "EntryList": lambda it: call(isoviz.layouts.EntryList, [3, 0, 2]),
    "EntryList.random": lambda it: call(isoviz.layouts.EntryList.random, 3, 8, seed=1, in_order=True),
    "EntryList.from_json": lambda it: call(isoviz.layouts.EntryList.from_json, isoviz.layouts.EntryList([3, 0, 2]).to_json()),
    "Box": lambda it: call(isoviz.Box, (0, 0), (6, 4)),
    "Box.whole": lambda it: call(isoviz.Box.whole, it.space),
    "IndexSpace": lambda it: call(isoviz.IndexSpace, x=6, y=4),
    "IndexSpace.of": lambda it: call(isoviz.IndexSpace.of, {"x": 6, "y": 4}),
    "IndexSpace[]": lambda it: call(it.space.__getitem__, "x"),
    "IndexSpace in": lambda it: call(it.space.__contains__, "x"),
    "FieldSpace": lambda it: call(isoviz.FieldSpace, re="f4", im="f8"),
    "FieldSpace.of": lambda it: call(isoviz.FieldSpace.of, {"re": "f4", "im": "f8"}),
    "FieldSpace.index": lambda it: call(it.pair.index, "re"),
    "FieldSpace.subset": lambda it: call(it.pair.subset, ("re",)),
    "FieldSpace in": lambda it: call(it.pair.__contains__, "re"),
    "Layout": lambda it: call(isoviz.Layout, "<F, x, y>"),
    "Layout of parts": lambda it: call(isoviz.Layout, [layouts.FIELDS, layouts.Component("x"), layouts.Component("y")]),
    "Layout.aos": lambda it: call(isoviz.Layout.aos, "x", "y"),
    "Layout.soa": lambda it: call(isoviz.Layout.soa, "x", "y"),
    "Layout.row_major": lambda it: call(isoviz.Layout.row_major, "x", "y"),
    "Layout.column_major": lambda it: call(isoviz.Layout.column_major, "x", "y"),
    "Layout.blocked": lambda it: call(isoviz.Layout.blocked, {"x": 2}, "x", "y", fields="first"),
    "Layout.on": lambda it: call(it.layout.on, it.space, it.pair),
    "Component": lambda it: call(layouts.Component, "x", "in", 0, 4),
    "FieldsComponent": lambda it: call(layouts.FieldsComponent),
    "Linearization": lambda it: call(layouts.Linearization, it.layout, it.space, it.pair),
    "Linearization.strides": lambda it: call(it.linear.strides, "re"),
    "Linearization.field_base": lambda it: call(it.linear.field_base, "re"),
    "Linearization.steps": lambda it: call(it.linear.steps, "x", "re"),
    "Linearization.dim_offsets": lambda it: call(it.linear.dim_offsets, "x", "re"),
    "Linearization.offset": lambda it: call(it.linear.offset, (1, 2), "re"),
    "Linearization.offset by name": lambda it: call(it.linear.offset, {"x": 1, "y": 2}, "re"),
    "Linearization.offsets": lambda it: call(it.linear.offsets, ([1, 2], [2, 3]), "re"),
    "Linearization.offsets by name": lambda it: call(it.linear.offsets, {"x": np.array([1]), "y": 2}, "re"),
    "Linearization.locate": lambda it: call(it.linear.locate, 5),
    "Linearization.order": lambda it: call(lambda: _first(5, it.linear.order())),
    "Linearization.same_as": lambda it: call(it.linear.same_as, it.other),
    "ChunkSequence": lambda it: call(layouts.ChunkSequence, it.linear, 1, 2),
    "ChunkSequence.first_byte": lambda it: call(layouts.ChunkSequence(it.linear, 1, 2).first_byte, 1),
    "ChunkSequence[]": lambda it: call(layouts.ChunkSequence(it.linear, 1, 2).__getitem__, 1),
    "ChunkSequence.padded_parts": lambda it: call(layouts.ChunkSequence(it.linear, 1, 2).padded_parts, 1, (0, 0)),
    "View": lambda it: call(layouts.View, it.linear, (0, 0), 0),
    "apply": lambda it: call(
        layouts.apply,
        layouts.strided_copies(layouts.View(it.linear), layouts.View(it.other), isoviz.Box((0, 0), (6, 4))),
        np.zeros(it.linear.nbytes, "u1"),
        np.zeros(it.other.nbytes, "u1"),
    ),
    "compare": lambda it: call(layouts.compare, it.linear, it.other),
    "order_change": lambda it: call(layouts.order_change, it.linear, it.other, block=None),
    "warp_load": lambda it: call(layouts.warp_load, it.linear, "x", (0, 0), 8, "re"),
    "pieces_along": lambda it: call(layouts.pieces_along, it.linear, "x", (0, 0), 64, "re"),
    "Layout.of": lambda it: call(isoviz.Layout.of, it.array, ("x", "y")),
    "view_of_array": lambda it: call(layouts.view_of_array, it.array, ("x", "y")),
    "strided_copies": lambda it: call(
        layouts.strided_copies, layouts.View(it.linear), layouts.View(it.other), isoviz.Box((0, 0), (6, 4)), ["re"], padding=False
    ),
}

MACHINES: dict[str, Callable[[Things], Call]] = {
    "Channel": lambda it: call(
        machines.Channel,
        "a->b",
        "Memcpy",
        "a",
        "b",
        CONSTANT,
        setup=1e-6,
        alignment=1,
        resources=(("bus", 1.0),),
        max_in_flight=2,
        provenance="assumed",
        conversion_setup=0.0,
        costs=(machines.OneTimeCost("pin", 1e-6),),
        descriptors=4,
        request_seconds=0.0,
    ),
    "Channel.rate": lambda it: call(it.machine.channels[0].rate, 64.0),
    "Channel.requests": lambda it: call(it.machine.channels[0].requests, machines.CopyShape(100.0, 10.0)),
    "Channel.seconds": lambda it: call(it.machine.channels[0].seconds, machines.CopyShape(100.0, 10.0)),
    "ChannelKind": lambda it: call(machines.ChannelKind, "Memcpy"),
    "MemoryKind": lambda it: call(machines.MemoryKind, "SYS"),
    "Constant": lambda it: call(machines.Constant, 1e9),
    "Constant()": lambda it: call(CONSTANT, 64.0),
    "Constant.inverse": lambda it: call(CONSTANT.inverse, 1e8),
    "LatencyBandwidth": lambda it: call(machines.LatencyBandwidth, 1e-6, 1e9),
    "LatencyBandwidth()": lambda it: call(LATENCY, 64.0),
    "LatencyBandwidth.inverse": lambda it: call(LATENCY.inverse, 1e8),
    "Sampled": lambda it: call(
        machines.Sampled,
        ((1.0, 1e8), (100.0, 1e9)),
        (0.1, 0.2),
        "2026-01-01",
        ((1.0, 1e8), (100.0, 1e9)),
        ((0.9, 1.1), (0.9, 1.1)),
    ),
    "Sampled.from_measurement": lambda it: call(
        machines.Sampled.from_measurement, [(1, 1e8), (100, 1e9)], [0.1, 0.1], "2026-01-01"
    ),
    "Sampled.with_gap": lambda it: call(machines.Sampled.with_gap, 1e-6, 1e9),
    "Sampled()": lambda it: call(SAMPLED, 64.0),
    "Sampled.inverse": lambda it: call(SAMPLED.inverse, 2e8),
    "Limits": lambda it: call(machines.Limits, 1 << 20, memory_limit=1 << 22, slots=2, overlap=True, chunk_seconds=0.0),
    "Machine": lambda it: call(
        machines.Machine,
        "m",
        it.machine.memories,
        it.machine.channels,
        it.machine.resources,
        limits=it.machine.limits,
        provenance="p",
        measurement=None,
        positions={"node0.sys": (0.0, 1.0)},
    ),
    "Machine.emulated": lambda it: call(it.machine.emulated, ["node0.sys"]),
    "Machine.memory": lambda it: call(it.machine.memory, "node0.sys"),
    "Machine.channel": lambda it: call(it.machine.channel, "node0.sys->node0.sys"),
    "Machine.resource": lambda it: call(it.shared.resource, "bus"),
    "Machine.outgoing": lambda it: call(it.machine.outgoing, "node0.sys"),
    "Machine.between": lambda it: call(it.machine.between, "node0.sys", "node0.dsk"),
    "Memory": lambda it: call(
        machines.Memory, "a", "SYS", 0, capacity=1 << 30, slot_limit=1 << 20, label="a", emulated=False, device=None
    ),
    "OneTimeCost": lambda it: call(
        machines.OneTimeCost, "pin", 1e-6, "transfer", cached_by="", only_converting=False, only_following=False, kept=True
    ),
    "OneTimeCost.least": lambda it: call(machines.OneTimeCost("pin", 1e-6).least, True),
    "Resource": lambda it: call(machines.Resource, "bus", 1e9, "assumed", held=False),
    "Resource.cost": lambda it: call(machines.Resource("bus", 1e9).cost, 1.0, 1e8),
    "PresetOption": lambda it: call(machines.PresetOption, 1, "words", ("a", "b")),
    "draw": lambda it: call(machines.draw, it.machine),
    "load": lambda it: call(machines.load, str(MACHINE_FILE)),
    "save": lambda it: call(machines.save, it.machine, it.fresh),
    "machine_from_json": lambda it: _json(machines.machine_from_json, json.loads(MACHINE_FILE.read_text())),
    "machine_from_json (cluster)": lambda it: _json(machines.machine_from_json, machines.machine_to_json(it.cluster)),
    "machine_to_json": lambda it: call(machines.machine_to_json, it.machine),
    "monotone": lambda it: call(machines.monotone, [(1, 1e8), (100, 1e9)]),
    "preset": lambda it: call(machines.preset, "sapling", nodes=2, gpus=1),
    "preset (local)": lambda it: _kept(call(machines.preset, "local", measure="assumed"), "measure"),
    "ChannelKind.words_for": lambda it: call(machines.ChannelKind.words_for, "Memcpy"),
    "MemoryKind.words_for": lambda it: call(machines.MemoryKind.words_for, "SYS"),
    "ChannelKind.of": lambda it: call(machines.ChannelKind.of, "channel", "kind", "Memcpy"),
    "MemoryKind.of": lambda it: call(machines.MemoryKind.of, "memory", "kind", "SYS"),
    "memory_kinds": lambda it: call(machines.memory_kinds),
    "channel_kinds": lambda it: call(machines.channel_kinds),
    "presets": lambda it: call(isoviz.presets),
    "machine_argument": lambda it: call(machines.machine_argument, "call", "two-node"),
    "register_preset": lambda it: call(
        _registered_preset, f"preset-{next(_NUMBERS)}", "d", {}, partial(machines.preset, "two-node")
    ),
    "rates_beside": lambda it: call(machines.rates_beside, it.machine, it.cluster),
    "register_channel_kind": lambda it: call(
        machines.register_channel_kind,
        f"kind-{next(_NUMBERS)}",
        sources=["SYS"],
        destinations=["SYS"],
        crosses_nodes=False,
        is_host_copy=False,
        in_flight=1,
        description="d",
    ),
    "register_memory_kind": lambda it: call(
        machines.register_memory_kind,
        f"kind-{next(_NUMBERS)}",
        is_host=False,
        holds_buffers=True,
        is_file_system=False,
        device="number",
        description="d",
    ),
    "shortest_path": lambda it: call(machines.shortest_path, it.cluster, "node0.fbm0", "node1.fbm0"),
    "throughput_from_json": lambda it: _json(machines.throughput_from_json, SAMPLED.to_json()),
}

PLANNER: dict[str, Callable[[Things], Call]] = {
    "Instance": lambda it: call(isoviz.Instance, "node0.sys", it.space, it.fields, "<F, x, y>", path=None),
    "Transfer": lambda it: call(
        isoviz.Transfer,
        it.here,
        it.there,
        shape=(5, 4),
        source_origin=(1, 0),
        destination_origin=(0, 0),
        field_names=("v",),
        priority=1,
    ),
    "Transfer (by name)": lambda it: call(
        isoviz.Transfer, it.here, it.there, shape={"x": 5, "y": 4}, source_origin={"x": 1, "y": 0}
    ),
    "Transfer.whole": lambda it: call(
        isoviz.Transfer.whole, it.space, it.fields, "node0.sys", "<F, x, y>", "node0.sys", "<F, y, x>", priority=1
    ),
    "Transfer.part": lambda it: call(it.transfer.part, isoviz.Box((0, 0), (3, 4))),
    "listed_transfer": lambda it: call(
        planner.listed_transfer, it.here, it.there, {"x": [3, 0, 2]}, {"x": [1, 2, 0]}, field_names=("v",), priority=1
    ),
    "bundle": lambda it: call(
        isoviz.bundle,
        [it.transfer.part(isoviz.Box((0, 0), (2, 4))), it.transfer.part(isoviz.Box((2, 0), (3, 4)))],
        priority=1,
    ),
    "Options": lambda it: call(
        isoviz.Options, "full", slot_limit="32KiB", memory_limit=1 << 22, slots=2, planning_time=1.0, reuse=3
    ),
    "Options.given": lambda it: call(isoviz.Options.given, it.options),
    "plan": lambda it: call(isoviz.plan, it.far, it.cluster, planner="simple", options=it.options),
    "explain": lambda it: call(isoviz.explain, it.transfer, it.machine, "simple", it.options, crossovers=0),
    "explain (a plan)": lambda it: call(isoviz.explain, it.plan, it.machine, options=it.options, turns=0),
    "explanation_text": lambda it: call(planner.explanation_text, it.explanation, 10),
    "explanation_from_json": lambda it: _json(planner.explanation_from_json, it.explanation.to_json()),
    "whole_explanation_to_json": lambda it: call(planner.whole_explanation_to_json, it.explanation),
    "explanation_to_json": lambda it: call(planner.explanation_to_json, it.explanation, 3),
    "sweep": lambda it: call(isoviz.sweep, it.transfer, it.machine, "slot_limit", [1 << 16, 1 << 20], options=it.options),
    "sweep (two)": lambda it: call(isoviz.sweep, it.transfer, it.machine, ("run", "runs"), ([64, 1 << 12], [4, 16])),
    "Use": lambda it: call(isoviz.Use, "to", "node0.sys", "<F, y, x>", "", 2.0, (("x", 1),), ("v",)),
    "Use.to": lambda it: call(isoviz.Use.to, "node0.sys", "<F, y, x>", weight=2.0, shape={"x": 1}, fields=("v",)),
    "Use.from_": lambda it: call(isoviz.Use.from_, "node0.sys", "<F, y, x>", weight=2.0, shape={"x": 1}, fields=("v",)),
    "Use.along": lambda it: call(isoviz.Use.along, "y", memory="node0.sys", weight=2.0, shape={"x": 1}, fields=("v",)),
    "Use.transfer": lambda it: call(isoviz.Use.along("y").transfer, it.here),
    "find_layout": lambda it: call(
        isoviz.find_layout,
        it.space,
        it.fields,
        "node0.sys",
        [isoviz.Use.to("node0.sys", "<F, y, x>"), isoviz.Use.along("x")],
        it.machine,
        least_runs={"x": 8},
        most_padding=0.5,
        fields_together=True,
        order=("x", "y"),
        count=3,
        planner="full",
        options=it.options,
        most_plans=4,
        progress=None,
        cancel=None,
    ),
    "layout_choice_from_json": lambda it: _json(planner.layout_choice_from_json, it.layout_choice.to_json()),
    "layout_choice_to_json": lambda it: call(planner.layout_choice_to_json, it.layout_choice),
    "plan_by_path": lambda it: call(
        isoviz.plan_by_path,
        it.far,
        it.cluster,
        ["node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0"],
        ("<F, x, y>", "<F, x, y>"),
        chunk="64KiB",
        blocks=None,
        options=it.options,
        over_limits=False,
    ),
    "plan_of_paths": lambda it: call(
        planner.plan_of_paths,
        it.transfer,
        it.machine,
        [({"x": (0, 3)}, ["node0.sys", "node0.sys"]), ({"x": (3, 6)}, ["node0.sys", "node0.sys"], (), None, None)],
        options=it.options,
    ),
    "plan_together": lambda it: call(planner.plan_together, [it.transfer], it.machine, options=it.options),
    "certificate": lambda it: call(planner.certificate, it.plan, it.machine, it.options),
    "certificate_to_json": lambda it: call(planner.certificate_to_json, planner.certificate(it.plan, it.machine)),
    "chunk_curve": lambda it: call(planner.chunk_curve, it.far_plan, it.cluster, it.options),
    "rechunked": lambda it: call(planner.rechunked, it.far_plan, 1, it.cluster),
    "load_transfer": lambda it: call(planner.load_transfer, str(it.transfer_file)),
    "machine_of": lambda it: call(planner.machine_of, it.plan),
    "plan_from_json": lambda it: _json(planner.plan_from_json, planner.plan_to_json(it.plan)),
    "plan_from_json (several hops)": lambda it: _json(planner.plan_from_json, planner.plan_to_json(it.far_plan)),
    "plan_to_json": lambda it: call(planner.plan_to_json, it.plan),
    "transfer_from_json (where)": lambda it: call(
        planner.transfer_from_json, planner.transfer_to_json(it.transfer), where="transfer"
    ),
    "transfer_from_json": lambda it: _json(planner.transfer_from_json, planner.transfer_to_json(it.transfer)),
    "transfer_to_json": lambda it: call(planner.transfer_to_json, it.transfer),
    "WholeSolution.write": lambda it: call(it.whole.write, it.folder / "program.lp"),
    "whole_solution": lambda it: call(planner.whole_solution, it.transfer, it.machine, it.options),
    "Plan.share": lambda it: call(it.plan.share, 0),
    "Plan.changed": lambda it: call(it.plan.changed, per_chunk=1, slots=2),
    "Plan.seconds_of": lambda it: call(it.plan.seconds_of, 1),
    "Plan.views": lambda it: call(it.far_plan.views, 0, 0),
    "Plan.copies": lambda it: call(it.far_plan.copies, 0, 0),
    "register_planner": lambda it: call(
        planner.register_planner, f"planner-{next(_NUMBERS)}", make_plan, about="a plan", meaning="It makes a plan."
    ),
    "save_plan": lambda it: call(planner.save_plan, it.plan, it.fresh, it.machine),
    "load_plan": lambda it: call(planner.load_plan, str(it.plan_file)),
    "registered_planners": lambda it: call(planner.registered_planners),
    "PathPlan.seconds_of": lambda it: call(it.far_plan.paths[0].seconds_of, 1),
    "PathPlan.views": lambda it: call(it.far_plan.paths[0].views, 0, 0),
    "PathPlan.requests": lambda it: call(it.far_plan.paths[0].requests, it.far_plan.hops[0], 1 << 20),
    "PathPlan.chunk_seconds": lambda it: call(it.far_plan.paths[0].chunk_seconds, 1),
    "PathPlan.line": lambda it: call(it.far_plan.paths[0].line, 1, in_requests=False),
    "LayoutChoice.transfers": lambda it: call(it.layout_choice.transfers, it.layout_choice.best),
    "LayoutChoice.trade_off": lambda it: call(it.layout_choice.trade_off, 0, 1),
    "PathPlan.copies": lambda it: call(it.far_plan.paths[0].copies, 0, 0),
}

RUNTIME: dict[str, Callable[[Things], Call]] = {
    "Engine": lambda it: call(
        _engine,
        it.machine,
        None,
        plan=it.plan,
        ledger=Ledger(it.folder / "ledger"),
        policy=runtime.first_come_first_served,
        policies={"node0.sys->node0.sys": runtime.highest_priority_first},
        request_bytes=1 << 20,
        options=it.options,
        record=True,
    ),
    "run": lambda it: call(isoviz.run, it.plan, machine=it.machine, devices=None, verify=True, pipelined=True),
    "measure_layouts": lambda it: call(
        isoviz.measure_layouts, it.layout_choice, it.machine, count=1, repeats=1, devices=None, cancel=None
    ),
    "Engine.copy": lambda it: call(it.engine.copy, it.array, "<F, x, y>", it.into, "<F, y, x>", priority=1),
    "Engine.copy (large)": lambda it: call(
        it.engine.copy, np.zeros((400, 256)), "<F, x, y>", np.zeros((256, 400)), "<F, y, x>", priority=1
    ),
    "Engine.prepare": lambda it: call(partial(_prepared, it.engine), it.plan, it.array, it.into, priority=1),
    "Engine of own devices": lambda it: call(_engine_of, _OURS, _OURS),
    "Engine.submit": lambda it: call(
        it.engine.submit, it.plan, it.array, it.into, priority=1, pipelined=True, cancel=threading.Event()
    ),
    "Engine.run": lambda it: call(
        it.engine.run,
        it.plan,
        it.array,
        it.into,
        verify=True,
        progress=lambda _: None,
        cancel=threading.Event(),
        pipelined=True,
        chunks=1,
        trial=False,
    ),
    "Event.error": lambda it: call(it.engine.submit(it.plan).error, 5.0),
    "Event.wait": lambda it: call(it.engine.submit(it.plan).wait, 5.0),
    "Event.add_done_callback": lambda it: call(it.engine.submit(it.plan).add_done_callback, lambda _: None),
    "Simulator": lambda it: _kept(
        call(
            _simulator,
            plan=it.far_plan,
            machine=it.cluster,
            policy=runtime.first_come_first_served,
            policies={it.cluster.channels[0].name: runtime.highest_priority_first},
            request_bytes=1 << 20,
            in_flight=2,
            fault=lambda _: None,
        ),
        "fault",  # another function here raises errors of its own
    ),
    "Simulator.submit": lambda it: call(
        partial(_submit_and_run, isoviz.Simulator(it.cluster)), it.far_plan, at=1.0, priority=2, pipelined=True, label="a"
    ),
    "Simulator.cancel": lambda it: _simulated(it, "cancel", 0, at=0.0),
    "Simulator.run": lambda it: _simulated(it, "run", until=1.0),
    "Simulator.advance": lambda it: _simulated(it, "advance", until=1.0, most=5),
    "simulate": lambda it: call(
        isoviz.simulate,
        [it.far_plan],
        it.cluster,
        pipelined=True,
        policy=runtime.highest_priority_first,
        request_bytes=1 << 20,
        starts=2,
    ),
    "critical_path": lambda it: call(runtime.critical_path, it.trace),
    "Trace.from_json": lambda it: _json(isoviz.Trace.from_json, it.trace.to_json()),
    "Trace.fill": lambda it: call(it.trace.fill, 0, 0),
    "Trace.channel": lambda it: call(it.trace.channel, it.trace.requests[0]),
    "Trace.ready": lambda it: call(it.trace.ready, it.trace.requests[0]),
    "Trace.waits": lambda it: call(lambda *given: list(it.trace.waits(*given)), it.trace.requests[0]),
    "TransferSpan.payload": lambda it: call(it.trace.transfers[0].payload, 0, 0),
    "TransferSpan.request_bytes": lambda it: call(it.trace.transfers[0].request_bytes, 0, 0),
    "Scheduler": lambda it: call(
        runtime.Scheduler, {"a": 2}, {"m": 1 << 20}, {"a": runtime.highest_priority_first}, runtime.first_come_first_served
    ),
    "Scheduler.of": lambda it: call(runtime.Scheduler.of, it.machine, {}, runtime.highest_priority_first, 2),
    "RankScheduler": lambda it: call(runtime.RankScheduler, 0, {"a": 2}, {"m": 1 << 20}, {}, runtime.highest_priority_first),
    "Coordinator": lambda it: call(runtime.Coordinator, {"m": 1 << 20}),
    "Coordinator.free": lambda it: call(runtime.Coordinator({"m": 1 << 20}).free, "m"),
    "trial": lambda it: call(
        isoviz.trial,
        it.plan,
        it.machine,
        None,
        of=1,
        options=None,
        room=None,
        devices=None,
        entries=(),
        cancel=threading.Event(),
    ),
    "LedgerEntry.from_line": lambda it: _json(_ledger_line, entry_of(it.report, it.machine).to_json()),
}

SPREAD: dict[str, Callable[[Things], Call]] = {
    "Distribution": lambda it: call(isoviz.Distribution, {"x": 2}, {"x": 1}, (0, 1)),
    "Distribution.coordinates": lambda it: call(it.parted.coordinates, 1),
    "Distribution.rank_at": lambda it: call(it.parted.rank_at, {"x": 1}),
    "Distribution.axes": lambda it: call(it.parted.axes, it.space),
    "DistributedInstance": lambda it: call(isoviz.DistributedInstance, it.space, it.fields, it.parted, "<F, x, y>", "sys"),
    "DistributedInstance.part": lambda it: call(it.spread.part, 1),
    "DistributedInstance.owner": lambda it: call(it.spread.owner, {"x": 1, "y": 1}),
    "DistributedInstance.index": lambda it: call(it.spread.index, 0, {"x": 1, "y": 1}),
    "DistributedInstance.coordinates": lambda it: call(it.spread.coordinates, 1),
    "instance_from_json": lambda it: _json(redistribution.instance_from_json, it.spread.to_json()),
    "plan_redistribution": lambda it: call(isoviz.plan_redistribution, it.spread, it.turned, it.two, it.options),
    "redistribution_to_json": lambda it: call(redistribution.redistribution_to_json, it.redistribution),
    "redistribution_from_json": lambda it: _json(redistribution.redistribution_from_json, _redistributed(it)),
    "RedistributionPlan.sent_by": lambda it: call(it.redistribution.sent_by, 0),
    "redistribute": lambda it: _kept(
        call(
            isoviz.redistribute,
            it.spread,
            it.turned,
            ranks=None,
            array=it.array,
            into=None,
            options=it.options,
            verify=True,
            cancel=None,
        )
    ),
    "prepare_redistribution": lambda it: call(
        isoviz.prepare_redistribution, it.spread, it.turned, array=it.array, into=None, options=it.options
    ),
}

FILES: dict[str, Callable[[Things], Call]] = {
    "transfer file": lambda it: _text(planner.load_transfer, TRANSFER_FILE, it.folder),
    "plan file": lambda it: _text(planner.load_plan, it.plan_file.read_text(), it.folder),
    "machine file": lambda it: _text(machines.load, MACHINE_FILE.read_text(), it.folder),
    "session file": lambda it: _text(lambda text: settings_in(text, "session"), session_text(Settings())),
    "ledger line": lambda it: _text(
        lambda text: LedgerEntry.from_line(text.encode("utf-8", "surrogatepass")),
        json.dumps(entry_of(it.report, it.machine).to_json()),
    ),
}
WIDGETS: dict[str, Callable[[Things], Call]] = {
    "Selection": lambda it: call(Selection, {"x": 1, "y": 2}, "re", chunk=1, time=0.5, hop=0),
    "Entry": lambda it: call(Entry, {"x": 1}, "re"),
    "PresetMachine": lambda it: call(PresetMachine, "sapling", (("nodes", "2"),)),
    "DescribedMachine": lambda it: call(DescribedMachine, it.machine),
    "FileMachine": lambda it: call(FileMachine, it.machine, "a.json"),
    "settings_in": lambda it: call(settings_in, session_text(Settings()), "session"),
    "explore": lambda it: call(
        partial(_shown, isoviz.explore),
        example=None,
        session=None,
        machine="xstream",
        machine_options={"gpus": 2},
        space={"x": 8, "y": 8},
        fields={"re": "f4", "im": "f4"},
        source=("node0.sys", "<F, x, y>"),
        destination=("node0.sys", "<x, y, F>"),
        planner="auto",
        slot_limit="1MiB",
        memory_limit=1 << 22,
        part={"x": (0, 4)},
        moved_fields=["re"],
        by_hand=None,
        runs_in="",
        pane="explorer",
        restore=False,
    ),
}
VIEWS = {
    "LayoutEditor": lambda it: call(isoviz.LayoutEditor, "<F, x, y>", space=it.space, fields=it.fields, session=None, side=None),
    "LinearizationView (an array)": lambda it: call(isoviz.LinearizationView, it.array, session=None, side=None),
    "LinearizationView": lambda it: call(isoviz.LinearizationView, it.layout, space={"x": 8, "y": 4}, fields={"v": "f4"}),
    "MachineEditor": lambda it: call(isoviz.MachineEditor, "xstream", session=None),
    "PlanView": lambda it: call(isoviz.PlanView, it.transfer, it.machine, options=it.options),
    "RunPanel": lambda it: call(isoviz.RunPanel, it.plan, machine=it.machine),
    "TraceView": lambda it: call(isoviz.TraceView, it.trace, machine=it.cluster),
    "SwitchView": lambda _it: call(isoviz.SwitchView, isoviz.vortex.Switch(8, 2)),
    "Explorer": lambda it: call(Explorer, Settings(), pane="explorer", side="both"),
}


def _repeated(it: Things) -> Call:
    def repeat(*arguments: Any) -> None:
        panel = isoviz.RunPanel(it.plan, machine=it.machine)
        try:
            panel.repeat(*arguments)
        finally:
            panel.close()

    return call(repeat, 2)


def _told_of_close(recipe: Callable[[Things], Call], it: Things) -> Call:
    shown = recipe(it)

    def close(*arguments: Any) -> None:
        view = shown.function(*shown.arguments, **shown.keywords)
        try:
            view.before_close(*arguments)
        finally:
            view.close()

    return call(close, lambda: None)


def _answered(recipe: Callable[[Things], Call], it: Things) -> Call:
    shown = recipe(it)

    def answer(*arguments: Any) -> str:
        view = shown.function(*shown.arguments, **shown.keywords)
        try:
            return repr(view.answer(*arguments))
        except TimeoutError as late:  # a view that has no time answers nothing, as its docstring says
            return str(late)
        finally:
            view.close()

    return call(answer, 30.0)


def _view(recipe: Callable[[Things], Call], it: Things) -> Call:
    right = recipe(it)
    right.function = partial(_shown, right.function)
    return right


WIDGETS |= {name: partial(_view, recipe) for name, recipe in VIEWS.items()}
WIDGETS["RunPanel.repeat"] = _repeated
WIDGETS |= {f"{name}.before_close": partial(_told_of_close, VIEWS[name]) for name in VIEWS if name != "Explorer"}
ANSWERING = ("LayoutEditor", "LinearizationView", "MachineEditor", "PlanView")
WIDGETS |= {f"{name}.answer": partial(_answered, VIEWS[name]) for name in ANSWERING}
SLOW = {"explore": 8, "RunPanel.repeat": 8, "probe": 4} | dict.fromkeys(VIEWS, 4)
SLOW |= {f"{name}.before_close": 8 for name in VIEWS} | {f"{name}.answer": 8 for name in ANSWERING}
"""How much rarer these are called."""

COMPUTER: dict[str, Callable[[Things], Call]] = {
    "convert": lambda it: call(
        isoviz.convert,
        it.npy,
        it.fresh + ".npy",
        "<F, x, y>",
        "<F, y, x>",
        space=None,
        fields=None,
        memory_limit="1MiB",
        verify=False,
        overwrite=False,
        progress=None,
        cancel=None,
        passes=1,
    ),
    "relayout": lambda it: call(
        isoviz.relayout,
        it.array,
        "<F, x, y>",
        "<F, y, x>",
        space={"x": 6, "y": 4},
        fields=isoviz.FieldSpace(value="f8"),
        out=it.into,
    ),
    "probe": _probe,
    "ranks": _ranks,
}

COMMANDS: dict[str, Callable[[Things], Call]] = {
    "isoviz plan": lambda it: _words("plan", str(it.transfer_file), "--planner=full", "--json"),
    "isoviz cost": lambda it: _words("cost", str(it.transfer_file), "--path=node0.sys,node0.sys", "--json"),
    "isoviz simulate": lambda it: _words("simulate", str(it.transfer_file), "--json"),
    "isoviz run": lambda it: _words("run", str(it.transfer_file), "--no-trial", "--json"),
    "isoviz machine": lambda it: _words("machine", "--preset", "sapling", "--nodes=2", "--json"),
    "isoviz convert": lambda it: _words("convert", str(it.npy), it.fresh + ".npy", "--to", "<F, y, x>", "--memory-limit=1MiB"),
    "isoviz history": lambda it: _words("history", "--last", "3", "--json"),
}
