"""Pages of a language model's cache from a GPU to main memory and to another node: ways by hand beside the plan.

A paged cache is an array of pages for each layer. A request owns some pages, and a list names them. Programs choose by hand how
such pages move: a copy for each run, staged and scattered by the processor, gathered by the GPU. Here each of these ways is a
path, and the planner finds the best one for the pages at hand.
"""

from __future__ import annotations

from isoviz import Plan, Transfer, plan, plan_by_path, preset
from isoviz.bench.patterns import LAYERS, kv_cache
from isoviz.errors import InputError
from isoviz.units import format_bytes, format_seconds

MACHINE = preset("dgx-h100-pair", gpus=1)
GPU, HOST, FAR = "node0.fbm0", "node0.zcm0", "node1.fbm0"

HERE = {
    "copies, one for each run": [GPU, HOST],
    "staged in main memory, scattered by the processor": [GPU, HOST, HOST],
    "gathered by the GPU, scattered by the processor": [GPU, GPU, HOST, HOST],
    "gathered and turned by the GPU, one copy": [GPU, GPU, HOST],
    "a kernel of the GPU that writes to main memory": ["node0.fbm0->node0.zcm0 ZeroCopyRead"],
}
"""Five ways from the GPU to main memory of its node."""
THERE = {
    "the network card gathers": [GPU, FAR],
    "gathered by the GPU, scattered by the other one": [GPU, GPU, FAR, FAR],
    "staged in main memory of both nodes": [GPU, "node0.reg0", "node1.reg0", FAR],
}
"""Ways to the GPU of the other node."""


def buffers(way: list[str], transfer: Transfer) -> list[str]:
    """The layout of each buffer: the destination's from the first memory on that is taken twice, the source's before."""
    turned = next((place for place in range(1, len(way)) if way[place] == way[place - 1]), len(way))
    ends = str(transfer.source_order.layout), str(transfer.destination_order.layout)
    return [ends[place >= turned] for place in range(1, len(way) - 1)]


def by_hand(transfer: Transfer, way: list[str]) -> Plan | None:
    """The plan of a way; None where the machine cannot have it."""
    try:
        return plan_by_path(transfer, MACHINE, way, buffers(way, transfer))
    except InputError:
        return None


def compare(what: str, transfer: Transfer, ways: dict[str, list[str]]) -> None:
    """Print the seconds of every way, and of the plan."""
    print(f"{what}: {format_bytes(transfer.nbytes)}")
    found = {way: by_hand(transfer, path) for way, path in ways.items()}
    for way, made in found.items():
        print(f"  {way:52} {'not possible' if made is None else format_seconds(made.seconds)}")
    best = plan(transfer, MACHINE)
    hops = " → ".join(str(hop.kind) for hop in best.every_hop)
    print(f"  {'the plan: ' + hops:52} {format_seconds(best.seconds)}")


def main() -> None:
    """One layer and all layers, pages in order and scattered, the same order within a page and another one."""
    to_host, to_node = (GPU, HOST), (GPU, FAR)
    many = {"layers": LAYERS, "pages": 16, "of": 64}
    compare("one layer, pages by list", kv_cache(to_host)[0], HERE)
    compare("all layers, pages by list, into whole pages", kv_cache(to_host, places=("by layer", "by page"), **many)[0], HERE)
    compare("one layer, tokens first → heads first", kv_cache(to_host, order=("NHD", "HND"))[0], HERE)
    compare("one layer to the other node", kv_cache(to_node)[0], THERE)
    compare("all layers to the other node, heads first", kv_cache(to_node, order=("NHD", "HND"), **many)[0], THERE)


if __name__ == "__main__":
    main()
