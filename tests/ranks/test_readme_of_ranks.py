"""What the README shows of ranks is what isoviz does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi

import isoviz
from isoviz.cli import main
from isoviz.launch.rank_session import rank_session
from isoviz.launch.same_program import run_together

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8").split("## Plans across ranks")[1].split("\n## ")[0]


class NoWorldError(Exception):
    pass


def test_the_silence_that_examples_promise_is_that_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def world(**options: object) -> None:
        asked.append(options["limit"])
        raise NoWorldError

    monkeypatch.setattr("isoviz.backends.mpi.world.World", world)
    for begin in (rank_session, lambda: run_together("any.toml")):
        with pytest.raises(NoWorldError):
            begin()
    assert len(asked) == 2 and len(set(asked)) == 1
    text = " ".join((ROOT / "examples/ranks.md").read_text(encoding="utf-8").split())
    assert f"A program of ranks: after {asked[0]:g} seconds of silence" in text


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
