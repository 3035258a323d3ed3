"""The progress line: on a terminal only, at its own pace, with the time left."""

from __future__ import annotations

import io

from isoviz.cli.progress_line import ProgressLine, clock_text
from isoviz.runtime.engine.progress import Progress

MIB = 1 << 20


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def moved(done: int, stage: str = "move") -> Progress:
    return Progress(stage, done, 1000, done * MIB, 1000 * MIB)


def test_nothing_where_nobody_looks() -> None:
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        line = ProgressLine(stream, quiet, Clock())
        line.show(moved(10))
        line.clear()
        assert stream.getvalue() == ""


def test_share_rate_and_time_left() -> None:
    stream, clock = Terminal(), Clock()
    line = ProgressLine(stream, clock=clock)
    for second in range(11):
        clock.now = 100.0 + second
        line.show(moved(25 * second))
    last = stream.getvalue().rsplit("\r", 1)[-1]
    assert last.rstrip() == "[######                  ]  25% of 1,000 MiB, 26.2 MB/s, 0:30 left"
    line.clear()
    assert stream.getvalue().endswith("\r" + " " * len(last) + "\r"), "the line is taken away again"


def test_the_time_left_follows_a_rate_that_changes() -> None:
    stream, clock = Terminal(), Clock()
    line = ProgressLine(stream, clock=clock)
    done = 0
    for second in range(40):
        clock.now = 100.0 + second
        done += 20 if second < 20 else 5
        line.show(moved(done))
    assert "5.24 MB/s, 1:40 left" in stream.getvalue().rsplit("\r", 1)[-1]


def test_it_does_not_flicker() -> None:
    stream, clock = Terminal(), Clock()
    line = ProgressLine(stream, clock=clock)
    for step in range(1000):  # a second of them
        clock.now = 100.0 + step / 1000
        line.show(moved(step // 10))
    written = stream.getvalue()
    assert written.count("\r") <= 11
    line.show(moved(100, "verify"))
    clock.now += 1
    line.show(moved(100, "verify"))
    clock.now += 1
    count = stream.getvalue().count("\r")
    line.show(moved(100, "verify"))
    assert stream.getvalue().count("\r") == count, "what stands there is not written again"
    assert len({len(each) for each in stream.getvalue().split("\r")[-2:]}) <= 2


def test_lines_are_no_wider_than_the_terminal(monkeypatch: object) -> None:
    import os

    stream, clock = Terminal(), Clock()
    monkeypatch.setenv("COLUMNS", "30")  # type: ignore[attr-defined]
    line = ProgressLine(stream, clock=clock)
    for second in range(3):
        clock.now += 1
        line.show(moved(second))
    assert max(map(len, stream.getvalue().split("\r"))) <= 29
    assert os.environ["COLUMNS"] == "30"


def test_clocks() -> None:
    assert [clock_text(seconds) for seconds in (0.2, 7, 61, 3723)] == ["0:00", "0:07", "1:01", "1:02:03"]
