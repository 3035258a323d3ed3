"""The presets `mri` and `theta-gpu`: every figure says where it is from, and the schemes of the paper are paths."""

from __future__ import annotations

from dataclasses import fields

import pytest

from isoviz import preset
from isoviz.errors import MachineError
from isoviz.machines import machine_from_json, machine_to_json
from isoviz.machines.presets.gpu_clusters import CLUSTERS, Costs, gpu_cluster, origin


@pytest.mark.parametrize(("name", "gpus", "cards"), [("mri", 4, 1), ("theta-gpu", 8, 8)])
def test_nodes_with_gpus_and_network_cards(name: str, gpus: int, cards: int) -> None:
    machine = preset(name, nodes=3, gpus=gpus)
    assert sum(memory.kind == "FBM" for memory in machine.memories) == 3 * gpus
    assert len(machine.resources) == 3 * 2 * cards
    assert {each.capacity for each in machine.resources} == {25e9}
    keyed = [channel for channel in machine.channels if channel.kind == "UMR"]
    assert len(keyed) == 3 * 2 * gpus and all(channel.has_windows for channel in keyed)
    assert machine_from_json(machine_to_json(machine)) == machine
    one = preset(name)
    assert [len(one.between("node0.fbm0", "node1.fbm0")), len(one.between("node0.fbm0", "node0.reg"))] == [2, 2]


def test_every_figure_is_from_the_paper_fitted_or_assumed() -> None:
    assert {origin(each.name).split(":")[0] for each in fields(Costs)} == {"fitted", "assumed"}
    for name in CLUSTERS:
        for channel in preset(name).channels:
            assert channel.provenance.startswith(("fitted to figures 8 and 10: ", "assumed: ")), channel.name
        assert all(each.provenance.startswith("from the paper") for each in preset(name).resources)
    dearer = gpu_cluster("mri", costs=Costs(map_key=1.0))
    assert [cost.seconds for cost in dearer.channel("node0.fbm0->node1.fbm0 UMR").costs if cost.per == "request"] == [
        pytest.approx(2 + Costs.exchange)
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nodes": 9}, "preset 'mri', nodes"),
        ({"gpus": 5}, "preset 'mri', gpus"),
        ({"gpus": 0}, "gpus"),
        ({"nodes": True}, "nodes"),
    ],
)
def test_options_out_of_range(options: dict[str, object], words: str) -> None:
    with pytest.raises(MachineError, match=words):
        preset("mri", **options)
