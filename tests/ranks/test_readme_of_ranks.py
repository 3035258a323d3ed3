"""What the README shows of ranks is what isoviz does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi

import isoviz
from isoviz.cli import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8").split("## Plans across ranks")[1].split("\n## ")[0]


@needs_mpi
def test_python_of_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(block, {"isoviz": isoviz})
    assert "every byte verified" in capsys.readouterr().out


@needs_mpi
def test_commands_of_ranks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    assert main(block.split()[1:]) == 0
    assert "every byte verified" in capsys.readouterr().out
