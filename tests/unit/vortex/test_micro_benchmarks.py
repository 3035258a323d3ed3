"""Messages to and fro, and barriers, on both networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from isoviz.errors import InputError, VerificationError
from isoviz.machines.presets.vortex import VortexFigures
from isoviz.vortex import Costs, Vic, messages, simulated
from isoviz.vortex.workloads import barrier, barriers, ping_pong


def test_what_limits_a_message_is_the_way_over_pcie() -> None:
    costs, rates = Costs(), {}
    for way in ("direct", "cached", "DMA"):
        with simulated(2, seed=1) as system:
            small, large = (ping_pong(system, words, 1, way) for words in (3, 1 << 12))
        rates[way] = large.rate
        assert small.seconds < large.seconds and small.rate < 0.1e9
    assert 0.8 * costs.direct < rates["direct"] < costs.direct and rates["direct"] < rates["cached"] < costs.read
    assert 0.6 * costs.dma < rates["DMA"] < costs.dma


def test_messages_of_mpi_take_what_the_preset_says_and_are_ahead_from_32_to_128_words() -> None:
    figures = VortexFigures()
    for words in (32, 128, 1 << 12):
        asked = figures.rendezvous if 8 * words > figures.eager else 0.0
        alone = figures.latency + figures.message + 8 * words / figures.mpi_rate + asked
        with messages(2, skew=0) as system:
            found = ping_pong(system, words)
        assert found.seconds == pytest.approx(alone, rel=1e-6) and found.way == "MPI"
        with simulated(3) as system:
            assert ping_pong(system, words).seconds > found.seconds


def test_barriers_of_vics_hardly_grow_and_those_of_mpi_do() -> None:
    growth = {}
    for way, make in (("intrinsic", simulated), ("all to all", simulated), ("MPI", messages)):
        few, many = (_barrier(make, nodes, way) for nodes in (2, 32))
        growth[way] = many / few
    assert growth["intrinsic"] < 1.1 and growth["all to all"] < 1.5 < 4 < growth["MPI"]


def _barrier(make: Callable[..., Any], nodes: int, way: str) -> float:
    with make(nodes, seed=1) as system:
        found = barrier(system, 4, *[way][: way != "MPI"])
    assert (found.nodes, found.way) == (nodes, way)
    return found.seconds


def test_a_barrier_that_does_not_wait_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(barriers.AllToAll):
        def __call__(self) -> None:
            self._vic.compute(1e-6)

    monkeypatch.setattr(barriers, "AllToAll", Careless)
    with simulated(4) as system, pytest.raises(VerificationError, match="node 0 did not wait for node 3"):
        barrier(system, 2, "all to all")


def test_words_that_come_back_wrong_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Vic.store

    def store(vic: Vic, addresses: Any, into: Any, *, wait: bool = True) -> None:
        given(vic, addresses, into, wait=wait)
        given(vic, addresses, into[:1], wait=wait)
        given(vic, addresses + 1, into[:1], wait=wait)

    monkeypatch.setattr(Vic, "store", store)
    with simulated(2) as system, pytest.raises(VerificationError, match="1 of 5 words came back wrong"):
        ping_pong(system, 5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda system: ping_pong(system, 0), "ping_pong, words: expected a whole number from 1 to 1048576, got 0"),
        (lambda system: ping_pong(system, 1, way="by hand"), "expected one of 'direct', 'cached', 'DMA', got 'by hand'"),
        (lambda system: barrier(system, 1, way="slow"), "expected one of 'intrinsic', 'all to all', got 'slow'"),
        (lambda _: ping_pong(simulated(1), 1), "ping_pong, nodes: expected a whole number from 2"),
        (lambda _: barrier(5), "expected a system, as isoviz.vortex.simulated"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(call: Callable[[Any], object], text: str) -> None:
    with simulated(2) as system, pytest.raises(InputError, match=text):
        call(system)
