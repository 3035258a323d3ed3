"""The machine of the explorer: a preset, or one that somebody described; in sessions, their files, and runs."""

from __future__ import annotations

import gc
import json
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from given.sessions import session_fixture

from isoviz.errors import FileError, InputError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, machine_to_json, preset, presets
from isoviz.widgets.chosen.machine_choice import THIS_COMPUTER, DescribedMachine, PresetMachine, machine_choice
from isoviz.widgets.chosen.session_file import load_settings, save_settings
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.consequences.chosen_machine import MOST_DIRECTORIES, machine_versions, with_joined_ends
from isoviz.widgets.session import Session
from isoviz.widgets.show_explorer import explore
from isoviz.widgets.snapshot import snapshot


def copying(name: str, kind: ChannelKind, source: str, destination: str, peak: float) -> Channel:
    return Channel(name, kind, source, destination, LatencyBandwidth(1e-6, peak))


def drawn(emulated: bool = True) -> Machine:
    """Main memory and a GPU, as somebody would write them in a cell."""
    memories = (Memory("node0.sys", MemoryKind.SYS, 0), Memory("node0.fbm0", MemoryKind.FBM, 0, emulated=emulated))
    channels = (
        copying("copy", ChannelKind.MEMCPY, "node0.sys", "node0.sys", 8e9),
        copying("up", ChannelKind.GPU_WRITE, "node0.sys", "node0.fbm0", 5e9),
        copying("down", ChannelKind.GPU_READ, "node0.fbm0", "node0.sys", 4e9),
        copying("within", ChannelKind.GPU_COPY, "node0.fbm0", "node0.fbm0", 5e10),
    )
    return Machine("sketch", memories, channels)


def begin(machine: Machine | str, destination: str = "node0.fbm0") -> Settings:
    return settings_for(
        machine=machine,
        space={"x": 64, "y": 32},
        fields={"a": "float32", "b": "float64"},
        source=("node0.sys", "<F, x, y>"),
        destination=(destination, "<x, y, F>"),
    )


session = session_fixture(begin(drawn()))


def test_a_machine_drawn_in_python_is_explored_planned_and_run(session: Session) -> None:
    state = session.wait()
    assert state.derived.problems == {}
    assert session.machine == drawn()
    assert session.plan is not None and session.plan.machine_name == "sketch"
    told = snapshot(state, 1)
    assert told["panes"]["machine"]["name"] == "sketch"
    assert "FBM" in told["panes"]["machine"]["drawing"]
    assert [memory["name"] for memory in told["menus"]["memories"]] == ["node0.sys", "node0.fbm0"]
    assert told["panes"]["run"]["now"]["canRun"] is True, told["panes"]["run"]["now"]["reason"]
    session.run()
    state = session.wait()
    assert state.run.phase == "done", state.run.error
    assert session.report is not None and session.report.verified is True
    assert session.report.plan.machine_name == "sketch"


def test_a_machine_that_is_not_here_is_planned_on_and_says_what_is_missing() -> None:
    session = Session(begin(drawn(emulated=False)))
    told = snapshot(session.wait(), 1)["panes"]["run"]["now"]
    assert session.plan is not None
    assert told["canRun"] is False and told["offerLocal"] is True
    assert "lacks node0.fbm0" in told["reason"] and told["offerEmulated"] == ["node0.fbm0"]
    session.send({"kind": "use-local"})
    assert session.wait().settings.machine == THIS_COMPUTER
    session.undo()
    assert session.wait().settings.machine == DescribedMachine(drawn(emulated=False))
    session.close()


def test_a_memory_that_it_lacks_is_told_beside_its_control(session: Session) -> None:
    session.choose(begin(drawn(), destination="node3.dsk"))
    problems = session.wait().derived.problems
    assert list(problems) == ["destination-memory"]
    assert problems["destination-memory"].message.startswith(
        "Machine 'sketch' has no memory 'node3.dsk'; it has node0.sys, node0.fbm0"
    )
    session.send({"kind": "set", "field": "source-layout", "value": "<F, x"})
    assert set(session.wait().derived.problems) == {"destination-memory", "source-layout"}


def test_another_described_machine_changes_no_memory_behind_ones_back(session: Session) -> None:
    session.wait()
    small = replace(drawn(), memories=drawn().memories[:1], channels=drawn().channels[:1], name="smaller")
    session.choose(replace(session.settings, machine=DescribedMachine(small)))
    state = session.wait()
    assert state.settings.destination.memory == "node0.fbm0"
    assert list(state.derived.problems) == ["destination-memory"]


def test_undo_and_redo_keep_the_machine(session: Session) -> None:
    session.wait()
    session.send({"kind": "set", "field": "machine", "value": "two-node"})
    session.send({"kind": "swap"})
    state = session.wait()
    assert state.settings.machine == PresetMachine("two-node")
    session.undo()
    session.undo()
    state = session.wait()
    assert state.settings.machine == DescribedMachine(drawn())
    assert session.plan is not None and session.plan.machine_name == "sketch"
    session.redo()
    assert session.wait().settings.machine == PresetMachine("two-node")


def test_a_machine_described_as_json_is_chosen_and_a_wrong_one_refused(session: Session) -> None:
    session.wait()
    session.send({"kind": "describe-machine", "machine": machine_to_json(preset("two-node"))})
    assert session.wait().settings.machine == DescribedMachine(preset("two-node"))
    before = session.settings
    session.send({"kind": "describe-machine", "machine": {"name": "half"}})
    state = session.wait()
    assert state.refused is not None and "is missing" in state.refused.message
    assert state.settings == before


def test_options_are_those_of_presets(session: Session) -> None:
    session.send({"kind": "set", "field": "machine-option", "name": "nodes", "value": "3"})
    state = session.wait()
    assert state.refused is not None and "only presets take options" in state.refused.message
    with pytest.raises(InputError, match="only presets take options"):
        settings_for(machine=drawn(), machine_options={"nodes": 3})


def test_what_may_be_given_as_a_machine() -> None:
    assert machine_choice("sapling") == PresetMachine("sapling")
    assert machine_choice(drawn()) == DescribedMachine(drawn())
    assert machine_choice(THIS_COMPUTER) is THIS_COMPUTER
    with pytest.raises(InputError, match="expected a machine, the name of a preset or the path"):
        machine_choice(7)


# ---- files of sessions


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        begin(drawn()),
        begin("sapling"),
        settings_for(machine="sapling", machine_options={"nodes": 3, "gpus": "two"}),
        settings_for(space={"i": 7}, slot_limit="1MiB", memory_limit="much", planner="simple"),
    ],
)
def test_a_saved_session_brings_everything_back(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    save_settings(settings, path)
    found = load_settings(path)
    assert found.machine == settings.machine
    for rows, others in ((found.dimensions, settings.dimensions), (found.fields, settings.fields)):
        assert [(row.name, row.value, row.kept) for row in rows] == [(row.name, row.value, row.kept) for row in others]
    assert replace(found, dimensions=(), fields=()) == replace(settings, dimensions=(), fields=())


def test_a_session_saved_and_opened_plans_the_same_on_the_same_machine(session: Session, tmp_path: Path) -> None:
    session.send({"kind": "set", "field": "planner", "value": "simple"})
    session.wait()
    session.save(tmp_path / "session.json")
    other = Session()
    other.wait()
    other.open(tmp_path / "session.json")
    other.wait()
    assert other.machine == session.machine == drawn()
    assert other.plan == session.plan
    other.undo()
    assert other.wait().settings == Settings()
    other.close()


def test_a_name_that_cannot_be_stays_with_what_layouts_know_it_by(session: Session, tmp_path: Path) -> None:
    session.send({"kind": "set", "field": "dimension-name", "row": session.settings.dimensions[0].key, "value": "F"})
    before = session.wait()
    session.save(tmp_path / "session.json")
    other = Session(load_settings(tmp_path / "session.json"))
    assert [problem.message for problem in other.wait().derived.problems.values()] == [
        problem.message for problem in before.derived.problems.values()
    ]
    other.send({"kind": "set", "field": "dimension-name", "row": other.settings.dimensions[0].key, "value": "row"})
    assert other.wait().settings.source.layout == "<F, row, y>"
    other.close()


def written(tmp_path: Path, change: object) -> Path:
    path = tmp_path / "session.json"
    save_settings(begin(drawn()), path)
    data = json.loads(path.read_text())
    change(data)  # type: ignore[operator]
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.update(version=99), "version 99 of the format; this isoviz reads version 5"),
        (lambda data: data.update(version=4), "version 4 of the format; this isoviz reads version 5"),
        (lambda data: data.pop("version"), "version None of the format; this isoviz reads version 5"),
        (lambda data: data.update(isoviz="plan"), "isoviz: expected 'session', got 'plan'"),
        (
            lambda data: data["settings"]["transfers"][0].pop("planner"),
            r"settings.transfers\[0\]: the key 'planner' is missing; expected a text",
        ),
        (
            lambda data: data["settings"]["transfers"][0]["dimensions"][0].update(value=3),
            r"settings.transfers\[0\].dimensions\[0\].value: expected a text, got 3",
        ),
        (lambda data: data["settings"].update(machine={"kind": "preset"}), "settings.machine: the key 'name' is missing"),
        (lambda data: data["settings"]["machine"]["machine"].pop("memories"), "settings.machine.machine: .*memories"),
    ],
)
def test_a_file_that_is_no_session_says_where(change: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=words):
        load_settings(written(tmp_path, change))


def test_files_that_are_not_json_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    with pytest.raises(FileError, match="no such file"):
        load_settings(path)
    for text in ("not json", "[" * 100_000, "\xff"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(FileError, match="expected the session of an explorer"):
            load_settings(path)
    path.write_text("[1]")
    with pytest.raises(FileError, match="expected an object, got a list"):
        load_settings(path)
    with pytest.raises(FileError):
        save_settings(Settings(), tmp_path / "missing" / "session.json")


@pytest.mark.parametrize("name", sorted(presets()))
@pytest.mark.few(6)
def test_an_explorer_of_a_preset_begins_with_a_transfer_that_it_can_do(name: str) -> None:
    options = {"measure": "assumed"} if name == "local" else {}
    explorer = explore(machine=name, machine_options=options, space={"x": 64, "y": 32}, restore=False)
    try:
        derived = explorer.session.wait().derived
        assert derived.problems == {}
        assert derived.plan is not None and "plan" not in derived.stale
    finally:
        explorer.close()


def test_ends_that_are_named_stay_and_the_others_are_joined_with_them() -> None:
    settings = settings_for(machine="dgx-h100-pair")
    assert with_joined_ends(settings).source == settings.source  # files are there; only main memory has another name
    from_gpu = settings_for(machine="dgx-h100-pair", source=("node1.fbm3", "<F, x, y>"))
    found = with_joined_ends(from_gpu, frozenset({"source"}))
    assert found.source == from_gpu.source
    assert found.destination.memory in [memory.name for memory in preset("dgx-h100-pair").memories]
    # What cannot be is left as it is, and told beside its control.
    wrong = settings_for(machine="dgx-h100-pair", source=("nowhere", "<F, x, y>"))
    assert with_joined_ends(wrong, frozenset({"source"})) == wrong
    alone = Machine("alone", (Memory("a", MemoryKind.SYS, 0), Memory("b", MemoryKind.SYS, 0)), ())
    assert with_joined_ends(settings_for(machine=alone)) == settings_for(machine=alone)
    unknown = settings_for(machine="no such preset")
    assert with_joined_ends(unknown) == unknown


def test_this_computer_is_kept_for_the_newest_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.measure.local_machine.kept_machine", lambda place: presets()["laptop"].make())
    made = []
    for k in range(3 * MOST_DIRECTORIES):
        (tmp_path / str(k)).mkdir()
        (version,) = machine_versions(PresetMachine("local", (("directory", str(tmp_path / str(k))),)), 0, {})
        made.append(weakref.ref(version.machine))
    del version
    gc.collect()
    assert 0 < sum(each() is not None for each in made) <= MOST_DIRECTORIES
