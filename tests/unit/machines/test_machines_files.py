"""Machine files: the round trip is the identity, and whatever is wrong with a file is one line that names the place."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoviz.errors import FileError, InputError, MachineError
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    LatencyBandwidth,
    Limits,
    Machine,
    Memory,
    MemoryKind,
    Resource,
    Sampled,
    draw,
    load,
    machine_from_json,
    machine_to_json,
    preset,
    save,
)

RICH = Machine(
    "rich",
    (
        Memory("node0.sys", MemoryKind.SYS, capacity=1 << 35, slot_limit=1 << 20, label="socket 0 ⟨near⟩"),
        Memory("node0.fbm0", MemoryKind.FBM, emulated=True),
        Memory("node1.reg", MemoryKind.REG, node=1),
    ),
    (
        Channel(
            "zero copy",
            ChannelKind.GPU_WRITE,
            "node0.sys",
            "node0.fbm0",
            LatencyBandwidth(2.25e-6, 5.139e9),
            setup=1e-5,
            conversion_setup=2e-5,
            alignment=256,
            resources=(("pcie", 1.0), ("dram", 0.5)),
            max_in_flight=4,
            provenance="assumed",
        ),
        Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(7.74e9), provenance="from the paper"),
        Channel(
            "",
            ChannelKind.REMOTE_MEMCPY,
            "node0.sys",
            "node1.reg",
            Sampled.from_measurement([(8, 1e6), (64, 8e6), (512, 7e6)], [0.1, 0.2, 0.3], "2026-11-20"),
            provenance="measured 2026-11-20 on here",
        ),
    ),
    (Resource("pcie", 6e9, "from the data sheet"), Resource("dram", 2.1e10)),
    Limits(slot_limit=1 << 24, memory_limit=1 << 28, slots=3, overlap=False),
    "made up for a test",
)
MACHINES = [
    RICH,
    preset("two-node"),
    preset("sapling", nodes=3, gpus=2),
    preset("local", measure="assumed"),
    Machine("least", (Memory("m", MemoryKind.DSK),)),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_round_trip(machine: Machine, tmp_path: Path) -> None:
    through_text = machine_from_json(json.loads(json.dumps(machine_to_json(machine), allow_nan=False)))
    assert through_text == machine
    assert through_text.digest == machine.digest
    path = tmp_path / "machine.json"
    save(machine, path)
    assert load(path) == machine
    assert json.loads(path.read_text(encoding="utf-8")) == machine_to_json(machine)
    first = path.read_bytes()
    save(load(str(path)), str(path))
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["machine.json"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_file_is_for_people_too(tmp_path: Path) -> None:
    save(RICH, tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text(encoding="utf-8")
    assert "[[8.0, 1000000.0], [64.0, 8000000.0], [512.0, 8000000.0]]" in text, "samples on one line"
    assert "⟨near⟩" in text


def test_sizes_may_be_written_with_units() -> None:
    data = machine_to_json(RICH)
    data["memories"][0]["capacity"] = "32GiB"
    data["limits"]["slot_limit"] = "16 MiB"
    machine = machine_from_json(data)
    assert machine == RICH


def test_optional_keys_may_be_missing() -> None:
    data = {
        "format": "isoviz machine",
        "version": 1,
        "name": "short",
        "memories": [{"name": "m", "kind": "SYS"}],
        "channels": [{"kind": "Memcpy", "source": "m", "destination": "m", "throughput": {"type": "constant", "bandwidth": 1e9}}],
    }
    machine = machine_from_json(data)
    assert machine.limits == Limits()
    assert machine.channels[0].name == "m->m"


@pytest.mark.parametrize(
    ("name", "node"), [("node1.sys", 1), ("node12.sys.a", 12), ("node0.sys", 0), ("sys", 0), ("node01.sys", 0)]
)
def test_the_name_of_a_memory_says_its_node(name: str, node: int) -> None:
    memories: list[dict[str, Any]] = [{"name": name, "kind": "SYS"}]
    read = machine_from_json({"format": "isoviz machine", "version": 1, "name": "m", "memories": memories})
    assert read.memories[0].node == Memory(name, MemoryKind.SYS).node == node
    assert machine_from_json(machine_to_json(read)) == read


def test_a_node_that_contradicts_the_name_is_refused() -> None:
    memories = [{"name": "node0.sys", "kind": "SYS"}, {"name": "node1.sys", "kind": "SYS", "node": 0}]
    with pytest.raises(MachineError, match=r"memories\[1\].node: 0 contradicts the name; expected 1, or another name"):
        machine_from_json({"format": "isoviz machine", "version": 1, "name": "m", "memories": memories})
    with pytest.raises(MachineError, match="node: 2 contradicts the name"):
        dataclasses.replace(Memory("node1.sys", MemoryKind.SYS), node=2)
    assert Memory("left.sys", MemoryKind.SYS, 3).node == 3


def test_devices(tmp_path: Path) -> None:
    """Files without them still load; a directory is relative to the machine file, and may have a name that is no text."""
    memories = [Memory("node0.sys", MemoryKind.SYS, device=1), Memory("node0.dsk", MemoryKind.DSK, device="/data/a b")]
    machine = Machine("here", memories)
    assert [each.get("device") for each in machine_to_json(machine)["memories"]] == [1, "/data/a b"]
    assert machine_from_json(machine_to_json(machine)) == machine
    assert "in /data/a b" in draw(machine)
    bare = machine_to_json(machine)
    for each in bare["memories"]:
        del each["device"]
    assert [each.device for each in machine_from_json(bare).memories] == [None, None]
    for name in ("data", os.fsdecode(b"d\xff\xc3\xa9")):
        save(dataclasses.replace(machine, memories=(Memory("node0.dsk", MemoryKind.DSK, device=name),)), tmp_path / "a.json")
        assert load(tmp_path / "a.json").memory("node0.dsk").device == str(tmp_path / name)


def test_a_digest_says_nothing_of_devices() -> None:
    """Plans, and what is known of earlier runs, hold for the same hardware wherever files are."""
    here, there, nowhere = (
        Machine("a", [Memory("node0.dsk", MemoryKind.DSK, capacity=5, device=device)]) for device in ("/here", "/there", None)
    )
    assert here != there and here.digest == there.digest == nowhere.digest
    assert hash(here) == hash(there)


@pytest.mark.parametrize(
    ("kind", "device"),
    [
        *((MemoryKind.DSK, device) for device in (0, "", "a\0b", "a" * 5000)),
        *((MemoryKind.FBM, device) for device in ("/data", -1, True, 1.5)),
    ],
)
def test_devices_that_can_be_none(kind: MemoryKind, device: Any) -> None:
    with pytest.raises(MachineError, match="device: expected") as caught:
        Memory("a", kind, device=device)
    assert len(str(caught.value)) < 200
    with pytest.raises(MachineError, match=r"memories\[0\]\.device: expected"):
        machine_from_json(
            {"format": "isoviz machine", "version": 1, "name": "m", "memories": [{"name": "a", "kind": kind, "device": device}]}
        )


def test_what_a_chunk_costs() -> None:
    machine = dataclasses.replace(RICH, limits=Limits(chunk_seconds=3e-4))
    assert machine_from_json(machine_to_json(machine)) == machine
    assert "chunk_seconds" not in machine_to_json(RICH)["limits"], "machines without it keep their digest"


def edit(*path: str | int, to: Any = None, delete: bool = False) -> Callable[[dict[str, Any]], Any]:
    """A function that changes one place of a machine's JSON object."""

    def change(data: dict[str, Any]) -> Any:
        at: Any = data
        for key in path[:-1]:
            at = at[key]
        if delete:
            del at[path[-1]]
        else:
            at[path[-1]] = to
        return data

    return change


BAD: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda _: [], "expected an object, got a list"),
    (lambda _: None, "expected an object, got None"),
    (lambda _: 3, "expected an object, got 3"),
    (lambda _: {}, "the key 'format' is missing"),
    (edit("format", to="isoviz plan"), "format: expected 'isoviz machine', got 'isoviz plan'"),
    (edit("version", to=2), "version: expected 1"),
    (edit("version", to=True), "version: expected 1"),
    (edit("version", to="1"), "version: expected 1"),
    (edit("colour", to=1), "unknown key 'colour'; known are format, version"),
    (edit("name", delete=True), "the key 'name' is missing"),
    (edit("name", to=""), "name: expected a name"),
    (edit("name", to="a\nb"), "name: expected one printable line"),
    (edit("provenance", to=[]), "provenance: expected text, got a list"),
    (edit("memories", to={}), "memories: expected a list, got an object"),
    (edit("memories", to=[]), "memories: expected at least one memory"),
    (edit("memories", 1, to=None), "memories[1]: expected an object, got None"),
    (edit("memories", 1, "kind", delete=True), "memories[1]: the key 'kind' is missing"),
    (edit("memories", 1, "kind", to="GPU"), "memories[1].kind: expected one of SYS"),
    (edit("memories", 1, "kind", to=[]), "memories[1].kind: expected one of SYS"),
    (edit("memories", 1, "knid", to="FBM"), "memories[1]: unknown key 'knid'"),
    (edit("memories", 1, "name", to="node0.sys"), "memories[1].name: the name 'node0.sys' is already that of memories[0]"),
    (edit("memories", 1, "capacity", to=1.5), "memories[1].capacity: expected a whole number"),
    (edit("memories", 1, "capacity", to="many"), "memories[1].capacity: size 'many'"),
    (edit("memories", 1, "capacity", to="9" * 5000), "memories[1].capacity: expected a size such as '48GiB'"),
    (edit("memories", 1, "capacity", to=10**5000), "memories[1].capacity: expected a whole number"),
    (edit("memories", 1, "node", to=1e300), "memories[1].node: expected a whole number"),
    (edit("limits", to=3), "limits: expected an object, got 3"),
    (edit("limits", "slots", to=0), "limits.slots: expected a whole number from 1"),
    (edit("limits", "slot_limit", to=None), "limits.slot_limit: expected a whole number"),
    (edit("limits", "chunk_seconds", to=-1.0), "limits.chunk_seconds: "),
    (edit("limits", "overlap", to=0), "limits.overlap: expected true or false"),
    (edit("resources", 0, "capacity", to=0), "resources[0].capacity: expected a finite number > 0"),
    (edit("resources", 0, "capacity", to=math.inf), "resources[0].capacity"),
    (edit("channels", 2, to="fast"), "channels[2]: expected an object, got 'fast'"),
    (edit("channels", 2, "throughput", to=3e9), "channels[2].throughput: expected an object"),
    (
        edit("channels", 2, "throughput", "type", to="spline"),
        "channels[2].throughput.type: 'spline' is not known; did you mean",
    ),
    (edit("channels", 2, "throughput", "samples", 2, to=[8, 9e9]), "channels[2].throughput.samples[2]: runs must grow"),
    (edit("channels", 2, "throughput", "samples", 2, to=8), "channels[2].throughput.samples[2]: expected a pair"),
    (edit("channels", 2, "throughput", "samples", 2, 1, to=math.nan), "channels[2].throughput.samples[2][1]: expected a finite"),
    (edit("channels", 2, "throughput", "samples", 1, 1, to=10**400), "channels[2].throughput.samples[1][1]: expected a finite"),
    (edit("channels", 2, "throughput", "samples", to=[]), "channels[2].throughput.samples: expected at least one"),
    (edit("channels", 2, "throughput", "date", to=7), "channels[2].throughput.date: expected text"),
    (edit("channels", 2, "throughput", "measured", 0, to=[]), "channels[2].throughput.measured[0]: expected a pair"),
    (edit("channels", 0, "throughput", "latency", to=-1), "channels[0].throughput.latency"),
    (edit("channels", 0, "throughput", "latency", delete=True), "channels[0].throughput: the key 'latency' is missing"),
    (edit("channels", 0, "alignment", to=3), "channels[0].alignment: expected a power of two"),
    (edit("channels", 0, "resources", to="pcie"), "channels[0].resources: expected a list"),
    (edit("channels", 0, "resources", 0, to=["pcie", -1]), "channels[0].resources[0][1]: expected a finite number ≥ 0"),
    (edit("channels", 0, "resources", 0, to=["usb", 1]), "channels[0].resources[0]: no resource 'usb'"),
    (edit("channels", 0, "source", to="node0.zcm"), "channels[0].source: no memory 'node0.zcm'"),
    (edit("channels", 0, "destination", to="node1.reg"), "channels[0].destination: GPUWrite leads to FBM"),
    (edit("channels", 0, "kind", to=0), "channels[0].kind: expected one of Memcpy"),
    (edit("channels", 1, "kind", to="RemoteMemcpy"), "channels[1]: RemoteMemcpy joins different nodes"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_objects(change: Callable[[dict[str, Any]], Any], message: str) -> None:
    data = change(copy.deepcopy(machine_to_json(RICH)))
    with pytest.raises(MachineError) as caught:
        machine_from_json(data)
    assert message in str(caught.value)
    assert str(caught.value).startswith(message), "the place comes first"
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


LEAST = '{"format": "isoviz machine", "version": 1, "name": "a", "memories": [{"name": "m", "kind": "SYS"}]}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON: .* at line 1, column 2"),
        ("nonsense", "not JSON"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("1" * 5000, "thousands of digits"),
        ('{"format": "isoviz machine", "version": 1, "name": "a", "name": "b", "memories": []}', "the key 'name' stands twice"),
        (
            '{"format": "isoviz machine", "version": 1, "name": "a", "memories": [{"name": "m", "kind": "SYS", "kind": "DSK"}]}',
            r"memories\[0\]: the key 'kind' stands twice",
        ),
        (
            LEAST[:-1] + ', "resources": [{"name": "bus", "capacity": NaN}]}',
            r"resources\[0\].capacity: expected a finite number > 0, got nan",
        ),
        (
            LEAST[:-1] + ', "resources": [{"name": "bus", "capacity": 1e999}]}',
            r"resources\[0\].capacity: expected a finite number > 0, got inf",
        ),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text)
    with pytest.raises(MachineError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(b"\x80\xff\x00")
    with pytest.raises(MachineError, match="not text in UTF-8"):
        load(path)
    with path.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(MachineError, match="larger than 64 MiB"):
        load(path)


@pytest.mark.parametrize(
    ("name", "read", "written"),
    [
        ("missing.json", "no such file", ""),
        (".", "is a directory", "is a directory"),
        ("no/such/place.json", "no such file", "cannot be written"),
        ("a\0b", "null byte", "null byte"),
    ],
)
def test_files_that_cannot_be_read_or_written(name: str, read: str, written: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=read) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)
    if written:
        with pytest.raises(FileError, match=written):
            save(RICH, tmp_path / name)


def test_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "machine.json"
    save(RICH, path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left"):
        save(dataclasses.replace(RICH, name="other"), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["machine.json"]


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from([10**400, -1, 0, 2**63, "SYS", "1GiB"]),
)
junk = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3))
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, part in value.items():
            found += places(part, (*path, key))
    elif isinstance(value, list):
        for k, part in enumerate(value):
            found += places(part, (*path, k))
    return found


@given(st.data(), junk)
def test_anything_anywhere_is_a_machine_or_one_line(data: st.DataObject, value: Any) -> None:
    broken = copy.deepcopy(machine_to_json(RICH))
    place = data.draw(st.sampled_from(places(broken)))
    edit(*place, to=value, delete=data.draw(st.booleans()))(broken)
    machine, complaint = None, ""
    try:
        machine = machine_from_json(broken)
    except MachineError as error:
        complaint = str(error)
    if machine is None:
        assert len(complaint.splitlines()) == 1
    else:
        assert machine_from_json(machine_to_json(machine)) == machine
        assert draw(machine)


def test_example_machines_load() -> None:
    found = sorted(Path(__file__).parents[3].glob("examples/*.machine.json"))
    assert found, "examples/*.machine.json"
    for path in found:
        machine = load(path)
        assert machine.channels
        assert machine_from_json(machine_to_json(machine)) == machine


@pytest.mark.parametrize("part", ["[],", "{},", "[[[]]],"])
def test_a_text_of_brackets_is_not_parsed(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take 50 times the memory of its text."""
    from isoviz.planner import load_plan
    from isoviz.widgets.chosen.session_file import load_settings

    path = tmp_path / "m.json"
    path.write_text('{"a": [' + part * (3_000_000 // len(part)) + "0]}")
    monkeypatch.setattr("json.loads", lambda *_, **__: pytest.fail("parsed"))
    for read in (load, load_plan, load_settings):
        with pytest.raises(InputError, match="hardly anything but brackets"):
            read(path)
