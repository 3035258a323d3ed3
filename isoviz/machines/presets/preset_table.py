"""The table of the machines included in isoviz, and the function that creates one of them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.presets.clusters import laptop, moonlight, sapling, two_node, xstream
from isoviz.machines.presets.dgx import dgx_h100_pair
from isoviz.machines.presets.rank_gpu_presets import GPU_MEMORY, REAL, with_gpus
from isoviz.machines.presets.single_socket import gh200, workstation

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.machines.machine import Machine


@dataclass(frozen=True)
class PresetOption:
    """An option of a preset: its default value, a description in one line, and the allowed values if they are fixed."""

    default: object
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class PresetInfo:
    """A preset: its name, a description in one line, its options, and the function that creates it.

    `str` gives the description and the options in one line.
    """

    name: str
    description: str
    options: dict[str, PresetOption]
    make: Callable[..., Machine]

    def __str__(self) -> str:
        if not self.options:
            return self.description
        options = ", ".join(f"{name}={option.default}" for name, option in self.options.items())
        return f"{self.description} (options: {options})"


def _local(**options: Any) -> Machine:
    """The machine of this computer. It needs measurements, which are in a higher layer than this package.

    Therefore the module is imported by name, and only when the preset is used.
    """
    made: Machine = import_module("isoviz.measure.local_machine").local(**options)
    return made


def _ranks(gpus: object = 0, gpu_memory: object = REAL, **options: Any) -> Machine:
    """A machine of MPI ranks. Its figures within a rank are those of this computer (`_local`)."""
    made: Machine = import_module("isoviz.measure.ranks.ranks_machine").ranks(**options)
    computer: Machine | None = None
    if gpus and options.get("measure") != "assumed":
        here = import_module("isoviz.measure.local_machine")
        computer = here.kept_machine(here.checked_directory(options.get("directory"), "ranks"))
    return with_gpus(made, gpus, gpu_memory, computer)


def presets() -> dict[str, PresetInfo]:
    """The presets by name."""
    return {
        info.name: info
        for info in (
            PresetInfo(
                "local",
                "this computer: its memory and the file system of a directory, as probed, else probed briefly",
                {
                    "directory": PresetOption(None, "where files will be (None: the working directory)"),
                    "measure": PresetOption(
                        "cached",
                        "use the latest probe, take a brief new one (some seconds), or assume round figures",
                        ("cached", "fresh", "assumed"),
                    ),
                },
                _local,
            ),
            PresetInfo(
                "ranks",
                "MPI ranks on one host or several: as probed, else with assumed rates between them",
                {
                    "ranks": PresetOption(4, "how many ranks"),
                    "hosts": PresetOption(1, "how many hosts the ranks are spread over; or the host of every rank"),
                    "gpus": PresetOption(0, "how many GPUs per rank; ranks share those of their host if it has fewer"),
                    "gpu_memory": PresetOption(
                        REAL, "memory of real GPUs, also in messages (cuda-aware), or emulated in host memory", GPU_MEMORY
                    ),
                    "directory": PresetOption(None, "where the files of every rank will be (None: the working directory)"),
                    "measure": PresetOption(
                        "cached",
                        "use a probe of as many ranks and what is kept of this computer, or assume round figures",
                        ("cached", "assumed"),
                    ),
                },
                _ranks,
            ),
            PresetInfo(
                "sapling",
                "the cluster of the Isometry paper (tables 4 and 5); bandwidths from the paper, latencies assumed",
                {
                    "nodes": PresetOption(2, "how many nodes; the paper's cluster has 4"),
                    "gpus": PresetOption(1, "how many GPUs per node; the paper's cluster has 2"),
                },
                sapling,
            ),
            PresetInfo(
                "two-node",
                "two nodes with a GPU and a disk each and a network of 3 GB/s (Isometry, figure 4 and section 4.3)",
                {},
                two_node,
            ),
            PresetInfo(
                "xstream",
                "the XStream cluster (Isometry, table 4): K80 GPUs, FDR InfiniBand; bandwidths published or assumed",
                {
                    "nodes": PresetOption(2, "how many nodes; the paper's cluster has 16"),
                    "gpus": PresetOption(4, "how many GPUs per node; two K80 have 4"),
                },
                xstream,
            ),
            PresetInfo(
                "moonlight",
                "the Moonlight cluster (Isometry, table 4): M2090 GPUs, QDR InfiniBand; bandwidths published or assumed",
                {
                    "nodes": PresetOption(2, "how many nodes; the paper's cluster has 308"),
                    "gpus": PresetOption(2, "how many GPUs per node; the paper's cluster has 2"),
                },
                moonlight,
            ),
            PresetInfo(
                "dgx-h100-pair",
                "two nodes of 8 H100 GPUs: NVLink, GPUDirect, a NIC of 400 Gb/s per GPU; figures published, measured, assumed",
                {"gpus": PresetOption(8, "how many GPUs per node, each with its NIC; a DGX H100 has 8")},
                dgx_h100_pair,
            ),
            PresetInfo(
                "gh200",
                "Grace Hopper superchips, one per node: NVLink-C2C, a NIC of 400 Gb/s; figures published, measured, assumed",
                {"nodes": PresetOption(2, "how many nodes")},
                gh200,
            ),
            PresetInfo(
                "workstation",
                "a workstation of 2025: RTX PRO 6000 Blackwell and NVMe on PCIe 5.0; figures published, measured, assumed",
                {"gpus": PresetOption(1, "how many GPUs; the board has slots for 4")},
                workstation,
            ),
            PresetInfo(
                "laptop",
                "one computer with a GPU and an NVMe disk; all figures assumed",
                {},
                laptop,
            ),
        )
    }


def preset(name: str, /, **options: Any) -> Machine:
    """The machine of this name. `presets()` lists the names and their options.

    Raises:
        MachineError: there is no such preset, the preset has no such option, or a value is out of range.
    """
    known = presets()
    asked: object = name
    info = known.get(asked) if isinstance(asked, str) else None
    if info is None:
        close = get_close_matches(str(name)[: checks.NAME_LIMIT], known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise MachineError(f"no preset {checks.show(name)}; there are {', '.join(known)}{hint}")
    for option in options:
        if option not in info.options:
            takes = f"it takes {', '.join(info.options)}" if info.options else "it takes none"
            raise MachineError(f"preset {name!r} has no option {checks.show(option)}; {takes}")
    return info.make(**options)
