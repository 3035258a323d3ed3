"""Presets of installed packages, and presets that a process registers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.errors import InputError, MachineError
from isoviz.machines import Machine, Memory, PresetInfo, PresetOption, preset, presets, register_preset
from isoviz.machines.presets import registry

MODULE = """
from isoviz.machines import Machine, Memory, PresetInfo, PresetOption

def hall(nodes=2):
    return Machine("hall", tuple(Memory(f"node{k}.sys", "SYS", k) for k in range(nodes)), ())

HALL = PresetInfo("hall", "the cluster in the hall", {"nodes": PresetOption(2, "how many nodes")}, hall)
TEXT = "not a preset"
"""
ENTRIES = """
[isoviz.presets]
hall = hall_of_machines:HALL
text = hall_of_machines:TEXT
other-name = hall_of_machines:HALL
nothing = hall_of_machines:NOTHING
missing = no_such_module_here:HALL
sapling = hall_of_machines:HALL
local = hall_of_machines:HALL
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with presets, on the path as an installed one."""
    (tmp_path / "hall_of_machines.py").write_text(MODULE)
    metadata = tmp_path / "hall_of_machines-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hall-of-machines\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("hall_of_machines", None)


def test_a_package_adds_a_preset(installed: Path) -> None:
    assert str(presets()["hall"]) == "the cluster in the hall (options: nodes=2)"
    assert [memory.name for memory in preset("hall", nodes=3).memories] == ["node0.sys", "node1.sys", "node2.sys"]
    with pytest.raises(MachineError, match=r"preset 'hall' has no option 'node'; it takes nodes"):
        preset("hall", node=3)
    assert list(presets())[:3] == ["local", "ranks", "hall"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("text", "(hall_of_machines:TEXT) cannot be loaded: expected a PresetInfo with this name, got 'not a preset'"),
        (
            "other-name",
            "(hall_of_machines:HALL) cannot be loaded: expected a PresetInfo with this name, got one with the name 'hall'",
        ),
        ("nothing", "(hall_of_machines:NOTHING) cannot be loaded: AttributeError: "),
        ("missing", "(no_such_module_here:HALL) cannot be loaded: ModuleNotFoundError: No module named 'no_such_module_here'"),
    ],
)
def test_a_preset_that_cannot_be_loaded_says_so_and_hides_no_other(installed: Path, name: str, problem: str) -> None:
    with pytest.raises(MachineError) as caught:
        preset(name, nodes=3)
    assert str(caught.value).startswith(f"preset {name!r} of the package hall-of-machines 1.2 {problem}")
    assert str(presets()[name]) in str(caught.value), "the list says it, too"
    assert preset("hall").name == "hall"
    assert preset("laptop").name == "laptop"


def test_presets_of_isoviz_are_not_replaced(installed: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert preset("sapling").name == "sapling"
    assert preset("local", measure="assumed").name == "local"
    left_out = [record.getMessage() for record in caplog.records if "is left out" in record.getMessage()]
    assert [text.split("'")[1] for text in left_out] == ["sapling", "local"]
    assert "hall-of-machines 1.2" in left_out[0]


def test_a_package_that_is_installed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "late" not in presets()
    (tmp_path / "late_machines.py").write_text(MODULE.replace("hall", "late"))
    (tmp_path / "late_machines-1.dist-info").mkdir()
    (tmp_path / "late_machines-1.dist-info" / "entry_points.txt").write_text("[isoviz.presets]\nlate = late_machines:HALL\n")
    assert preset("late").name == "late"


def test_sources_that_are_not_installed_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    registry._installed.cache_clear()
    with pytest.raises(
        MachineError, match=r"no preset 'local'; there are sapling, .*need isoviz installed as it is now: pip install"
    ):
        preset("local")
    registry._installed.cache_clear()


def test_a_process_registers_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    def bare(nodes: int = 1) -> Machine:
        return Machine("bare", (Memory("node0.sys", "SYS"),), ())

    info = register_preset(PresetInfo("bare", "nothing at all", {"nodes": PresetOption(1, "how many")}, bare))
    assert register_preset(info) is info
    assert preset("bare", nodes=2).name == "bare"
    assert list(presets())[-1] == "bare"
    with pytest.raises(MachineError, match="preset 'bare' is registered already; expected another name"):
        register_preset(PresetInfo("bare", "something", {}, bare))
    with pytest.raises(InputError, match="register_preset: expected a PresetInfo"):
        register_preset("bare")  # type: ignore[arg-type]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presets that are registered, and machines that are kept, are forgotten after the test."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    monkeypatch.setattr(registry, "_kept", registry._kept.copy())


def sized(names: list[str], counted: list[object], **fields: bool) -> PresetInfo:
    """A preset with these memories, which counts how often it is made."""

    def make(nodes: object = 1) -> Machine:
        counted.append(nodes)
        if type(nodes) is bool:
            raise MachineError("preset 'sized': expected a number of nodes, got true")
        return Machine("sized", tuple(Memory(name, "SYS") for name in names), ())

    return PresetInfo("sized", "nothing but memories", {"nodes": PresetOption(1, "how many")}, make, **fields)


@pytest.mark.parametrize(("name", "options"), [("two-node", {}), ("sapling", {"nodes": 3, "gpus": 2}), ("bgq", {"nodes": 64})])
def test_a_preset_with_the_same_options_is_made_once(name: str, options: dict[str, int]) -> None:
    made = preset(name, **options)
    assert preset(name, **dict(reversed(options.items()))) is made
    assert made == presets()[name].make(**options) is not made, "what is kept is what the preset makes"
    assert options == {} or preset(name) != made


@pytest.mark.usefixtures("own")
def test_options_of_other_types_are_other_machines() -> None:
    counted: list[object] = []
    register_preset(sized(["a"], counted))
    assert preset("sized", nodes=1) is preset("sized", nodes=1) is not preset("sized")
    with pytest.raises(MachineError, match="got true"):
        preset("sized", nodes=True)
    for given in ([1], {"a"}, Path("x")):
        assert preset("sized", nodes=given) is not preset("sized", nodes=given), "what may change is not kept"
    with pytest.raises(MachineError, match="'sized' has no option 'node'"):
        preset("sized", node=1)
    assert counted == [1, 1, True, [1], [1], {"a"}, {"a"}, Path("x"), Path("x")]


@pytest.mark.usefixtures("own")
def test_a_preset_that_is_registered_anew_makes_its_own_machine(installed: Path) -> None:
    before = preset("hall")
    register_preset(PresetInfo("hall", "another hall", {}, lambda: Machine("mine", (Memory("a.sys", "SYS"),), ())))
    assert before.name == "hall"
    assert preset("hall").name == "mine"
    assert preset("hall") is preset("hall")


@pytest.mark.usefixtures("own")
def test_what_is_measured_is_made_at_every_call() -> None:
    counted: list[object] = []
    register_preset(sized(["a"], counted, is_measured=True))
    assert preset("sized") is not preset("sized")
    assert len(counted) == 2
    assert all(presets()[name].is_measured for name in ("local", "ranks"))


@pytest.mark.usefixtures("own")
def test_the_last_machines_are_kept_and_no_more_channels_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[object] = []
    register_preset(sized(["a"], counted))
    first = preset("sized", nodes=0)
    for nodes in range(1, registry.MOST_KEPT):
        preset("sized", nodes=nodes)
    assert preset("sized", nodes=0) is first
    preset("sized", nodes=registry.MOST_KEPT)
    assert preset("sized", nodes=0) is first, "it was asked for since"
    assert counted.count(1) == 1
    preset("sized", nodes=1)
    assert counted.count(1) == 2, "it was asked for longest ago"
    assert len(registry._kept) == registry.MOST_KEPT
    monkeypatch.setattr(registry, "MOST_CHANNELS", len(preset("sapling").channels) + 1)
    large = preset("xstream", nodes=2)
    assert preset("xstream", nodes=2) is large
    assert sum(len(machine.channels) for _, machine in registry._kept.values()) == len(large.channels) > registry.MOST_CHANNELS


@pytest.mark.usefixtures("own")
def test_threads_get_one_machine() -> None:
    together, counted = threading.Barrier(8), list[object]()
    register_preset(sized([f"m{k}" for k in range(200)], counted))
    got: list[Machine] = []

    def ask() -> None:
        together.wait()
        got.append(preset("sized"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(got) == 8 and len(set(map(id, got))) == 1


@pytest.mark.usefixtures("own")
def test_a_preset_that_makes_no_machine() -> None:
    register_preset(PresetInfo("none", "no machine", {}, lambda: None))  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="preset 'none': expected a machine of its function, got None"):
        preset("none")


def test_presets_are_listed_without_what_measures() -> None:
    code = "import isoviz, sys; isoviz.presets(); print(*sorted(name for name in sys.modules if name.startswith('isoviz.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "isoviz.measure.presets" in modules
    floors = {name.split(".")[1] for name in modules}
    assert floors.isdisjoint({"planner", "runtime", "backends", "launch", "figures", "widgets"})
    assert [name for name in modules if name.startswith("isoviz.measure.")] == ["isoviz.measure.presets"]
