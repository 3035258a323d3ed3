"""A graph of stages: pure functions with named inputs and outputs, evaluated where somebody asks and where inputs changed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import isgenerator, signature
from typing import Any

from isoviz.widgets.state import Problem, Result


@dataclass(frozen=True)
class DerivedStage:
    """A pure function `make(problems, …)`, by the name of its output. Its other parameters name its inputs: stages, given values.

    `make` returns its output (None: there is none) and puts what is wrong into `problems`, by control. It is not called where an
    input is None, unless the annotation of the parameter allows None. An input that `make` only waits for begins with `_`.

    A long stage may be a generator, which returns its output. It yields often: there it can be given up (`Evaluation.parts_of`).
    It yields None, or an output that may be shown until there is a better one.
    """

    name: str
    make: Callable[..., Any]
    slow: str = ""
    """Where it takes longer than a gesture, the words for its progress."""
    refines: bool = False
    """Whether it adds to what is complete without it: it takes seconds, and nothing waits for it."""

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in order."""
        return tuple([name.lstrip("_") for name in list(signature(self.make).parameters)[1:]])

    @cached_property
    def needed(self) -> tuple[bool, ...]:
        """Whether each input must not be None."""
        _, *parameters = signature(self.make).parameters.values()
        return tuple(["None" not in str(each.annotation) for each in parameters])


class Evaluation:
    """One evaluation of stages over given values. Earlier results (`kept`) hold as long as their inputs are equal.

    `results` are the results that hold now, by stage: to be kept for the next evaluation.
    """

    def __init__(self, stages: Iterable[DerivedStage], given: Mapping[str, object], kept: Mapping[str, Result]) -> None:
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
        """Whether the output of a stage is cached: its inputs have not changed."""
        stage = self._stages[name]
        kept = self.results.get(name) or self._kept.get(name)
        return kept is not None and kept.inputs == tuple([self.of(each) for each in stage.inputs])

    @property
    def problems(self) -> dict[str, Problem]:
        """What is wrong, by control, in all that was evaluated."""
        return {control: problem for result in self.results.values() for control, problem in result.problems.items()}

    @property
    def keep(self) -> dict[str, Result]:
        """Results to carry over: this evaluation's, plus cached results of stages that were not requested."""
        return {**self._kept, **self.results}

    def _result(self, stage: DerivedStage) -> Result:
        made = self._made(stage)
        while True:
            try:
                next(made)
            except StopIteration as ended:
                result: Result = ended.value
                return result

    def _made(self, stage: DerivedStage) -> Generator[None, None, Result]:
        inputs = tuple([self.of(each) for each in stage.inputs])
        kept = self._kept.get(stage.name)
        if kept is not None and kept.inputs == inputs:
            return kept
        if any(each is None and needed for each, needed in zip(inputs, stage.needed, strict=True)):
            return Result(inputs, None)
        problems: dict[str, Problem] = {}
        value = stage.make(problems, *inputs)
        if isgenerator(value):
            value = yield from value
        return Result(inputs, value, problems)
