"""The report on a class: answers are judged again, and copied folders, changed names and forged verdicts are named."""

from __future__ import annotations

import csv
import io
import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from course_cases import FULL, solutions

from isoviz.cli import main
from isoviz.course.checking import judged
from isoviz.course.classroom import new_folder, opened_folder
from isoviz.course.exercise import Exercise
from isoviz.course.judging import Asked, judge_again
from isoviz.course.lessons import MOST_ATTEMPTS, MOST_RIGHT, NOTEBOOKS, every_exercise, outcome_of
from isoviz.course.progress import FILE, Attempt, digest
from isoviz.course.report import ClassReport
from isoviz.errors import FileError
from isoviz.figures.page import document_page

CLASS = 20 if FULL else 5
SEED = "a seed of the class"
MARKUP = (
    '=HYPERLINK("x")',
    "<script>alert(1)</script>",
    'Ada "A", Lovelace',
    "@SUM(1)",
    "**bold** | `x`",
    "\u202egnihtemos\n\x1b[31m",
)
DAILY = ("1.1", "1.3", "1.4", "1.5")
EXERCISES = {name: each for name, each in every_exercise().items() if FULL or name in DAILY}
SOLUTIONS = {name: each for notebook in NOTEBOOKS for name, each in solutions(notebook).items()}


def wrong(exercise: Exercise, given: Any) -> tuple[Any, str]:
    """A kept answer from a wrong model, and its name."""
    model = next(each for each in exercise.models if each.answer(given) is not None and not each.like(given))
    return exercise.kind.keep(model.answer(given)), model.name


def right(exercise: Exercise, given: Any) -> Any:
    found = judged(exercise, SOLUTIONS[exercise.name](given)[0], given)
    assert found.verdict.right, (exercise.name, given)
    return exercise.kind.keep(found.read)


def learn(folder: Path, number: int) -> dict[str, tuple[int, int]]:
    """A learner who is right at first at every third exercise, then at second, then never; returns (attempts, right at)."""
    expected, learner = {}, opened_folder(folder)
    for place, (name, exercise) in enumerate(EXERCISES.items()):
        given, sort = learner.given(exercise), (number + place) % 4
        if sort == 3:
            continue
        answers = [(right(exercise, given), True, "")] if sort < 2 else []
        if sort:
            kept, model = wrong(exercise, given)
            answers.insert(0, (kept, False, model))
        for kept, is_right, model in answers:
            learner.progress.add(Attempt(name, kept, is_right, model, digest(given)))
        expected[name] = (len(answers), sort + 1 if sort < 2 else 0)
    return expected


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], dict[str, dict[str, tuple[int, int]]]]:
    root, expected = tmp_path_factory.mktemp("class"), {}
    for number in range(CLASS):
        name = MARKUP[number] if number < len(MARKUP) else f"learner {number}"
        new_folder(root / f"l{number:02}", name, SEED)
        expected[f"l{number:02}"] = learn(root / f"l{number:02}", number)
    return sorted(root.iterdir()), expected


def test_a_class(classroom: Any) -> None:
    folders, expected = classroom
    begun = time.perf_counter()
    report = ClassReport(folders, SEED)
    print(f"report on {len(folders)} learners and {len(EXERCISES)} exercises: {time.perf_counter() - begun:.1f} s")
    assert report.findings == []
    for learner in report.learners:
        wanted = expected[learner.folder.path.name]
        found = {name: (len(each.rights), each.right_at) for name, each in learner.outcomes.items() if each.rights}
        assert found == wanted
        points = {name: at == 1 if EXERCISES[name].is_prediction else at > 0 for name, (_, at) in wanted.items()}
        assert learner.points == sum(points.values())
    models = Counter(model for one in report.learners for each in one.outcomes.values() for model in each.models)
    told = report.document.to_json()["Wrong models"]
    assert Counter({each["wrong model"]: 0 for each in told}) == dict.fromkeys(models, 0)
    assert sum(int(each["learners"]) for each in told) == models.total() > 0


def test_names_are_inert(classroom: Any) -> None:
    report = ClassReport(classroom[0], SEED)
    page = document_page(report.document, kind="course")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert len(rows) == len(classroom[0]) * len(every_exercise())
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values())
    assert {row["learner"].lstrip("'") for row in rows} == {each.name for each in report.learners}
    assert "\x1b" not in report.csv() and "\u202e" not in str(report.document) and "\u202e" not in page


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """The folders of two learners, both with right answers to 1.1."""
    for number, name in enumerate(("ada", "bob")):
        new_folder(tmp_path / name, name, SEED)
        learn(tmp_path / name, number)
    return tmp_path / "ada", tmp_path / "bob"


def whats(*folders: Path, seed: str = SEED) -> list[tuple[str, str]]:
    return [(each.who, each.what) for each in ClassReport(folders, seed).findings]


def test_a_forged_verdict_is_named(pair: Any) -> None:
    ada, bob = pair
    given = opened_folder(bob).given(EXERCISES["1.1"])
    kept, _ = wrong(EXERCISES["1.1"], given)
    (bob / FILE).unlink()
    opened_folder(bob).progress.add(Attempt("1.1", kept, True, "", digest(given)))
    (found,) = whats(ada, bob)
    assert found[0] == "bob" and "1.1" in found[1] and "forged" in found[1]
    assert [each.points for each in ClassReport([bob]).learners] == [0]


def test_a_copied_folder_is_named(pair: Any, tmp_path: Path) -> None:
    ada, bob = pair
    shutil.copytree(ada, tmp_path / "copy")
    found = whats(ada, bob, tmp_path / "copy")
    assert [who for who, what in found if "copy" in what] == ["ada, ada", "ada, ada"]
    file = tmp_path / "copy" / "course.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"learner": "carl"}))
    found = whats(ada, bob, tmp_path / "copy")
    assert ("carl", "the name does not fit the numbers: one of them was changed") in found
    assert any(who == "ada, carl" and "same numbers" in what for who, what in found)
    assert [who for who, _ in whats(ada, bob, tmp_path / "copy", seed="")] == ["ada, carl"]


def test_answers_of_a_neighbour_do_not_count(pair: Any) -> None:
    ada, bob = pair
    shutil.copy(ada / FILE, bob / FILE)
    found = whats(ada, bob)
    assert found and all(who == "bob" and "numbers of ada; not counted" in what for who, what in found)
    assert [each.points for each in ClassReport([bob]).learners] == [0]


def test_a_file_full_of_attempts_is_no_trouble(pair: Any) -> None:
    ada, _ = pair
    given = opened_folder(ada).given(EXERCISES["1.1"])
    kept, numbers = right(EXERCISES["1.1"], given), digest(given)
    lines = [{"v": 1, "exercise": "1.1", "answer": 10**6 + k, "right": False, "numbers": numbers} for k in range(10_000)]
    lines[7_000] |= {"answer": kept, "right": True}
    lines[8_000:9_000] = [each | {"right": True} for each in lines[8_000:9_000]]
    (ada / FILE).write_text("\n".join(map(json.dumps, lines)) + "\n")
    report = ClassReport([ada], SEED)
    assert any("10,000 attempts" in each.what for each in report.findings)
    outcome = report.learners[0].outcomes["1.1"]
    assert (len(outcome.rights), outcome.right_at) == (MOST_ATTEMPTS + MOST_RIGHT, MOST_ATTEMPTS)


def test_a_right_answer_is_not_lost_among_others(pair: Any) -> None:
    """Neither behind attempts at numbers of a neighbour, nor between wrong ones: the report says what `points` says."""
    ada, bob = pair
    exercise = every_exercise()["2.2"]
    given = opened_folder(bob).given(exercise)
    (bob / FILE).unlink()
    progress, kept = opened_folder(bob).progress, right(exercise, given)
    for answer, is_right, numbers in (
        *((number, False, digest(opened_folder(ada).given(exercise))) for number in range(1, 60)),
        *((number, False, digest(given)) for number in range(1, 60)),
        (kept, True, digest(given)),
        (10**6, False, digest(given)),
    ):
        progress.add(Attempt("2.2", answer, is_right, "", numbers))
    report = ClassReport([ada, bob], SEED)
    outcome = report.learners[1].outcomes["2.2"]
    assert outcome == outcome_of(opened_folder(bob), exercise) and outcome.points == 1
    assert any("numbers of ada; not counted" in each.what for each in report.findings)


def test_a_verdict_that_changed_is_told(tmp_path: Path) -> None:
    exercise = every_exercise()["4.5"]
    told = {}
    for name, body, was_right, wanted in (
        ("right", "return [sorted(each) for each in needs]", True, ""),
        ("better", "return [sorted(each) for each in needs]", False, "kept as not yet, and judged right"),
        ("forged", "return needs", True, "forged"),
        ("raising", "raise KeyError", True, "its function now raises an error"),
        ("ending", "import os; os._exit(0)", True, "its function now ends its process"),
        ("wrong", "return needs", False, ""),
    ):
        folder = new_folder(tmp_path / name, name, SEED)
        kept = {"name": "order", "source": f"def order(needs):\n    {body}\n"}
        folder.progress.add(Attempt("4.5", kept, was_right, "", digest(folder.given(exercise))))
        told |= {name: wanted} if wanted else {}
    found = dict(whats(*sorted(tmp_path.iterdir())))
    assert set(found) == set(told) and all(wanted in found[name] for name, wanted in told.items())
    assert ["forged" in found[name] for name in ("forged", "raising", "ending", "better")] == [True, False, False, False]


def test_kept_nonsense_is_no_attempt(tmp_path: Path) -> None:
    answers = (None, "x", [], {}, 1e400, {"name": "f", "source": "import os"}, ["a"] * 1000)
    for number, answer in enumerate(answers):
        folder = new_folder(tmp_path / f"l{number}", f"l{number}", SEED)
        numbers = digest(folder.given(EXERCISES["1.1"]))
        line = {"v": 1, "exercise": "1.1", "answer": answer, "right": True, "numbers": numbers}
        (folder.path / FILE).write_text(json.dumps(line) + "\n")
    report = ClassReport(sorted(tmp_path.iterdir()), SEED)
    assert [(each.points, each.outcomes["1.1"].rights) for each in report.learners] == [(0, ())] * len(answers)
    assert sorted((each.who, each.what[:15]) for each in report.findings) == [(f"l{k}", "1.1: not judged") for k in range(7)]


def test_folders_that_are_none_are_told(pair: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = whats(*pair, tmp_path / "empty", tmp_path / "missing")
    assert len(found) == 2 and all("course.json" in what for _, what in found)
    with pytest.raises(FileError, match=r"course\.json"):
        ClassReport([tmp_path / "empty"])


def test_an_unknown_exercise_is_not_judged() -> None:
    (found,) = judge_again([Asked("9.9", "a seed", [1, 2])])
    assert found.numbers == "" and all(each.problem for each in found.found) and len(found.found) == 2


def test_the_command(pair: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ada, bob = map(str, pair)
    table, page = tmp_path / "class.csv", tmp_path / "class.html"
    assert main(["course", "report", ada, bob, "--class-seed", SEED, "--csv", str(table), "--html", str(page)]) == 0
    assert "Nothing: no folder is a copy" in capsys.readouterr().out
    assert table.read_text().startswith("learner,folder,exercise") and 'data-isoviz="course"' in page.read_text()
    assert main(["course", "report", ada, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["verdicts"]
    assert {row["exercise"] for row in rows} == set(every_exercise())
    assert main(["course", "report", str(tmp_path)]) == 2
    assert "course.json" in capsys.readouterr().err


def test_a_new_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "ada"
    assert main(["course", "new", str(folder), "--learner", "Ada", "--class-seed", SEED, "--no-solutions"]) == 0
    learner = opened_folder(folder)
    assert (learner.learner, learner.solutions) == ("Ada", False)
    assert SEED not in (folder / "course.json").read_text()
    assert {path.name for path in folder.iterdir()} > {"course.json"} and not (folder / "solutions").exists()
    assert ClassReport([folder], SEED).findings == []
    for wanted, *arguments in (
        ("is there already", str(folder)),
        ("both", str(tmp_path / "b"), "--learner", "Ada"),
        ("both", str(tmp_path / "b"), "--class-seed", "S"),
        ("empty", str(tmp_path / "b"), "--learner", " ", "--class-seed", "S"),
        ("empty", str(tmp_path / "b"), "--learner", "Ada", "--class-seed", ""),
        ("characters", str(tmp_path / "b"), "--learner", "A" * 1000, "--class-seed", "S"),
        ("cannot be made", str(folder / "course.json" / "b"), "--learner", "Ada", "--class-seed", "S"),
    ):
        assert main(["course", "new", *arguments]) in (1, 2)
        told = capsys.readouterr().err
        assert wanted in told and "Traceback" not in told
        assert not (tmp_path / "b").exists()


def test_a_seed_from_a_file_is_the_same_seed(pair: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "seed.txt"
    file.write_text(f"{SEED}\n")
    assert main(["course", "new", str(tmp_path / "c"), "--learner", "ada", "--class-seed-file", str(file)]) == 0
    assert opened_folder(tmp_path / "c").seed == opened_folder(pair[0]).seed
    assert main(["course", "report", str(pair[1]), "--class-seed-file", str(file)]) == 0
    assert "Nothing: no folder is a copy" in capsys.readouterr().out
    for content, wanted in ((b" \n", "empty"), (b"\xff", "UTF-8"), (b"x" * 2000, "at most"), (None, "no such file")):
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        assert main(["course", "new", str(tmp_path / "d"), "--learner", "ada", "--class-seed-file", str(file)]) in (1, 2)
        assert wanted in capsys.readouterr().err and not (tmp_path / "d").exists()


def test_a_report_is_not_written_into_a_learners_folder(
    pair: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ada, bob = map(str, pair)
    (tmp_path / "link.csv").symlink_to(pair[1] / FILE)
    before = (pair[1] / FILE).read_text()
    monkeypatch.chdir(pair[1])
    for option, path in (("--csv", f"{bob}/class.csv"), ("--html", "page.html"), ("--csv", f"{tmp_path}/link.csv")):
        assert main(["course", "report", ada, bob, option, path]) in (1, 2)
        assert "lies in the learner's folder" in capsys.readouterr().err
    assert (pair[1] / FILE).read_text() == before and not (pair[1] / "page.html").exists()


def test_a_folder_for_oneself_has_numbers_of_its_own(tmp_path: Path) -> None:
    for name in "ab":
        assert main(["course", "new", str(tmp_path / name)]) == 0
    assert opened_folder(tmp_path / "a").seed != opened_folder(tmp_path / "b").seed
