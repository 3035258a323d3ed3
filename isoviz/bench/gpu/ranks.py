"""From a GPU to the GPU of another rank, beside the slowest hop alone. Two ranks share the GPU if it is a single one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isoviz.bench.aims import compared
from isoviz.bench.ranks.bench import Order, RankBench, rank_bench
from isoviz.errors import RunError
from isoviz.launch.ranks import ranks
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.planner import Plan, Transfer, cost
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.gpu.bench import GpuBench

AIM = 0.85
PATH = ("node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0")
SHOWN = "FBM → REG → REG* → FBM*"
WORD = FieldSpace(v="uint64")


def gpus_of_ranks(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Rows of two ranks of this computer, which begin while this process leaves the GPU alone."""
    if not bench.benched.is_real:
        raise RunError("ranks use the real GPUs of this computer only, and this one is played")
    order = Order(bench.repeat, bench.sizes.ranks, str(bench.folder), quick=False)
    with ranks(2) as two:
        yield from two.call(between_gpus_on_rank, machine_of_two([process.host for process in two.processes]), order)[0]


def machine_of_two(hosts: Sequence[str]) -> Machine:
    """Two ranks with a GPU and registered memory each. Paths are given, so all rates are alike."""
    rate = LatencyBandwidth(1e-5, 1e10)
    across = ChannelKind.WINDOW if hosts[0] == hosts[1] else ChannelKind.REMOTE_MEMCPY
    memories, channels = [], []
    for rank in (0, 1):
        fbm, reg = f"node{rank}.fbm0", f"node{rank}.reg"
        memories += [Memory(fbm, MemoryKind.FBM, rank), Memory(reg, MemoryKind.REG, rank)]
        channels += [Channel("", ChannelKind.GPU_READ, fbm, reg, rate), Channel("", ChannelKind.GPU_WRITE, reg, fbm, rate)]
    channels.append(Channel("", across, PATH[1], PATH[2], rate))
    return Machine("two ranks with a GPU, rates assumed", tuple(memories), tuple(channels))


def between_gpus_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """What each rank does."""
    with rank_bench(machine, order) as rank:
        return between_gpus(rank, order)


def between_gpus(rank: RankBench, order: Order) -> list[dict[str, Any]]:
    """The whole path, and each of its hops alone, in turn; then once more with a comparison of all bytes."""
    words = order.nbytes // WORD.nbytes

    def by_hand(path: tuple[str, ...]) -> Plan:
        ends = path[0], "<F, x>", path[-1], "<F, x>"
        return rank.agreed(lambda: cost(Transfer.whole(IndexSpace(x=words), WORD, *ends), rank.machine, path))

    whole, registered = by_hand(PATH), rank.array("reg", order.nbytes)

    def end(name: str) -> Any:
        """The engine makes the ends on GPUs, outside the measured time."""
        return registered if name == f"node{rank.rank}.reg" else None

    ways = {"whole": rank.reported(whole)}
    hops = list(pairwise(PATH))
    for hop in hops:
        ways[_name(hop)] = rank.reported(by_hand(hop), end(hop[0]), end(hop[1]))
    times = rank.interleaved(ways, order.repeat)
    verified = rank.engine.run(whole).verified
    slowest = max(map(_name, hops), key=lambda name: statistics.median(times[name]))
    what = f"{format_bytes(order.nbytes)}, {SHOWN}, {'every byte verified' if verified else 'NOT VERIFIED'}"
    medians = {name: statistics.median(found) for name, found in times.items()}
    return [{**compared("ranks", what, times, "whole", slowest, AIM), "ways": medians}]


def _name(hop: tuple[str, str]) -> str:
    words = {"node0.fbm0": "FBM", "node0.reg": "REG", "node1.reg": "REG*", "node1.fbm0": "FBM*"}
    return f"{words[hop[0]]} → {words[hop[1]]} alone"
