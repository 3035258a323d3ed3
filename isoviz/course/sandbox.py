"""The process from which learners' functions run: `python -P -m isoviz.course.sandbox`.

It reads one JSON object from each line of its input: the source of a function, the data of its cases, the seconds they may take,
an empty folder, and the number of the request. It answers with lines `[number, word, value]`: "begun"; "said" with what a case
returned or raised, for one case after the other; "done" with "", "endless" or "ended".

Where the system can fork, each function has a process of its own, which begins in the empty folder, and a pipe of its own. Of
this pipe at most one line for each case is passed on, as said by this function. Before "done", what it left running is ended: on
Linux also what has a session of its own. So nothing that a function does or leaves running can answer for another function. But a
function has the rights of the user: as root it could reach any process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

from isoviz.launch.guardian import SUBREAPER, descendants, die_with, prctl

MEMORY = 4 << 30
"""The most address space that a function may take, in bytes."""
BEYOND = 2
"""Seconds after its time after which a function is ended from inside. Whoever asks for it ends it before."""
LONGEST_LINE = 1 << 22
"""The most bytes of one answer."""
_CLEARING = 1.0
"""The most seconds for ending what a function has left running."""
_DUMPABLE = 4
"""The option of `prctl` by which only root opens what a process has open."""

Tell = Callable[[bytes], None]


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a function prints is no answer
    prctl(SUBREAPER, 1)
    prctl(_DUMPABLE, 0)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        say = partial(_say, answers, asked["number"])
        say("begun")
        problem = _watched(asked, answers, partial(say, "said")) if hasattr(os, "fork") else serve(asked, partial(say, "said"))
        say("done", json.dumps(problem).encode())
    os._exit(0)  # somebody waits for it, and it has nothing to put away


def _say(answers: BinaryIO, number: int, word: str, value: bytes = b"null") -> None:
    answers.write(b'[%d, "%b", %b]\n' % (number, word.encode(), value))


def _watched(asked: dict[str, Any], answers: BinaryIO, tell: Tell) -> str:
    """Run a function in a process of its own, and end all of it; returns what went wrong, or ""."""
    reading, writing = os.pipe()
    server, child = os.getpid(), os.fork()
    if child == 0:
        try:
            os.setsid()
            die_with(server)
            for each in (answers.fileno(), reading):
                os.close(each)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the requests after this one are not for it
            os.chdir(asked["folder"])
            _limit(asked["seconds"])
            with os.fdopen(writing, "wb") as answer:
                serve(asked, partial(_write, answer))
        finally:
            os._exit(0)
    os.close(writing)
    try:
        problem = _passed_on(asked, reading, tell)
    finally:
        os.close(reading)
        is_clear = _cleared(child)
    return problem if is_clear else "ended"


def _passed_on(asked: dict[str, Any], reading: int, tell: Tell) -> str:
    """Pass on what a function says, until it has said all or can say no more; "endless" where that takes too long."""
    end = time.monotonic() + asked["seconds"]
    left, rest = len(asked["cases"]), b""
    while left and len(rest) <= LONGEST_LINE:
        ready = select.select([reading, 0], [], [], max(end - time.monotonic(), 0.0))[0]
        if reading not in ready:  # it is late, or whoever asked is gone
            return "endless"
        said = os.read(reading, 1 << 16)
        if not said:
            break
        *lines, rest = (rest + said).split(b"\n")
        for each in lines[:left]:
            tell(each)
        left -= len(lines[:left])
    return ""


def _cleared(child: int) -> bool:
    """End a function's process and what it has left running, which this process has adopted; whether nothing is left."""
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)  # it may have had no time to begin a session
    end = time.monotonic() + _CLEARING
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return True
        for each in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.001)
    return False


def _write(answer: BinaryIO, line: bytes) -> None:
    answer.write(line + b"\n")
    answer.flush()


def serve(asked: dict[str, Any], tell: Tell) -> str:
    """Call the function with each case, and tell what it returned or raised."""
    try:
        function = compiled(asked["source"], asked["name"], asked["file"], asked["line"])
    except BaseException as error:  # noqa: BLE001  sys.exit as well
        tell(_line(_raised(error, asked["file"])))
        return ""
    for case in asked["cases"]:
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                returned = function(*case)
            said = {"returned": plain(returned)}
        except BaseException as error:  # noqa: BLE001  sys.exit as well
            said = _raised(error, asked["file"])
        tell(_line(said))
    return ""


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

        signal.alarm(int(seconds) + BEYOND)  # also where whoever asked is gone
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))  # neither processes nor threads, but for root


def _line(said: dict[str, Any]) -> bytes:
    line = json.dumps(said).encode()
    return line if len(line) <= LONGEST_LINE else b'{"returned": {"type": "a huge value"}}'


if __name__ == "__main__":
    main()
