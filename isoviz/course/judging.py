"""Kept answers judged again, in separate processes: `python -P -m isoviz.course.judging`.

Such a process reads one JSON object from each line of its input: an exercise, the seed of a learner, and kept answers. It answers
with one line: the digest of the numbers, and the verdict on each answer. Kept verdicts are not used.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from isoviz.course.checking import judged_again
from isoviz.course.classroom import drawn
from isoviz.course.exercise import NotAnAnswer
from isoviz.course.functions import one_sandbox
from isoviz.course.lessons import exercise
from isoviz.course.progress import digest
from isoviz.errors import in_words

SECONDS = 20.0
"""The most that one answer may take, in seconds. A function takes a third of it at most."""
PROCESSES = 2
WORTH_A_PROCESS = 16
"""So many exercises of learners take as long as a process takes to begin."""


@dataclass(frozen=True)
class Asked:
    """Kept answers of one learner to one exercise."""

    exercise: str
    seed: str
    answers: Sequence[Any] = ()


class Found(NamedTuple):
    """What is found of a kept answer. `problem` says why it could not be judged; "" where it was."""

    right: bool
    model: str = ""
    problem: str = ""


class Answered(NamedTuple):
    """The digest of the learner's numbers ("" where they cannot be drawn), and what is found of each answer."""

    numbers: str
    found: list[Found]


def judge_again(asked: Sequence[Asked], processes: int = PROCESSES) -> list[Answered]:
    """Judge kept answers in some processes at once. One that ends or takes too long is replaced; its answers are not judged."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(asked)):
        waiting.put(number)
    answered: dict[int, Answered] = {}

    def work(_: int) -> None:
        judge = _Judge()
        try:
            with suppress(queue.Empty):
                while True:
                    number = waiting.get_nowait()
                    answered[number] = judge.ask(asked[number])
        finally:
            judge.end()

    processes = min(processes, -(-len(asked) // WORTH_A_PROCESS))
    with ThreadPoolExecutor(max(processes, 1)) as pool:
        list(pool.map(work, range(processes)))
    return [answered[number] for number in range(len(asked))]


class _Judge:
    """One process that judges, started where it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, asked: Asked) -> Answered:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "isoviz.course.judging"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(SECONDS * (len(asked.answers) + 1), process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps([asked.exercise, asked.seed, list(asked.answers)]).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = b""
        finally:
            timer.cancel()
        if not line:
            self.end()
            return Answered("", [Found(False, problem="judging it ended or took too long")] * len(asked.answers))
        numbers, found = json.loads(line)
        return Answered(numbers, [Found(*each) for each in found])

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with suppress(OSError):
                    stream.close()
            process.wait()


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with one_sandbox():
        for line in sys.stdin.buffer:
            answers.write(json.dumps(_answered(*json.loads(line))).encode() + b"\n")


def _answered(name: str, seed: str, answers: list[Any]) -> Answered:
    try:
        task = exercise(name)
        given = drawn(task, seed)
    except Exception as error:  # noqa: BLE001  one exercise of one learner, not the report
        return Answered("", [Found(False, problem=in_words(error))] * len(answers))
    found = []
    for kept in answers:
        try:
            one = judged_again(task, kept, given)
            found.append(Found(one.verdict.right, one.model))
        except NotAnAnswer as error:
            found.append(Found(False, problem=str(error)))
        except Exception as error:  # noqa: BLE001  what stands in a file may be anything
            found.append(Found(False, problem=in_words(error)))
    return Answered(digest(given), found)


if __name__ == "__main__":
    main()
