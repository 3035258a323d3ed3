"""`isoviz lab`: which notebook it opens, and that no edit of a user is ever lost."""

from __future__ import annotations

import json
import logging
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from isoviz.cli import lab_command as lab
from isoviz.cli import main


def notebook(*sources: str, outputs: bool = False) -> dict[str, Any]:
    shown = [{"output_type": "stream", "name": "stdout", "text": "1"}] if outputs else []
    cells = [
        {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": text, "outputs": shown, "execution_count": None}
        for number, text in enumerate(sources)
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def sources(path: Path) -> list[str]:
    return [cell["source"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def edit(path: Path, *texts: str) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"] = notebook(*texts)["cells"]
    write(path, content)


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return write(tmp_path / "shipped.ipynb", notebook("one"))


def test_first_copy(shipped: Path, tmp_path: Path) -> None:
    copy = lab.working_copy(shipped, tmp_path / "lab")
    assert copy == tmp_path / "lab" / "explorer.ipynb"
    assert sources(copy) == ["one"]


def test_copy_that_was_only_run_stays(shipped: Path, tmp_path: Path) -> None:
    copy = lab.working_copy(shipped, tmp_path / "lab")
    write(copy, notebook("one", outputs=True))
    before = copy.read_bytes()
    assert lab.working_copy(shipped, tmp_path / "lab").read_bytes() == before


def test_unedited_copy_follows_a_new_version(shipped: Path, tmp_path: Path) -> None:
    copy = lab.working_copy(shipped, tmp_path / "lab")
    write(shipped, notebook("two"))
    assert sources(lab.working_copy(shipped, tmp_path / "lab")) == ["two"]
    assert list(copy.parent.iterdir()) == [copy]


def test_edited_copy_stays(shipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(lab.working_copy(shipped, tmp_path / "lab"), "one", "mine")
    assert sources(lab.working_copy(shipped, tmp_path / "lab")) == ["one", "mine"]
    assert capsys.readouterr().err == ""
    write(shipped, notebook("two"))
    assert sources(lab.working_copy(shipped, tmp_path / "lab")) == ["one", "mine"]
    assert "--fresh" in capsys.readouterr().err


def test_fresh_sets_edits_aside(shipped: Path, tmp_path: Path) -> None:
    for mine in ("first", "second"):
        edit(lab.working_copy(shipped, tmp_path / "lab"), mine)
        assert sources(lab.working_copy(shipped, tmp_path / "lab", fresh=True)) == ["one"]
    assert sources(tmp_path / "lab" / "explorer-1.ipynb") == ["first"]
    assert sources(tmp_path / "lab" / "explorer-2.ipynb") == ["second"]


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"cells": 3}'])
def test_unreadable_copy_is_never_lost(shipped: Path, tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "isoviz.cli")
    copy = lab.working_copy(shipped, tmp_path / "lab")
    copy.write_text(content, encoding="utf-8")
    assert lab.working_copy(shipped, tmp_path / "lab").read_text(encoding="utf-8") == content
    assert sources(lab.working_copy(shipped, tmp_path / "lab", fresh=True)) == ["one"]
    assert (tmp_path / "lab" / "explorer-1.ipynb").read_text(encoding="utf-8") == content
    assert "explorer.ipynb cannot be read as a notebook" in caplog.text


def test_shipped_notebooks_are_whole() -> None:
    assert "explore" in lab.shipped_notebook().read_text(encoding="utf-8")
    beside = lab.notebooks_beside()
    assert beside and lab.NOTEBOOK not in {each.name for each in beside}
    assert all("isoviz" in each.read_text(encoding="utf-8") for each in beside)


def test_every_notebook_of_the_readme_is_shipped_and_copied() -> None:
    root = Path(__file__).parents[3]
    named = set(re.findall(r"notebooks/([\w.-]+\.ipynb)", (root / "README.md").read_text(encoding="utf-8")))
    assert named and named <= {lab.NOTEBOOK, *(each.name for each in lab.notebooks_beside())}
    wheel = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "notebooks" in wheel["only-include"]
    assert "/notebooks/solutions" in wheel["exclude"]


def test_notebooks_are_copied_beside_each_other(shipped: Path, tmp_path: Path) -> None:
    for name in ("explorer.ipynb", "1-layouts.ipynb", "3-paths.ipynb"):
        edit(lab.working_copy(shipped, tmp_path / "lab", name=name), "mine")
    assert sources(lab.working_copy(shipped, tmp_path / "lab", fresh=True, name="1-layouts.ipynb")) == ["one"]
    assert sources(tmp_path / "lab" / "1-layouts-1.ipynb") == ["mine"]
    assert sources(tmp_path / "lab" / "explorer.ipynb") == ["mine"]


def test_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    command = lab.server_command(tmp_path, tmp_path / "isoviz-lab" / "explorer.ipynb", ip="localhost", port=0, browser=False)
    assert "--allow-root" in command and "--no-browser" in command and "--ServerApp.port=0" in command
    assert "--LabApp.default_url=/lab/tree/isoviz-lab/explorer.ipynb" in command
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    command = lab.server_command(tmp_path, tmp_path / "explorer.ipynb", ip="localhost", port=None, browser=True)
    assert "--allow-root" not in command and "--no-browser" not in command


def test_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not lab.has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert lab.has_display()


@pytest.mark.parametrize(("arguments", "words"), [(["--dir", "nowhere"], "no such folder"), (["--port", "70000"], "65535")])
@pytest.mark.few(1)
def test_bad_input(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jupyterlab")
    monkeypatch.chdir(tmp_path)
    assert main(["lab", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written(shipped: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file", encoding="utf-8")
    with pytest.raises(lab.FileError, match="--dir"):
        lab.working_copy(shipped, blocked)
