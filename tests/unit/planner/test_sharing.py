"""Shares of shared resources: max-min fair, never above a capacity, nothing left over that anybody could use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoviz.scheduling.fair_sharing import Uses, fair_rates

CLOSE = 1e-9

CAPACITIES = st.floats(1e-3, 1e15)
WEIGHTS = st.sampled_from((0.0, 0.5, 1.0, 1.0, 2.0, 3.0, 1e-6, 1e6))


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[float], list[Uses], dict[str, float]]:
    names = [f"r{i}" for i in range(draw(st.integers(1, 4)))]
    capacity = {name: draw(CAPACITIES) for name in names}
    count = draw(st.integers(1, 8))
    most = [draw(st.floats(1e-3, 1e15) | st.just(math.inf)) for _ in range(count)]
    uses = []
    for _ in range(count):
        chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
        uses.append(tuple((name, draw(WEIGHTS)) for name in chosen))
    return most, uses, capacity


def loads(rates: Sequence[float], uses: Sequence[Uses], capacity: dict[str, float]) -> dict[str, float]:
    return {
        name: math.fsum(rate * weight for rate, used in zip(rates, uses, strict=True) for other, weight in used if other == name)
        for name in capacity
    }


@given(problems())
def test_fair(problem: tuple[list[float], list[Uses], dict[str, float]]) -> None:
    """Everybody has all he can take, or shares a full resource in which nobody is faster."""
    most, uses, capacity = problem
    # Without a bound of its own, only a resource that it uses keeps a request finite.
    bounded = [any(weight > 0 for _, weight in used) for used in uses]
    most = [rate if rate < math.inf or bound else 1.0 for rate, bound in zip(most, bounded, strict=True)]
    rates = fair_rates(most, uses, capacity)
    assert all(0 <= rate <= limit * (1 + CLOSE) for rate, limit in zip(rates, most, strict=True))
    load = loads(rates, uses, capacity)
    assert all(load[name] <= limit * (1 + CLOSE) for name, limit in capacity.items())
    for i, rate in enumerate(rates):
        if rate >= most[i] * (1 - CLOSE):
            continue
        held = [
            name
            for name, weight in uses[i]
            if weight > 0
            and load[name] >= capacity[name] * (1 - CLOSE)
            and rate >= (1 - CLOSE) * max(rates[j] for j, used in enumerate(uses) if any(n == name and w > 0 for n, w in used))
        ]
        assert held, f"request {i} could be faster than {rate}: {rates}, load {load} of {capacity}"


@given(problems())
def test_in_any_order(problem: tuple[list[float], list[Uses], dict[str, float]]) -> None:
    """Who comes first has no advantage."""
    most, uses, capacity = problem
    most = [min(rate, 1e15) for rate in most]
    there = fair_rates(most, uses, capacity)
    back = fair_rates(most[::-1], uses[::-1], capacity)[::-1]
    assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(there, back, strict=True))


@pytest.mark.parametrize(
    ("most", "uses", "capacity", "expected"),
    [
        ([], [], {}, []),
        ([5.0], [()], {}, [5.0]),
        ([5.0, 5.0], [(("bus", 1.0),)] * 2, {"bus": 6.0}, [3.0, 3.0]),
        ([1.0, 9.0], [(("bus", 1.0),)] * 2, {"bus": 6.0}, [1.0, 5.0]),
        ([9.0, 9.0], [(("bus", 2.0),), (("bus", 1.0),)], {"bus": 6.0}, [2.0, 2.0]),
        # The textbook's: one that crosses both links, one on each.
        ([99.0] * 3, [(("a", 1.0), ("b", 1.0)), (("a", 1.0),), (("b", 1.0),)], {"a": 10.0, "b": 4.0}, [2.0, 8.0, 2.0]),
        ([99.0, 7.0], [(("bus", 1.0),), (("bus", 0.0),)], {"bus": 6.0}, [6.0, 7.0]),
        ([math.inf, 1.0], [(("bus", 1.0),)] * 2, {"bus": 6.0}, [5.0, 1.0]),
    ],
)
def test_examples(most: list[float], uses: list[Uses], capacity: dict[str, float], expected: list[float]) -> None:
    assert fair_rates(most, uses, capacity) == pytest.approx(expected, rel=1e-12)


def test_thousands_of_equals() -> None:
    rates = fair_rates([1e9] * 3000, [(("bus", 1.0),)] * 3000, {"bus": 1e9})
    assert math.fsum(rates) == pytest.approx(1e9) and max(rates) == pytest.approx(min(rates))
