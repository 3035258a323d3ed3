"""The texts of the course: complete, filled, used, said once, and each term is explained where it first comes."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from course_cases import FULL, ROOT

from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.exercise import SHARED, Exercise, Texts
from isoviz.course.lessons import NOTEBOOKS, every_exercise, exercises_of
from isoviz.errors import InternalError
from isoviz.widgets.glossary import GLOSSARY

SEEDS = 30 if FULL else 3
EXERCISES = every_exercise()
FILES = {int(path.name[0]): path for path in sorted((ROOT / "notebooks").glob("[0-9]-*.ipynb"))}
STATED = ("title", "given", "asked", "unit")
TERMS = {
    "layout", "component", "field", "entry", "element", "digit", "block", "offset", "stride", "padding", "cache line",
    "run", "shuffle", "conversion", "AOS", "SOA",
    "machine", "channel", "hop", "throughput function", "binding", "slack",
    "chunk", "slot", "buffer", "set-up",
}  # fmt: skip
"""Terms of the glossary that are no everyday words: a notebook explains them where they first come."""
SENTENCE = 30
"""A sentence of at least so many characters stands in one place only."""


@pytest.fixture(params=sorted(EXERCISES))
def exercise(request: pytest.FixtureRequest) -> Any:
    """Each exercise."""
    return EXERCISES[request.param]


def sources(notebook: int) -> str:
    folder = ROOT / "isoviz" / "course"
    return "\n".join(path.read_text("utf-8") for path in [*folder.glob("*.py"), *folder.glob(f"notebook_{notebook}/*.py")])


def test_a_statement_is_complete_and_filled(exercise: Exercise) -> None:
    for number in range(SEEDS):
        given = drawn(exercise, learner_seed("texts", f"{exercise.name} {number}"))
        for part in (*STATED, "solution"):
            text = exercise.text(part, given=given)
            assert len(text) > 2 and not re.search(r"[{}]\w*[}]|\bNone\b|<function|object at 0x|\d\.\d{9}", text), (part, text)
        # The shared texts put the last full stop of a unit.
        assert not exercise.text("unit", given=given).endswith(".")


def test_each_wrong_model_has_a_belief_and_three_hints_that_differ(exercise: Exercise) -> None:
    models = Texts.of(exercise.notebook).find(exercise.name, "models") or {}
    assert set(models) == {model.name for model in exercise.models}
    for name, texts in models.items():
        assert set(texts) == {"belief", "hints"}, name
        assert len(texts["belief"]) > 5 and not texts["belief"].endswith("."), name
        assert len(texts["hints"]) == len(set(texts["hints"])) == 3, name
        assert texts["hints"][0].rstrip().endswith("?") or "?" in texts["hints"][0], (name, "the first hint is a question")


def test_no_text_is_unused(exercise: Exercise) -> None:
    table = Texts.of(exercise.notebook).find(exercise.name)
    others = set(table) - {*STATED, "reason", "solution", "says", "models"}
    code = sources(exercise.notebook)
    unused = [key for key in (*others, *table.get("says", {})) if f'"{key}"' not in code]
    assert unused == []


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_file_of_texts_has_its_exercises_and_no_other(notebook: int) -> None:
    tables = {key for key, value in Texts.of(notebook).tree.items() if isinstance(value, dict)}
    assert tables == set(exercises_of(notebook))


def test_no_shared_text_is_unused() -> None:
    code = "\n".join(map(sources, NOTEBOOKS))
    tree = Texts.of(SHARED).tree
    keys = [*(key for key in tree if not isinstance(tree[key], dict)), *tree["function"]]
    dynamic = {"given", "asked", "unit", "raised", "endless", "ended"}  # by the name of a part or a problem
    assert [key for key in keys if f'"{key}"' not in code and key not in dynamic] == []


def test_a_missing_text_and_an_unfilled_place_are_mistakes_of_ours() -> None:
    texts = Texts.of(1)
    for key in (("1.1", "no such text"), ("9.9", "title"), ("1.1", "says"), ("1.1", "models", "no such model")):
        with pytest.raises(InternalError, match="there is none"):
            texts.text(*key)
    with pytest.raises(InternalError, match="cannot be filled"):
        texts.text("1.1", "given", nx=3)
    with pytest.raises(InternalError, match="three hints"):
        texts.hints("1.1", "no such model")


# ---- the notebooks


def cells(path: Path) -> list[tuple[str, str]]:
    """Kind and source of each cell."""
    return [(each["cell_type"], "".join(each["source"])) for each in json.loads(path.read_text("utf-8"))["cells"]]


def prose(text: str) -> str:
    """Markdown without code, formulas and addresses."""
    text = re.sub(r"```.*?```|`[^`\n]*`|\$[^$\n]*\$|\]\([^)]*\)|<[^<>\n]{1,60}>|⟨[^⟩]*⟩", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def statement_texts(code: str, notebook: int) -> str:
    names = re.findall(r"""course\.(?:statement|pane)\(["']([\w.]+)["']""", code)
    return " ".join(str(Texts.of(notebook).find(name, part) or "") for name in names for part in STATED)


def explained(text: str) -> set[str]:
    bold = {each.strip().removesuffix("s") for each in re.findall(r"\*\*([^*]+)\*\*", text)}
    calls = re.findall(r"course\.terms\(([^)]*)\)", text)
    shown = {term.removesuffix("s") for call in calls for term in re.findall(r'"([^"]+)"', call)}
    return {each.casefold() for each in bold | shown}


def used(text: str) -> Iterator[str]:
    plain = re.sub(r"\{[^{}]*\}", " ", prose(text))
    for term in TERMS:
        plural = "(?:ies|y)" if term.endswith("y") else "s?"
        if re.search(rf"\b{re.escape(term.removesuffix('y'))}{plural}\b", plain, 0 if term.isupper() else re.IGNORECASE):
            yield term


def test_terms_are_those_of_the_glossary() -> None:
    assert set(GLOSSARY) >= TERMS


def test_each_term_is_explained_where_it_first_comes() -> None:
    known: set[str] = set()
    missing = []
    for notebook, path in FILES.items():
        for number, (kind, source) in enumerate(cells(path)):
            known |= explained(source)
            text = source if kind == "markdown" else statement_texts(source, notebook)
            for term in sorted(used(text)):
                if term.removesuffix("s").casefold() not in known:
                    missing.append(f"{path.name}, cell {number}: {term}")
                    known.add(term.removesuffix("s").casefold())
    assert missing == []


def test_bold_terms_shown_by_the_course_are_in_the_glossary() -> None:
    named = [
        (path.name, term)
        for path in FILES.values()
        for _, source in cells(path)
        for call in re.findall(r"course\.terms\(([^)]*)\)", source)
        for term in re.findall(r'"([^"]+)"', call)
    ]
    assert [each for each in named if each[1] not in GLOSSARY] == []


def sentences(text: str) -> Iterator[str]:
    for each in re.split(r"(?<=[.!?])\s+|\n\n+|\n[-#>*]", text):
        said = re.sub(r"[\s#*>-]+", " ", each).strip().casefold()
        if len(said) >= SENTENCE:
            yield said


def leaves(tree: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{where}/{key}")
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from leaves(value, f"{where}/{number}")
    else:
        yield where, str(tree)


def test_nothing_is_said_twice() -> None:
    """A fact stands in one place: what a notebook explains is repeated neither there nor in a text.

    Each statement is complete, so that several may have a sentence in common.
    """
    places: dict[str, set[str]] = defaultdict(set)
    told: set[str] = set()
    for name in (*NOTEBOOKS, SHARED):
        for where, text in leaves(Texts.of(name).tree, str(name)):
            for said in sentences(text):
                places[said].add(where)
    for path in FILES.values():
        for number, (kind, source) in enumerate(cells(path)):
            for said in sentences(source) if kind == "markdown" else ():
                places[said].add(f"{path.name}, cell {number}")
                told.add(said)
    assert {said: sorted(where) for said, where in places.items() if len(where) > 1 and said in told} == {}


def test_the_page_for_teachers_has_every_belief() -> None:
    """Its table is made from the texts."""
    page = (ROOT / "docs" / "guide" / "course.md").read_text("utf-8")
    (cell,) = re.findall(r"```\{code-cell\}\n:tags: \[remove-input\]\n(.*?)```", page, re.DOTALL)
    *lines, last = cell.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    table = html.unescape(eval(last, names).data)
    assert table.count("<tr>") == 1 + len(EXERCISES)
    for name, each in EXERCISES.items():
        assert f"<td>{name} " in table
        assert all(Texts.of(each.notebook).find(name, "models", model.name, "belief") in table for model in each.models)
