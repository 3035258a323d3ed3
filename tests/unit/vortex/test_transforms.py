"""Fourier transforms on both networks: the same as NumPy, and what is modelled of large ones is what small ones take."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from isoviz.errors import InputError
from isoviz.vortex import System, gups, messages, simulated
from isoviz.vortex.workloads import TurnModel, fourier, modelled_fourier, modelled_vorticity, vorticity
from isoviz.vortex.workloads.incompressible_flow import reference, shear_layers

MAKERS: dict[str, Callable[..., System]] = {"Data Vortex": simulated, "InfiniBand": messages}


@pytest.mark.parametrize("network", MAKERS)
@pytest.mark.parametrize(("nodes", "points"), [(1, 64), (2, 1 << 11), (8, 1 << 13)])
def test_the_spectrum_is_that_of_numpy_and_takes_what_is_modelled(network: str, nodes: int, points: int) -> None:
    with MAKERS[network](nodes, seed=3) as system:
        found = fourier(system, points, seed=2)  # it is verified against NumPy
        assert found.spectrum is not None
        assert np.array_equal(found.spectrum, fourier(system, points, seed=2).spectrum)  # type: ignore[arg-type]
    assert found.rate == 5 * points * np.log2(points) / found.seconds
    if points // nodes > 512:
        assert modelled_fourier(TurnModel(network, nodes), points).seconds == pytest.approx(found.seconds, rel=0.1)


def test_pieces_and_networks_give_the_same_spectrum_bit_for_bit_and_pieces_overlap() -> None:
    with simulated(4, order="random") as system:
        first = fourier(system, 1 << 10).spectrum
    seconds = []
    for pieces in (1, 3, 16):
        with simulated(4) as system:
            found = fourier(system, 1 << 14, pieces=pieces)
            seconds.append(found.seconds)
            assert not system.races
            assert np.array_equal(first, fourier(system, 1 << 10, pieces=min(pieces, 8)).spectrum)  # type: ignore[arg-type]
    assert seconds[1] < seconds[0]
    with messages(4) as system:
        assert np.array_equal(first, fourier(system, 1 << 10).spectrum)  # type: ignore[arg-type]


def test_at_the_size_of_the_paper_the_data_vortex_is_ahead_and_the_more_so_the_more_nodes_there_are() -> None:
    ahead = []
    for nodes in (2, 4, 8, 16, 32):
        vortex, infiniband = (modelled_fourier(TurnModel(network, nodes)) for network in MAKERS)
        ahead.append(vortex.rate - infiniband.rate)
    assert ahead[0] > 0 and all(less < more for less, more in pairwise(ahead))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda system: fourier(system, 100), "expected powers of two and at least 4² points, got 100 points on 4 nodes"),
        (lambda system: fourier(system, 8), "expected powers of two and at least 4² points, got 8 points on 4 nodes"),
        (lambda system: fourier(system, 64, pieces=3), "pieces: expected a whole number from 1 to 2, got 3"),
        (lambda _: fourier(4), "expected a system, as isoviz.vortex.simulated"),  # type: ignore[arg-type]
        (lambda _: TurnModel("Ethernet", 4), "expected one of 'Data Vortex', 'InfiniBand', got 'Ethernet'"),
    ],
)
def test_bad_input(call: Callable[[Any], object], text: str) -> None:
    with simulated(4) as system, pytest.raises(InputError, match=text):
        call(system)


def test_random_updates_with_messages_fall_with_the_nodes_and_those_of_vics_do_not() -> None:
    rates = {}
    for network, make in MAKERS.items():
        for nodes in (4, 16):
            with make(nodes, seed=1) as system:
                rates[network, nodes] = gups(system, updates=6000, table=1 << 10).rate / nodes  # it is verified against NumPy
    assert rates["InfiniBand", 16] < 0.85 * rates["InfiniBand", 4]
    assert rates["Data Vortex", 16] > 0.9 * rates["Data Vortex", 4]


@pytest.mark.parametrize("network", MAKERS)
@pytest.mark.parametrize("restructured", [True, False])
def test_the_vorticity_is_that_of_numpy_and_takes_what_is_modelled(network: str, restructured: bool) -> None:
    with MAKERS[network](4, seed=3) as system:
        found = vorticity(system, 64, 3, seed=1, restructured=restructured)  # it is verified against NumPy
    modelled = modelled_vorticity(TurnModel(network, 4), 64, 3, restructured=restructured)
    assert modelled.seconds == pytest.approx(found.seconds, rel=0.1)
    assert found.rate == 3 * 64**2 / found.seconds


def test_a_flow_keeps_its_vorticity_and_its_square_and_a_shear_layer_rolls_up() -> None:
    begin = shear_layers(48, seed=1)
    end = reference(begin, 100, 0.05)
    assert end.mean() == pytest.approx(0, abs=1e-12)
    assert (end**2).sum() == pytest.approx((begin**2).sum(), rel=1e-2)
    assert abs(end - end.mean(axis=1, keepdims=True)).max() > 1.5 * abs(begin - begin.mean(axis=1, keepdims=True)).max()


def test_a_shear_layer_that_nothing_disturbs_stays() -> None:
    begin = np.broadcast_to(np.cos(np.arange(32) * (2 * np.pi / 32))[:, None], (32, 32))
    assert np.allclose(reference(begin, 20, 0.1), begin)


def test_bad_flows() -> None:
    with simulated(4) as system, pytest.raises(InputError, match="side: expected a multiple of the 4 nodes, got 10"):
        vorticity(system, 10)
