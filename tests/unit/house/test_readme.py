"""What the README shows is what isoviz does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz.cli import main

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def sessions() -> dict[str, str]:
    """Commands shown with `$`, each with the output below it."""
    blocks = re.findall(r"```\n\$ (isoviz [^\n]*)\n(.*?)```", TEXT, re.DOTALL)
    return dict(blocks)


def test_plans_are_what_the_planner_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    shown = {command: output for command, output in sessions().items() if command.startswith("isoviz plan")}
    assert shown
    for command, output in shown.items():
        assert main(shlex.split(command)[1:]) == 0
        assert capsys.readouterr().out.rstrip() == output.rstrip()


def test_mistakes_are_pointed_at_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.zeros(10))
    (command, output), *_ = ((c, o) for c, o in sessions().items() if c.startswith("isoviz convert"))
    assert main(shlex.split(command)[1:]) == 2
    assert capsys.readouterr().err.rstrip() == output.rstrip()


def test_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    first, editor, pair, _ranks = blocks  # tests/ranks/test_readme_of_ranks.py runs the last one
    shown: list[Any] = []
    names: dict[str, Any] = {"display": lambda *views: shown.extend(views)}  # as in a notebook
    exec(first, names)
    assert names["columns"].tolist() == names["rows"].T.tolist()
    assert "plan for two-node" in capsys.readouterr().out
    exec(editor, names)
    assert shown[1].value == names["editor"].value
    for each in shown:
        each.close()
    exec(pair, names)
    assert "over 9 paths" in capsys.readouterr().out


def test_the_readme_is_short() -> None:
    assert len(TEXT.splitlines()) <= 200


def cells(page: str) -> list[str]:
    """The code of a page, cell by cell."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"```(?:\{code-cell\}|python)\n((?!:).*?)```", text, re.DOTALL)  # none with options of the page


PAGES = [
    page
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if not re.search(r"/_", path.as_posix().removeprefix(ROOT.as_posix()))
    and cells(page := path.relative_to(ROOT / "docs").with_suffix("").as_posix())
]
OFTEN = ("index", "guide/notation", "guide/machines", "guide/planners", "guide/running")
"""Pages that run in `make test`, too."""


@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_pages_is_python(page: str) -> None:
    for cell in cells(page):
        compile(cell, page, "exec")


def executed(page: str) -> bool:
    """Whether the site executes a page."""
    return "{code-cell}" in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", [page if page in OFTEN else pytest.param(page, marks=pytest.mark.full) for page in PAGES if executed(page)]
)
def test_pages_of_the_guide_run(page: str) -> None:
    """The cells of a page, one after the other, as the site executes them."""
    names: dict[str, Any] = {}
    for cell in cells(page):
        exec(cell, names)


def test_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert len(pictures) >= 3
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_every_picture_is_shown_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/**/*.ipynb")]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    pictures = [*ROOT.glob("notebooks/pictures/*"), *ROOT.glob("docs/**/*.png"), *ROOT.glob("docs/**/*.svg")]
    assert pictures
    assert [picture.name for picture in pictures if picture.name not in texts] == []


def test_links_lead_somewhere() -> None:
    """Links to files of the repository, in the README and beside it."""
    for page in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        links = re.findall(r"\]\(([^)#\s]+)\)", (ROOT / page).read_text(encoding="utf-8"))
        assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_named_commands_and_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Every `isoviz COMMAND --option` in running text is one that `--help` knows."""
    found = re.findall(r"`isoviz ([a-z]+)((?: [^`]*)?)`", TEXT)
    assert len(found) >= 10
    for command, rest in found:
        assert main([command, "--help"]) == 0
        known = capsys.readouterr().out
        assert [option for option in re.findall(r"(--[a-z-]+)", rest) if option not in known] == [], f"isoviz {command}{rest}"
