"""Distributions and distributed instances: what they mean, their text and JSON, and what they refuse."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from isoviz import DistributedInstance, Distribution, FieldSpace, IndexSpace
from isoviz.errors import DistributionError, InputError, LayoutError, SpaceError
from isoviz.redistribution import instance_from_json

SPACE, FIELDS = IndexSpace(x=10, y=9), FieldSpace(a="int32", b="float64")


def instance(distribution: Distribution, layout: Any = "<F, x, y>", memory: str = "sys") -> DistributedInstance:
    return DistributedInstance(SPACE, FIELDS, distribution, layout, memory)


def test_blocks_are_uneven_where_sizes_do_not_divide() -> None:
    found = instance(Distribution({"y": 4}))
    assert [part and part.space["y"] for part in map(found.part, range(4))] == [3, 3, 3, None]
    assert [part and part.space["y"] for part in map(instance(Distribution({"y": 5})).part, range(5))] == [2, 2, 2, 2, 1]
    assert found.part(7) is None
    assert {dim: len(held) for dim, held in found.coordinates(3).items()} == {"x": 10, "y": 0}
    assert {dim: len(held) for dim, held in found.coordinates(7).items()} == {"x": 0, "y": 0}


def test_cyclic_and_block_cyclic() -> None:
    assert list(instance(Distribution({"y": 4}, {"y": 1})).coordinates(1)["y"]) == [1, 5]
    assert list(instance(Distribution({"y": 2}, {"y": 2})).coordinates(0)["y"]) == [0, 1, 4, 5, 8]
    assert instance(Distribution({"y": 2}, {"y": 2})).owner({"x": 3, "y": 8}) == (0, {"x": 3, "y": 4})


def test_the_first_dimension_of_a_grid_is_the_fastest() -> None:
    found = Distribution({"x": 2, "y": 3})
    assert [found.coordinates(rank) for rank in (0, 1, 2)] == [{"x": 0, "y": 0}, {"x": 1, "y": 0}, {"x": 0, "y": 1}]
    assert found.rank_at({"y": 2, "x": 1}) == 5
    assert found.coordinates(6) is None
    ordered = Distribution({"x": 2}, ranks=(5, 3))
    assert ordered.coordinates(3) == {"x": 1}
    assert ordered.rank_at({"x": 0}) == 5


def test_parts_are_instances_in_the_memories_of_ranks() -> None:
    found = instance(Distribution({"y": 2}, ranks=(4, 2)), "<x, F, y_in=8, y_out>", "reg")
    first, second = found.part(4), found.part(2)
    assert first is not None
    assert second is not None
    assert (first.memory, second.memory) == ("node4.reg", "node2.reg")
    # A part that is smaller than a block of the layout does without it, and is not padded.
    assert [part.linearization.nbytes for part in (first, second)] == [part.space.volume * 12 for part in (first, second)]
    assert found.nbytes == 10 * 9 * 12


def test_values() -> None:
    found = Distribution({"x": 2, "y": 3}, {"y": 4})
    assert found == Distribution({"x": 2, "y": 3}, {"y": 4}, tuple(range(6)))
    assert found != Distribution({"y": 3, "x": 2}, {"y": 4})  # another order of ranks
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert found == pickle.loads(pickle.dumps(found))
    with pytest.raises(TypeError):
        found.over["x"] = 3  # type: ignore[index]
    whole = instance(found)
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert hash(pickle.loads(pickle.dumps(whole))) == hash(whole)
    assert instance_from_json(json.loads(json.dumps(whole.to_json()))) == whole


@pytest.mark.parametrize(
    ("distribution", "text"),
    [
        (Distribution({"y": 4}), "y in blocks over ranks 0…3"),
        (Distribution({"y": 2}, {"y": 1}, (3, 1)), "y cyclic over ranks 3, 1"),
        (
            Distribution({"x": 2, "y": 2}, {"x": 32}),
            "x in blocks of 32, cyclic, and y in blocks over ranks 0…3, a grid of x=2 × y=2",
        ),
        (Distribution({}, ranks=(2,)), "all on rank 2"),
    ],
)
def test_text(distribution: Distribution, text: str) -> None:
    assert str(distribution) == text
    assert text in str(instance(distribution))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({"y": 0},), "over['y']: expected a whole number from 1"),
        (({"y": 2.5},), "expected a whole number"),
        (({"y": True},), "expected a whole number"),
        (("y",), "expected numbers by dimension"),
        (({"y": 2}, {"x": 3}), "dimension 'x' is not spread; expected one of y"),
        (({"y": 2}, {"y": 0}), "block['y']: expected a whole number from 1"),
        (({"y": 2}, {}, (0, 1, 2)), "3 ranks for a grid of y=2 = 2; expected 2"),
        (({"y": 2}, {}, (1, 1)), "rank 1 stands twice"),
        (({"y": 2}, {}, (-1, 1)), "ranks: expected a whole number from 0"),
        (({"y": 2}, {}, 2), "expected whole numbers, got 2"),
        (({"x": 10**6, "y": 10**6},), "expected at most 65536"),
    ],
)
def test_impossible_distributions(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(DistributionError) as caught:
        Distribution(*arguments)
    assert words in str(caught.value)


def test_names_that_are_no_dimensions() -> None:
    with pytest.raises(SpaceError):
        Distribution({"F": 2})


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: instance(Distribution({"z": 2})), DistributionError, "dimension 'z' is not in the index space (x=10, y=9)"),
        (lambda: instance(Distribution({"y": 2}), "<F, x>"), LayoutError, "has dimensions (x), the index space (x, y)"),
        (lambda: instance(Distribution({"y": 2}), memory="node0.sys"), DistributionError, "without rank, such as 'sys'"),
        (lambda: instance(Distribution({"y": 2}), memory=""), DistributionError, "expected a name"),
        (lambda: instance(Distribution({"y": 2})).owner({"x": 10, "y": 0}), DistributionError, "not in the index space"),
        (lambda: instance(Distribution({"y": 4})).index(3, {"x": 0, "y": 0}), DistributionError, "rank 3 holds nothing"),
        (lambda: Distribution({"y": 4}).rank_at({"y": 4}), DistributionError, "from 0 to 3, got 4"),
        (lambda: Distribution({"y": 4}).rank_at({"x": 4}), DistributionError, "expected a part for each of (y)"),
        (lambda: instance_from_json({"space": {}}), DistributionError, "'fields' is missing"),
        (lambda: instance_from_json([]), DistributionError, "expected an object"),
    ],
)
def test_what_does_not_fit(make: Any, error: type[InputError], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)
