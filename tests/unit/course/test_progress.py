"""Progress: whatever happens to the file, no whole line is lost, and nothing that is no line of it counts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from course_cases import FULL

from isoviz.course import lessons
from isoviz.course.checking import judged
from isoviz.course.classroom import new_folder, opened_folder
from isoviz.course.progress import FILE, LONGEST, VERSION, Attempt, Progress
from isoviz.errors import FileError

LINES = 400 if FULL else 60


def attempt(answer: object, right: bool = False) -> Attempt:
    return Attempt("1.1", answer, right, "a-model", "abc")


def test_attempts_come_back_as_they_were_and_in_their_order(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    assert progress.attempts() == []
    answers = [3, 2.5, "⟨F, x⟩\n", [1, "a"], {"name": "f", "source": "def f(): ..."}, None, "\ud800"]
    for answer in answers:
        progress.add(attempt(answer))
    progress.add(Attempt("2.1", 7, True))
    assert [each.answer for each in progress.attempts("1.1")] == answers
    assert [(each.model, each.numbers, each.version) for each in progress.attempts("1.1")] == [("a-model", "abc", VERSION)] * 7
    assert len(progress.attempts()) == 8


def test_a_torn_line_takes_no_other_with_it(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.add(attempt(1))
    whole = progress.path.read_bytes()
    for length in range(1, len(whole) - 1):
        progress.path.write_bytes(whole + whole[:length])
        assert [each.answer for each in progress.attempts()] == [1]
        progress.add(attempt(2))
        assert [each.answer for each in progress.attempts()] == [1, 2]
    progress.path.write_bytes(whole[:-1])  # only the end of the line is missing
    progress.add(attempt(2))
    assert [each.answer for each in progress.attempts()] == [1, 2]


def test_what_is_no_line_of_this_version_is_passed_over_and_stays(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    other = json.dumps({"v": VERSION + 1, "exercise": "1.1", "answer": 9, "right": True})
    strange = [
        b"",
        b"null",
        b"[1]",
        b"{",
        b"\xff\xfe",
        b"[" * 50_000,
        b'{"v": 1}',
        b'{"v": 1, "exercise": 3, "answer": 1}',
        other.encode(),
    ]
    progress.path.write_bytes(b"\n".join(strange) + b"\n")
    before = progress.path.read_bytes()
    progress.add(attempt(5))
    assert [each.answer for each in progress.attempts()] == [5]
    assert progress.path.read_bytes().startswith(before)


def test_a_line_that_is_too_long_is_passed_over_whole(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    line = json.dumps({"v": VERSION, "exercise": "1.1", "answer": 9, "right": True}).encode() + b"\n"
    progress.path.write_bytes(b" " * LONGEST + line)  # its second part alone would be a line
    assert progress.attempts() == []
    with pytest.raises(FileError, match="at most"):
        progress.add(attempt("x" * LONGEST))
    progress.add(attempt(4))
    assert [each.answer for each in progress.attempts()] == [4]


WRITER = """
import sys
from pathlib import Path
from isoviz.course.progress import Attempt, Progress
progress = Progress(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    progress.add(Attempt("1.1", [sys.argv[2], number, "x" * 20_000], False))
    print(number, flush=True)
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", "-c", WRITER, str(folder), name, str(count)], stdout=subprocess.PIPE)


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, LINES) for name in "ab"]
    assert [each.communicate()[0].count(b"\n") for each in writers] == [LINES, LINES]
    kept = [each.answer for each in Progress(tmp_path).attempts()]
    for name in "ab":
        assert [number for who, number, _ in kept if who == name] == list(range(LINES))


def test_a_killed_writer_leaves_what_it_wrote(tmp_path: Path) -> None:
    progress, said = Progress(tmp_path), 0
    with writer(tmp_path, "a", 100_000) as killed:
        assert killed.stdout is not None
        for line in killed.stdout:
            said = int(line)
            if said == 20:
                break
        killed.send_signal(signal.SIGKILL)
    progress.add(attempt("afterwards"))
    *numbers, last = [each.answer for each in progress.attempts()]
    assert [number for _, number, _ in numbers] == list(range(len(numbers))) and len(numbers) > said
    assert last == "afterwards"


def test_the_same_answer_again_is_no_attempt(folder: Path) -> None:
    lessons.check("1.1", 0)
    lessons.check("1.1", "0 B")
    assert len(Progress(folder).attempts()) == 1
    lessons.check("1.1", 1)
    lessons.check("1.1", 0)
    assert len(Progress(folder).attempts()) == 2


def test_the_same_answer_in_another_form_is_no_attempt(folder: Path) -> None:
    rows = lessons.given("1.P")["sizes"]["y"]
    for name, answers in {
        "1.P": ("<F, x, y>", "⟨F, x, y⟩", f"<F, x, y_in={rows}, y_out>"),
        "4.1": ("100 s", "100000 ms", 100.00000001, "1e2 s"),
    }.items():
        for answer in answers:
            lessons.check(name, answer)
        assert len(Progress(folder).attempts(name)) == 1, name


def test_near_answers_with_other_verdicts_are_two(folder: Path) -> None:
    """What is nearly right, and then right, is not left out as the same."""
    exercise, given = lessons.exercise("4.1"), lessons.given("4.1")
    step = exercise.right(given) / 1e4

    def is_right(number: int) -> bool:
        return judged(exercise, exercise.right(given) + number * step, given).verdict.right

    first_wrong = next(number for number in range(1, 10_000) if not is_right(number))
    for number in (first_wrong, first_wrong - 1):
        lessons.check("4.1", exercise.right(given) + number * step)
    assert [each.right for each in Progress(folder).attempts("4.1")] == [False, True]


WRONG = ("<F, x, y>", "<F, y, x>", "<x, F, y>", "<x, y, F>", "<y, x, F>")


def test_the_fourth_wrong_answer_brings_the_solution(folder: Path) -> None:
    told = ["Solution:" in str(lessons.check("1.P", answer)) for answer in (*WRONG[:2], WRONG[0], *WRONG[2:])]
    assert told == [False, False, False, False, True, True], "the third one was the first once more"


def test_who_was_right_once_is_told_no_solution(folder: Path) -> None:
    assert lessons.check("1.P", "<x_in=8, F, x_out, y>").right
    assert not any("Solution:" in str(lessons.check("1.P", answer)) for answer in WRONG)


def test_a_cell_that_waits_for_an_answer_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not lessons.answered("1.P")
    assert capsys.readouterr().out == "Answer 1.P first, then run this cell again.\n"
    lessons.check("1.P", WRONG[0])
    assert lessons.answered("1.P") and capsys.readouterr().out == ""


def test_a_line_has_nothing_personal(tmp_path: Path) -> None:
    new_folder(tmp_path, "Ada Lovelace", "a class")
    try:
        lessons.start(tmp_path)
        lessons.check("1.1", 0)
    finally:
        lessons._opened = None
    (line,) = (tmp_path / FILE).read_text().splitlines()
    assert set(json.loads(line)) == {"v", "at", "exercise", "answer", "right", "model", "numbers"}
    assert "Ada" not in line


def test_what_cannot_be_read_is_no_attempt(folder: Path) -> None:
    for answer in (..., None, "no such thing", lessons.check):
        assert lessons.check("1.1", answer).kind in ("open", "unread")
    assert not (folder / FILE).exists() and not lessons.answered("1.1")


def test_a_kept_verdict_is_not_believed(folder: Path) -> None:
    """A line that says "right" of a wrong answer changes nothing that is said of the answer."""
    lessons.check("1.1", 0)
    path = folder / FILE
    path.write_text(path.read_text().replace('"right": false', '"right": true'))
    assert lessons.check("1.1", 0).kind == "wrong"


def test_an_answer_that_cannot_be_kept_is_checked_all_the_same(folder: Path) -> None:
    (folder / FILE).mkdir()
    shown = lessons.check("1.1", 0)
    assert shown.kind == "wrong" and "not kept" in str(shown) and "Traceback" not in str(shown)


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    try:
        shown = lessons.start(tmp_path / "file")
        assert shown.kind == "unread" and "keeps nothing" in str(shown)
        assert lessons.check("1.1", 0).kind in ("right", "wrong")
    finally:
        lessons._opened = None


GOOD = {"v": VERSION, "learner": "ada", "seed": "a", "solutions": False}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v": VERSION + 1, "seed": 3}, "made by a later isoviz"),
        ({"v": "1"}, "v: expected 1"),
        ({"v": 0}, "v: expected 1"),
        ({"v": True}, "v: expected 1"),
        ({"solutions": "false"}, "solutions: expected true or false, got 'false'"),
        ({"solutions": None}, "solutions: expected true or false"),
        ({"learner": 7}, "learner: expected a text, got 7"),
    ],
)
def test_what_a_folder_says_wrongly_is_told(tmp_path: Path, change: dict[str, object], told: str) -> None:
    (tmp_path / "course.json").write_text(json.dumps(GOOD))
    assert not opened_folder(tmp_path).solutions
    (tmp_path / "course.json").write_text(json.dumps(GOOD | change))
    with pytest.raises(FileError, match=told):
        opened_folder(tmp_path)


def test_a_huge_file_is_told_at_once(folder: Path) -> None:
    lessons.check("1.1", 0)
    with (folder / FILE).open("ab") as file:
        file.truncate(2 << 30)
    with pytest.raises(FileError, match="Move the file away"):
        lessons.progress()
    shown = lessons.check("1.1", 1)
    assert shown.kind in ("right", "wrong") and "not kept" in str(shown) and "Move the file away" in str(shown)
    with pytest.raises(FileError, match="Move the file away"):
        Progress(folder).add(attempt(1))
    assert (folder / FILE).stat().st_size == 2 << 30


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"seed": 3, "learner": "a"}', '{"seed": "a"}'])
def test_a_broken_folder_gets_a_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "course.json").write_text(content)
    with pytest.raises(FileError, match=r"course\.json"):
        lessons.start(tmp_path)


class Raising:
    """An answer that raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


class Exiting:
    """An answer that ends the process whatever is asked of it, even of what class it is."""

    @property
    def __class__(self) -> Any:
        raise SystemExit

    def __getattr__(self, name: str) -> object:
        raise SystemExit(name)


class Named(type):
    """The class of a class that does not say its name."""

    @property
    def __name__(cls) -> str:
        raise SystemExit


class Nameless(Exiting, metaclass=Named):
    """An answer that does not even say the name of its class."""


class ExitingArray(np.ndarray):
    """An array that ends the process where its parts are asked for."""

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        raise SystemExit


STRANGE = {"raising": Raising, "exiting": Exiting, "nameless": Nameless, "array": lambda: np.zeros(2).view(ExitingArray)}


@pytest.mark.parametrize("kind", STRANGE)
def test_an_answer_that_raises_is_told(folder: Path, kind: str) -> None:
    answer = STRANGE[kind]()
    for name in lessons.every_exercise():
        assert lessons.check(name, answer).kind == "unread"
        assert lessons.check(name, [answer, answer]).kind == "unread"
    assert not (folder / FILE).exists()


def test_an_interrupt_is_no_answer(folder: Path) -> None:
    class Interrupting:
        @property
        def __class__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lessons.check("1.1", Interrupting())
