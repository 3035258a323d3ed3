"""Figures 12 to 14: both patterns and HACC I/O, to `/dev/null` at the I/O nodes and to the file system (section 6).

The file system takes the bytes of all I/O nodes at the rate of its servers. It gives locks on parts of the file one after the
other, while others write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from isoviz.figures.plots.bokeh_plot import Axis
from isoviz.machines.presets import blue_gene
from isoviz.reproduce.bgq.curves import TOKENS
from isoviz.reproduce.bgq.output.collective import collective, independent
from isoviz.reproduce.bgq.output.figure10 import workloads
from isoviz.reproduce.bgq.output.partition import Partition
from isoviz.reproduce.bgq.output.spread import several_paths
from isoviz.reproduce.bgq.output.workloads import RANKS
from isoviz.reproduce.figure import Figure, Grid, Line, Lines, Section
from isoviz.reproduce.statement import Statement, times
from isoviz.units import format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions
    from isoviz.reproduce.bgq.output.collective import Stage

NODES = 128, 512, 2048, 8192
QUICK_NODES = 128, 256
MIRA = 49152


@dataclass(frozen=True)
class Output:
    """A workload on some nodes: its bytes; seconds of default I/O and over several paths, to `/dev/null` and to the file system.

    `rounds` are those of default I/O; `before` are the seconds in which nothing leaves for the I/O nodes.
    """

    workload: str
    nodes: int
    nbytes: float
    default: float
    several: float
    default_files: float
    several_files: float
    rounds: int
    before: float

    @property
    def cores(self) -> int:
        """Cores, one for each rank."""
        return self.nodes * RANKS

    @property
    def speedup(self) -> float:
        """Several paths against default I/O, to `/dev/null`."""
        return self.default / self.several

    @property
    def files_speedup(self) -> float:
        """Several paths against default I/O, to the file system."""
        return self.default_files / self.several_files


def outputs(nodes: int, given: BgqAssumptions, names: Sequence[str] = ()) -> list[Output]:
    """The workloads of these names on some nodes, by default all three."""
    partition = Partition(nodes, given)
    found = []
    for name, workload in workloads(nodes, given).items():
        if names and name not in names:
            continue
        default = collective(partition, workload) if given.default == "collective" else independent(partition, workload)
        several = several_paths(partition, workload)
        found.append(
            Output(
                name,
                nodes,
                several.nbytes,
                sum(stage.before + stage.network for stage in default),
                several.network,
                sum(stage.before + _files_seconds(stage, nodes, given) for stage in default),
                _files_seconds(several, nodes, given),
                len(default),
                sum(stage.before for stage in default),
            )
        )
    return found


def _files_seconds(stage: Stage, nodes: int, given: BgqAssumptions) -> float:
    """Seconds until a stage is in the file system: its slowest part, as network, servers and locks work at the same time."""
    servers = len(blue_gene.file_servers(MIRA if given.servers == "whole" else nodes))
    disks = stage.nbytes / (servers * blue_gene.SERVER_DISK.value)
    return max(stage.network, disks, stage.locks * given.lock_seconds)


def one(nodes: int, name: str, given: BgqAssumptions, *, files: bool = False) -> float:
    """The speedup of a workload on some nodes."""
    (found,) = outputs(nodes, given, (name,))
    return found.files_speedup if files else found.speedup


_SMALL = (
    "at small scale default I/O loses little more than the time in which data is exchanged: the bytes of the file are divided"
    " evenly, so all I/O nodes have even loads. The paper says that aggregators are not balanced among I/O nodes. Where ranks"
    " write 8 MiB apart they are not, and the speedup is {apart}"
)
_LARGE = "in every round each rank tells each other one how much it sends, which takes time in proportion to the ranks"
_FILES = (
    "the file system bounds both ways, so it adds little to what the network gains: in isoviz default I/O is balanced among I/O"
    " nodes and aligned to blocks, and only its rounds and its locks cost more"
)


def statements(found: Sequence[Output], apart: Sequence[Output]) -> tuple[Statement, ...]:
    """Beside the paper. `apart` are those on the fewest nodes where ranks write 8 MiB apart."""
    rows = (
        ("pattern 1", False, 2.0, 3.0, "6.1, figure 12", (_SMALL, _LARGE)),
        ("pattern 2", False, 1.5, 2.0, "6.1, figure 12", (_SMALL, _LARGE)),
        ("pattern 1", True, 2.0, 5.0, "6.1, figure 13", (_SMALL, _FILES)),
        ("pattern 2", True, 2.0, 5.0, "6.1, figure 13", (_SMALL, _FILES)),
    )
    made = []
    for name, files, low, high, where, whys in rows:
        mine = [each for each in found if each.workload == name]
        for each, paper, why in zip((mine[0], mine[-1]), (low, high), whys, strict=True):
            ours = each.files_speedup if files else each.speedup
            to = "file system" if files else "/dev/null"
            # The paper's second figure is for 131,072 cores.
            bound = paper if each is mine[0] or each.nodes == NODES[-1] else None
            text = f"up to {times(high)}" if bound is None else times(bound)
            what = f"{name}, {to}, {each.cores:,} cores: speedup"
            (gaps,) = [other for other in apart if other.workload == name]
            why = why.format(apart=times(gaps.files_speedup if files else gaps.speedup))
            made.append(Statement(where, what, text, bound, bound, ours, "times", why))
    hacc = [each for each in found if each.workload == "HACC I/O"]
    gains = [each.files_speedup - 1 for each in hacc]
    why = (
        f"the mean of all sizes; {times(1 + gains[0])} on {hacc[0].cores:,} cores, {times(1 + gains[-1])} on {hacc[-1].cores:,}."
        " The ranks that write are neighbours, but collective I/O spreads their bytes over all aggregators as well"
    )
    made.append(Statement("6.2, figure 14", "HACC I/O, file system: gain", "50 %", 0.5, 0.5, fmean(gains), "change", why))
    return tuple(made)


def section(found: Sequence[Output]) -> Section:
    """The three figures."""
    parts = (
        (12, "to /dev/null at the I/O nodes", ("pattern 1", "pattern 2"), False),
        (13, "to the file system", ("pattern 1", "pattern 2"), True),
        (14, "HACC I/O to the file system", ("HACC I/O",), True),
    )
    return Section("Figures 12 to 14: sparse output", [_figure(found, *part) for part in parts])


def _figure(found: Sequence[Output], number: int, words: str, names: Sequence[str], files: bool) -> Figure:
    lines, rows = [], []
    for name in names:
        mine = [each for each in found if each.workload == name]
        for label, attribute in (("several paths", "several"), ("default", "default")):
            seconds = [getattr(each, attribute + ("_files" if files else "")) for each in mine]
            rates = [each.nbytes / time for each, time in zip(mine, seconds, strict=True)]
            points = [(float(each.cores), rate) for each, rate in zip(mine, rates, strict=True)]
            texts = [
                f"{each.cores:,} cores: {format_rate(rate)}, {format_seconds(time)}"
                for each, rate, time in zip(mine, rates, seconds, strict=True)
            ]
            lines.append(Line(f"{name}, {label}", TOKENS[names.index(name)], points, texts))
        for each in mine:
            default, several = (each.default_files, each.several_files) if files else (each.default, each.several)
            rows.append(
                (
                    *(name, f"{each.cores:,}", f"{each.nbytes / 1e9:.3g} GB", f"{each.rounds}"),
                    *(format_seconds(each.before), format_seconds(default), format_seconds(several), times(default / several)),
                )
            )
    cores = [x for line in lines for x, _ in line.points]
    rates = [y for line in lines for _, y in line.points]
    title = f"Figure {number}: {words}"
    across = Axis("cores", "number", min(cores) / 1.3, max(cores) * 1.3)
    plot = Lines(lines, across, Axis("throughput", "rate", min(rates) / 1.5, max(rates) * 1.5), title)
    header = ("workload", "cores", "bytes", "rounds", "told and exchanged", "default", "several paths", "speedup")
    return Figure(f"figure{number}", plot, (Grid(title, header, rows),), title)
