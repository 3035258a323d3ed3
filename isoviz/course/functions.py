"""Answers that are functions: their source is kept, and they run on hidden data in a separate process."""

from __future__ import annotations

import ast
import inspect
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO, Any

from isoviz.course.exercise import Given, Kind, NotAnAnswer, Texts, Verdict, sentence, shared
from isoviz.course.sandbox import BEYOND, LONGEST_LINE
from isoviz.errors import show

LONGEST = 100_000
"""Characters of the source of a function, at most."""
BEGINNING = 30.0
"""Seconds for which the process may take to begin."""
_MISSING = ("NameError", "ImportError", "ModuleNotFoundError")
"""What a function raises where something stands outside of it that it needs."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What libraries read that begin threads of their own: a function has one thread."""


@dataclass(frozen=True)
class Source:
    """A function by its source. `file` and `line` say where it stands: a message names the learner's own line."""

    text: str
    name: str
    file: str = "your function"
    line: int = 1


@dataclass(frozen=True)
class Function(Kind):
    """A function that is written with `def`. It is judged alone: what it needs, modules too, has to stand inside it."""

    call: str
    """How it is called, such as `program(data)`."""

    def read(self, answer: object, given: Given) -> Source:  # noqa: ARG002  no number says how it is read
        """Its source."""
        if not inspect.isfunction(answer) or answer.__name__ == "<lambda>":
            raise NotAnAnswer(f"expected your function {self.call}, written with def, got {show(answer)}")
        try:
            lines, first = inspect.getsourcelines(answer)
        except (OSError, TypeError) as error:
            raise NotAnAnswer(f"the source of {answer.__name__} cannot be found; define it with def in a cell") from error
        return self._source("".join(lines), answer.__name__, answer.__code__.co_filename, first)

    def keep(self, read: Any) -> Any:
        """The source."""
        return {"name": read.name, "source": read.text}

    def again(self, kept: Any, given: Given) -> Source:  # noqa: ARG002
        """The function of a kept source."""
        if not isinstance(kept, Mapping) or not all(isinstance(kept.get(key), str) for key in ("name", "source")):
            raise NotAnAnswer("expected the source of a function")
        return self._source(kept["source"], kept["name"], "answer", 1)

    def _source(self, text: str, name: str, file: str, line: int) -> Source:
        text = textwrap.dedent(text)
        if len(text) > LONGEST:
            raise NotAnAnswer(f"expected a function of at most {LONGEST:,} characters")
        try:
            defined = [each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
        except (SyntaxError, ValueError, RecursionError) as error:
            raise NotAnAnswer(f"the source of {show(name)} cannot be read: {error}") from error
        if name not in defined:
            raise NotAnAnswer(f"expected your function {self.call}, written with def; found none of the name {show(name)}")
        return Source(text, name, file, line)


@dataclass(frozen=True)
class Returned:
    """What a function did with one case: a value, or why there is none.

    `problem` is "" or a key of the texts that all notebooks share: "raised", "endless", "ended". `words` fill it.
    """

    value: Any = None
    problem: str = ""
    words: Mapping[str, object] | None = None


class Sandbox:
    """A process that runs functions one after the other. Use it in a `with` block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._number = 0

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, source: Source, cases: Sequence[Sequence[Any]], seconds: float = 5.0) -> list[Returned]:
        """What a function returns for each case, its arguments. All cases together may take `seconds`.

        It begins in an empty folder, which is removed. The cases after one that did not end have the same problem as it.
        """
        written = {"source": source.text, "name": source.name, "file": source.file, "line": source.line}
        self._number += 1
        with tempfile.TemporaryDirectory(prefix="isoviz-", ignore_cleanup_errors=True) as folder:
            self._ask({**written, "cases": cases, "seconds": seconds, "folder": folder, "number": self._number})
            found = list(self._answers(seconds))
        # Fewer answers than cases: the function has ended its process with a status that says that all is well.
        missing = found[-1] if found and found[-1].problem else Returned(problem="ended")
        return (found + [missing] * len(cases))[: len(cases)]

    def _ask(self, asked: dict[str, Any]) -> None:
        line = json.dumps(asked).encode() + b"\n"
        for is_last in (False, True):
            stdin = self._started().stdin
            assert stdin is not None
            try:
                stdin.write(line)
                stdin.flush()
                return
            except OSError:  # the function before may have ended this process as well
                self._end()
                if is_last:
                    raise

    def _answers(self, seconds: float) -> Iterator[Returned]:
        word, value = self._told(BEGINNING)
        end = time.monotonic() + seconds + BEYOND  # the process keeps the time, unless the function has stopped it
        while word != "done":
            if word == "said":
                yield _returned(value)
            word, value = self._told(end - time.monotonic())
        if value:
            yield Returned(problem="endless" if value == "endless" else "ended", words={"seconds": f"{seconds:g}"})
        if value == "ended":  # something of the function may still be there
            self._end()

    def _told(self, timeout: float) -> tuple[str, Any]:
        """The next word that the process says of this request, and its value. A process that says nothing is done."""
        end = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0.0))
            except queue.Empty:  # the function has stopped the process
                self._end()
                return "done", "endless"
            if not line:
                return "done", "ended"
            try:
                number, word, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):  # the function has written there itself
                return "said", None
            if number == self._number:
                return word, value

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "isoviz.course.sandbox"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, **dict.fromkeys(_THREADS, "1")},
            )  # fmt: skip
            self._process, self._lines = process, queue.Queue()
            threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True).start()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()  # a function that still runs is ended with all that it started
        try:
            process.wait(BEYOND)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.wait()


def _returned(said: Any) -> Returned:
    if isinstance(said, dict) and "raised" in said:
        where = "" if said.get("line") is None else f" in its line {said['line']}"
        text = str(said.get("text", "")).strip()
        raised = sentence(f"{said['raised']}{where}" + (f": {text}" if text else ""))
        alone = shared("function", "alone") if said["raised"] in _MISSING else ""
        return Returned(problem="raised", words={"raised": raised, "alone": alone})
    if isinstance(said, dict) and "returned" in said:
        return Returned(said["returned"])
    return Returned(problem="ended")


def _read(lines: IO[bytes], into: queue.Queue[bytes]) -> None:
    with lines:
        while line := lines.readline(2 * LONGEST_LINE):
            into.put(line)
    into.put(b"")


_FOR_ALL: ContextVar[Sandbox | None] = ContextVar("_FOR_ALL", default=None)


@contextmanager
def one_sandbox() -> Iterator[None]:
    """In this block all functions run in one sandbox: to start it takes longer than most functions."""
    with Sandbox() as sandbox:
        token = _FOR_ALL.set(sandbox)
        try:
            yield
        finally:
            _FOR_ALL.reset(token)


def _sandbox() -> AbstractContextManager[Sandbox]:
    shared_one = _FOR_ALL.get()
    return Sandbox() if shared_one is None else nullcontext(shared_one)


def calling(function: Callable[..., Any], name: str) -> Source:
    """A function of that name that does what a function of isoviz does, such as a wrong model."""
    found = function.__name__
    return Source(f"def {name}(*given):\n    from {function.__module__} import {found}\n    return {found}(*given)\n", name)


@dataclass(frozen=True)
class Cases:
    """Hidden data on which a function is judged: all cases run before anything is said.

    - `exercise`: its texts at `says` have `right`, `expected` (what the function returns) and one or more for a wrong case.
    - `differs`: the key of the text for the first wrong case, from the returned and the right value. Without it: `other`.
    - `arguments`: those of each case, drawn so that between them every constraint binds once.
    - `right`: what the function should return for a case. `read`: a returned value as it is compared, None where it is none.
    - `same`: whether a returned value is near enough to another.
    - `holds`: whether a returned value is right for a case, where many values are: `holds(value, *case)`. Without it a value is
      right that is the `same` as that of `right`.
    - `models`: what somebody with a wrong model returns for a case, by the name of the model. One is named only where it explains
      every case.
    - `told`: a case in a few words.
    """

    exercise: str
    arguments: Callable[[Given], Sequence[Sequence[Any]]]
    right: Callable[..., Any]
    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]
    models: Mapping[str, Callable[..., Any]]
    told: Callable[..., str]
    seconds: float = 5.0
    differs: Callable[[Any, Any], str] = lambda _value, _right: "other"
    holds: Callable[..., bool] | None = None

    def judge(self, source: Source, given: Given) -> Verdict:
        """The verdict on a function."""
        texts, cases = Texts.of(int(self.exercise.partition(".")[0])), self.arguments(given)
        with _sandbox() as sandbox:
            returned = sandbox.run(source, cases, self.seconds)
        values = []
        for case, each in zip(cases, returned, strict=True):
            told = self.told(*case)
            if each.problem:
                return Verdict(False, shared("function", each.problem, case=told, **dict(each.words or {})), model=each.problem)
            value = self.read(each.value)
            if value is None:
                expected = texts.text(self.exercise, "says", "expected", **given)
                problem = "nothing" if each.value is None else "returned"
                return Verdict(False, shared("function", problem, expected=expected, case=told), model="returned")
            values.append(value)
        for number, (case, value) in enumerate(zip(cases, values, strict=True), 1):
            right = self.right(*case)
            if not (self.same(value, right) if self.holds is None else self.holds(value, *case)):
                words = {"number": number, "case": self.told(*case), "value": value, "right": right}
                says = texts.text(self.exercise, "says", self.differs(value, right), **{**given, **words})
                return Verdict(False, says, words, model=self._model(cases, values))
        return Verdict(True, texts.text(self.exercise, "says", "right", **{**given, "cases": len(cases)}))

    def tells_apart(self, given: Given) -> bool:
        """Whether right and wrong functions all differ on these cases, taken together."""
        cases = self.arguments(given)
        rows = [[function(*case) for case in cases] for function in (self.right, *self.models.values())]
        return all(not self._equal(row, other) for number, row in enumerate(rows) for other in rows[:number])

    def _model(self, cases: Sequence[Sequence[Any]], values: Sequence[Any]) -> str:
        rows = ((name, [model(*case) for case in cases]) for name, model in self.models.items())
        return next((name for name, row in rows if self._equal(values, row)), "")

    def _equal(self, some: Sequence[Any], others: Sequence[Any]) -> bool:
        return all(self.same(one, other) for one, other in zip(some, others, strict=True))
