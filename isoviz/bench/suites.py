"""The benchmarks by name, each with the module that measures it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from isoviz.bench.table import Table


@dataclass(frozen=True)
class Suite:
    """A benchmark: one line for people, the module whose `measure(**options)` returns its table, and the format of the page that
    the table writes (`Table.to_page`; empty: it has none)."""

    description: str
    module: str
    page: Literal["", "HTML", "Markdown"] = ""

    @property
    def measure(self) -> Callable[..., Table]:
        """The function that measures."""
        function: Callable[..., Table] = import_module(self.module).measure
        return function

    @property
    def options(self) -> Collection[str]:
        """The names of its options. The option `progress` is called with a text about each step."""
        return inspect.signature(self.measure).parameters.keys()


SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "convert": Suite(
            "array files from one layout to another, beside a plain copy, `cp` and NumPy",
            "isoviz.bench.convert",
        ),
        "disk": Suite(
            "request rates, and files converted at the speed of the disk, beside the same requests plainly issued",
            "isoviz.bench.disk",
        ),
        "engine": Suite("what the engine costs, beside NumPy and a thread pool", "isoviz.bench.engine"),
        "gpu": Suite(
            "transfers from, to and inside a GPU, beside CUDA itself, CuPy and PyTorch", "isoviz.bench.gpu.suite", page="Markdown"
        ),
        "layouts": Suite("layout conversions in memory, beside memcpy, NumPy, PyTorch and OpenCV", "isoviz.bench.layouts"),
        "multipath": Suite(
            "plans of several paths on Blue Gene/Q of growing size, beside one path for each transfer",
            "isoviz.bench.multipath",
            page="HTML",
        ),
        "noncontiguous": Suite(
            "lists beside NumPy; lists and strided runs between ranks beside MPI's types; chosen plans beside their rivals",
            "isoviz.bench.noncontiguous",
        ),
        "permutations": Suite(
            "permutations of 2 to 6 dimensions in memory, beside memcpy, NumPy, PyTorch and OpenCV",
            "isoviz.bench.permutations",
        ),
        "pipeline": Suite("a path of three hops, beside its slowest hop and stored and forwarded", "isoviz.bench.pipeline"),
        "predictions": Suite(
            "random transfers: errors of predictions, and the chosen plans beside their rivals",
            "isoviz.bench.predictions.suite",
            page="HTML",
        ),
        "priority": Suite("an urgent transfer among many, beside first come first served", "isoviz.bench.priority"),
        "ranks": Suite("transfers between MPI ranks, beside MPI itself, NumPy and memcpy", "isoviz.bench.ranks.suite"),
        "vortex": Suite(
            "the switch of a Data Vortex: what it carries, and its speed beside one with an object for each packet",
            "isoviz.bench.vortex",
            page="Markdown",
        ),
    }
)
"""Name → benchmark."""
