"""The command line: exit status, one line for errors, one JSON object for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from html_cases import check_saved_page

from isoviz.cli import main
from isoviz.cli.convert_command import parse_pairs, parse_space
from isoviz.errors import InputError, TextError
from isoviz.widgets.pages.plan_page import command_key

TRANSFER = """
[space]
x = 300
y = 20
[fields]
re = "float32"
im = "float64"
[source]
memory = "{source}"
layout = "<F, x, y>"
[destination]
memory = "{destination}"
layout = "<y, F, x>"
[machine]
preset = "{preset}"
{more}
"""


def transfer(
    tmp_path: Path,
    source: str = "node0.dsk",
    destination: str = "node0.sys",
    preset: str = "local",
    more: str = 'measure = "assumed"',
) -> str:
    path = tmp_path / "transfer.toml"
    path.write_text(TRANSFER.format(source=source, destination=destination, preset=preset, more=more))
    return str(path)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    try:
        status = main(args)
    except SystemExit as leave:  # argparse
        status = int(leave.code or 0)
    out, error = capsys.readouterr()
    return status, out, error


def test_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = call(capsys, "plan", transfer(tmp_path), "--json")
    assert (status, error) == (0, "")
    data = json.loads(out)
    assert {"planner", "bytes", "seconds", "throughput", "chunk_bytes", "hops"} <= set(data)
    hop = {"source", "destination", "channel", "source_layout", "destination_layout"}
    hop |= {"request_bytes", "shuffle_bytes", "throughput"}
    assert all(hop <= set(entry) for entry in data["hops"])
    status, out, _ = call(capsys, "plan", transfer(tmp_path), "--planner", "direct")
    assert status == 0
    assert "direct plan for local" in out


def test_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = transfer(tmp_path)
    status, out, error = call(capsys, "run", path, "--json")
    assert (status, error) == (0, "")
    data = json.loads(out)
    assert data["verified"] is True
    assert data["bytes"] == 300 * 20 * 12
    assert data["measured"]["seconds"] > 0
    assert all(hop["measured_throughput"] > 0 for hop in data["hops"])
    status, out, _ = call(capsys, "run", path, "--no-verify")
    assert status == 0
    assert "not verified" in out
    assert names_in(tmp_path) == ["transfer.toml"]


def test_run_with_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TRANSFER.replace('layout = "<F, x, y>"', 'layout = "<F, x, y>"\npath = "in.npy"').replace(
        'layout = "<y, F, x>"', 'layout = "<y, F, x>"\npath = "out.npy"'
    )
    path = tmp_path / "t.toml"
    path.write_text(text.format(source="node0.dsk", destination="node0.dsk", preset="local", more='measure = "assumed"'))
    status, _, error = call(capsys, "run", str(path))
    problem = f"{tmp_path}/in.npy: no such file; the path is relative to the transfer file, {tmp_path}"
    assert (status, error) == (2, f"isoviz: error: {problem}\n")
    dtype = np.dtype([("re", "f4"), ("im", "f8")], align=True)  # its gap is left out
    array = np.zeros((20, 300), dtype)
    array["re"], array["im"] = np.arange(6000).reshape(20, 300), -np.arange(6000).reshape(20, 300)
    np.save(tmp_path / "in.npy", array)
    for more in ((), ("--overwrite",)):  # a second run replaces what the first one wrote
        status, out, error = call(capsys, "run", str(path), *more)
        assert (status, error) == (0, "")
        assert "every byte verified" in out
    found = np.load(tmp_path / "out.npy")
    assert (found["im"] == array["im"].T).all()


def test_what_cannot_run_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path, "node0.fbm0", "node1.fbm0", "sapling", "nodes = 2")
    assert call(capsys, "plan", path)[0] == 0
    status, out, error = call(capsys, "run", path, "--json")
    assert (status, out) == (2, "")
    assert "no such device" in error
    assert error.count("\n") == 1


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = transfer(tmp_path)
    for out in (tmp_path / "page.html", tmp_path / "transfer.html"):
        more = ["-o", str(out)] if out.name == "page.html" else []
        assert call(capsys, "show", path, *more) == (0, f"{out}\n", "")
        saved = check_saved_page(out.read_text(encoding="utf-8"))
        assert saved.content["page"]["kind"] == "show" and "why" in saved.content["page"]["views"]
        assert (
            saved.content["traits"]["part_why"]["constraints"] and saved.content["traits"]["part_machine"]["canvas"] is not None
        )
        assert "The constraints at the optimum" in saved.static.text
        python = saved.answers[command_key({"kind": "export", "what": "python"})]["message"]["text"]
        assert "isoviz.explore(" in python
    status, told, _ = call(capsys, "show", path, "--map", "-o", str(tmp_path / "map.html"))
    assert status == 0 and "run \\ runs" in told and told.endswith("map.html\n")
    saved = check_saved_page((tmp_path / "map.html").read_text(encoding="utf-8"))
    shown = saved.content["traits"]["part_winner_map"]
    assert shown["isDone"] and shown["isOfPlan"] and shown["map"]["said"][0] in saved.static.text
    status, _, error = call(capsys, "show", path, "-o", path)
    assert status == 2
    assert "itself" in error


def test_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    array = np.zeros(100, [("re", "f4"), ("im", "f4")])
    array["im"] = np.arange(100)
    np.save("in.npy", array)
    status, out, error = call(capsys, "convert", "in.npy", "out.npy", "--from", "<F, x>", "--to", "<x, F>", "--verify", "--json")
    assert (status, error) == (0, "")
    data = json.loads(out)
    assert data["verified"] is True
    assert data["shape"] == [2, 100]
    assert (np.load("out.npy")[1] == array["im"]).all()
    again = ("convert", "in.npy", "out.npy", "--from", "<F, x>", "--to", "<x, F>")
    status, _, error = call(capsys, *again)
    assert status == 2
    assert "exists already" in error
    assert call(capsys, *again, "--overwrite", "--memory-limit", "64KiB")[0] == 0
    more = ("--space", "x=100", "--fields", "re=float32,im=float32", "--overwrite")
    assert call(capsys, "convert", "out.npy", "raw", "--from", "<x, F>", "--to", "<F, x>", *more)[0] == 0
    assert Path("raw").read_bytes() == array.tobytes()
    status, out, _ = call(capsys, "convert", "raw", "out.npy", "--from", "<F, x>", "--to", "<x_in=8, F, x_out>", *more)
    assert status == 0
    assert "shape (13, 2, 8)" in out


def test_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "machine", "--preset", "sapling", "--nodes", "3", "--json")
    assert status == 0
    nodes = {memory["name"].partition(".")[0] for memory in json.loads(out)["memories"]}
    assert nodes == {"node0", "node1", "node2"}
    path = str(tmp_path / "m.json")
    assert call(capsys, "machine", "--preset", "two-node", "-o", path) == (0, f"{path}\n", "")
    status, out, _ = call(capsys, "machine", path)
    assert status == 0
    assert "two-node" in out
    status, out, _ = call(capsys, "machine", "--list")
    assert status == 0
    assert {"local", "sapling", "two-node"} <= {line.split()[0] for line in out.splitlines()}


BAD = {
    "no command": (),
    "unknown command": ("fly",),
    "missing file": ("plan", "absent.toml"),
    "directory": ("run", "."),
    "no toml": ("plan", "broken.toml"),
    "unknown option": ("plan", "transfer.toml", "--fast"),
    "unknown planner": ("plan", "transfer.toml", "--planner", "fast"),
    "unknown preset": ("machine", "--preset", "cray"),
    "option it does not take": ("machine", "--preset", "two-node", "--nodes", "3"),
    "no machine file": ("machine", "absent.json"),
    "no json": ("machine", "broken.toml"),
    "file and preset": ("machine", "transfer.toml", "--preset", "local"),
    "missing input": ("convert", "absent.npy", "out.npy", "--from", "<F, x>", "--to", "<x, F>"),
    "no layout": ("convert", "absent.npy", "out.npy"),
    "no pairs": ("convert", "a.raw", "out.npy", "--from", "<F, x>", "--to", "<x, F>", "--space", "x", "--fields", "a=f4"),
    "no dtype": ("convert", "a.raw", "out.npy", "--from", "<F, x>", "--to", "<x, F>", "--space", "x=1", "--fields", "a=zz"),
    "no number": ("convert", "a.raw", "out.npy", "--from", "<F, x>", "--to", "<x, F>", "--space", "x=two", "--fields", "a=f4"),
    "overflow": ("convert", "a.raw", "o", "--from", "<F, x>", "--to", "<x, F>", "--space", f"x={2**62}", "--fields", "a=f4"),
    "dimension F": ("convert", "a.raw", "o", "--from", "<F, x>", "--to", "<x, F>", "--space", "F=3", "--fields", "a=f4"),
    "dimension x_in": ("convert", "a.raw", "o", "--from", "<F, x>", "--to", "<x, F>", "--space", "x_in=3", "--fields", "a=f4"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_is_one_line_and_status_2(
    name: str, as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    transfer(tmp_path)
    (tmp_path / "broken.toml").write_text("[[[")
    (tmp_path / "a.raw").write_bytes(bytes(8))
    status, out, error = call(capsys, *BAD[name], *(["--json"] if as_json and BAD[name] else []))
    assert (status, out) == (2, "")
    assert error.startswith("isoviz: error: ")
    pointed = error.splitlines()[-1].strip() == "^"  # at the offending character, below the text
    assert error.count("\n") == (3 if pointed else 1), error
    assert names_in(tmp_path) == ["a.raw", "broken.toml", "transfer.toml"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [("new/", "ends in '/'"), ("there", "is a directory"), ("no/page.html", "there is no folder"), ("P", "is a pipe")],
)
def test_places_that_can_be_no_file_are_refused_before_the_work(
    name: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    os.mkfifo(tmp_path / "P")
    file, out = transfer(tmp_path), f"{tmp_path}/{name}"
    for work in ("isoviz.measure.run_file.make_plan", "isoviz.machines.preset", "isoviz.launch.probe.probe"):
        monkeypatch.setattr(work, lambda *_, **__: pytest.fail("worked"))
    for arguments in (("show", file, "-o", out), ("run", file, "-o", out), ("machine", "--measure", "-o", out)):
        status, _, error = call(capsys, *arguments)
        assert (status, error.count("\n")) == (2, 1)
        assert f"{name}: {problem}" in error
    assert names_in(tmp_path) == ["P", "there", "transfer.toml"]


def test_a_wrong_layout_is_pointed_at(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, error = call(capsys, "convert", "in.npy", "out.npy", "--from", "<F, x>", "--to", "<F, ?>")
    assert status == 2
    first, text, caret = error.splitlines()
    assert first.startswith("isoviz: error: layout '<F, ?>'")
    assert text == "  <F, ?>"
    assert text[caret.index("^")] == "?"


def test_lists_on_the_command_line() -> None:
    assert parse_space("x=4096, y=2") == {"x": 4096, "y": 2}
    assert parse_pairs("--fields", "re=float32,im=>f8", "") == {"re": "float32", "im": ">f8"}
    for text in ("", "x", "x=", "=3", "x=1,,y=2", "x=1,x=2", "x=1.5"):
        with pytest.raises(InputError):
            parse_space(text)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("x=٤", 2),
        ("x=4, y=4__", 8),
        ("x=4_0", 3),
        ("x = 4096 , y = 40９6", 17),
        ("x=4,y=+", 7),
        ("x=0x10", 3),
        ("x=4,,y=4", 4),
        ("x=4, y", 5),
        ("x=4,  x=5", 6),
        ("x=" + "9" * 5000, 2),
        ("a=1," * 3 + "x=٤", 4),
    ],
)
def test_lists_that_are_pointed_into(text: str, position: int) -> None:
    """Digits are 0 to 9, nothing else that Python's `int` takes."""
    with pytest.raises(TextError) as caught:
        parse_space(text)
    assert caught.value.position == position
    shown, caret = caught.value.pointer.split("\n")
    if position < len(text):
        assert shown[caret.index("^")] == text[position]
    assert len(str(caught.value)) < 380


@pytest.mark.parametrize("number", ["٤", "4_0", "4__", "", " 4", "1e1", "4.0", "9" * 5000, "\x1b[31m"])
def test_numbers_of_options(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "--preset", "two-node", f"--nodes={number}"]) == 2
    error = capsys.readouterr().err
    assert "argument --nodes: " in error and "is not a whole number" in error
    assert error.count("\n") == 1 and error[:-1].isprintable() and len(error) < 200


def test_what_cannot_be_printed_is_escaped_or_one_line(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xc3\xa9.npy")
    np.save(tmp_path / name, np.zeros(4, "f4"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONIOENCODING": "ascii"}
    code = "import sys; from isoviz.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "convert", name, "out.npy", "--to", "<F, x>", "--overwrite"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2192 out.npy" in done.stdout
    done = subprocess.run([*command, "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["source"] == name


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "in.npy", "out.npy", "--to", "<F, x>", "--json"),
        ("convert", "in.npy", "out.npy", "--to", "<F, x>"),
        ("plan", "transfer.toml"),
        ("machine", "--preset", "dgx-h100-pair", "--json"),  # more than a buffer holds
        ("machine", "--list"),
        ("show", "transfer.toml"),
        ("--help",),
        ("--version",),
    ],
)
@pytest.mark.parametrize(("redirection", "problem"), [("> /dev/full", "no space left on device"), (">&-", "it is closed")])
@pytest.mark.few(4)
@pytest.mark.few(2)
def test_a_failing_standard_output_is_told_as_such(
    arguments: tuple[str, ...], redirection: str, problem: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "in.npy", np.zeros(4, "f4"))
    transfer(tmp_path)
    done = shell(tmp_path, arguments, redirection)
    assert done.stderr == f"isoviz: error: standard output: {problem}; the result cannot be printed\n"
    assert done.returncode == 1
    if arguments[0] == "convert":
        assert np.load(tmp_path / "out.npy").shape == (4,)


def shell(folder: Path, arguments: tuple[str, ...], redirection: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from isoviz.cli import main; sys.exit(main())"
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_where_nothing_is_printed_nothing_fails(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros(4, "f4"))
    for redirection in ("> /dev/full", ">&-"):
        done = shell(tmp_path, ("convert", "in.npy", "out.npy", "--to", "<F, x>", "--quiet", "--overwrite"), redirection)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_error_of_the_work_goes_first(tmp_path: Path) -> None:
    for redirection in ("> /dev/full", "> /dev/full 2> /dev/full", "2>&-"):
        done = shell(tmp_path, ("convert", "in.npy", "out.npy", "--to", "<F, x>"), redirection)
        assert done.returncode == 2
        assert done.stderr in ("isoviz: error: in.npy: no such file\n", "")


def test_a_broken_pipe_is_silent(tmp_path: Path) -> None:
    code = "import sys; from isoviz.cli import main; sys.exit(main())"
    started = subprocess.Popen(
        [sys.executable, "-c", code, "plan", transfer(tmp_path), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    error = started.stderr.read()
    started.stderr.close()
    assert started.wait(timeout=250) == 141
    assert error == b""


def test_help_and_version_load_nothing_heavy() -> None:
    code = (
        "import sys; from isoviz.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'networkx', 'pulp', 'bokeh', 'ipywidgets') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    ).stdout
    assert out.splitlines()[-1] == "[]"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "isoviz", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("isoviz ")


def test_commands_do_not_load_the_benchmarks() -> None:
    """`isoviz bench` lists its suites; what measures is loaded when it measures."""
    code = "import sys; from isoviz.cli import main; main(['machine', '--list']); print({*sys.argv} & {*sys.modules})"
    modules = ["isoviz.bench.table", "isoviz.bench.layouts", "isoviz.bench.ranks.suite"]
    done = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
