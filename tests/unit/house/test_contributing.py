"""What CONTRIBUTING says of packages outside isoviz, done to the letter: a preset, a planner, a kind of channel."""

from __future__ import annotations

import re
import runpy
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz import FieldSpace, IndexSpace
from isoviz.machines import preset, presets
from isoviz.planner import Transfer, plan, plan_from_json, plan_to_json, planner_registry
from isoviz.widgets.chosen.menus import menus
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.session import Session

ROOT = Path(__file__).parents[3]


def blocks(section: str) -> list[str]:
    """The blocks of code of a section of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^### {section}\n(.*?)^### ", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in re.findall(r"^ *```\w+\n(.*?)^ *```$", body, re.DOTALL | re.MULTILINE)]


@pytest.fixture
def _without_hall() -> Iterator[None]:
    yield
    sys.modules.pop("hall_of_machines", None)


@pytest.mark.usefixtures("_without_hall")
def test_a_preset_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [entry["name"] for entry in menus(None)["machines"]]
    module, project = blocks("A preset")
    (tmp_path / module.split()[1]).write_text(module)
    described = tomllib.loads(project)["project"]
    (entries,) = described["entry-points"].items()
    metadata = tmp_path / f"hall_of_machines-{described['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {described['name']}\nVersion: {described['version']}\n")
    lines = [f"{name} = {value}" for name, value in entries[1].items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{entries[0]}]", *lines, ""]))
    assert "hall" not in presets()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [memory.name for memory in preset("hall", nodes=3).memories] == ["node0.sys", "node1.sys", "node2.sys"]
    after = [entry["name"] for entry in menus(None)["machines"]]
    assert "hall" in after and "hall" not in before


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
