"""This computer in the explorer: planned at once on assumed figures, measured in the background, once for all, cancellable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from isoviz.errors import FileError, RunError
from isoviz.machines import Machine, preset
from isoviz.machines.measurement import Measurement
from isoviz.measure import computer_probe as probing
from isoviz.measure.assumed_host import described
from isoviz.this_computer import this_computer, versions
from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.consequences import chosen_machine
from isoviz.widgets.consequences.chosen_machine import MachineVersion, cancel_measuring, machine_versions, measure_again
from isoviz.widgets.session import Session
from isoviz.widgets.state import Problem

Tell = Callable[[str, float], None]


class Clock:
    """A measurement that takes as long as a test wants: it waits in the disk's part until it `may_end`."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Event()

    def probe(self, directory: Path, tell: Tell) -> Machine:
        self.begun += 1
        tell("memory", 0.25)
        while not self.may_end.wait(0.002):
            tell("disk", 0.6)
        tell("disk", 0.6)
        measurement = Measurement(this_computer(), f"2026-01-01T00:00:0{self.begun}+00:00", 1.0, versions())
        return replace(described(directory, f"measured 2026-01-0{self.begun} on here"), measurement=measurement)


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(probing, "probe_briefly", made.probe)
    chosen_machine._local_machines.clear()
    yield made
    made.may_end.set()
    chosen_machine._local_machines.clear()


def here(tmp_path: Path, **options: str) -> PresetMachine:
    return PresetMachine("local", (("directory", str(tmp_path)), *options.items()))


def until(found: Iterator[MachineVersion], words: str) -> MachineVersion:
    return next(each for each in found if words in each.step)


def test_the_first_machine_is_there_at_once_and_says_that_it_is_assumed(clock: Clock, tmp_path: Path) -> None:
    found = machine_versions(here(tmp_path), 0, {})
    first = until(found, "disk, 60 %")
    assert first.step == "Measuring this computer: disk, 60 %"
    assert first.machine is not None
    said = "assumed, until this computer has been measured"
    assert {first.machine.provenance, *(channel.provenance for channel in first.machine.channels)} == {said}
    clock.may_end.set()
    *_, last = found
    assert last.step == ""
    assert last.machine is not None and last.machine.provenance.startswith("measured")
    assert preset("local", directory=str(tmp_path)) == last.machine, "it is kept"
    assert list(machine_versions(here(tmp_path), 0, {})) == [last]
    assert clock.begun == 1


def test_two_that_ask_measure_once(clock: Clock, tmp_path: Path) -> None:
    one, two = machine_versions(here(tmp_path), 0, {}), machine_versions(here(tmp_path), 0, {})
    until(one, "disk")
    until(two, "disk")
    clock.may_end.set()
    assert [*one][-1].machine == [*two][-1].machine
    assert clock.begun == 1


def test_a_cancelled_measurement_leaves_assumed_figures_and_says_so(clock: Clock, tmp_path: Path) -> None:
    found = machine_versions(here(tmp_path), 0, {})
    until(found, "disk")
    assert cancel_measuring()
    *_, last = found
    assert last.step == ""
    assert last.machine is not None and last.machine.provenance == "assumed: measuring was cancelled"
    assert list(machine_versions(here(tmp_path), 0, {})) == [last], "it does not begin again by itself"
    clock.may_end.set()
    assert [*machine_versions(here(tmp_path), 1, {})][-1].machine != last.machine, "it does where it is asked for"
    assert clock.begun == 2
    assert not cancel_measuring()


def test_measured_again_while_the_earlier_figures_stand(clock: Clock, tmp_path: Path) -> None:
    clock.may_end.set()
    (*_, before) = machine_versions(here(tmp_path), 0, {})
    clock.may_end.clear()
    found = machine_versions(here(tmp_path), 7, {})
    assert until(found, "disk").machine == before.machine
    clock.may_end.set()
    assert [*found][-1].step == ""
    assert clock.begun == 2


def test_measure_again_tells_its_progress_and_its_errors(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def progress(step: str) -> None:
        said.append(step)
        if step.startswith("disk"):
            clock.may_end.set()

    assert measure_again(progress, tmp_path).provenance.startswith("measured")
    assert said[-1] == "disk, 60 %"

    def broken(directory: Path, tell: Tell) -> Machine:
        raise FileError("no memory to measure")

    monkeypatch.setattr(probing, "probe_briefly", broken)
    with pytest.raises(RunError, match="no memory to measure"):
        measure_again(progress, tmp_path)


@pytest.mark.parametrize(
    ("options", "control", "words"),
    [
        ({"measure": "guessed"}, "machine-option:measure", "expected one of cached"),
        ({"measure": "assumed", "directory": "/nowhere"}, "machine-option:directory", "is no directory"),
        ({"directory": "/nowhere"}, "machine-option:directory", "is no directory"),
    ],
)
def test_what_is_wrong_with_its_options_is_told_there(options: dict[str, str], control: str, words: str) -> None:
    problems: dict[str, Problem] = {}
    assert [*machine_versions(PresetMachine("local", tuple(options.items())), 0, problems)] == [MachineVersion(None, "")]
    assert words in problems[control].message


def test_a_session_plans_before_it_has_measured(clock: Clock, tmp_path: Path) -> None:
    session = Session(settings_for(machine_options={"directory": str(tmp_path)}, space={"x": 64, "y": 32}))
    planned = threading.Event()

    def look(_finished: bool) -> None:
        derived = session.state.derived
        if derived.plan is not None and "disk" in derived.step:
            planned.set()

    session.listen(look)
    release = session.demand("explorer")
    try:
        assert planned.wait(120)
        assert session.state.derived.machine is not None
        assert session.state.derived.machine.provenance.startswith("assumed")
        assert not session.state.settled
        session.cancel()
        state = session.wait()
        assert state.derived.machine is not None and state.derived.plan is not None
        assert state.derived.machine.provenance == "assumed: measuring was cancelled"
        assert not clock.may_end.is_set()
        session.send({"kind": "measure"})
        clock.may_end.set()
        state = session.wait()
        assert state.derived.machine is not None
        assert state.derived.machine.provenance.startswith("measured")
        assert state.derived.problems == {}
    finally:
        release()
        session.close()
