"""The candidates of `find_layout`, run on this computer."""

from __future__ import annotations

import pytest

import isoviz
from isoviz import FieldSpace, IndexSpace, Use
from isoviz.errors import InputError


def test_the_best_layouts_are_run() -> None:
    machine = isoviz.preset("local", measure="assumed")
    space, fields = IndexSpace(x=64, y=48), FieldSpace(re="f4", im="f4")
    uses = [Use.to("node0.sys", "<x, y, F>", weight=2), Use.along("y")]
    choice = isoviz.find_layout(space, fields, "node0.sys", uses, machine, most_plans=20)
    measured = isoviz.measure_layouts(choice, machine, count=3, repeats=1)
    assert [each.candidate.layout for each in sorted(measured, key=lambda each: choice.candidates.index(each.candidate))] == [
        each.layout for each in choice.candidates[:3]
    ]
    for each in measured:
        assert all(seconds > 0 for seconds in each.times) and each.weighted == pytest.approx(2 * each.times[0] + each.times[1])
    assert [each.weighted for each in measured] == sorted(each.weighted for each in measured)
    with pytest.raises(InputError, match="not this one"):
        isoviz.measure_layouts(choice, "two-node")
