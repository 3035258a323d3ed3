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
    assert len(blocks) == 6
    editor, view, layout, run, many, _ranks = blocks
    names: dict[str, Any] = {}
    exec(editor, names)
    exec(view, names)
    assert names["view"].value == names["editor"].value
    names["view"].close()
    names["editor"].close()
    exec(layout, names)
    lines = re.findall(r"^(blocked\..*)", layout, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        code, comment = line.split("#")
        found = eval(code, names)
        assert str(found) == comment.strip() or str(getattr(found, "index", "")) in comment
    running: dict[str, Any] = {}
    exec(run, running)
    assert "every byte verified" in capsys.readouterr().out
    exec(many, running)
    assert (running["turned"] == running["array"].T).all()


def test_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert len(pictures) >= 3
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_links_lead_somewhere() -> None:
    """Links to files of the repository, in the README and in the changelog."""
    for page in ("README.md", "CHANGELOG.md"):
        links = re.findall(r"\]\(([^)#\s]+)\)", (ROOT / page).read_text(encoding="utf-8"))
        assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_named_commands_and_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Every `isoviz COMMAND --option` in running text is one that `--help` knows."""
    found = re.findall(r"`isoviz ([a-z]+)((?: [^`]*)?)`", TEXT)
    assert len(found) > 10
    for command, rest in found:
        assert main([command, "--help"]) == 0
        known = capsys.readouterr().out
        assert [option for option in re.findall(r"(--[a-z-]+)", rest) if option not in known] == [], f"isoviz {command}{rest}"
