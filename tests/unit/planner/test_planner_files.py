"""Transfer files: what they may say, and one line for everything they may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoviz.errors import FileError, InputError, TransferError
from isoviz.machines import load, preset, save
from isoviz.planner import load_plan, load_transfer
from isoviz.widgets.chosen.session_file import load_settings

EXAMPLE = """
[space]
x = 40
y = 30
[fields]
re = "float32"
im = "float32"
[source]
memory = "node0.dsk"
layout = "<F, x, y>"
path = "in.npy"
[destination]
memory = "node0.sys"
layout = "<x, y, F>"
[machine]
preset = "sapling"
nodes = 3
[options]
planner = "spsl"
slot_limit = "32KiB"
priority = 2
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "transfer.toml"
    path.write_text(text)
    return path


def test_the_example_of_the_design(tmp_path: Path) -> None:
    found = load_transfer(written(tmp_path, EXAMPLE))
    assert found.transfer.source.path == str(tmp_path / "in.npy")
    assert str(found.transfer.destination.layout) == "<x, y, F>"
    assert (found.transfer.priority, found.options.planner, found.options.slot_limit) == (2, "spsl", 32768)
    assert found.machine() == preset("sapling", nodes=3)


def test_a_part_with_its_own_instances(tmp_path: Path) -> None:
    text = EXAMPLE.replace('path = "in.npy"', "origin = { x = 1, y = 2 }").replace(
        'layout = "<x, y, F>"', 'layout = "<x, F>"\nspace = { x = 9 }\norigin = { x = 4 }'
    )
    with pytest.raises(TransferError, match="dimensions"):
        load_transfer(written(tmp_path, text))
    text = text.replace("<x, F>", "<x, y, F>").replace("{ x = 9 }", "{ y = 9, x = 9 }").replace("{ x = 4 }", "{ x = 4, y = 0 }")
    found = load_transfer(written(tmp_path, text + '[box]\nshape = { x = 5, y = 9 }\nfields = ["im"]\n')).transfer
    assert (found.shape, found.source_origin, found.destination_origin) == ((5, 9), (1, 2), (0, 4))
    assert found.nbytes == 45 * 4


def test_machine_files_are_relative_to_the_transfer_file(tmp_path: Path) -> None:
    save(preset("two-node"), tmp_path / "m.json")
    text = EXAMPLE.replace('preset = "sapling"\nnodes = 3', 'file = "m.json"')
    assert load_transfer(written(tmp_path, text)).machine() == preset("two-node")


def test_without_a_machine_it_is_this_computer() -> None:
    data: dict[str, Any] = {
        "space": {"x": 4},
        "fields": {"a": "u1"},
        "source": {"memory": "node0.sys", "layout": "<F, x>"},
        "destination": {"memory": "node0.sys", "layout": "<x, F>"},
    }
    assert load_transfer(data).machine_options == {"preset": "local"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("x = 40", "x = ", "is no TOML"),
        ("x = 40", "x = 0", "at least 1"),
        ("x = 40", 'x = "many"', "whole number"),
        ("[space]", "[spcae]", "did you mean 'space'"),
        ("[options]", "[options]\nplaner = 'full'", "did you mean 'planner'"),
        ("<F, x, y>", "<F, x y>", "character 7"),
        ("<F, x, y>", "<F, x>", "dimension 'y'"),
        ('re = "float32"', 're = "flaot32"', "not a NumPy dtype"),
        ('memory = "node0.dsk"', "memory = 3", "expected a text"),
        ('memory = "node0.dsk"', "", "'memory' is missing"),
        ('preset = "sapling"', 'preset = "sapling"\nfile = "m.json"', "either 'preset' or 'file'"),
        ('preset = "sapling"', "", "either 'preset' or 'file'"),
        ("priority = 2", "priority = 2.5", "whole number"),
        ('"32KiB"', '"32 parsecs"', "expected a number with a unit"),
        ('"spsl"', '"spls"', "expected one of"),
        ("[options]", "[box]\nfields = 3\n[options]", "list of names"),
        ("[options]", "[box]\nshape = { z = 3 }\n[options]", "unknown key 'z'"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(InputError, match=problem) as caught:
        load_transfer(written(tmp_path, EXAMPLE.replace(old, new)))
    assert "\n" not in str(caught.value)


def test_machines_that_do_not_exist(tmp_path: Path) -> None:
    found = load_transfer(written(tmp_path, EXAMPLE.replace("nodes = 3", "notes = 3")))
    with pytest.raises(InputError, match="'notes'"):
        found.machine()
    found = load_transfer(written(tmp_path, EXAMPLE.replace('preset = "sapling"\nnodes = 3', 'file = "missing.json"')))
    with pytest.raises(FileError, match=r"missing\.json"):
        found.machine()


def test_values_that_only_a_hostile_file_has(tmp_path: Path) -> None:
    for old, new, problem in (
        ("x = 40", f"x = {'9' * 5000}", "is no TOML"),
        ("x = 40", f"x = 0x{'f' * 5000}", "2\\^63"),
        ("x = 40", f"x = {'[' * 5000}{']' * 5000}", "nested too deeply"),
        ('"spsl"', '["spsl"]', "planner a list"),
        ('"32KiB"', f"0x{'f' * 5000}", "2\\^63"),
        ("nodes = 3", "name = 'x'", "no option 'name'"),
        ("[space]", f"{'k' * 5000} = 1\n[space]", "unknown key"),
    ):
        with pytest.raises(InputError, match=problem) as caught:
            load_transfer(written(tmp_path, EXAMPLE.replace(old, new))).machine()
        assert len(str(caught.value)) < 400


def test_files_that_are_no_transfer_are_not_read_whole(tmp_path: Path) -> None:
    fits = EXAMPLE + "#" * ((1 << 20) - len(EXAMPLE))
    load_transfer(written(tmp_path, fits))
    with pytest.raises(TransferError, match="larger than 1 MiB"):
        load_transfer(written(tmp_path, fits + "#"))


def _parts(part: str, between: str = ".", count: int = 100_000) -> str:
    return between.join([part] * count)


LONG_KEYS = {
    "bare": f"{_parts('a')} = 1",
    "quoted": f"{_parts(chr(34) * 2)} = 1",
    "literal": f"{_parts(chr(39) + '=' + chr(39))} = 1",
    "mixed": f"{_parts('a.' + chr(34) + '.#' + chr(92) + chr(34) + chr(34))} = 1",
    "spaced": f"{_parts('a', ' .' + chr(9))} = 1",
    "table": f"[{_parts('a')}]",
    "table of a list": f"[[{_parts('a')}]]",
    "inline table": f"a = {{{_parts('a')} = 1}}",
    "in a list": f"a = [1, {{ b = 1, {_parts('a')} = 1}}]",
    "behind a string": f"a = {chr(34) * 3}{chr(10)}#{chr(34) * 3}{chr(10)}{_parts('a')} = 1",
    "behind a comment": f"# {chr(34) * 3}{chr(10)}{_parts('a')} = 1",
    "17": f"{_parts('a', count=17)} = 1",
    "keys below a long table": f"[{_parts('a', count=16)}]{chr(10)}" + "".join(f"k{k}=1{chr(10)}" for k in range(10_000)),
    "many tables": "".join(f"[k{k}]{chr(10)}" for k in range(100_000)),
    "many lists": f"a = {'[' * 300}{'],[' * 10_000}",
}


@pytest.mark.parametrize("name", LONG_KEYS)
def test_keys_of_many_parts_are_not_parsed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser takes hours for some of them, so it never sees them; neither do the readers of other files."""
    text = LONG_KEYS[name]
    monkeypatch.setattr("tomllib.loads", lambda _: pytest.fail("parsed"))
    with pytest.raises(TransferError, match="expected at most"):
        load_transfer(written(tmp_path, text))
    for read in (load, load_plan, load_settings):
        with pytest.raises(InputError):
            read(written(tmp_path, text))


def test_what_only_looks_like_a_key_is_read(tmp_path: Path) -> None:
    dots = "1.5, " * 5000
    text = EXAMPLE.replace("[space]", f"# {_parts('a')}{chr(10)}[space]", 1)
    assert load_transfer(written(tmp_path, text)).transfer == load_transfer(written(tmp_path, EXAMPLE)).transfer
    for value in (f'"{_parts("a")}"', f"'{_parts('a')}'", f'"""{_parts("a")}"""', f'"{chr(92)}"{_parts("a")}"', f"[{dots}]"):
        with pytest.raises(TransferError, match="unknown key 'more'"):
            load_transfer(written(tmp_path, f"more = {value}{chr(10)}{EXAMPLE}"))


def test_the_directory_of_this_computer_is_relative_to_the_transfer_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    text = EXAMPLE.replace('preset = "sapling"\nnodes = 3', 'preset = "local"\nmeasure = "assumed"\ndirectory = "data"')
    assert load_transfer(written(tmp_path, text)).machine() == preset("local", measure="assumed", directory=tmp_path / "data")
    (tmp_path / "data").rmdir()
    with pytest.raises(InputError, match="is no directory"):
        load_transfer(written(tmp_path, text)).machine()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.toml"):
        with pytest.raises(FileError, match="transfer file"):
            load_transfer(path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TransferError, match="is no TOML"):
        load_transfer(tmp_path / "binary.toml")
