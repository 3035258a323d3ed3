"""What CONTRIBUTING says of packages outside isoviz, to the letter: a preset, a planner, a kind of channel, a topology …"""

from __future__ import annotations

import json
import re
import runpy
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from isoviz import FieldSpace, IndexSpace
from isoviz.cli import main
from isoviz.errors import InputError, MachineError
from isoviz.figures import network_svg
from isoviz.machines import ChannelKind, LatencyBandwidth, Machine, Memory, preset, presets
from isoviz.machines.networks import Network, Port, Transport, topology
from isoviz.planner import Transfer, plan, plan_from_json, plan_to_json, planner_registry
from isoviz.schema import read
from isoviz.widgets.chosen.menus import menus
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.commands import command
from isoviz.widgets.panes.network_pane import networks_of
from isoviz.widgets.session import Session

ROOT = Path(__file__).parents[3]


def blocks(section: str) -> list[str]:
    """The blocks of code of a section of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^### {section}\n(.*?)^### ", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in re.findall(r"^ *```\w+\n(.*?)^ *```$", body, re.DOTALL | re.MULTILINE)]


def install(section: str, place: Path) -> None:
    """Put the package of a section into a folder, as an installed package is there: its module, and its entry points."""
    module, project = blocks(section)
    (place / module.split()[1]).write_text(module)
    described = tomllib.loads(project)["project"]
    ((group, entries),) = described["entry-points"].items()
    metadata = place / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {described['name']}\nVersion: {described['version']}\n")
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))


@pytest.fixture
def _without_hall() -> Iterator[None]:
    yield
    sys.modules.pop("hall_of_machines", None)


@pytest.mark.usefixtures("_without_hall")
def test_a_preset_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [entry["name"] for entry in menus(None)["machines"]]
    install("A preset", tmp_path)
    assert "hall" not in presets()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [memory.name for memory in preset("hall", nodes=3).memories] == ["node0.sys", "node1.sys", "node2.sys"]
    after = [entry["name"] for entry in menus(None)["machines"]]
    assert "hall" in after and "hall" not in before


def test_a_command_of_the_explorer(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = blocks("A command of the explorer")
    module = ModuleType("one_more_command")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(command, "DECLARED", [])
    exec(compile(block, "CONTRIBUTING.md", "exec"), vars(module))
    (kind,) = command.DECLARED
    session = Session(settings_for(space={"x": 4, "y": 2, "z": 3}))
    with closing(session):
        state = session.wait()
        after = read({"kind": "keep-dimensions", "most": 2}, kind)(state=state)
        assert [row.name for row in after.settings.dimensions] == ["x", "y"] and after.past == (state.settings,)
        with pytest.raises(InputError, match="most: expected a whole number, got 'two'"):
            read({"kind": "keep-dimensions", "most": "two"}, kind)
        with pytest.raises(InputError, match="expected at least 1, got 0"):
            read({"kind": "keep-dimensions", "most": 0}, kind)(state=state)


@pytest.fixture
def _without_mine() -> Iterator[None]:
    yield
    planner_registry._planners.pop("mine", None)
    planner_registry._about.pop("mine", None)


@pytest.mark.usefixtures("_without_mine")
def test_a_planner_of_a_package() -> None:
    (block,) = blocks("A planner")
    exec(compile(block, "CONTRIBUTING.md", "exec"), {"__name__": "mine"})
    fields = FieldSpace(a="f4")
    transfer = Transfer.whole(IndexSpace(x=64, y=32), fields, "node0.sys", "<F, x, y>", "node1.sys", "<F, y, x>")
    made = plan(transfer, "two-node", "mine")
    assert made.hops == plan(transfer, "two-node", "simple").hops
    assert plan_from_json(plan_to_json(made)) == made
    assert menus(None)["planners"][-1]["about"] == "one line for menus"


def test_a_kind_of_channel_of_a_package_is_planned_in_the_explorer() -> None:
    own = runpy.run_path(str(ROOT / "examples" / "own_device.py"), run_name="own_device")
    source, destination = ("node0.sys", "<F, x, y>"), ("node0.acc", "<x, y, F>")
    session = Session(settings_for(machine=own["machine"](), source=source, destination=destination))
    derived = session.wait().derived
    session.close()
    assert derived.problems == {}
    assert derived.plan is not None
    assert [hop.kind for hop in derived.plan.hops] == ["ACCWrite", "ACCCopy"]


@pytest.fixture
def _without_ring() -> Iterator[None]:
    yield
    topology._TOPOLOGIES.pop("ring", None)


@pytest.mark.usefixtures("_without_ring")
def test_a_topology_of_a_package() -> None:
    (block,) = blocks("A topology")
    made: dict[str, Any] = {"__name__": "mine"}
    exec(compile(block, "CONTRIBUTING.md", "exec", dont_inherit=True), made)
    memories = tuple(Memory(f"node{k}.sys", "SYS", k) for k in range(8))
    ports = tuple(Port(memory.name, str(k)) for k, memory in enumerate(memories))
    way = Transport(ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(1e-6, 1e9))
    machine = Machine("m", memories, (), networks=(Network("net", made["Ring"](), ports, (way,), 2e9),))
    assert Machine.from_json(json.loads(json.dumps(machine.to_json()))) == machine
    transfer = Transfer.whole(IndexSpace(x=2**16), FieldSpace(a="f8"), "node6.sys", "<F, x>", "node1.sys", "<F, x>")
    (hop,) = plan(transfer, machine).hops
    assert [link.name for link in machine.networks[0].route(hop.source, hop.destination) or ()] == ["6>7", "7>0", "0>1"]
    track = re.search(r'd="([^"]*)"[^>]*stroke-width="2.2"', network_svg(machine, plan(transfer, machine)))
    assert track is not None and track[1].count("M") == 4, "7>0 leaves at one edge and comes in at the other"
    (shown,), _ = networks_of(machine)
    assert shown["axes"] == [{"name": "R", "size": 8, "wraps": True}]
    with pytest.raises(MachineError, match="no router 'x'; there are '0' to '7'"):
        made["Ring"]().router("x")


@pytest.fixture
def _without_two_links() -> Iterator[None]:
    yield
    sys.modules.pop("two_links", None)


@pytest.mark.usefixtures("_without_two_links")
def test_an_evaluation_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "two-links"]) == 2
    assert "no evaluation 'two-links'; there are armci, bgq, " in capsys.readouterr().err
    install("An evaluation of a paper", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    page = tmp_path / "page.html"
    assert main(["reproduce", "two-links", "--json", "-o", str(page)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["links"] for row in data["figure2"]] == [1, 2] * 3
    slow, fast = (2**20 / (2e-6 + 2**20 / links / 1e9) for links in (1, 2))
    (claim,) = data["rows"]
    assert claim["ours"] == pytest.approx(fast / slow) and claim["verdict"] == "agrees"
    (turned,) = data["sensitivity"]
    assert turned["halved"] > turned["base"] > turned["doubled"], "a longer latency leaves less of the second link"
    assert "two links over one, largest message" in page.read_text() and "data-plot" in page.read_text()
    assert main(["reproduce", "two-links", "--quick"]) == 0
    assert "2.00 ×" in capsys.readouterr().out
