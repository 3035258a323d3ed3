"""`isoviz reproduce umr`: schemes are plans, formulas give their times, and what is printed is what was simulated."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest
from html_cases import without_plots

from isoviz import preset
from isoviz.figures.page import document_page
from isoviz.reproduce import Reproduction, reproduce, umr
from isoviz.reproduce.assumption import described
from isoviz.reproduce.experiment import experiments_of
from isoviz.reproduce.umr import figure2, figure8, figure10, figure11, fits, pool, tables
from isoviz.reproduce.umr.assumptions import (
    BLOCKS,
    KIB,
    PACKED,
    STAGED,
    UMR,
    UmrAssumptions,
    carried_out,
    layout,
    machine,
    vector,
)
from isoviz.reproduce.umr.pool import KeyPool

GIVEN = UmrAssumptions()


def test_the_assumptions_are_those_of_the_presets() -> None:
    assert machine("mri", GIVEN) == preset("mri") and machine("theta-gpu", GIVEN) == preset("theta-gpu")
    dearer = machine("mri", replace(GIVEN, launch=1.0))
    assert dearer.channel("node0.fbm0->node0.fbm0").request_seconds == 1.0


def test_every_assumption_is_named_and_turned() -> None:
    names = {each.name for each in described(GIVEN)}
    turned = {name for each in experiments_of(umr) for figure in each.depends for name in figure.on}
    assert names == turned == {*vars(GIVEN)}


@pytest.mark.parametrize(("runs", "run"), [(16, KIB), (64, KIB), (128, 4 * KIB), (32, 2 * KIB)])
def test_formulas_give_the_times_of_the_plans(runs: int, run: int) -> None:
    times, transfer = fits.Times(GIVEN), vector(runs, run)
    for scheme, formula in ((PACKED, times.packed), (STAGED, times.staged), (BLOCKS, times.copied), (UMR, times.keyed)):
        assert carried_out(scheme, transfer, GIVEN).again == pytest.approx(float(formula(runs, run))), scheme
    assert carried_out(UMR, transfer, GIVEN).first == pytest.approx(float(times.first(runs, run)))


def test_a_contiguous_receiver_unpacks_nothing() -> None:
    transfer, times = layout("SPECFEM3D_mt B"), fits.Times(GIVEN)
    assert [hop.kind for hop in carried_out(PACKED, transfer, GIVEN).hops] == ["GPUCopy", "GPUDirectRemote"]
    assert carried_out(PACKED, transfer, GIVEN).seconds == pytest.approx(float(times.packed(64, 4 * KIB, 1)))
    assert carried_out(BLOCKS, transfer, GIVEN).seconds == pytest.approx(float(times.copied(64, 4 * KIB, 1)))
    assert carried_out(UMR, transfer, GIVEN).again == pytest.approx(float(times.keyed(64, 4 * KIB)))


def test_the_figures_of_the_page() -> None:
    """Those that the formulas give as well, and which of them agree."""
    found, formulas = {}, fits.figures(GIVEN)
    for module, experiments in (
        (figure2, ("figure2", "figure3")),
        (figure8, ("figure8",)),
        (figure10, ("figure9", "figure10")),
        (figure11, ("figure11",)),
    ):
        for name in experiments:
            experiment = getattr(module, name)
            for each in experiment.statements(experiment(GIVEN), quick=False):
                found[each.what] = each
                assert each.why or each.verdict == "agrees", f"{each.what} has no reason"
    pairs = {
        "16 blocks: default over cached": "8: default over cached, 16 blocks",
        "64 blocks: default over cached": "8: default over cached, 64 blocks",
        "pack-gdr over UMR, most": "10: pack-gdr over UMR, most",
        "pack-stage over UMR, most": "10: pack-stage over UMR, most",
        "all faces by UMR: pack-gdr over UMR": "9: all faces by UMR",
        "each face by the better scheme: pack-gdr over it": "9: each face by the better scheme",
        "MILC by pack-gdr: largest share of packing and unpacking": "2: largest share of packing",
        "MILC: pack-gdr over UMR, least": "11a: pack-gdr over UMR, least",
        "MILC: a copy for every block over UMR, least": "11a: a copy for every block over UMR, least",
        "NAS_MG: pack-gdr over UMR, least": "11b: pack-gdr over UMR, least",
        "NAS_MG: a copy for every block over UMR, most": "11b: a copy for every block over UMR, most",
        "SPECFEM3D: pack-gdr over UMR, least": "11c: pack-gdr over UMR, least",
        "SPECFEM3D: a copy for every block over UMR, most": "11c: a copy for every block over UMR, most",
    }
    for what, name in pairs.items():
        assert found[what].ours == pytest.approx(float(formulas[name]), rel=1e-6), what
    verdicts = {what: each.verdict for what, each in found.items()}
    fitted = [what for what, verdict in verdicts.items() if verdict == "fitted"]
    assert fitted == [*list(pairs)[:4]], "figures 8 and 10 test nothing"
    assert [what for what, verdict in verdicts.items() if verdict == "less"] == [
        *("all faces by UMR: pack-gdr over UMR", "each face by the better scheme: pack-gdr over it"),
        *("NAS_MG: pack-gdr over UMR, least", "NAS_MG: a copy for every block over UMR, most"),
        *("SPECFEM3D: pack-gdr over UMR, least", "SPECFEM3D: a copy for every block over UMR, most"),
    ]


def test_random_costs_that_fit_two_figures() -> None:
    found = fits.fits(GIVEN, draws=60_000)
    assert found["fits"] >= fits.LEAST and found["most"] <= 7
    shares = {row["figure"]: row["agrees"] for row in found["rows"]}
    assert shares["9: all faces by UMR"] == 0 and shares["11a: pack-gdr over UMR, least"] > 0.5
    assert fits.fits(GIVEN, draws=10)["rows"] == []


def test_keys_of_4096_blocks() -> None:
    found = tables.keys(GIVEN)
    assert (found["keys"], found["bytes"]) == (1024, 4096)
    assert all(row["keys"] >= 1024 for row in found["rows"]), "fewer runs at one end do not help"
    assert [row["keys"] for row in tables.table1(GIVEN)] == [3, 3, 2]


# ---- the pool of keys


def naive(size: int, refill: int, requests: list[tuple[int, int]]) -> list[int]:
    """When each request has its keys, in ticks: one key is made in a tick, and everything is done tick by tick."""
    now, free, making, served = 0, size, 0, []
    waiting = list(requests)
    missing = waiting[0][1] if waiting else 0
    while waiting:
        while waiting and waiting[0][0] <= now:
            taken = min(free, missing)
            free, missing = free - taken, missing - taken
            if not making and free <= size / 2:
                making = refill
            if missing:
                break
            served.append(now)
            waiting.pop(0)
            missing = waiting[0][1] if waiting else 0
        now += 1
        if making:
            making, free = making - 1, free + 1
    return served


def test_a_pool_beside_one_that_goes_tick_by_tick() -> None:
    draw = random.Random(3)
    for _ in range(200):
        size, refill, now = draw.randrange(1, 20), draw.randrange(1, 12), 0
        requests = []
        for _ in range(draw.randrange(1, 12)):
            now += draw.choice((0, 0, 1, 5, 20))
            requests.append((now, draw.randrange(0, 25)))
        served = KeyPool(size, refill, 1.0).serve([(float(asked), keys) for asked, keys in requests])
        assert [each.served for each in served] == naive(size, refill, requests), (size, refill, requests)


def test_a_burst_waits_only_for_what_the_pool_lacks() -> None:
    rows = pool.burst(GIVEN)
    for row in rows:
        assert row["waited"] == pytest.approx(row["missing"] * pool.KEY_SECONDS)
    assert rows[0]["waited"] == 0 < rows[-1]["waited"]


# ---- all of it


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("umr", quick=True)


@pytest.mark.full
def test_as_data(found: Reproduction) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["benchmark"] == "reproduce umr" and data["quick"]
    assert [row["what"] for row in data["rows"]] == [each.what for each in found.statements]
    agreed, of = found.agreed
    assert 0 < agreed < of < len(found.statements)
    for each in found.statements:
        assert math.isfinite(each.ours)
        assert each.why or each.verdict in ("agrees", "no figure"), f"{each.what} has no reason"


@pytest.mark.full
def test_the_page(found: Reproduction) -> None:
    shown, plots = without_plots(document_page(found.document))
    names = [plot.name for plot, _ in found.document.plots()]
    assert len(plots) == len(names) == 9
    for each in found.assumptions:
        assert each.what in shown
    for words in ("section III-C", "What they leave open".lower(), "table II"):
        assert words.lower() in shown.lower()
