"""The process in which a learner's function runs: `python -P -m isoviz.course.sandbox`. It has limits, and nothing of the kernel.

It reads one JSON object from each line of its input: the source of a function, the data of its cases, and the number of the
request. It answers with that number and what each case returned, one line each, and with `null` after the last. Each function has
a process of its own where the system can fork. What a function leaves running there speaks with an old number: nobody listens.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

MEMORY = 4 << 30
"""The most address space that a function may take, in bytes."""
BEYOND = 2
"""Seconds after its time after which a function is ended from inside. Whoever asks for it ends it before."""
LONGEST_LINE = 1 << 22
"""The most bytes of one answer."""


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a function prints is no answer
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        number = asked["number"]
        _say(answers, number, {"begun": True})
        if not hasattr(os, "fork"):
            serve(asked, answers)
            _say(answers, number, None)
            continue
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the requests after this one are not for it
            _limit(asked["seconds"])
            serve(asked, answers)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            _say(answers, number, {"ended": True})
        _say(answers, number, None)


def serve(asked: dict[str, Any], answers: BinaryIO) -> None:
    """Call the function with each case, and say what it returned or raised."""
    try:
        function = compiled(asked["source"], asked["name"], asked["file"], asked["line"])
    except BaseException as error:  # noqa: BLE001  sys.exit as well
        _say(answers, asked["number"], _raised(error, asked["file"]))
        return
    for case in asked["cases"]:
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                returned = function(*case)
            said = {"returned": plain(returned)}
        except BaseException as error:  # noqa: BLE001  sys.exit as well
            said = _raised(error, asked["file"])
        _say(answers, asked["number"], said)


def compiled(source: str, name: str, file: str, line: int) -> Callable[..., Any]:
    """The function that a source defines, alone: it sees nothing else of the notebook."""
    space: dict[str, Any] = {"__name__": "answer"}
    exec(compile("\n" * (line - 1) + source, file, "exec"), space)  # noqa: S102  a learner's own code, in a process of its own
    function: Callable[..., Any] = space[name]
    return function


def plain(value: Any, depth: int = 8) -> Any:
    """What was returned as JSON has it; what it has not as {"type": its name}."""
    if value is None or type(value) in (bool, str):
        return value if type(value) is not str or len(value) <= 10_000 else {"type": "a long text"}
    if type(value) is int:
        return value if value.bit_length() < 1000 else {"type": "a huge whole number"}
    if type(value) is float:
        return value if value == value and abs(value) != float("inf") else {"type": repr(value)}
    item = getattr(value, "item", None)
    if type(value).__module__ == "numpy" and item is not None:
        return plain(value.tolist(), depth)
    if depth and type(value) in (list, tuple) and len(value) <= 100_000:
        return [plain(each, depth - 1) for each in value]
    if depth and type(value) is dict and all(type(key) is str for key in value) and len(value) <= 100_000:
        return {"items": {key: plain(each, depth - 1) for key, each in value.items()}}
    return {"type": type(value).__name__}


def _raised(error: BaseException, file: str) -> dict[str, Any]:
    """What a function raised, and the last of its own lines on the way there."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = lines[-1] if lines else error.lineno if isinstance(error, SyntaxError) else None
    try:
        text = str(error)[:300]
    except BaseException:  # noqa: BLE001  its own class may say nothing
        text = ""
    return {"raised": type(error).__name__, "text": text, "line": line}


def _limit(seconds: float) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource
        import signal

        signal.alarm(int(seconds) + BEYOND)  # also where whoever asked is gone
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _say(answers: BinaryIO, number: int, said: Any) -> None:
    line = json.dumps([number, said]).encode() + b"\n"
    if len(line) > LONGEST_LINE:
        line = json.dumps([number, {"returned": {"type": "a huge value"}}]).encode() + b"\n"
    answers.write(line)


if __name__ == "__main__":
    main()
