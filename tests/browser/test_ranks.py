"""Ranks in the explorer: chosen as a machine, started by a run, kept, killed from outside, started again, and gone at the end."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import harness
import psutil
import pytest
from playwright.sync_api import expect

from isoviz.launch import guardian

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or not (Path(sys.executable).parent / "mpiexec").exists(),
    reason="mpi4py and mpiexec are not installed here",
)
START = 180_000
"""Milliseconds that ranks may take to start beside other tests."""
SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 512, "y": 256}, fields={"re": "float32", "im": "float32"},
    source=("node0.sys", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), restore=False,
)
"""


def choose_ranks(notebook: harness.Notebook, ranks: int) -> None:
    """Choose a machine of ranks, and a transfer from its first rank to its last."""
    notebook.open_drawer()
    notebook.part("machine").select_option("ranks")
    notebook.settled()
    notebook.part("machine-option-ranks").fill(str(ranks))
    notebook.settled()
    notebook.part("destination-memory").select_option(f"node{ranks - 1}.reg")
    notebook.settled()
    notebook.close_drawer()


def phase(notebook: harness.Notebook, name: str) -> None:
    expect(notebook.part("ranks")).to_have_attribute("data-phase", name, timeout=START)


def run(notebook: harness.Notebook, begin: Callable[[], None]) -> None:
    """Run, and wait for the end of the run, which may have to start ranks."""
    before = int(notebook.explorer.get_attribute("data-run") or 0)
    begin()
    expect(notebook.explorer).to_have_attribute("data-run", str(before + 1))
    expect(notebook.explorer).to_have_attribute("data-running", "false", timeout=START)
    notebook.settled()


def pids(notebook: harness.Notebook) -> list[int]:
    """The processes of the ranks, as Python says them."""
    told: list[int] = json.loads(notebook.python("print(list(explorer.session.wait().ranks.pids))"))
    notebook.to_top()
    return told


def verified(notebook: harness.Notebook) -> None:
    expect(notebook.part("verified")).to_have_attribute("data-verified", "true")


def family(process: int) -> list[psutil.Process]:
    """A rank, the processes that started it up to the kernel, and all that these have started."""
    rank = psutil.Process(process)
    above = [each for each in rank.parents() if "isoviz" in " ".join(each.cmdline()) and "kernel" not in " ".join(each.cmdline())]
    top = [each for each in above if "guardian" in " ".join(each.cmdline())][-1:] or above[-1:]
    return [rank, *(found for each in top for found in (each, *each.children(recursive=True)))]


def gone(processes: list[psutil.Process], files: list[Path], seconds: float = 60.0) -> list[object]:
    """What is left of processes and files after some time at most."""
    last, pause = time.monotonic() + seconds, threading.Event()

    def left() -> list[object]:
        alive = [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        return [*alive, *(file for file in files if file.exists())]

    while left() and time.monotonic() < last:
        pause.wait(0.02)
    return left()


def test_plans_run_in_ranks_that_stay_are_lost_and_start_again(desk: harness.Notebook, full: bool) -> None:
    notebook, ranks = desk, 4 if full else 2
    notebook.show(SMALL)
    notebook.to_top()
    notebook.settled()
    choose_ranks(notebook, ranks)
    notebook.part("tab-run").click()
    words = f"{ranks} ranks of this computer"
    expect(notebook.part("figure-where")).to_have_text(f"runs on {words}")
    expect(notebook.part("place-process")).to_be_disabled()
    expect(notebook.part("place-ranks")).to_be_checked()
    expect(notebook.part("ranks-words")).to_contain_text(f"The first run starts {ranks} ranks")
    # The first run starts the ranks.
    run(notebook, notebook.part("run").click)
    verified(notebook)
    phase(notebook, "running")
    expect(notebook.part("ranks-words")).to_contain_text(f"{ranks} ranks run: ")
    first = pids(notebook)
    assert len(first) == ranks
    processes = [found for process in first for found in family(process)]
    files = [Path(file) for file in guardian.mapped_files([process.pid for process in processes])]
    # The requests of all ranks, on one clock.
    notebook.part("dock-size").click()
    notebook.part("run-timeline").click()
    expect(notebook.part("run-timelines")).to_have_attribute("data-traces", "2")
    notebook.part("run-timelines").scroll_into_view_if_needed()
    notebook.at_rest()
    notebook.picture("ranks-timeline")
    notebook.part("run-timeline").click()
    # They stay for the next runs.
    notebook.part("repeat-times").fill("3")
    run(notebook, notebook.part("repeat").click)
    verified(notebook)
    expect(notebook.part("spread").first).to_be_visible()
    assert pids(notebook) == first
    notebook.at_rest()
    notebook.picture("ranks-run")
    notebook.choose_theme("Dark")
    notebook.to_top()
    notebook.picture("ranks-run-dark")
    notebook.choose_theme("Light")
    # A rank is killed from outside: that is told, and the next run starts new ones.
    os.kill(first[-1], signal.SIGKILL)
    phase(notebook, "lost")
    told = f"Rank {ranks - 1} (pid {first[-1]}) was killed by SIGKILL"
    expect(notebook.part("ranks-words")).to_contain_text(told)
    assert gone(processes, files) == []
    notebook.to_top()
    notebook.at_rest()
    notebook.picture("ranks-lost")
    notebook.part("start-ranks").click()
    phase(notebook, "running")
    second = pids(notebook)
    assert not set(first) & set(second)
    run(notebook, notebook.part("run").click)
    verified(notebook)
    processes = [found for process in second for found in family(process)]
    files = [Path(file) for file in guardian.mapped_files([process.pid for process in processes])]
    # Ended by hand, nothing is left behind.
    notebook.part("end-ranks").click()
    phase(notebook, "ended")
    assert gone(processes, files) == []
    # A session that closes ends its ranks; those of one rank in a test below.
    if full:
        notebook.part("start-ranks").click()
        phase(notebook, "running")
        processes = [found for process in pids(notebook) for found in family(process)]
        files = [Path(file) for file in guardian.mapped_files([process.pid for process in processes])]
        notebook.python("explorer.close()")
        assert gone(processes, files) == []


@pytest.mark.full
def test_the_machine_of_ranks_is_drawn_without_clutter(desk: harness.Notebook) -> None:
    notebook = desk
    notebook.show(SMALL)
    notebook.to_top()
    notebook.settled()
    choose_ranks(notebook, 4)
    notebook.part("tab-machine").click()
    expect(notebook.part("machine-runs")).to_contain_text("runs in 4 MPI ranks on this computer")
    notebook.part("dock-size").click()
    notebook.part("machine-stage").wait_for()
    notebook.part("zoom-fit").click()
    notebook.at_rest()
    notebook.picture("ranks-machine")
    notebook.part("canvas-memory-node1.reg").click()
    expect(notebook.part("edit-memory")).to_be_visible()
    notebook.at_rest()
    notebook.picture("ranks-machine-around")
    # Of the channels on one line each has a link to the others.
    notebook.part("machine-search").fill("node0.sys->node3.reg Packed")
    notebook.page.keyboard.press("Enter")
    expect(notebook.part("edit-channel")).to_be_visible()
    others = notebook.part("beside-channel").get_by_role("button")
    assert others.count() == 2
    notebook.choose_theme("Dark")
    notebook.to_top()
    notebook.picture("ranks-machine-dark")
    notebook.choose_theme("Light")
    others.first.click()
    expect(notebook.part("edit-channel")).to_have_attribute("aria-label", harness.containing("Window"))
    # Ranks of several hosts say which host has them, and that they run here all the same.
    notebook.open_drawer()
    notebook.part("machine-option-hosts").fill("2")
    notebook.settled()
    notebook.close_drawer()
    expect(notebook.part("canvas-node-3").locator(".iv-mc-remark")).to_have_text("on host1")
    expect(notebook.part("canvas-node-3").locator(".iv-mc-remark")).to_be_visible()
    notebook.part("zoom-fit").click()
    notebook.at_rest()
    notebook.picture("ranks-hosts")
    notebook.part("tab-run").click()
    expect(notebook.part("run-where")).to_contain_text("The machine has 2 hosts.")


@pytest.mark.full
def test_a_machine_of_one_s_own_runs_in_the_place_that_is_chosen(desk: harness.Notebook) -> None:
    notebook = desk
    notebook.show(SMALL.replace('("node0.sys", "<x, y, F>")', '("node0.dsk", "<x, y, F>")'))
    notebook.to_top()
    notebook.settled()
    notebook.part("tab-run").click()
    expect(notebook.part("place-process")).to_be_checked()
    expect(notebook.part("figure-where")).to_have_text("runs on this computer")
    notebook.part("place-ranks").check()
    notebook.settled()
    expect(notebook.part("figure-where")).to_have_text("runs on 1 rank of this computer")
    run(notebook, notebook.part("run").click)
    verified(notebook)
    phase(notebook, "running")
    processes = [found for process in pids(notebook) for found in family(process)]
    notebook.part("place-process").check()
    notebook.settled()
    run(notebook, notebook.part("run").click)
    verified(notebook)
    notebook.at_rest()
    notebook.picture("ranks-places")
    # Python that was copied knows the place.
    notebook.part("place-ranks").check()
    notebook.settled()
    code = notebook.python(
        "from isoviz.widgets.chosen.python_text import python_text; print(python_text(explorer.session.wait().settings))"
    )
    assert 'runs_in="ranks"' in code
    notebook.python("explorer.close()")
    assert gone(processes, []) == []
