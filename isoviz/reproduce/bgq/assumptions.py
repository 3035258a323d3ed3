"""Several paths on Blue Gene/Q: what the evaluation is about, what is assumed where the paper is silent, and the machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from isoviz.machines import LatencyBandwidth, Machine, preset
from isoviz.machines.networks import Network, Port
from isoviz.machines.presets import blue_gene
from isoviz.reproduce import Evaluation, assumed
from isoviz.units import format_bytes, format_rate, format_seconds, format_share

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class BgqAssumptions:
    """Values that are assumed. The first three are those of the preset `bgq`; none was chosen by the figures of workloads."""

    mpi_message: float = assumed(blue_gene.MPI_MESSAGE.value, "cost of a message by MPI", "derived from figure 4", format_seconds)
    pami_message: float = assumed(
        blue_gene.PAMI_PUT.value + blue_gene.PAMI_IMMEDIATE.value,
        "cost of a message by PAMI, put and immediate send",
        "derived from figure 8",
        format_seconds,
    )
    reception: float = assumed(
        blue_gene.RECEPTION.value,
        "what the reception FIFO of a node takes",
        "section 5.2: the most seen over nine paths",
        format_rate,
    )
    destination: str = assumed(
        "2.1.1.2.1",
        "the other node of the pair with nine paths (figure 6)",
        "assumed; the paper names none",
        lambda place: f"at {place} from 0.0.0.0.0",
        ("1.0.0.0.0", "at 1.0.0.0.0, a neighbour"),
    )
    pattern_share: float = assumed(0.1, "nodes that write in pattern 1", "section 6.1", format_share, (1.0, "all of them"))
    exponent: float = assumed(1.0, "exponent of the Pareto distribution of pattern 2", "assumed; its mean is the paper's")
    window: int = assumed(128 * KIB, "windows of output through proxies", "section 5.4: the best for 2 MB", format_bytes)
    default: str = assumed(
        "collective",
        "default I/O",
        "section 6.1: MPI collective I/O",
        lambda way: f"{way}, as ROMIO does it",
        ("independent", "independent: each node writes over its default route"),
    )
    places: str = assumed(
        "packed",
        "places of the ranks in the file",
        "assumed",
        lambda _: "one after the other, without gaps",
        ("apart", "8 MiB apart, so sparse data leave gaps"),
    )
    aggregators: int = assumed(16, "aggregators of a bridge node in collective I/O", "assumed: ROMIO's default on Blue Gene/Q")
    buffer: int = assumed(16 * MIB, "buffer of an aggregator", "assumed: ROMIO's default on Blue Gene/Q", format_bytes)
    count_seconds: float = assumed(
        blue_gene.PAMI_IMMEDIATE.value,
        "time to tell one rank how much it gets, in each round of collective I/O",
        "assumed: an immediate send of the preset",
        format_seconds,
    )
    block: int = assumed(8 * MIB, "block of the file system", "assumed", format_bytes)
    lock_seconds: float = assumed(2e-4, "a lock on a part of a file, one after the other", "assumed", format_seconds)
    servers: str = assumed(
        "whole",
        "file servers behind a partition",
        "assumed: those of the preset for all of Mira",
        lambda which: "all of Mira's" if which == "whole" else "its share",
        ("share", "its share of Mira's, as in the preset"),
    )

    def with_reception(self) -> BgqAssumptions:
        """The same, with a reception that takes what all links of a node bring."""
        return replace(self, reception=10 * blue_gene.LINK.value)


EVALUATION = Evaluation(
    title="Several paths on Blue Gene/Q again, in simulation",
    part="several paths on Blue Gene/Q, sections 5 and 6",
    citation="Bui et al., Improving Sparse Data Movement Performance Using Multiple Paths on the Blue Gene/Q Supercomputer,"
    " sections 5 and 6.",
    given=BgqAssumptions(),
    quick=BgqAssumptions(),
    models="""
Machine: the preset bgq, whose torus routes a message over the links of its default route. A message costs what MPI or PAMI
costs, and moves at 1.7 GB/s at most. All messages over a link share its 1.8 GB/s, and all to a node share what it receives.

Pairs and groups of nodes: paths are those of algorithm 1, in isoviz's search for link-disjoint paths. A message is cut into equal
parts, one for each path, and each part into windows; isoviz's scheduler carries all of them out in virtual time.

Output of whole partitions, over several paths: algorithm 1 with amounts of bytes, from every node to all I/O nodes, so that all
of them have even loads. Bytes are streams, which share links fairly until one ends: 8,192 nodes have too many windows to follow.

Default collective I/O: the two phases of ROMIO with its defaults on Blue Gene/Q. In every round each rank tells each other one
how much it sends, aggregators get the data over the torus, and then write it to the I/O nodes of their bridge nodes.

File system: it takes bytes at the rate of its servers, and gives locks on parts of the file one after the other.
""",
)


@lru_cache(maxsize=32)
def machine(nodes: int, given: BgqAssumptions) -> Machine:
    """A partition of the preset with the assumed costs of messages and the assumed reception."""
    plain = preset("bgq", nodes=nodes)
    if all(getattr(given, name) == getattr(BgqAssumptions, name) for name in ("mpi_message", "pami_message", "reception")):
        return plain
    torus, *others = plain.networks
    return replace(plain, networks=(_changed(torus, nodes, given), *others))


def _changed(torus: Network, nodes: int, given: BgqAssumptions) -> Network:
    costs = {"mpi": given.mpi_message, "pami": given.pami_message}
    transports = [replace(each, throughput=LatencyBandwidth(costs[each.name], each.throughput.peak)) for each in torus.transports]
    computing = tuple([Port(each.memory, each.router, receive=given.reception * torus.overhead) for each in torus.ports[:nodes]])
    return replace(torus, transports=tuple(transports), ports=(*computing, *torus.ports[nodes:]))


def torus_of(partition: Machine) -> Network:
    """The torus of a partition."""
    return partition.networks[0]
