"""Plans of several paths on real ranks: every byte through proxies, proxies that are lost, Ctrl-C, and clients."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from client_arrays import table, turned
from mpi_jobs import is_open_mpi, needs_mpi, run, run_json
from relay_runs import machine_of

import isoviz
from isoviz.errors import Cancelled, RankLost

HERE = Path(__file__).parent
RUNS, FAULTS, INTERRUPTS = (str(HERE / f"{name}.py") for name in ("relay_runs", "relay_faults", "interrupts"))
LINKS = [(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)]
pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [4, pytest.param(6, marks=pytest.mark.full), pytest.param(8, marks=pytest.mark.full)])
def test_random_plans_of_one_to_three_paths(
    ranks: int, full: bool, report: Callable[[str, object], None], tmp_path: Path
) -> None:
    """Directly and through one or two proxies, with and without a layout change; then all at once, with cancels."""
    found = run_json(ranks, RUNS, f"relays {ranks}", "40" if full else "9", str(tmp_path), seconds=260)
    assert all(found[f"over {count} paths"] for count in (1, 2, 3)), found
    assert found["with a layout change"] and found["through proxies"] and found["proxies that forward while they receive"]
    for what, number in found.items():
        report(f"plans of several paths on ranks: {what}", number)


@pytest.mark.parametrize(
    ("which", "gone", "kind"),
    [
        ("SIGKILL", 1, "Window"),
        pytest.param("SIGKILL", 1, "Packed", marks=pytest.mark.full),
        pytest.param("SIGKILL", 0, "Packed", marks=pytest.mark.full),
        pytest.param("SIGSTOP", 1, "Window", marks=pytest.mark.full),
        pytest.param("SIGSTOP", 1, "Packed", marks=pytest.mark.full),
        pytest.param("SIGSTOP", 0, "Window", marks=pytest.mark.full),
        pytest.param("SIGSTOP unfenced", 1, "Window", marks=pytest.mark.full),
    ],
)
def test_a_lost_proxy_is_one_error_and_the_others_go_on(
    which: str, gone: int, kind: str, report: Callable[[str, object], None], tmp_path: Path
) -> None:
    """It is killed or stopped in the middle of a chunk. The others keep their bytes, also where they cannot end it."""
    signal_name, *unfenced = which.split()
    if which == "SIGKILL" and not is_open_mpi():
        done = run(4, FAULTS, "lost", which, str(gone), kind, str(tmp_path), seconds=200)
        assert done.returncode != 0, "MPICH ends the whole job with one of its ranks"
        return
    done = run(4, FAULTS, "lost", signal_name, str(gone), kind, str(tmp_path), *unfenced, seconds=200, survivors=True)
    notes = sorted(tmp_path.glob("survivor*"))
    assert len(notes) == 3, done.stdout + done.stderr
    for note in notes:
        found = json.loads(note.read_text())
        # Where it cannot be ended, each rank leaves the others, and may hear of another one first.
        assert found["error"] == "RankLost" and (unfenced or found["names"] == gone), found
        assert found["ended"] is not bool(unfenced), found
        assert found["overwritten"] == 0 and found["source"], found
        assert found["again"] == ("left" if unfenced else [2 if gone else 1, True]), found
        report(f"seconds until all know of a proxy that got {which}", round(found["seconds"], 2))


INTERRUPTED = ("relay", "direct", "again", "prepared", "report", "redistribution", "lane")


@pytest.mark.parametrize(
    "what",
    ["report,again,redistribution,lane", *(pytest.param(way, marks=pytest.mark.full) for way in INTERRUPTED)],
)
def test_ctrl_c_at_any_moment_is_a_cancel_for_the_other_ranks(
    what: str, full: bool, report: Callable[[str, object], None]
) -> None:
    """On any rank. It is never told as an error or as the loss of a rank, and the next call finds all ranks at the same place."""
    found = run_json(4, INTERRUPTS, what, "200" if full and what in INTERRUPTED else "6", "1", seconds=200)
    for each, told in found.items():
        assert sum(told.values()) >= 6 and (each != what or told["interrupted, the others cancelled"])
        for how, times in told.items():
            report(f"Ctrl-C in what ranks do together ({each}): {how}", times)


@pytest.mark.full
def test_ctrl_c_on_any_rank_cancels_all_paths() -> None:
    found = run_json(4, FAULTS, "interrupted", seconds=200)
    for victim, said in found.items():
        assert said[int(victim)] in ("interrupted", "Cancelled"), found
        assert set(said) <= {"interrupted", "Cancelled"}, found


# ---- from a client


@pytest.fixture(scope="module")
def four() -> Iterator[isoviz.Ranks]:
    with isoviz.ranks(4) as ranks:
        yield ranks


def planned(ranks: isoviz.Ranks, size: int = 256) -> tuple[isoviz.Machine, isoviz.Plan]:
    """Three paths, directly and through two proxies; structs become columns on the way."""
    machine = machine_of([each.host for each in ranks.processes], LINKS, lambda *_: ("Window", "reg", "reg"))
    space, fields = isoviz.IndexSpace(x=size, y=size), isoviz.FieldSpace(a="float32", b="int64")
    moved = isoviz.Transfer.whole(space, fields, "node0.reg", "<F, x, y>", "node3.reg", "<y, x, F>")
    made = isoviz.plan(moved, machine, "multipath")
    assert len(made.paths) == 3 and len({path.memories for path in made.paths}) == 3
    return machine, made


@pytest.mark.full
def test_a_client_gets_its_array_over_three_paths(four: isoviz.Ranks) -> None:
    machine, made = planned(four)
    given, room = table(256), np.zeros(256 * 256 * 12, np.uint8)
    report = four.run(made, given, room, machine=machine)
    assert report.verified and room.tobytes() == turned(given)
    assert {hop.path for hop in report.hops} == {0, 1, 2} and "path 2" in str(report)
    assert report.trace is not None and {span.hop for span in report.trace.requests} == set(range(len(report.hops)))


@pytest.mark.parametrize("window", [4096, 1 << 16])
@pytest.mark.full
def test_the_window_may_be_given_by_hand(four: isoviz.Ranks, window: int) -> None:
    """Each path moves its share in chunks of the window, and so do its proxies."""
    machine, size = planned(four)[0], 1 << 18
    moved = isoviz.Transfer.whole(
        isoviz.IndexSpace(x=size), isoviz.FieldSpace(v="u1"), "node0.reg", "<F, x>", "node3.reg", "<F, x>"
    )
    ways = [({"x": (number * size // 2, (number + 1) * size // 2)}, f"node{number + 1}.reg") for number in range(2)]
    made = isoviz.planner.plan_of_paths(
        moved, machine, [(share, ["node0.reg", proxy, "node3.reg"], (), window) for share, proxy in ways]
    )
    given, room = np.random.default_rng(window).integers(0, 256, size, np.uint8), np.zeros(size, np.uint8)
    report = four.run(made, given, room, machine=machine)
    assert report.verified and np.array_equal(room, given) and report.trace is not None
    chunks = {(span.hop, span.chunk) for span in report.trace.requests}
    assert len(chunks) == 4 * (size // 2 // window)


@pytest.mark.full
def test_a_client_prepares_three_paths(four: isoviz.Ranks) -> None:
    machine, made = planned(four)
    given = table(256)
    with four.prepare(made, given, machine=machine) as prepared:
        assert len(prepared.run(5)) == 5
        found = prepared.destination()
        assert found is not None and found.tobytes() == turned(given)


@pytest.mark.full
def test_a_client_cancels_and_goes_on(four: isoviz.Ranks) -> None:
    machine, made = planned(four)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        four.run(made, progress=interrupt, machine=machine)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        four.run(made, cancel=cancel, machine=machine)
    assert four.run(made, machine=machine).verified


@pytest.mark.full
def test_a_client_is_told_of_a_killed_proxy() -> None:
    with isoviz.ranks(4) as ranks:
        machine, made = planned(ranks, 512)
        assert ranks.run(made, machine=machine).verified
        submitted = [ranks.submit(made, machine=machine) for _ in range(20)]
        submitted[0].reports(120)
        began = time.monotonic()
        os.kill(ranks.processes[1].pid, signal.SIGKILL)
        with pytest.raises(RankLost, match=r"rank 1 .*was killed by SIGKILL"):
            submitted[-1].reports(120)
        assert time.monotonic() - began < 60
        ranks.start_again()
        assert ranks.run(made, machine=machine).verified
