"""Scattered data from GPU to GPU: what the evaluation is about, its assumptions, and the schemes of the paper as plans."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache, partial

from isoviz.bench.patterns import pattern
from isoviz.machines import Machine
from isoviz.machines.presets.gpu_clusters import Costs, gpu_cluster
from isoviz.planner import Plan, Transfer, plan_by_path
from isoviz.planner.intermediate.part_runs import end_runs
from isoviz.reproduce import Evaluation, assumed
from isoviz.reproduce.assumption import of_preset
from isoviz.units import format_bytes, format_rate, format_seconds

KIB = 1 << 10
CONTIGUOUS = "contiguous"
_COUNT = "{:,}".format


@dataclass(frozen=True)
class UmrAssumptions:
    """Values that are assumed, or fitted to figures 8 and 10: those of the presets `mri` and `theta-gpu` (`Costs`)."""

    launch: float = of_preset(Costs, "launch", "a kernel that packs or unpacks", format_seconds)
    pack: float = of_preset(Costs, "pack", "what such a kernel moves", format_rate)
    handshake: float = of_preset(Costs, "handshake", "RTS, CTS and FIN of a message", format_seconds)
    wire: float = of_preset(Costs, "wire", "what a network card reads or writes in memory of a GPU", format_rate)
    copy: float = of_preset(Costs, "copy", "a copy between GPU and host", format_seconds)
    pcie: float = of_preset(Costs, "pcie", "what such a copy moves", format_rate)
    post: float = of_preset(Costs, "post", "to hand a write to the network card", format_seconds)
    gather: float = of_preset(Costs, "gather", "a run that the network cards gather and scatter", format_seconds)
    runs_of_key: int = of_preset(Costs, "runs_of_key", "the most runs of a key", _COUNT)
    map_key: float = of_preset(Costs, "map_key", "to map a key, at one end", format_seconds)
    map_run: float = of_preset(Costs, "map_run", "to parse and map a run, at one end", format_seconds)
    exchange: float = of_preset(Costs, "exchange", "to send a key to the other end", format_seconds)
    block: float = of_preset(Costs, "block", "a cudaMemcpy of one block that is waited for", format_seconds)
    row: float = of_preset(Costs, "row", "a row of a copy with rows", format_seconds)
    sector: float = of_preset(Costs, "sector", "bytes that a run costs a kernel besides its own", format_bytes)
    host_pack: float = of_preset(Costs, "host_pack", "a kernel that packs into host memory", format_rate)
    network: float = of_preset(Costs, "network", "the network between host memories", format_rate)
    message: float = of_preset(Costs, "message", "a further run of a message between host memories", format_seconds)
    receiver: str = assumed(
        CONTIGUOUS,
        "the end of SPECFEM3D_mt that receives",
        "DDTBench: a vector is received as a contiguous type",
        str,
        ("scattered", "scattered as at the sender"),
    )
    grids: str = assumed(
        "BCD",
        "the three grids of MILC in figures 2 and 3",
        "assumed: the paper names none; those of figure 11 with the most bytes",
        ", ".join,
        ("ABC", "A, B, C"),
    )
    pool: int = assumed(128, "keys in the pool", "assumed; half of them are made when it is half empty", _COUNT)


EVALUATION = Evaluation(
    title="Scattered data by keys of the network card again, in simulation",
    part="scattered data between GPUs, sections III to V",
    citation="Suresh et al., Network Assisted Non-Contiguous Transfers for GPU-Aware MPI Libraries, sections III to V.",
    given=UmrAssumptions(),
    quick=UmrAssumptions(),
    remark="All figures are simulated; no network card was measured. Most costs were fitted to figures 8 and 10, so these two"
    " test nothing. Of many sets of costs that fit both, this one was taken because it also comes close to most other figures, as"
    " far as they do not exclude each other. The section on figures 8 and 10 says how often such sets do.",
    models="""
Machine: the presets mri (figures 8 and 10) and theta-gpu (the others), two nodes with one GPU each. A scheme is a path of their
channels, with everything in one chunk, as the basic schemes of the paper have it.

pack-gdr: a kernel packs, the network card moves the packed bytes, a kernel unpacks. A contiguous end needs no kernel. pack-stage:
the same, by copies through registered host memory. A copy for every block: each block is copied to host memory by a call that is
waited for, and from there likewise; this stands for Open MPI with UCX. MVAPICH2-GDR is taken as pack-gdr.

UMR: both ends cut their runs into windows of the same number of bytes, each with at most as many runs as a key stands for, on
either side. RTS, CTS and FIN take the handshake, each key one write. The first start parses the layout, maps the keys at both
ends and exchanges them; later starts find them in the caches. UMR-default of figure 8 is the first start, again and again.

Keys are made beforehand, 200 µs each, and come from a pool (section IV-E). No figure but that section's has this time in it: with
it, UMR-default would take tens of times as long as with the cache, and figure 8 has 2 and 3.
""",
)

SOURCE, DESTINATION = "node0.fbm0", "node1.fbm0"
PACKED, STAGED, HOST, BLOCKS, UMR = "pack-gdr", "pack-stage", "pack-host", "a copy for every block", "UMR"


@lru_cache(maxsize=64)
def machine(cluster: str, given: UmrAssumptions) -> Machine:
    """A preset with the assumed costs."""
    known = {each.name for each in fields(Costs)}
    return gpu_cluster(cluster, costs=Costs(**{name: value for name, value in vars(given).items() if name in known}))


def carried_out(scheme: str, transfer: Transfer, given: UmrAssumptions, cluster: str = "theta-gpu") -> Plan:
    """The plan of a transfer between two GPUs by a scheme of the paper, in one chunk."""
    return _carried_out(scheme, transfer, given, cluster)


@lru_cache(maxsize=4096)
def _carried_out(scheme: str, transfer: Transfer, given: UmrAssumptions, cluster: str) -> Plan:
    scattered = [runs < transfer.nbytes for runs in end_runs(transfer)]
    before, after = ([f"{end}->{end}"] * far for end, far in zip((SOURCE, DESTINATION), scattered, strict=True))
    each = partial("{}->{} a copy for every block".format)
    through = {
        PACKED: [*before, f"{SOURCE}->{DESTINATION}", *after],
        STAGED: [*before, f"{SOURCE}->node0.reg", "node0.reg->node1.reg", f"node1.reg->{DESTINATION}", *after],
        HOST: [f"{SOURCE}->node0.zcm", "node0.zcm->node1.zcm", f"node1.zcm->{DESTINATION}"],
        BLOCKS: [each(SOURCE, "node0.reg"), "node0.reg->node1.reg", each("node1.reg", DESTINATION)],
        UMR: [f"{SOURCE}->{DESTINATION} UMR"],
    }
    return plan_by_path(transfer, machine(cluster, given), through[scheme], chunk=transfer.nbytes)


def seconds(scheme: str, transfer: Transfer, given: UmrAssumptions, cluster: str = "theta-gpu") -> float:
    """Seconds of a start by a scheme, what is kept being there already."""
    return carried_out(scheme, transfer, given, cluster).again


@lru_cache(maxsize=256)
def layout(name: str) -> Transfer:
    """A pattern of the paper from GPU to GPU (`isoviz.bench.patterns`)."""
    return pattern(name).transfers(SOURCE, DESTINATION)[0]


def vector(blocks: int, block: int) -> Transfer:
    """Blocks of `block` bytes, twice as far apart."""
    return layout(f"vector {blocks} × {block} B")
