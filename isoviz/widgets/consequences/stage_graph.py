"""A graph of stages: pure functions with named inputs and outputs, evaluated where somebody asks and where inputs changed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import isgenerator
from typing import Any

from isoviz.widgets.state import Problem, Result


@dataclass(frozen=True)
class Stage:
    """A pure function `make(problems, *inputs)`, by the name of its output.

    `inputs` names other stages and given values. `make` returns its output (None: there is none) and puts what is wrong into
    `problems`, by control. Unless `partial`, a stage that lacks an input has no output either, and is not called.

    A long stage may be a generator, which returns its output. It yields often: there it can be given up (`Evaluation.parts_of`).
    It yields None, or an output that may be shown until there is a better one.
    """

    name: str
    inputs: tuple[str, ...]
    make: Callable[..., Any]
    partial: bool = False


class Evaluation:
    """One evaluation of stages over given values. Earlier results (`kept`) hold as long as their inputs are equal.

    `results` are the results that hold now, by stage: to be kept for the next evaluation.
    """

    def __init__(self, stages: Iterable[Stage], given: Mapping[str, object], kept: Mapping[str, Result]) -> None:
        self._stages = {stage.name: stage for stage in stages}
        self._given = dict(given)
        self._kept = kept
        self.results: dict[str, Result] = {}

    def give(self, name: str, value: object) -> None:
        """Set a given value; stages that follow from it are evaluated again where it differs."""
        if self._given.get(name) is not value:
            self._given[name] = value
            self._kept = {**self._kept, **self.results}
            self.results = {}

    def of(self, name: str) -> Any:
        """The output of a stage, or a given value."""
        if name not in self._stages:
            return self._given[name]
        if name not in self.results:
            self.results[name] = self._result(self._stages[name])
        return self.results[name].value

    def parts_of(self, name: str) -> Iterator[Any]:
        """Make the output of a stage in parts: it yields what the stage yields. Afterwards, `of` has the output."""
        if name not in self.results:
            self.results[name] = yield from self._made(self._stages[name])

    def is_kept(self, name: str) -> bool:
        """Whether the output of a stage is there without work: what it follows from is as before."""
        stage = self._stages[name]
        kept = self.results.get(name) or self._kept.get(name)
        return kept is not None and kept.inputs == tuple([self.of(each) for each in stage.inputs])

    @property
    def problems(self) -> dict[str, Problem]:
        """What is wrong, by control, in all that was evaluated."""
        return {control: problem for result in self.results.values() for control, problem in result.problems.items()}

    @property
    def keep(self) -> dict[str, Result]:
        """The results for the next evaluation: those of now, and earlier ones of stages that nobody asked for."""
        return {**self._kept, **self.results}

    def _result(self, stage: Stage) -> Result:
        made = self._made(stage)
        while True:
            try:
                next(made)
            except StopIteration as ended:
                found: Result = ended.value
                return found

    def _made(self, stage: Stage) -> Generator[None, None, Result]:
        inputs = tuple([self.of(each) for each in stage.inputs])
        kept = self._kept.get(stage.name)
        if kept is not None and kept.inputs == inputs:
            return kept
        if not stage.partial and any(each is None for each in inputs):
            return Result(inputs, None)
        problems: dict[str, Problem] = {}
        value = stage.make(problems, *inputs)
        if isgenerator(value):
            value = yield from value
        return Result(inputs, value, problems)
