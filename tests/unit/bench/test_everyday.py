"""Everyday transfers on presets of today: the plans of isoviz beside those of an expert (`benchmarks.everyday`)."""

from __future__ import annotations

import pytest

from benchmarks.everyday import PROVED, WORST_AUTO, WORST_TO_EXPERT, by_hand, path_of, planned
from benchmarks.everyday_transfers import EVERYDAY, Everyday
from isoviz.machines import preset


@pytest.mark.parametrize("each", EVERYDAY.values(), ids=EVERYDAY)
@pytest.mark.few(3)
def test_plans_are_as_good_as_those_of_an_expert(each: Everyday) -> None:
    machine = preset(each.preset, **each.options)
    expert, full = by_hand(each, machine), planned(each, machine, "full")
    assert full.objective <= WORST_TO_EXPERT * expert.objective, path_of(full)
    assert each.expected / 1.25 < expert.objective < 1.25 * each.expected, "the model agrees with the calculation by hand"
    assert full.gap is not None and full.gap <= PROVED
    assert planned(each, machine, "auto").objective <= WORST_AUTO * full.objective
