"""The course: until the first exercise, draws, checks, pictures, notebooks without answers, and a report on a class."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from isoviz.bench.table import Row, Table
from isoviz.course.checking import Shown, judged_again
from isoviz.course.classroom import drawn, learner_seed, new_folder
from isoviz.course.exercise import Exercise
from isoviz.course.functions import Function
from isoviz.course.lessons import every_exercise
from isoviz.course.progress import Attempt, digest
from isoviz.course.report import ClassReport
from isoviz.document import Document, Points, Prose
from isoviz.units import format_seconds

LEARNERS = 20
SEEDS = 10
NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("[0-9]-*.ipynb"))
FIRST = "from isoviz import course; course.start('.'); course.statement('1.1')._repr_html_()"


class CourseTable(Table):
    """The table of the course as a page."""

    def to_page(self) -> str:
        """Markdown: the table and its notes."""
        said = Prose(f"python -m benchmarks course: {self.title}.")
        return Document("The course", [said, self.table(), Points(self.notes)]).markdown()


def measure() -> CourseTable:
    """Measure each part once or a few times; what is slowest stands in the table."""
    rows = [each for part in (_first, _exercises, _notebooks, _report) for each in part()]
    return CourseTable(
        "course",
        "what a learner and a teacher wait for",
        {
            "what": ("what", str),
            "which": ("slowest of them", str),
            "seconds": ("time", format_seconds),
            "limit": ("at most", format_seconds),
        },
        rows,
        (
            "the first exercise, draws, checks, pictures: processor time; functions, notebooks, report: by the clock",
            "draws: the numbers of an exercise, drawn until its wrong models differ; the mean over some learners",
            "checks: a right answer that was kept is read and judged, without its picture",
            "notebooks: all cells without answers, with the start of the kernel",
            f"report: {LEARNERS} learners with two attempts at every exercise, judged again in two processes",
        ),
    )


def _timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _computed(call: Callable[[], Any]) -> float:
    """Processor seconds, also of processes that ended meanwhile: other work on the computer adds nothing."""
    began = os.times()
    call()
    return sum(after - before for after, before in zip(os.times()[:4], began[:4], strict=True))


def _slowest(what: str, times: dict[str, float], limit: float) -> Row:
    which = max(times, key=lambda name: times[name])
    return {"what": what, "which": which, "seconds": times[which], "limit": limit}


def _first() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        start = [sys.executable, "-P", "-c", FIRST]
        times = [_computed(lambda: subprocess.run(start, cwd=folder, check=True)) for _ in range(5)]
    yield {"what": "Python's start to the first exercise", "which": "1.1", "seconds": sorted(times)[2], "limit": 2.0}


def _exercises() -> Iterator[Row]:
    draws: dict[str, float] = {}
    checks: dict[str, float] = {}
    functions: dict[str, float] = {}
    pictures: dict[str, float] = {}
    for name, exercise in every_exercise().items():
        seeds = [learner_seed("benchmark", f"{name} {number}") for number in range(SEEDS)]
        drawn(exercise, seeds[0])  # what is made once for all draws
        draws[name] = _computed(lambda: [drawn(exercise, seed) for seed in seeds]) / SEEDS  # noqa: B023  called at once
        given = drawn(exercise, seeds[0])
        kept = exercise.kind.keep(exercise.right(given))
        into, clock = (functions, _timed) if isinstance(exercise.kind, Function) else (checks, _computed)
        into[name] = clock(lambda: judged_again(exercise, kept, given))  # noqa: B023
        picture = judged_again(exercise, kept, given).verdict.picture
        if picture is not None:
            pictures[name] = _computed(lambda: Shown("right", name, picture=picture)._repr_html_())  # noqa: B023
    yield _slowest("draws", draws, 0.05)
    yield _slowest("checks", checks, 0.5)
    yield _slowest("checks of functions", functions, 6.0)
    yield _slowest("pictures beside a verdict", pictures, 0.5)


def _notebooks() -> Iterator[Row]:
    import nbclient
    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
            client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}})
            yield {"what": "a notebook without answers", "which": path.stem, "seconds": _timed(client.execute), "limit": 60.0}


def _report() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as root:
        folders = [Path(root) / f"learner {number}" for number in range(LEARNERS)]
        for folder in folders:
            learner = new_folder(folder, folder.name, "benchmark")
            for name, exercise in every_exercise().items():
                given = learner.given(exercise)
                for answer in (_wrong(exercise, given), exercise.right(given)):
                    learner.progress.add(Attempt(name, exercise.kind.keep(answer), False, "", digest(given)))
        seconds = _timed(lambda: ClassReport(folders, "benchmark"))
    yield {"what": "a report", "which": f"{LEARNERS} learners", "seconds": seconds, "limit": 60.0}


def _wrong(exercise: Exercise, given: Any) -> Any:
    answers = (model.answer(given) for model in exercise.models)
    return next(each for each in answers if each is not None)
