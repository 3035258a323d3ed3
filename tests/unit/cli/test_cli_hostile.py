"""Malformed input to every command that reads text: an error of a few short lines, nothing that a terminal would obey."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import settings

from isoviz.cli import main
from isoviz.errors import printable
from isoviz.machines import machine_to_json, preset

TRANSFER = """
[space]
x = 64
y = 64
[fields]
re = "float32"
im = "float32"
[source]
memory = "node0.sys"
layout = "<F, x, y>"
[destination]
memory = "node0.sys"
layout = "<x_in=4, F, x_out, y>"
[machine]
file = "m.json"
[options]
slot_limit = "32MiB"
"""
PIECES = (
    "\x1b[31m", "\x1b]0;title\x07", "\n", "\r", "\x00", "\u202e", "\u2066", "\udcff", "\x85", "\u2028", "٤", "4__", "_0",
    "=", ",", "<", ">", "F", "x", "y_out", "x_in=", "-1", "9" * 5000, "x" * 300_000, "\x1b" * 50_000, "<F, " * 20_000,
    "'", '"', "\\", "{}", "[", "%s", "größe", "数", "float32", "1e400", "MiB", " ", "../", "~", "/dev/null", "\t",
)  # fmt: skip
LONGEST_LINE = 400


def small_machine() -> str:
    """Two memories, as a machine file: whatever is planned on it is planned at once."""
    data = machine_to_json(preset("two-node"))
    names = ("node0.sys", "node0.reg")
    data["memories"] = [each for each in data["memories"] if each["name"] in names]
    data["channels"] = [each for each in data["channels"] if each["source"] in names and each["destination"] in names]
    return json.dumps(data, indent=1)


def mutated(draw: random.Random, text: str) -> str:
    """A text with some pieces put in, in place of something or not."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(text))
        text = text[:at] + draw.choice(PIECES) + text[at + draw.choice((0, 0, 1, 5, 40)) :]
    return text


def commands(draw: random.Random, folder: Path, machine: str) -> list[str]:
    """A command line with something wrong in it, most of the time."""
    for name, content in (("t.toml", TRANSFER), ("m.json", machine)):
        written = mutated(draw, content) if draw.random() < 0.7 else content
        (folder / name).write_bytes(written.encode("utf-8", "surrogateescape" if draw.random() < 0.5 else "replace"))
    if draw.random() < 0.3:
        (folder / "t.toml").write_text(TRANSFER)
    arguments = {
        "plan": ["t.toml", "--planner", "full", "--candidates", "2"],
        "simulate": ["t.toml", "--repeat", "1", "--steps", "2"],
        "show": ["t.toml", "-o", "out.html"],
        "run": ["t.toml", "--no-trial"],
        "machine": ["m.json", "-o", "out.json"],
        "convert": ["a.raw", "out.npy", "--from", "<F, x>", "--to", "<x, F>", "--space", "x=64", "--fields", "a=f4,b=f4",
                    "--memory-limit", "64MiB", "--overwrite"],
    }  # fmt: skip
    command = draw.choice(list(arguments))
    line = arguments[command]
    for _ in range(draw.choice((0, 1, 1, 2))):
        at = draw.randrange(len(line))
        line[at] = mutated(draw, line[at]).replace("\x00", "")  # no system passes that on
    return [command, *line]


@pytest.mark.parametrize("batch", range(8))
@pytest.mark.few(2)
def test_malformed_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], batch: int) -> None:
    monkeypatch.chdir(tmp_path)
    machine = small_machine()
    (tmp_path / "a.raw").write_bytes(bytes(64 * 8))
    wrong = 0
    each = min(500, settings().max_examples)
    for seed in range(batch * each, (batch + 1) * each):
        draw = random.Random(seed)
        line = commands(draw, tmp_path, machine)
        capsys.readouterr()
        try:
            status = main(line)
        except SystemExit as end:  # as `argparse` ends
            status = int(end.code or 0)
        said = capsys.readouterr()
        what = f"seed {seed}: {[printable(part[:80]) for part in line]}: {printable(said.err[:900])}"
        wrong += status == 2
        assert status in (0, 1, 2), what
        assert "Traceback" not in said.err and "internal error" not in said.err, what
        for stream in (said.out, said.err):
            assert all(part == printable(part) for part in stream.split("\n")), what
        assert all(len(part) <= LONGEST_LINE for part in said.err.split("\n")), what
        assert bool(said.err) is (status != 0) or "wrote" in said.err, what
    assert wrong > each // 8, "hardly anything was wrong"


def test_names_of_files_that_give_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reports, too: a file's name cannot write on a terminal, nor make a line of its own."""
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"a\x1b[31m\n\xe2\x80\xae\xff.raw")
    Path(name).write_bytes(bytes(range(64)) * 8)
    out = name.replace(".raw", ".npy")
    sizes = ("--from", "<F, x>", "--to", "<x, F>", "--space", "x=64", "--fields", "a=f4,b=f4")
    for again in ((), ("--overwrite",), ()):
        status = main(["convert", name, out, *sizes, *again])
        said = capsys.readouterr()
        text = said.out + said.err
        assert status == (0 if not said.err else 2)
        assert all(each == printable(each) for each in text.split("\n")) and r"a\x1b[31m\n" in text, text
