"""The benchmarks by name, each with the module that measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.bench.table import Table


@dataclass(frozen=True)
class Suite:
    """A benchmark: one line for people, the module whose `measure(**options)` returns its table, the ending of its page's name
    (empty: it has none), and whether it tells what it does (the option `progress`)."""

    description: str
    module: str
    options: tuple[str, ...]
    page: Literal["", "html", "md"] = ""
    tells: bool = False

    @property
    def measure(self) -> Callable[..., Table]:
        """The function that measures."""
        found: Callable[..., Table] = import_module(self.module).measure
        return found


SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "convert": Suite(
            "array files from one layout to another, beside a plain copy, `cp` and NumPy",
            "isoviz.bench.files.file_conversion",
            ("size", "memory_limit", "repeat", "directory"),
        ),
        "disk": Suite(
            "request rates, and files converted at the speed of the disk, beside the same requests plainly issued",
            "isoviz.bench.files.disk_speed",
            ("size", "memory_limit", "repeat", "directory"),
        ),
        "engine": Suite("what the engine costs, beside NumPy and a thread pool", "isoviz.bench.running.engine_cost", ("repeat",)),
        "everyday": Suite(
            "everyday transfers on machines of today: the plans of `full` and `auto` beside an expert's",
            "isoviz.bench.planning.everyday",
            (),
            page="md",
        ),
        "explorer": Suite(
            "the explorer in JupyterLab and headless Chromium: from a gesture to the painted answer",
            "isoviz.bench.explorer.explorer_speed",
            ("repeat", "minutes"),
        ),
        "gpu": Suite(
            "transfers from, to and inside a GPU, beside CUDA itself, CuPy and PyTorch",
            "isoviz.bench.gpu.gpu_suite",
            ("repeat", "directory", "quick", "minutes", "parts"),
            page="md",
            tells=True,
        ),
        "import": Suite("starting Python with isoviz, beside NumPy", "isoviz.bench.running.import_time", ("repeat",)),
        "layouts": Suite(
            "layout conversions in memory, beside memcpy, NumPy, PyTorch and OpenCV",
            "isoviz.bench.host.layout_copies",
            ("size", "repeat"),
        ),
        "permutations": Suite(
            "permutations of 2 to 6 dimensions in memory, beside memcpy, NumPy, PyTorch and OpenCV",
            "isoviz.bench.host.permutations",
            ("size", "repeat"),
        ),
        "pipeline": Suite(
            "a path of three hops, beside its slowest hop and stored and forwarded",
            "isoviz.bench.running.pipelining",
            ("size", "repeat", "directory"),
        ),
        "planner": Suite(
            "planning, beside Isometry's figures, a graph search and one PuLP solve; its growth with the machine",
            "isoviz.bench.planning.planning_time",
            ("repeat",),
            page="html",
        ),
        "predictions": Suite(
            "random transfers: errors of predictions, and the chosen plans beside their rivals",
            "isoviz.bench.predictions.accuracy",
            ("size", "repeat", "directory", "seed", "thorough"),
            page="html",
            tells=True,
        ),
        "priority": Suite(
            "an urgent transfer among many, beside first come first served",
            "isoviz.bench.running.urgent_transfers",
            ("size", "repeat"),
        ),
        "ranks": Suite(
            "transfers between MPI ranks, beside MPI itself, NumPy and memcpy",
            "isoviz.bench.ranks.ranks_suite",
            ("repeat", "directory", "quick"),
            tells=True,
        ),
        "simulator": Suite("requests simulated per second, beside SimPy", "isoviz.bench.running.simulation_speed", ("repeat",)),
        "staging": Suite(
            "a transposing read from disk: the staged path beside the one hop",
            "isoviz.bench.files.staged_reads",
            ("size", "repeat", "directory"),
        ),
    }
)
"""Name → benchmark."""
