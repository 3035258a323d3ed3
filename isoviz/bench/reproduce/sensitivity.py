"""The dependence of the figures on the assumptions: each one halved and doubled, or turned into its alternative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.bench.reproduce.assumptions import described
from isoviz.bench.reproduce.findings import UNITS
from isoviz.bench.reproduce.patterns import MULTI_HOP
from isoviz.bench.reproduce.results.figure7 import figure7
from isoviz.bench.reproduce.results.figure8 import ONE_HOP, SEVERAL_HOPS, THREADS, figure8
from isoviz.bench.reproduce.results.figure11 import speedup
from isoviz.bench.reproduce.results.figure12 import application, point

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions

NODES = 16
"""Nodes of the applications here, those of Circuit too: 64 nodes would take long."""


class Metric(NamedTuple):
    """A figure that depends on assumptions."""

    what: str
    unit: str
    value: Callable[[Assumptions], float]


def _application(name: str, nodes: int, what: str) -> Callable[[Assumptions], float]:
    def value(given: Assumptions) -> float:
        found: float = getattr(point(application(name, given), nodes, given), what)
        return found

    return value


def metrics(nodes: int) -> dict[str, Metric]:
    """The figures by a short name; those of applications on `nodes` nodes."""
    one, several = (lambda given, pair=pair: figure8(given, pair).change(max(THREADS)) for pair in (ONE_HOP, SEVERAL_HOPS))
    found = {
        "pipelining": Metric("figure 7: FBM → FBM*, speedup", "times", lambda given: figure7(given, MULTI_HOP[:1])[0].speedup),
        "one hop": Metric("figure 8a: one hop, 8 threads", "change", one),
        "hops": Metric("figure 8b: several hops, 8 threads", "change", several),
        "mpi": Metric("figure 11: AOS to SOA, speedup", "times", speedup),
    }
    for key, name, count, what in (
        ("page rank", "PageRank", nodes, "communication"),
        ("page rank run", "PageRank", nodes, "overall"),
        ("vgg one", "VGG-16", 1, "communication"),
        ("vgg", "VGG-16", nodes, "communication"),
        ("vgg run", "VGG-16", nodes, "overall"),
        ("circuit", "Circuit", nodes, "communication"),
    ):
        said = "whole run" if what == "overall" else what
        where = f"{name}, {count} node{'s'[: count > 1]}: {said}"
        found[key] = Metric(where, "change", _application(name, count, what))
    return found


HANGS_ON: dict[str, tuple[str, ...]] = {
    "threads": ("pipelining", "page rank", "vgg", "circuit"),
    "worker": ("pipelining", "page rank", "vgg", "circuit"),
    "temporaries": ("pipelining", "hops", "page rank", "vgg", "circuit"),
    "conversion": ("vgg one",),
    "page_rank_gpus": ("page rank",),
    "low_priority": ("one hop", "hops"),
    "launches": ("one hop", "hops"),
    "entries": ("one hop", "hops"),
    "request_bytes": ("pipelining", "one hop", "hops"),
    "mpi_block": ("mpi",),
    "mpi_slots": ("mpi",),
    "page_rank_bytes": ("page rank", "page rank run"),
    "page_rank_compute": ("page rank run",),
    "vgg_batch": ("vgg one", "vgg", "vgg run"),
    "vgg_rate": ("vgg run",),
    "circuit_bytes": ("circuit",),
    "circuit_ratio": ("circuit",),
    "latency": ("pipelining", "one hop", "mpi", "page rank", "circuit"),
    "gpu_link": ("page rank", "vgg one", "vgg", "circuit"),
    "memcpy": ("page rank", "vgg one"),
}
"""Assumption → the figures that depend on it."""
_ALTERNATIVES: dict[str, tuple[Any, str]] = {
    "worker": ("launcher", "the launcher's, for all hops"),
    "temporaries": ("reg", "REG"),
    "conversion": ("gpu", "in GPUWrite, row by row"),
    "page_rank_gpus": (4, "all 4"),
}
"""Assumption that is not halved and doubled → its other value, and the name of that value."""


class Row(NamedTuple):
    """A figure as it is, and with an assumption halved and doubled. An assumption that is no number has one alternative."""

    assumption: str
    value: str
    metric: str
    unit: str
    base: float
    halved: float | None
    doubled: float | None
    alternative: float | None = None

    def text(self, which: str) -> str:
        """One of its figures, written."""
        found = getattr(self, which)
        return "" if found is None else UNITS[self.unit](found)


def sensitivity(given: Assumptions, *, nodes: int = NODES, names: Iterable[str] = tuple(HANGS_ON)) -> Iterator[Row]:
    """A row for each assumption (of these names) and each figure that depends on it."""
    figures = metrics(nodes)
    known = {each.name: each for each in described(given)}
    base: dict[str, float] = {}
    for name in names:
        value = getattr(given, name)
        for key in HANGS_ON[name]:
            metric = figures[key]
            if key not in base:
                base[key] = metric.value(given)
            what, text = known[name].what, known[name].value
            if name in _ALTERNATIVES:
                other, said = _ALTERNATIVES[name]
                found = metric.value(replace(given, **{name: other}))
                yield Row(what, f"{text}; alternative: {said}", metric.what, metric.unit, base[key], None, None, found)
                continue
            half, double = (metric.value(replace(given, **{name: _scaled(value, factor)})) for factor in (0.5, 2))
            yield Row(what, text, metric.what, metric.unit, base[key], half, double)


def _scaled(value: Any, factor: float) -> Any:
    return int(value * factor) if isinstance(value, int) else value * factor
