"""Every text and every picture says which memories are emulated, wherever one of them or a rate of it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from html_cases import check_saved_page, without_plots

import isoviz
from isoviz import figures
from isoviz.cli import main
from isoviz.figures.plans.report_picture import measurements
from isoviz.layouts import Box
from isoviz.machines import Machine, draw, machine_to_json, preset, save
from isoviz.planner import (
    Explanation,
    Options,
    Plan,
    WinnerMap,
    chunk_curve,
    cost,
    explain,
    explanation_text,
    plan_from_json,
    plan_of_paths,
    plan_to_json,
    sweep,
)
from isoviz.planner.explanation.curves.chunk_curve import ChunkCurve
from isoviz.planner.explanation.curves.sweeping import Sweep
from isoviz.runtime import Report, Trace

FILE = """
[space]
x = 48
y = 32
[fields]
re = "float32"
im = "float32"
[source]
memory = "node0.sys"
layout = "<F, x, y>"
[destination]
memory = "node0.fbm0"
layout = "<y, x, F>"
[machine]
file = "machine.json"
[options]
planner = "simple"
slot_limit = "4KiB"
"""


class Made:
    """All that is made of one machine: a plan, its explanation, runs, curves."""

    def __init__(self, emulated: bool) -> None:
        given = preset("laptop")
        memories = tuple(replace(each, emulated=emulated and each.name == "node0.fbm0") for each in given.memories)
        self.machine: Machine = replace(given, memories=memories)
        pair = isoviz.FieldSpace(re="f4", im="f4")
        space = isoviz.IndexSpace(x=48, y=32)
        self.transfer = isoviz.Transfer.whole(space, pair, "node0.sys", "<F, x, y>", "node0.fbm0", "<y, x, F>")
        self.options = Options("simple", slot_limit=4096)
        self.plan: Plan = isoviz.plan(self.transfer, self.machine, options=self.options)
        self.explanation: Explanation = explain(self.plan, self.machine, options=self.options)
        self.trace: Trace = isoviz.simulate(self.plan)
        self.curve: ChunkCurve = chunk_curve(self.plan, self.machine, self.options)
        self.far = self._between_nodes(emulated)
        self.sweep: Sweep = sweep(self.transfer, self.machine, "slot_limit", [2048, 4096, 8192], options=self.options)
        self.winners: WinnerMap = sweep(self.transfer, self.machine, ("run", "runs"), ([8, 512], [1, 64]), options=self.options)

    def _between_nodes(self, emulated: bool) -> Explanation:
        """A matrix that is transposed from GPU to GPU: its plan has blocks."""
        given = preset("two-node")
        memories = tuple(replace(each, emulated=emulated and each.name == "node1.fbm0") for each in given.memories)
        machine = replace(given, memories=memories)
        fields, space = isoviz.FieldSpace(re="f8", im="f8"), isoviz.IndexSpace(x=4096, y=4096)
        move = isoviz.Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
        return explain(isoviz.plan(move, machine, options=Options("full")), machine, options=Options("full"))


@pytest.fixture(scope="module")
def made() -> Made:
    return Made(emulated=True)


@pytest.fixture(scope="module")
def real() -> Made:
    return Made(emulated=False)


def _two_paths(it: Made) -> Plan:
    boxes = Box((0, 0), (24, 32)), Box((24, 0), (48, 32))
    return plan_of_paths(it.transfer, it.machine, [(box, ["node0.sys", "node0.fbm0"]) for box in boxes])


SURFACES: dict[str, Callable[[Made], str]] = {
    "machine, drawn": lambda it: draw(it.machine),
    "machine, JSON": lambda it: json.dumps(machine_to_json(it.machine)),
    "machine, page": lambda it: figures.html(it.machine),
    "machine, graph": lambda it: figures.path_svg(it.machine),
    "machine, rates": lambda it: _plot(figures.machine_throughput_figure, it.machine),
    "plan, text": lambda it: str(it.plan),
    "plan, JSON": lambda it: json.dumps(plan_to_json(it.plan)),
    "plan, JSON read again": lambda it: str(plan_from_json(json.loads(json.dumps(plan_to_json(it.plan))))),
    "plan, representation": lambda it: figures.html(it.plan),
    "plan, on its machine": lambda it: figures.path_svg(it.machine, it.plan),
    "plan, cards": lambda it: figures.cards_svg(it.plan),
    "plan, rates": lambda it: _plot(figures.plan_throughput_figure, it.machine, it.plan),
    "plan by hand": lambda it: str(cost(it.transfer, it.machine, ["node0.sys", "node0.zcm", "node0.fbm0"])),
    "plan of two paths": lambda it: str(_two_paths(it)),
    "explanation, text": lambda it: explanation_text(it.explanation),
    "explanation, representation": lambda it: figures.html(it.explanation),
    "explanation, Markdown": lambda it: it.explanation.document().markdown(),
    "explanation, str": lambda it: str(it.explanation),
    "candidates": lambda it: _plot_in("Candidate paths", figures.html(it.far)),
    "block sizes": lambda it: _plot_in("Block sizes", figures.html(it.far)),
    "sweep": lambda it: figures.html(it.sweep),
    "sweep, picture": lambda it: _plot(figures.sweep_figure, it.sweep),
    "winners, text": lambda it: str(it.winners),
    "winners": lambda it: figures.html(it.winners),
    "winners, picture": lambda it: _plot(figures.winner_map_figure, it.winners),
    "chunk sizes": lambda it: figures.html(it.curve),
    "chunk sizes, text": lambda it: str(it.curve),
    "chunk sizes, picture": lambda it: _plot(figures.chunk_curve_figure, it.curve),
    "simulation, text": lambda it: str(it.trace),
    "simulation, JSON": lambda it: json.dumps(it.trace.to_json()),
    "simulation, JSON read again": lambda it: str(Trace.from_json(json.loads(json.dumps(it.trace.to_json())))),
    "simulation, for Perfetto": lambda it: json.dumps(it.trace.to_chrome()),
    "simulation, representation": lambda it: figures.html(it.trace),
    "timeline": lambda it: figures.timeline_svg(it.trace),
    "two timelines": lambda it: figures.compare_svg(it.trace, it.trace),
    "buffers": lambda it: _plot(figures.buffer_figure, it.trace),
    "channels": lambda it: _plot(figures.channel_use_figure, it.trace),
}


def _plot(make: Callable[..., object], *given: object) -> str:
    (plot,) = without_plots(figures.plot_html(make, *given))[1]
    return plot


def _plot_in(title: str, page: str) -> str:
    """The plot in a page whose title begins with these words."""
    (plot,) = (each for each in without_plots(page)[1] if f'"{title}' in each)
    return plot


def _picture(name: str, page: str) -> str:
    """The picture in a page whose title has a word; the rest of the page is left out."""
    found = [svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if name in svg.partition("</title>")[0].lower()]
    assert len(found) == 1, name
    return found[0]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.few(10)
@pytest.mark.few(5)
def test_it_says_so(surface: str, made: Made, real: Made) -> None:
    assert "emulated" in SURFACES[surface](made)
    assert "emulated" not in SURFACES[surface](real)


def test_pictures_name_the_memory(made: Made) -> None:
    said = r"emulated: node0\.fbm0 \(main memory stands in"
    assert re.search(f"<text[^>]*>{said}", figures.timeline_svg(made.trace))
    assert re.search(said, _plot(figures.plan_throughput_figure, made.machine, made.plan))


# ---- runs


@pytest.fixture(scope="module")
def report(made: Made) -> Report:
    with isoviz.Engine(made.machine) as engine:
        return engine.run(made.plan)


def test_a_run_says_so(report: Report) -> None:
    assert report.verified
    for text in (str(report), json.dumps(report.to_json()), figures.html(report), str(report.trace)):
        assert "emulated" in text
    assert "emulated" in _picture("planned and measured rates", figures.html(report))
    assert "emulated" in _picture("simulated and measured", figures.html(report))


def test_a_run_is_not_judged_by_its_speed(report: Report, made: Made) -> None:
    """How near an emulated memory comes to the prediction for real hardware says nothing of the prediction."""
    assert all(row.measured is not None and row.ratio is None for row in measurements(report))
    assert not re.search(r"\d×", str(report))
    real = replace(report, plan=replace(made.plan, emulated=()))
    assert re.search(r"\d×", str(real)) and all(row.ratio is not None for row in measurements(real))


# ---- the command line


def written(it: Made, folder: Path) -> Path:
    save(it.machine, folder / "machine.json")
    (folder / "move.toml").write_text(FILE)
    return folder / "move.toml"


COMMANDS = {
    "plan": ["plan"],
    "plan --json": ["plan", "--json"],
    "plan --explain": ["plan", "--explain"],
    "plan --explain --json": ["plan", "--explain", "--json"],
    "cost": ["cost", "--path", "node0.sys,node0.fbm0"],
    "cost --json": ["cost", "--path", "node0.sys,node0.fbm0", "--json"],
    "simulate": ["simulate"],
    "simulate --json": ["simulate", "--json"],
    "run": ["run"],
    "run --json": ["run", "--json"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.few(3)
def test_commands_say_so(command: str, made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, *options = COMMANDS[command]
    assert main([name, str(written(made, tmp_path)), *options]) == 0
    assert "emulated" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["show", "simulate", "run"])
def test_pages_say_so(command: str, made: Made, tmp_path: Path) -> None:
    """Once for browsers with scripts, in what the page holds, and once for those without."""
    page = tmp_path / "page.html"
    assert main([command, str(written(made, tmp_path)), "-o", str(page)]) == 0
    text = page.read_text()
    without_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "node0.fbm0 (emulated)" in without_scripts
    stops = check_saved_page(text).content["traits"]["part_plan"]["paths"][0]["stops"]
    assert [stop["memory"] for stop in stops if stop["emulated"]] == ["node0.fbm0"]


def test_files_of_a_simulation_say_so(made: Made, tmp_path: Path) -> None:
    trace, chrome = tmp_path / "trace.json", tmp_path / "chrome.json"
    assert main(["simulate", str(written(made, tmp_path)), "--trace", str(trace), "--chrome", str(chrome)]) == 0
    assert json.loads(trace.read_text())["transfers"][0]["emulated"] == ["node0.fbm0"]
    assert json.loads(chrome.read_text())["otherData"]["emulated"] == "node0.fbm0"


def test_the_command_machine_says_so(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(made, tmp_path)
    figure = tmp_path / "rates.html"
    assert main(["machine", str(tmp_path / "machine.json"), "--figure", str(figure)]) == 0
    assert "emulated" in capsys.readouterr().out and "emulated" in figure.read_text()
    assert main(["machine", str(tmp_path / "machine.json"), "--beside", "laptop"]) == 0
    assert "emulated" in capsys.readouterr().out
