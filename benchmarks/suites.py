"""The benchmarks of isoviz itself by name, each with the module that measures it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from isoviz.bench import Suite

SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "course": Suite(
            "the course: to the first exercise, draws, checks, its notebooks without answers, a report on a class",
            "benchmarks.course",
            page="Markdown",
        ),
        "everyday": Suite(
            "everyday transfers on machines of today: the plans of `full` and `auto` beside an expert's",
            "benchmarks.everyday",
            page="Markdown",
        ),
        "explorer": Suite(
            "the explorer in JupyterLab and headless Chromium: from a gesture to the painted answer; random clicks (--minutes)",
            "benchmarks.explorer",
        ),
        "gpu-requests": Suite(
            "transfers on a GPU that takes the time of a real one and moves nothing: what Python costs between the copies",
            "benchmarks.gpu_requests",
        ),
        "import": Suite("starting Python with isoviz, beside NumPy", "benchmarks.import_time"),
        "planner": Suite(
            "planning, beside Isometry's figures, a graph search and one PuLP solve; its growth with the machine",
            "benchmarks.planner",
            page="HTML",
        ),
        "simulator": Suite("requests simulated per second, beside SimPy", "benchmarks.simulator"),
        "staging": Suite("a transposing read from disk: the staged path beside the one hop", "benchmarks.staging"),
    }
)
"""Name → benchmark."""
