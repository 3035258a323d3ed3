"""The presets that have to be measured: this computer (`local`), and MPI ranks (`ranks`). Entry points of isoviz name them.

Presets are listed without the modules that measure, which are imported when such a machine is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.machines.presets import PresetInfo, PresetOption
from isoviz.machines.presets.rank_gpu_presets import GPU_MEMORY, REAL, with_gpus

if TYPE_CHECKING:
    from isoviz.machines.machine import Machine


def _local(**options: Any) -> Machine:
    from isoviz.measure.local_machine import local

    return local(**options)


def _ranks(gpus: object = 0, gpu_memory: object = REAL, **options: Any) -> Machine:
    """A machine of MPI ranks. Its figures within a rank are those of this computer."""
    from isoviz.measure.local_machine import checked_directory, kept_machine
    from isoviz.measure.ranks.ranks_machine import ranks

    made = ranks(**options)
    is_measured = gpus and options.get("measure") != "assumed"
    computer = kept_machine(checked_directory(options.get("directory"), "ranks")) if is_measured else None
    return with_gpus(made, gpus, gpu_memory, computer)


LOCAL = PresetInfo(
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
    is_measured=True,
)
RANKS = PresetInfo(
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
        "channels": PresetOption(
            "usual",
            "the channels that plans use, or all: also those of the kinds Put, Derived and Assisted, to compare with",
            ("usual", "all"),
        ),
    },
    _ranks,
    is_measured=True,
)
