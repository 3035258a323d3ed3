"""Presets of installed packages, and presets that a process registers."""

from __future__ import annotations

import subprocess
import sys
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


def test_presets_are_listed_without_what_measures() -> None:
    code = "import isoviz, sys; isoviz.presets(); print(*sorted(name for name in sys.modules if name.startswith('isoviz.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "isoviz.measure.presets" in modules
    floors = {name.split(".")[1] for name in modules}
    assert floors.isdisjoint({"planner", "runtime", "backends", "launch", "figures", "widgets"})
    assert [name for name in modules if name.startswith("isoviz.measure.")] == ["isoviz.measure.presets"]
