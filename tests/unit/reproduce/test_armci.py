"""`isoviz reproduce armci`: protocols are plans, formulas give their times, and what is printed is what was simulated."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from html_cases import without_plots

from isoviz import preset
from isoviz.figures.page import document_page
from isoviz.reproduce import Reproduction, armci, reproduce
from isoviz.reproduce.armci import applications, contiguous, noncontiguous
from isoviz.reproduce.armci.assumptions import (
    ASSISTED,
    BUFFERED,
    KIB,
    MIB,
    ON_DEMAND,
    PIPELINED,
    ZERO_COPY,
    ArmciAssumptions,
    carried_out,
    copies_of,
    machine,
    scattered,
    seconds,
)
from isoviz.reproduce.assumption import described
from isoviz.reproduce.experiment import experiments_of

GIVEN = ArmciAssumptions()
US = 1e-6


def test_the_assumptions_are_those_of_the_preset() -> None:
    assert machine(GIVEN) == preset("armci-cluster")
    assert machine(GIVEN, True, nodes=3) == preset("armci-cluster", busy=0.6, nodes=3)
    dearer = machine(replace(GIVEN, call=1.0, read=2.0))
    assert dearer.channel("node0.sys->node0.reg").request_seconds == 1.0
    assert dearer.channel("node0.reg->node1.reg").request_seconds == 2.0


def test_every_assumption_is_named_and_turned() -> None:
    names = {each.name for each in described(GIVEN)}
    turned = {name for each in experiments_of(armci) for figure in each.depends for name in figure.on}
    assert names == turned == {*vars(GIVEN)}


def formula(protocol: str, runs: int, run: int, left: float = 1.0) -> float:
    """Seconds of a get, written down anew from the figures of the paper and the assumptions, without pages."""
    wire = runs * run / 689e6
    copy = GIVEN.call + runs * GIVEN.copied_run + runs * run / GIVEN.copy
    return {
        ZERO_COPY: 16 * US + (runs - 1) * GIVEN.read + wire,
        ASSISTED: 22.1 * US + (math.ceil(runs / 60) - 1) * US + runs * 0.016 * US + wire,
        BUFFERED: 7.44 * US + 16 * US + copy / left + wire + copy,
        ON_DEMAND: 16 * US + (runs - 1) * GIVEN.read + wire + 2 * GIVEN.register,
    }[protocol]


@pytest.mark.parametrize(("runs", "run"), [(1, 8), (1, MIB), (60, 64), (61, 64), (256, 4 * KIB), (4096, 8)])
@pytest.mark.parametrize("busy", [False, True])
def test_formulas_give_the_times_of_the_plans(runs: int, run: int, busy: bool) -> None:
    transfer, on, left = scattered(runs, run), machine(GIVEN, busy), GIVEN.left if busy else 1.0
    for protocol in (ZERO_COPY, ASSISTED, BUFFERED):
        assert seconds(protocol, transfer, on) == pytest.approx(formula(protocol, runs, run, left)), protocol
    both_ends = 2 * GIVEN.page * math.ceil(runs * run * (2 if runs > 1 else 1) / 4096)
    on_demand = seconds(ON_DEMAND, scattered(runs, run, "sys"), on)
    assert on_demand == pytest.approx(formula(ON_DEMAND, runs, run) + both_ends)


def test_pipelined_is_buffered_in_more_chunks() -> None:
    buffered, pipelined = (carried_out(protocol, scattered(1, MIB, "sys"), machine(GIVEN)) for protocol in (BUFFERED, PIPELINED))
    assert [hop.channel for hop in buffered.hops] == [hop.channel for hop in pipelined.hops]
    assert buffered.only.chunk_count == 1 < pipelined.only.chunk_count
    for plan in (buffered, pipelined):
        called = plan.only.chunk_count * (GIVEN.call + GIVEN.copied_run)
        assert copies_of(plan, -1) == pytest.approx(called + MIB / GIVEN.copy, rel=2e-3)
    assert copies_of(carried_out(ZERO_COPY, scattered(1, MIB), machine(GIVEN)), -1) == 0


def statements() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in experiments_of(armci):
        for statement in each.statements(each(GIVEN), quick=False):
            assert f"{each.name}: {statement.what}" not in found
            found[f"{each.name}: {statement.what}"] = statement
    return found


def test_the_statements() -> None:
    """What was put in tests nothing, ranges of programs are assumed, and all others agree."""
    found = statements()
    assert {each.verdict for each in found.values()} == {"agrees", "put in", "fitted", "assumed", "no figure"}
    put_in = [what.partition(":")[0] for what, each in found.items() if each.verdict == "put in"]
    assert sorted(set(put_in)) == ["figure 3", "figure 4", "section 4.3", "section 5.1", "section 5.2", "table 1"]
    for what, each in found.items():
        if each.verdict == "put in" and "60 runs" not in what:
            assert each.ours == pytest.approx(each.high, rel=2e-2), what
    assumed = {what.partition(":")[0] for what, each in found.items() if each.verdict == "assumed"}
    assert assumed == {"figure 11", "figure 12"}
    ours = {what: each.ours for what, each in found.items()}
    whole = formula(ZERO_COPY, 1, MIB)
    for what, expected in {
        "figure 7a: zero-copy, largest get: overlap": 1 - 8 * US / whole,
        "figure 7b: host-assisted, largest square: overlap": 1 - 16 * US / formula(ASSISTED, 512, 4096),
        "figure 9: a get for each run over host-assisted, 64 B": formula(ZERO_COPY, 256, 64) / formula(ASSISTED, 256, 64),
        "figure 9: 1 MiB in runs of 4 KiB beside contiguous, throughput": whole / formula(ASSISTED, 256, 4096),
        "section 5.2: 60 runs over one of the same bytes": 59 * 0.016 * US,
        "section 5.1: large get, copied": 1 / (1 / 237e6 + 1 / 1.2e9),
    }.items():  # fmt: skip
        assert ours[what] == pytest.approx(expected, rel=1e-3), what
    assert ours["figure 6: 1 MiB, zero-copy: busy over idle"] == 1.0 == ours["figure 10: host-assisted, most: busy over idle"]


@pytest.mark.parametrize("left", [0.9, 0.5, 0.1, 0.01])
def test_the_busier_the_owner_the_slower_its_copies(left: float) -> None:
    given = replace(GIVEN, left=left)
    found = contiguous.figure5(given, (MIB,))
    assert contiguous.lost(found, ZERO_COPY) == 1.0
    busier = contiguous.figure5(replace(given, left=left / 2), (MIB,))
    for protocol in (PIPELINED, BUFFERED):
        assert contiguous.lost(busier, protocol) > contiguous.lost(found, protocol) * (1 if left == 0.9 else 1.05)
    assert noncontiguous.over(noncontiguous.figure9(given, (64,)), BUFFERED, 64, "busy") >= noncontiguous.over(
        noncontiguous.figure9(GIVEN, (64,)), BUFFERED, 64
    )


def test_the_planner_takes_another_protocol_where_the_owner_is_busy() -> None:
    rows = noncontiguous.section42(GIVEN)
    turned = {(row["memory"], row["runs"], row["run"]): (row["idle"], row["busy"]) for row in rows if row["idle"] != row["busy"]}
    assert turned == {
        ("pageable", 1, MIB): (PIPELINED, ON_DEMAND),
        ("registered", 4096, 64): (PIPELINED, ASSISTED),
        ("registered", 16384, 8): (PIPELINED, ASSISTED),
    }
    assert all(row["busy_seconds"] >= row["idle_seconds"] for row in rows)


def test_requests_count_the_runs_of_both_ends() -> None:
    rows = noncontiguous.section52(GIVEN)
    assert [row["requests"] for row in rows] == [math.ceil(row["runs"] / 60) for row in rows]
    assert [row["requests"] for row in noncontiguous.figure7b(GIVEN) if row["protocol"] == ASSISTED] == [1, 1, 1, 2, 3, 5, 9]


# ---- the programs


@pytest.mark.parametrize(("processes", "grid"), [(1, (1, 1, 1)), (4, (2, 2, 1)), (16, (4, 2, 2)), (32, (4, 4, 2))])
def test_a_v_cycle_has_all_points_and_faces(processes: int, grid: tuple[int, int, int]) -> None:
    assert applications.process_grid(processes) == grid
    levels = applications.exchanges(processes)
    assert len(levels) == 8 and [count for _, count, _ in levels] == [3] * 7 + [2]
    assert levels[0][0] * processes == 256**3
    assert all(len(faces) == sum(parts > 1 for parts in grid) for _, _, faces in levels)
    x, y, z = (256 // parts for parts in grid)
    faces = [(y + 2) * (z + 2) * 8, (x + 2) * (z + 2) * 8, (x + 2) * (y + 2) * 8]
    assert levels[0][2] == [face for face, parts in zip(faces, grid, strict=True) if parts > 1]


def test_one_process_sends_nothing_and_waits_for_nobody_where_nothing_is_waited_for() -> None:
    given = replace(GIVEN, waiting=0.0)
    times = {applications.iteration(given, way, 1) for way in applications.WAYS}
    assert len(times) == 1
    operations = 58 * 7 / 8 * sum(8**level for level in range(1, 9))
    assert times.pop() == pytest.approx(operations / given.stencil)


def test_messages_of_mpi() -> None:
    short, long = (applications.mpi_seconds(GIVEN, nbytes) for nbytes in (8 * KIB, 8 * KIB + 1))
    assert short == pytest.approx(8.03 * US + 8192 * (2 / 1.2e9 + 1 / 730e6))
    assert long == pytest.approx(3 * 8.03 * US + 8193 / 730e6)


def test_a_product_hides_gets_behind_computing_and_computing_behind_gets() -> None:
    quick, slow = replace(GIVEN, matrices=1e15), replace(GIVEN, matrices=1e6)
    for way in (ZERO_COPY, ASSISTED):
        computed = 2 * 512**3 / 8 / slow.matrices
        assert applications.product(slow, way, 512, 512, 512) == pytest.approx(computed, rel=1e-3)
    bytes_of_a_step = 256 * 128 * 8 + 128 * 128 * 8
    assert applications.product(quick, ZERO_COPY, 512, 512, 512) >= 4 * bytes_of_a_step / 1e9
    assert applications.product(quick, ZERO_COPY, 512, 512, 512) <= 4 * bytes_of_a_step / 500e6


# ---- all of it


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("armci", quick=True)


def test_as_data(found: Reproduction) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["benchmark"] == "reproduce armci" and data["quick"]
    assert [row["what"] for row in data["rows"]] == [each.what for each in found.statements]
    agreed, of = found.agreed
    assert agreed == of > 15
    assert all(math.isfinite(each.ours) for each in found.statements)
    known = {f"{name}: {each.what}": each for name, each in ((each.where.split(", ")[-1], each) for each in found.statements)}
    full = statements()
    assert known.keys() == full.keys()
    for what, each in known.items():
        assert each.verdict == full[what].verdict, what


@pytest.mark.full
def test_the_page(found: Reproduction) -> None:
    shown, plots = without_plots(document_page(found.document))
    assert len(plots) == len([*found.document.plots()]) == 9
    for each in found.assumptions:
        assert each.what in shown
    for words in ("section 5.1", "the messages of host-assisted calls", "acknowledgement", "products of matrices"):
        assert words in shown
    text = str(found)
    assert "host-assisted" in text and "isoviz reproduce armci --quick" in text
