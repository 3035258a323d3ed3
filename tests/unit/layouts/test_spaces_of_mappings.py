"""Sizes and dtypes by name are taken wherever a space is."""

from __future__ import annotations

import pytest

import isoviz
from isoviz.errors import InputError, SpaceError


def test_a_mapping_is_a_space() -> None:
    assert isoviz.IndexSpace({"x": 4}) == isoviz.IndexSpace(x=4) == isoviz.IndexSpace.of(isoviz.IndexSpace(x=4))
    assert isoviz.FieldSpace({"v": "f4"}, w="f8") == isoviz.FieldSpace(v="f4", w="f8")
    for wrong in (3, "x", [1]):
        with pytest.raises(InputError, match="index space: expected a size for each dimension"):
            isoviz.IndexSpace(wrong)  # type: ignore[arg-type]
    with pytest.raises(SpaceError):
        isoviz.IndexSpace({1: 2})  # type: ignore[dict-item]


def test_find_layout_takes_sizes_by_name_and_one_use() -> None:
    use = isoviz.Use.to("node0.sys", "<F, y, x>")
    machine = isoviz.preset("local", measure="assumed")
    spaces = isoviz.IndexSpace(x=6, y=4), isoviz.FieldSpace(v="f4")
    named = isoviz.find_layout({"x": 6, "y": 4}, {"v": "f4"}, "node0.sys", use, machine, most_plans=4)
    assert named.candidates == isoviz.find_layout(*spaces, "node0.sys", [use], machine, most_plans=4).candidates


def test_results_print_in_words() -> None:
    machine = isoviz.preset("local", measure="assumed")
    sizes = {"x": 6, "y": 4}
    choice = isoviz.find_layout(sizes, {"v": "f4"}, "node0.sys", [isoviz.Use.along("x")], machine, most_plans=4)
    (measured, *_) = isoviz.measure_layouts(choice, machine, count=1, repeats=1)
    assert str(measured).startswith(f"{measured.candidate.layout}: ") and "weighted" in str(measured)
    ends = "node0.sys", "<F, x, y>", "node0.sys", "<F, y, x>"
    transfer = isoviz.Transfer.whole(isoviz.IndexSpace(sizes), isoviz.FieldSpace(v="f4"), *ends)
    said = str(isoviz.sweep(transfer, machine, "size", [1 << 10, 1 << 20])).splitlines()
    assert said[0].startswith("Predicted time over bytes that move") and len(said) == 1 + 1 + 2
