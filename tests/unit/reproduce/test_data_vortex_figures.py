"""`isoviz reproduce data-vortex`: what is printed is what was simulated, and formulas written anew give the same."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from html_cases import without_plots

from isoviz import preset
from isoviz.figures.page import document_page
from isoviz.reproduce import Reproduction, data_vortex, reproduce
from isoviz.reproduce.assumption import described
from isoviz.reproduce.data_vortex import figure3, figure4, figure5, figure6, figure7, figure8, figure9, switch
from isoviz.reproduce.data_vortex.assumptions import (
    MPI,
    OTHER_SWITCH,
    VICS,
    VortexAssumptions,
    cycle_of,
    machines,
    switch_of,
)
from isoviz.reproduce.data_vortex.figure5 import COMPUTES
from isoviz.reproduce.experiment import experiments_of
from isoviz.vortex.workloads import random_updates

pytest.importorskip("numba")

GIVEN = VortexAssumptions()
US = 1e-6


def test_the_assumptions_are_those_of_the_presets() -> None:
    assert machines(GIVEN) == (preset("data-vortex", nodes=2), preset("vortex-infiniband", nodes=2))
    slower = machines(replace(GIVEN, mpi_latency=5 * US, write=7 * US))
    assert slower[0].channel("node0.sys->node0.dv").setup == 7 * US
    assert slower[1].networks[0].transports[0].setup == 5 * US


def test_every_assumption_is_named_and_turned() -> None:
    names = {each.name for each in described(GIVEN)}
    turned = {name for each in experiments_of(data_vortex) for figure in each.depends for name in figure.on}
    assert names == turned == {*vars(GIVEN)}


def test_another_switch_holds_as_much_in_all() -> None:
    other = replace(GIVEN, switch=OTHER_SWITCH)
    for given in (GIVEN, other):
        found = switch_of(given)
        assert found.inputs_count == 32
        assert found.saturate(4000, warm=500).throughput * 8 / cycle_of(given) == pytest.approx(4.4e9, rel=0.02)
    assert cycle_of(other) == pytest.approx(0.4e-9, rel=0.01)


# ---- figure 3


def messages(words: int, given: VortexAssumptions = GIVEN) -> dict[str, float]:
    """Throughputs of a message, written down anew from the figures of the paper and the assumptions."""
    nbytes, cards = 8 * words, 0.09 * US + 14 * 1.07e-9
    direct = given.write + given.read + cards + 2 * 1e-9 + 8 * (1 / 0.5e9 + 1 / 4.4e9 + 1 / 0.55e9)
    dma = 2 * (given.dma + 0.1 * US + 0.05 * US) + cards + 3 * 8 / 4.4e9
    asked = given.rendezvous if nbytes > given.eager else 0
    seconds = {
        figure3.DIRECT: direct + (words - 1) * 8 / 0.5e9,
        figure3.CACHED: direct + (words - 1) * 8 / given.cached,
        figure3.DMA: dma + (words - 1) * 8 / 4.4e9,
        MPI: given.mpi_latency + given.message + asked + nbytes / (0.725 * 6.8e9),
    }
    return {way: nbytes / each for way, each in seconds.items()}


@pytest.mark.parametrize("words", [1, 32, 128, 256, 4096, 1 << 18])
def test_formulas_give_the_throughput_of_messages(words: int) -> None:
    found = figure3.figure3(GIVEN, (words,), ())
    for way, expected in messages(words).items():
        assert found[way][8 * words] == pytest.approx(expected, rel=0.02), way


def test_where_infiniband_is_ahead() -> None:
    """The crossings, by the formulas."""
    best = {words: max(rate for way, rate in messages(words).items() if way != MPI) for words in figure3.SIZES}
    ahead = [words for words in figure3.SIZES if messages(words)[MPI] > best[words]]
    assert ahead == [32, 64, 128, *figure3.SIZES[10:]]
    found = figure3.figure3(GIVEN, pinged=())
    assert [words for words in figure3.SIZES if figure3.lead(found, words) > 1] == ahead
    assert (figure3.ahead_from(found), figure3.again(found)) == (32, 512)
    never = figure3.figure3(replace(GIVEN, rendezvous=0.0), pinged=())
    assert figure3.again(never) == 16, "without a switch of protocol InfiniBand stays ahead"


# ---- programs


def test_barriers() -> None:
    found = figure4.figure4(GIVEN, nodes=(2, 32), times=2)
    for nodes in (2, 32):
        least = 2 * GIVEN.latency + GIVEN.turn
        assert least < figure4.seconds(found, VICS, nodes) < least + 0.2 * US
        assert figure4.seconds(found, MPI, nodes) == pytest.approx(
            math.log2(nodes) * (GIVEN.mpi_latency + GIVEN.message), rel=0.08
        )
        assert least - GIVEN.turn < figure4.seconds(found, figure4.FAST, nodes) < least + nodes * 30e-9


def test_more_of_the_updates_are_remote_with_more_nodes() -> None:
    found = figure6.figure6(GIVEN, nodes=(4, 8), updates=(1024, 3072))
    remote = (1 - 1 / 4) / (1 - 1 / 8) - 1
    for network in (VICS, MPI):
        assert remote - 0.04 < figure6.drop(network, 4, 8)(found) < -0.02
    assert figure6.gap(found, 4) < figure6.gap(found, 8)


def test_fourier_transforms_are_modelled_as_they_are_simulated() -> None:
    assert figure7.apart(figure7.figure7(GIVEN, nodes=(2, 8), computed=1 << 12)) < 1.25


def test_timelines_have_all_time_and_all_words() -> None:
    found = figure5.figure5(GIVEN, nodes=4, updates=1024)
    for network, line in found["timelines"].items():
        assert sum(line.shares().values()) == pytest.approx(1)
        for node, seconds in enumerate(line.by_node):
            mine = sorted((step.begin, step.end) for step in line.steps if step.node == node)
            assert mine[0][0] == 0 and mine[-1][1] == pytest.approx(seconds)
            assert all(before[1] == pytest.approx(after[0]) for before, after in pairwise(mine)), network
        computed = sum(step.end - step.begin for step in line.steps if step.does == COMPUTES)
        assert computed == pytest.approx(4 * 1024 * random_updates.UPDATE)
        headers = 1 if network == MPI else 0  # the word that says how many follow, and the counts at the end
        words = sum(each.words - headers for each in line.passed)
        drawn = [random_updates.drawn(0, node, 1024) // 4096 % 4 for node in range(4)]
        away = sum(int((goals != node).sum()) for node, goals in enumerate(drawn))
        assert words == away + (0 if network == MPI else 4 * 4)


def test_the_dearer_a_message_the_further_is_the_data_vortex_ahead() -> None:
    dear = replace(GIVEN, mpi_latency=10 * US, message=3 * US)
    gaps = [figure8.gap(figure8.figure8(given, nodes=(4,), keys=1), 4) for given in (GIVEN, dear)]
    assert 1 < gaps[0] < gaps[1] / 1.5
    few: dict[str, Any] = {"nodes": 4, "points": 8, "cells": (2, 4, 4)}
    here, there = (figure9.figure9(given, **few) for given in (GIVEN, dear))
    for name in (figure9.SNAP, figure9.HEAT):
        for way in figure9.WAYS:
            assert here[name][way] == there[name][way], "MPI is not in it"
        assert here[name][figure9.PLAIN] > here[name][figure9.AGGREGATED] > here[name][figure9.RESTRUCTURED]
        assert figure9.speedup(there, name, figure9.PLAIN) > 2 * figure9.speedup(here, name, figure9.PLAIN)


# ---- all of it


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("data-vortex", quick=True)


def test_as_data(found: Reproduction) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["benchmark"] == "reproduce data-vortex" and data["quick"]
    assert [row["what"] for row in data["rows"]] == [each.what for each in found.statements]
    assert all(math.isfinite(each.ours) for each in found.statements)
    assert len({(each.where, each.what) for each in found.statements}) == len(found.statements)
    for each in found.statements:
        if each.verdict in ("put in", "fitted") and each.high is not None:
            assert each.ours == pytest.approx(each.high, rel=2e-2), each.what


def test_what_does_not_agree_is_said(found: Reproduction) -> None:
    """The figures that the simulation contradicts or does not explain, each with its reason; all others agree."""
    wrong = {each.what: each for each in found.statements if each.agrees is False}
    assert all(each.why for each in wrong.values())
    assert sorted(each.where.split(", ")[-1] for each in wrong.values()) == DISAGREE
    agreed, of = found.agreed
    assert agreed == of - len(wrong) > 10


DISAGREE = ["figure 1", "figure 1", "figure 3", "figure 4", "figure 9b", "reference 15", "section IX"]


def test_the_switch_is_not_free_of_congestion() -> None:
    found = switch.figure1(GIVEN, loads=(switch.LOAD,), cycles=3000)
    assert found["exact"] == 1.0 and found["lost"] == 0
    assert 0.5 < switch.kept(found, switch.HOT_SPOT) < 0.7
    words = {row["order"]: row["throughput"] for row in found["orders"]}
    assert words["word by word"] > 3 * words["from node 0"]


@pytest.mark.full
def test_the_page(found: Reproduction) -> None:
    shown, plots = without_plots(document_page(found.document))
    assert len(plots) == len([*found.document.plots()])
    for each in found.assumptions:
        assert each.what in shown
    for words in ("congestion-free", "Fast Barrier", "the share of remote updates alone"):
        assert words in shown
    assert "isoviz reproduce data-vortex --quick" in str(found)
