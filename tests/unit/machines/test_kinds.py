"""Kinds of memories and channels: a table that a package outside isoviz extends."""

from __future__ import annotations

import copy
import json
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from html_cases import without_plots

from isoviz.errors import InternalError, MachineError, TransferError
from isoviz.figures import html, machine_throughput_figure, plot_html
from isoviz.found_modules import FoundTable, modules_of
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    channel_kinds,
    draw,
    load,
    machine_from_json,
    machine_to_json,
    memory_kinds,
    register_channel_kind,
    register_memory_kind,
    save,
)
from isoviz.machines.cards import AssumedFigures
from isoviz.planner import Options, Transfer, plan
from isoviz.planner.problem import Problem
from isoviz.planner.transfer import check_ends
from isoviz.runtime import simulate
from isoviz.runtime.ranks.eager import RIDES

HBM = register_memory_kind("HBM", device="text", description="memory of an accelerator")
TAPE = register_memory_kind("TAPE", holds_buffers=False, is_file_system=True, device="directory", description="files on tapes")
CXL = register_memory_kind("CXL", is_host=True, description="memory behind a switch")
HBM_READ = register_channel_kind("HBMRead", sources=[HBM], destinations=["SYS", CXL], description="by the accelerator's engine")
HBM_WRITE = register_channel_kind("HBMWrite", sources=["SYS", CXL], destinations=[HBM])
TAPE_READ = register_channel_kind("TapeRead", sources=[TAPE], destinations=["SYS"])
STREAM = register_channel_kind("Stream", sources=["SYS", "CXL"], destinations=["SYS", "CXL"], is_host_copy=True)


def machine() -> Machine:
    memories = (
        Memory("node0.tape", TAPE, device="/tapes"),
        Memory("node0.sys", MemoryKind.SYS),
        Memory("node0.cxl", CXL, device=3),
        Memory("node0.hbm", HBM, device="accelerator:0", capacity=1 << 34),
    )
    channels = (
        Channel("", TAPE_READ, "node0.tape", "node0.sys", LatencyBandwidth(1e-5, 1e9), alignment=512),
        Channel("", STREAM, "node0.sys", "node0.sys", LatencyBandwidth(1e-8, 1e10)),
        Channel("", STREAM, "node0.sys", "node0.cxl", LatencyBandwidth(1e-8, 1e10)),
        Channel("", HBM_WRITE, "node0.cxl", "node0.hbm", Constant(2e10)),
        Channel("", HBM_READ, "node0.hbm", "node0.sys", Constant(2e10)),
    )
    return Machine("foreign", memories, channels)


def test_a_kind_is_its_name_and_one_object() -> None:
    assert MemoryKind.SYS == "SYS"
    assert hash(MemoryKind.SYS) == hash("SYS")
    assert f"{ChannelKind.GPU_READ}, {MemoryKind.DSK:>5}" == "GPURead,   DSK"
    assert json.dumps([MemoryKind.SYS, ChannelKind.MEMCPY]) == '["SYS", "Memcpy"]'
    assert type(str(MemoryKind.SYS)) is str
    for kind in (*memory_kinds(), *channel_kinds()):
        for made in (pickle.loads(pickle.dumps(kind)), copy.copy(kind), copy.deepcopy(kind), type(kind)(kind.name)):
            assert made is kind
    assert pickle.loads(pickle.dumps(machine())) == machine()
    assert repr(HBM) == "<MemoryKind HBM>"


def test_properties_of_the_kinds_of_isometry() -> None:
    memories, channels = memory_kinds()[:6], channel_kinds()[:27]
    assert [str(kind) for kind in memories] == ["SYS", "REG", "ZCM", "FBM", "DSK", "DV"]
    assert [str(kind) for kind in memories if kind.is_host] == ["SYS", "REG", "ZCM"]
    assert [str(kind) for kind in memories if kind.is_of_ranks] == ["SYS", "REG", "DSK"]
    assert [str(kind) for kind in memories if not kind.holds_buffers] == ["DSK"]
    assert [str(kind) for kind in memories if kind.is_file_system] == ["DSK"]
    assert [str(kind) for kind in channels if kind.crosses_nodes] == [
        "RemoteMemcpy", "Window", "ProcessWrite", "TwoSided", "Packed", "Derived", "Put", "GPUDirectRemote",
        "Assisted", "AssistedGet", "GetByPut", "UMR", "VortexPackets"
    ]  # fmt: skip
    assert [str(kind) for kind in channels if kind.is_host_copy] == ["Memcpy"]
    assert [str(kind) for kind in channels if kind.in_flight > 1] == [
        "GPURead", "GPUWrite", "GPUCopy", "ZeroCopyRead", "ZeroCopyWrite", "DMAIn", "DMAOut"
    ]  # fmt: skip
    assert [str(kind) for kind in channels if kind.prepares] == ["Window", "ProcessWrite"]
    assert [str(kind) for kind in channels if kind.ways is not None and kind.ways.converting and kind.crosses_nodes] == [
        "Window", "ProcessWrite", "Packed"
    ]  # fmt: skip
    assert all(kind.description for kind in (*memories, *channels))
    assert {HBM, TAPE, CXL, HBM_READ, HBM_WRITE, TAPE_READ, STREAM} <= {*memory_kinds()[6:], *channel_kinds()[27:]}


def test_channels_have_the_requests_in_flight_of_their_kind_unless_they_say_otherwise() -> None:
    found = [
        Channel("", ChannelKind.GPU_WRITE, "node0.sys", "node0.fbm0", Constant(1e9), max_in_flight=count)  # type: ignore[arg-type]
        for count in (None, 1, 2, 5)
    ]
    assert [channel.max_in_flight for channel in found] == [8, 1, 2, 5]
    memories = Memory("node0.sys", MemoryKind.SYS), Memory("node0.fbm0", MemoryKind.FBM)
    written = [machine_to_json(Machine("m", memories, [channel]))["channels"][0] for channel in found]
    assert [channel.get("max_in_flight") for channel in written] == [None, 1, 2, 5]
    for channel in found:
        machine = Machine("m", memories, (channel,))
        assert machine_from_json(machine_to_json(machine)) == machine
    assert Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(1e9)).max_in_flight == 1


def test_kinds_do_not_change() -> None:
    with pytest.raises(AttributeError, match="kinds do not change"):
        HBM.is_host = True
    with pytest.raises(AttributeError, match="kinds do not change"):
        del HBM.is_host
    with pytest.raises(AttributeError):
        HBM.colour = "red"  # type: ignore[attr-defined]


one_word: Any = partial(register_channel_kind, sources=["SYS"], destinations=["SYS"])

BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: register_memory_kind("SYS"), "memory kind 'SYS' is registered already, with is_host True instead of False"),
    (lambda: register_channel_kind("HBMRead", sources=[HBM], destinations=["SYS"]), "'HBMRead' is registered already"),
    (lambda: register_memory_kind("a b"), "expected one printable word"),
    (lambda: register_memory_kind(""), "expected a name"),
    (lambda: register_memory_kind(3), "expected text, got 3"),  # type: ignore[arg-type]
    (lambda: register_channel_kind("X", sources=["SYS"], destinations=["SYS"], in_flight=0), "in_flight"),
    (lambda: register_memory_kind("X", is_host=1), "is_host: expected true or false"),  # type: ignore[arg-type]
    (lambda: register_memory_kind("X", device="gpu"), "expected one of number, directory, text"),  # type: ignore[arg-type]
    (lambda: register_channel_kind("X", sources=["SYS"], destinations=["NVM"]), r"destinations\[0\]: expected one of SYS, REG"),
    (lambda: register_channel_kind("X", sources=[], destinations=["SYS"]), "sources: expected at least one memory kind"),
    (lambda: register_channel_kind("X", sources="SYS", destinations=["SYS"]), "sources: expected a list of memory kinds"),
    (lambda: register_memory_kind("X", place=(1, 2)), "place, across: expected"),
    (lambda: register_memory_kind("X", place=3), "place: expected a row and a place from left to right, got 3"),  # type: ignore[arg-type]
    (lambda: one_word("X", colour=7), "colour: expected a whole number from 0 to 6"),
    (lambda: one_word("X", ways="gather"), "ways: expected Ways or None, got 'gather'"),
    (lambda: one_word("X", requests=4), "requests: expected RequestRule or None, got 4"),
    (lambda: one_word("X", same_host=AssumedFigures(1e-6)), "crosses_nodes: expected true: it has figures between ranks"),
    (lambda: AssumedFigures(-1.0), "setup: expected a finite number"),
    (lambda: AssumedFigures(0.0, sent=0.0), "sent: expected a finite number > 0"),
    (lambda: MemoryKind("NVM"), "memory kind: expected one of SYS, REG, ZCM, FBM, DSK, .*got 'NVM'"),
    (lambda: ChannelKind(3), "channel kind: expected one of Memcpy, .*got 3"),
    (lambda: Memory("m", HBM, device=0), "device: expected text, got 0"),
    (lambda: Memory("m", CXL, device="x"), "device: expected a whole number"),
    (lambda: Memory("m", TAPE, device=0), "device: expected the path of a directory"),
    (lambda: Memory("m", "NVM"), "memory 'm', kind: expected one of SYS, .*HBM.* got 'NVM' "),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_clashes_and_unknown_kinds_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(MachineError, match=message):
        make()
    assert "X" not in memory_kinds()
    assert "X" not in channel_kinds()


def test_the_same_again_is_the_same_kind() -> None:
    assert register_memory_kind("HBM", device="text", description="memory of an accelerator") is HBM


def test_foreign_kinds_in_files(tmp_path: Path) -> None:
    described = machine()
    assert machine_from_json(json.loads(json.dumps(machine_to_json(described)))) == described
    save(described, tmp_path / "m.json")
    assert load(tmp_path / "m.json") == described
    assert load(tmp_path / "m.json").memory("node0.hbm").device == "accelerator:0", "no directory of the file's folder"
    code = f"from isoviz.machines import load; load({str(tmp_path / 'm.json')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "memories[0].kind: expected one of SYS, REG, ZCM, FBM, DSK, DV, got 'TAPE' (kinds of another package" in done.stderr


def test_foreign_kinds_are_planned_simulated_and_drawn() -> None:
    space, fields = IndexSpace(x=256, y=256), FieldSpace(a="f4", b="f8")
    described = machine()
    transfer = Transfer.whole(space, fields, "node0.tape", "<F, x, y>", "node0.hbm", "<x, y, F>")
    for planner in ("full", "simple", "spsl", "auto"):
        made = plan(transfer, described, planner)
        assert "node0.cxl" in made.memories
        assert simulate(made, machine=described).seconds == pytest.approx(made.seconds)
    text = draw(described)
    assert all(kind in text for kind in ("HBM", "TAPE", "TapeRead", "HBMWrite", "accelerator:0"))
    assert "by the accelerator" in html(described), "words, where a kind has any"
    assert "TapeRead" in without_plots(plot_html(machine_throughput_figure, described))[1][0]


def test_a_foreign_file_system_holds_files_and_has_pages() -> None:
    space, fields = IndexSpace(x=256), FieldSpace(a="f4")
    there = Transfer.whole(space, fields, "node0.tape", "<F, x>", "node0.sys", "<F, x>")
    check_ends(replace(there, source=replace(there.source, path="in.npy")), machine())
    with pytest.raises(TransferError, match=r"node0\.sys is no file system \(SYS\)"):
        check_ends(replace(there, destination=replace(there.destination, path="out.npy")), machine())
    assert Problem(there, machine(), Options()).pages == (512, 1)


def test_cards_are_found_in_an_order_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order a file system lists them in: the kinds of the papers first, then others by name."""
    listed, found = pkgutil.iter_modules, modules_of("isoviz.machines.channel_kinds", first=("host", "gpu"))
    monkeypatch.setattr(pkgutil, "iter_modules", lambda *args: reversed(list(listed(*args))))
    assert modules_of("isoviz.machines.channel_kinds", first=("host", "gpu")) == found
    assert [module.__name__.rpartition(".")[2] for module in found] == [
        "host",
        "gpu",
        "assisted",
        "disk",
        "ranks",
        "umr",
        "vortex",
    ]


def test_two_modules_that_carry_one_kind_are_a_mistake_of_isoviz() -> None:
    table: FoundTable[str, int] = FoundTable("isoviz.machines.channel_kinds")
    table.marking("Memcpy")(1)
    with pytest.raises(InternalError, match="Memcpy is there twice"):
        table.marking("Memcpy")(2)
    assert table.read() == {"Memcpy": 1}


def test_transfers_that_show_the_set_up_of_ranks_ride_with_no_message() -> None:
    cards = [kind for kind in channel_kinds() if kind.same_host is not None and kind.ways is not None]
    assert len(cards) >= 4
    assert all(min(kind.ways.small) > RIDES for kind in cards if kind.ways is not None)
