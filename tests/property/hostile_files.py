"""Files that nobody means well with, made from numbers, for everything in isoviz that reads a file.

`python hostile_files.py FIRST LAST FOLDER` reads the files of these numbers. The first line has the seconds for an honest file.
Then comes a line of JSON for each file: its number, its kind, the seconds of processor time, the bytes by which the process has
grown, and the type of the error.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import isoviz
from isoviz import planner
from isoviz.backends.formats.known_files import holds_npy
from isoviz.backends.formats.npy import read_header
from isoviz.backends.formats.stored import file_instance
from isoviz.conversion.convert import convert
from isoviz.errors import IsovizError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import load, machine_to_json, preset, save
from isoviz.measure import kept_measurements
from isoviz.planner import Transfer, load_plan, load_transfer, plan_to_json
from isoviz.redistribution import (
    DistributedInstance,
    Distribution,
    plan_redistribution,
    redistribution_from_json,
    redistribution_to_json,
)
from isoviz.runtime import Trace
from isoviz.runtime.ledger.ledger import Ledger, read_notes
from isoviz.runtime.ledger.ledger_entry import entry_of
from isoviz.runtime.recording import Recording
from isoviz.widgets.chosen import kept_sessions
from isoviz.widgets.chosen.session_file import load_settings, session_json
from isoviz.widgets.chosen.settings import Settings

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
preset = "two-node"
[options]
slot_limit = "32MiB"
[box]
shape = {x = 8, y = 8}
"""
LONG = 300_000
"""Bytes that a hostile piece may have."""
WORDS = (
    "\x00",
    "\x1b[31m",
    "\n",
    "\r\n",
    "\udcff",
    "\u2028",
    "\ufeff",
    "'",
    '"',
    "\\",
    '"""',
    "'''",
    "#",
    "=",
    ".",
    ",",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "<",
    ">",
    "F",
    "x",
    "x_in=4",
    "_",
    "-",
    "+",
    "0x",
    "1e999",
    "nan",
    "inf",
    "-1",
    "9" * 4000,
    "9" * 5000,
    "٤",
    "1979-05-27",
    "true",
    "null",
    "NaN",
    "Infinity",
    "-0",
    "1_0",
    "float32",
    "O",
    "M8[ns]",
    "(3,)f4",
    "V0",
    ">i2",
    "bfloat16",
    "../",
    "~",
    "/dev/zero",
)
NUMBERS = (0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, -(10**18), 0.5, -0.0, 1e308, float("nan"), float("inf"))


def nested(draw: random.Random, opening: str, closing: str, count: int) -> str:
    return opening * count + closing * (count if draw.random() < 0.7 else 0)


def long_piece(draw: random.Random) -> str:
    """A piece that is long or deep."""
    unit = draw.choice(
        ("a", "a.", "[", "{", '"', "'", "<F, ", "x_in=", "(", "1,", "a=1\n", "[a]\n", "[[a]]\n", "\\", "0", "_0", "#\n", " ")
    )
    count = min(LONG, draw.choice((50, 1000, 20_000, 100_000, LONG))) // len(unit)
    return unit * count


def mutated(draw: random.Random, text: str) -> str:
    """A text with pieces put in, taken out or repeated."""
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(text))
        end = at + draw.choice((0, 0, 1, 5, 40))
        piece = long_piece(draw) if draw.random() < 0.15 else draw.choice(WORDS)
        if draw.random() < 0.1:
            piece = text[at : at + 200] * draw.choice((2, 100))
        text = text[:at] + piece + text[end:]
    return text


# ---- TOML


def toml(draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        return mutated(draw, TRANSFER).encode("utf-8", "surrogateescape")
    many = draw.choice((20, 1000, 20_000, 100_000))
    name = draw.choice(("a", '""', "'.'", '"="', "a-b", '"\\""'))
    key = draw.choice((".", " . ", "\t.")).join([name] * many)
    made = draw.choice(
        (
            f"{key} = 1",
            f"[{key}]",
            f"[[{key}]]",
            f"a = {{{key} = 1}}",
            f"a = [{{{key}=1}}]",
            "a = " + nested(draw, "[", "]", many),
            "a = " + nested(draw, "{a=", "}", many),
            "a = " + nested(draw, "[{a=", "}]", many),
            "".join(f"[k{k}]\n" for k in range(many)),
            "".join(f"[a.k{k}.b]\n" for k in range(many)),
            "[[a]]\n" * many,
            "".join(f"k{k}=1\n" for k in range(many)),
            "a.a=1\n" * many,
            f"a = [{'1,' * many}]",
            f"a = {'1' * many}",
            f'a = """{"x" * many}',
            f'a = "{chr(92)}n{chr(92)}u00e9' * many,
            "a = '''" + "'" * many,
            f"a = {'0_' * many}0",
            f"a = 0.{'1' * many}",
            f"a = {'1979-05-27T' * many}",
            "[space]\n" + "".join(f"d{k}=2\n" for k in range(min(many, 9000))),
            f"[space]\nx={'9' * many}",
            f'[fields]\na = "{"(2,)" * many}f4"',
        )
    )
    if draw.random() < 0.5:  # tables of a transfer, with one of the strange ones
        made = draw.choice((f"{made}\n{TRANSFER}", f"{TRANSFER}\n{made}"))
    return made.encode()[: (1 << 20) + draw.choice((0, 10))]


def strange_transfer(draw: random.Random) -> bytes:
    """A transfer whose tables have values that are strange for them."""
    many = draw.choice((3, 30, 300, 5000))
    dims = {f"d{k}": draw.choice((1, 2, 2**31, 2**62)) for k in range(draw.choice((1, 3, 40, 3000)))}
    fields = {
        f"f{k}": draw.choice(
            ("f4", "float64", "O", "V0", "(2,3)f4", f"({2**40},)u1", "a,b", "S0", f"S{2**40}", "U", "M8[D]", "x" * 9000)
        )
        for k in range(draw.choice((1, 2, 900)))
    }
    layout = draw.choice(
        (
            "<F, " + ", ".join(dims) + ">",
            "<F" * many,
            "<" * many,
            f"<{'F, ' * many}x>",
            f"<x_in={'9' * many}, F>",
            "<F, " + "x_in=2, " * many + "x>",
            "<" + ", ".join(f"d0_{'i' * k}=2" for k in range(min(many, 60))) + ", F>",
            "ZFD" * many,
            "",
            ">" * many,
        )
    )
    lines = ["[space]", *(f"{name} = {value}" for name, value in dims.items()), "[fields]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    for end in ("source", "destination"):
        path = draw.choice((None, "", "/", "a" * many, "../" * many + "x", "\\u0000", "/dev/zero", "."))
        lines += [
            f"[{end}]",
            'memory = "node0.dsk"',
            f"layout = {json.dumps(layout)}",
            *([] if path is None else [f'path = "{path}"']),
        ]
    machine = draw.choice(
        (
            'preset = "two-node"',
            'preset = "sapling"\nnodes = 10000000000',
            f'preset = "{"x" * many}"',
            'file = "/dev/zero"',
            'file = "."',
            'preset = "bgq"\nnodes = 1000000000',
            f'preset = "local"\ndirectory = "{"a/" * many}"',
        )
    )
    return "\n".join([*lines, "[machine]", machine]).encode()


# ---- JSON


@cache
def documents() -> dict[str, Any]:
    """A good file of each kind, as JSON."""
    machine, here = preset("two-node"), preset("local", measure="assumed")
    space, fields = IndexSpace(x=64, y=8), FieldSpace(re="float32", im="float32")
    plan = planner.plan(Transfer.whole(space, fields, "node0.sys", "<F, x, y>", "node0.sys", "<x_in=4, F, x_out, y>"), machine)
    short = planner.plan(Transfer.whole(space, fields, "node0.sys", "<F, x, y>", "node0.sys", "<x, F, y>"), here)
    ends = [DistributedInstance(space, fields, Distribution({name: 2}), Layout("<F, x, y>")) for name in ("x", "y")]
    spread = redistribution_to_json(plan_redistribution(ends[0], ends[1], preset("ranks", ranks=2, measure="assumed")))
    measured = {"format": kept_measurements.PROBE_FORMAT, "version": kept_measurements.VERSION, "key": {}, "digest": ""}
    session = session_json(Settings())
    cell = {"isoviz": "kept session", "version": kept_sessions.VERSION, "notebook": "n", "cell": "c", "number": 0}
    return {
        "machine": machine_to_json(machine),
        "plan": {**plan_to_json(plan), "machine_file": machine_to_json(machine)},
        "session": session,
        "recording": json.loads((Path(__file__).parent / "scheduler_recordings_1.json").read_text())[0],
        "redistribution": spread,
        "trace": isoviz.simulate(plan).to_json(),
        "measurement": {**measured, "machine": machine_to_json(machine)},
        "kept session": {**cell, "start": session, "settings": session},
        "ledger": json.loads(entry_of(isoviz.run(short), here).to_line()),
        "notes": {"key": "note"},
    }


def strange_value(draw: random.Random) -> Any:
    many = draw.choice((2, 50, 2000, 20_000))
    deep: Any = []
    for _ in range(min(many, 400)):
        deep = [deep] if draw.random() < 0.5 else {"a": deep}
    return draw.choice(
        (
            None,
            True,
            "",
            "x" * many,
            "\udc80\x1b[31m\n",
            [],
            {},
            [0] * many,
            [[]] * many,
            [{}] * many,
            {f"k{k}": k for k in range(many)},
            deep,
            *NUMBERS,
            {"a": draw.choice(NUMBERS)},
            "1e400",
            "9" * many,
        )
    )


def spoiled(draw: random.Random, value: Any, depth: int = 0) -> Any:
    """A copy of a JSON value in which one place is another value."""
    if depth > 12 or not isinstance(value, dict | list) or not value or draw.random() < 0.15:
        return strange_value(draw)
    if isinstance(value, dict):
        key = draw.choice(list(value))
        how = draw.random()
        if how < 0.1:
            return {each: part for each, part in value.items() if each != key}
        if how < 0.2:
            return {**value, draw.choice(("more", "", "x" * 5000, "__class__")): strange_value(draw)}
        return {**value, key: spoiled(draw, value[key], depth + 1)}
    at = draw.randrange(len(value))
    how = draw.random()
    if how < 0.1:
        return value * draw.choice((2, 50))
    return [*value[:at], spoiled(draw, value[at], depth + 1), *value[at + 1 :]]


def json_file(kind: str, draw: random.Random) -> bytes:
    text = json.dumps(spoiled(draw, documents()[kind]))
    how = draw.random()
    if how < 0.3:
        text = mutated(draw, json.dumps(documents()[kind]))
    elif how < 0.45:
        many = draw.choice((500, 20_000, LONG))
        text = draw.choice(
            (
                nested(draw, "[", "]", many),
                nested(draw, '{"a":', "}", many),
                f"[{'1,' * many}1]",
                f"[{'[],' * (many // 3)}[]]",
                "9" * many,
                f"-{'9' * many}.{'9' * many}e{'9' * 300}",
                f'"{chr(92)}u0000' * (many // 8),
                "{" + ",".join(f'"k{k}":1' for k in range(many // 8)) + "}",
                '{"format":' * 2 + "1}",
                f"{{{'.'.join('a' * min(many, 20_000))}=1}}",
                ".".join("a" * min(many, 100_000)) + "=1",
                "{" + '"a":1,' * (many // 6) + '"a":2}',
            )
        )
    return text.encode("utf-8", "surrogatepass")[: 1 << 20]


# ---- arrays


def npy(draw: random.Random) -> bytes:
    many = draw.choice((3, 300, 9000, 60_000))
    shape = draw.choice(
        (
            "(4,)",
            "()",
            "(2**40,)",
            f"({2**62}, {2**62})",
            "(-1,)",
            "(True,)",
            "(1.5,)",
            "('a',)",
            f"({'1,' * many})",
            f"({'9' * many},)",
            "(" * many + ")" * many,
            "None",
            "[4]",
            f"({'0x' * 40}1,)",
            f"{'-' * many}1",
        )
    )
    descr = draw.choice(
        (
            "'<f4'",
            "'O'",
            "'|V0'",
            "'>U1000000000'",
            "'<M8[1000000000000Y]'",
            "[('a', '<f4')]",
            f"[{','.join(repr((f'f{k}', '<f4')) for k in range(min(many, 4000)))}]",
            "[('a', '<f4'), ('a', '<f4')]",
            f"{'[' * min(many, 400)}('a', '<f4'){']' * min(many, 400)}",
            f"[('a', {'[' * 60}('b', '<f4'){']' * 60})]",
            f"[('a', '<f4', ({'2,' * min(many, 40)}))]",
            f"'{'x' * many}'",
            "'(2,)f4,' * 3",
            "'<f4' 'a'",
            "{'names': ['a'], 'formats': ['O'], 'offsets': [-5]}",
            "('<f4', (2**31,))",
            f"'{'f4,' * min(many, 3000)}f4'",
        )
    )
    order = draw.choice(("False", "True", "0", "None", "'F'"))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if draw.random() < 0.3:
        text = mutated(draw, text)
    if draw.random() < 0.05:
        text = draw.choice(
            (
                "__import__('os')",
                "(lambda: 0)()",
                "{**{}}",
                "f'{1}'",
                "9" * many,
                "[" * many,
                "{}" * many,
                "(1 if 1 else 2)",
                "'" * many,
            )
        )
    raw = text.encode("latin-1", "replace") + b" " * draw.choice((0, 1, 63)) + draw.choice((b"\n", b""))
    version = draw.choice((b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x04\x00", b"\x00\x00", b"\xff\xff"))
    length = draw.choice((len(raw), len(raw), len(raw), 0, 1, len(raw) + 100, 2**16 - 1, 2**32 - 1))
    size = 2 if version == b"\x01\x00" else 4
    head = b"\x93NUMPY" + version + min(length, 256**size - 1).to_bytes(size, "little")
    content: bytes = head + raw + bytes(draw.choice((0, 16, 1000)))
    return content[: draw.choice((len(content), len(content), draw.randint(0, len(content))))]


MAGIC = (
    b"PK\x03\x04",
    b"\x89HDF\r\n\x1a\n",
    b"II*\x00",
    b"MM\x00*",
    b"\x1f\x8b",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"\x89PNG\r\n\x1a\n",
    b"CDF\x01",
    b"SIMPLE  =",
    b"\x93NUMPY",
    b"\x80\x04\x95",
    b"(\xb5/\xfd",
    b"P6\n",
    b"RIFF",
    b"PAR1",
    b"ARROW1",
    b"\x00" * 128 + b"DICM",
    b"ustar",
    b"%PDF",
    b"GRIB",
    b"MATLAB 5.0",
    b"NRRD0004",
    b"ply\n",
    b"\xff\xd8\xff",
)


def raw(draw: random.Random) -> bytes:
    begin = draw.choice(MAGIC)
    if draw.random() < 0.3:
        begin = begin[: draw.randint(0, len(begin))]
    return begin + draw.randbytes(draw.choice((0, 1, 8, 256, 4096, 100_000)))


def read_raw(path: Path, draw: random.Random) -> object:
    """A conversion as somebody else describes it."""
    many = draw.choice((1, 30, 3000))
    space = draw.choice(
        (
            {"x": 64},
            {"x": 2**62},
            {"x": 2**62, "y": 2**62},
            {},
            {f"d{k}": 2 for k in range(many)},
            {"x": 0},
            {"x": -1},
            {"x" * many: 1},
        )
    )
    fields = draw.choice(
        (
            {"a": "u1"},
            {"a": "f4", "b": "O"},
            {"a": f"({2**40},)u1"},
            {"a": "V0"},
            {f"f{k}": "u1" for k in range(many)},
            {"a": "f4," * many},
            {},
        )
    )
    layout = draw.choice(
        ("<F, x>", "<x, F>", "<x_in=4, F, x_out>", "<" * many, f"<F, {'x, ' * many}x>", "<F, " + ", ".join(space) + ">")
    )
    target = path.with_suffix(draw.choice((".out", ".npy2", ".h5", ".zip")))
    offset = draw.choice((None, 0, 8, -1, 2**63, "1e30", "9" * many))
    return convert(
        path, target, layout, draw.choice((layout, "<x, F>")), space, fields, overwrite=True, offset=offset, memory_limit="64KiB"
    )


def read_array(path: Path, draw: random.Random) -> object:
    holds_npy(path)
    header = read_header(path)
    file_instance("node0.dsk", path, draw.choice(("<F, x>", "<x, F>", "<F, x, y>")), None)
    return header


def read_ledger(path: Path, draw: random.Random) -> object:
    ledger = Ledger(path)
    return ledger.recent(), ledger.read()


def read_kept(path: Path, draw: random.Random) -> object:
    """The folder of kept measurements is the user's own, but its files may be damaged."""
    kept_measurements._file = lambda _what, _key: path  # type: ignore[assignment]
    return kept_measurements.kept_probe(path.parent)


def read_kept_session(path: Path, draw: random.Random) -> object:
    return kept_sessions._read(path, kept_sessions.CellPlace("n", "c"), Settings())


def parsed(function: Callable[[Any], object], path: Path, draw: random.Random) -> object:
    """What takes JSON that its caller has read."""
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return function(data)


def read_transfer(path: Path, draw: random.Random) -> object:
    return load_transfer(path).machine()


Write = Callable[[random.Random], bytes]
Read = Callable[[Path, random.Random], object]
KINDS: dict[str, tuple[Write, Read]] = {
    "transfer.toml": (toml, read_transfer),
    "strange.toml": (strange_transfer, read_transfer),
    "toml as a machine": (toml, lambda path, _: load(path)),
    "toml as a plan": (toml, lambda path, _: load_plan(path)),
    "machine": (partial(json_file, "machine"), lambda path, _: load(path)),
    "plan": (partial(json_file, "plan"), lambda path, _: load_plan(path)),
    "session": (partial(json_file, "session"), lambda path, _: load_settings(path)),
    "recording": (partial(json_file, "recording"), lambda path, _: Recording.load(path)),
    "redistribution": (partial(json_file, "redistribution"), partial(parsed, redistribution_from_json)),
    "trace": (partial(json_file, "trace"), partial(parsed, Trace.from_json)),
    "measurement": (partial(json_file, "measurement"), read_kept),
    "kept session": (partial(json_file, "kept session"), read_kept_session),
    "ledger": (partial(json_file, "ledger"), read_ledger),
    "notes": (partial(json_file, "notes"), lambda path, _: read_notes(path)),
    "a.npy": (npy, read_array),
    "b.npy": (npy, lambda path, _: convert(path, path.with_suffix(".out.npy"), None, "<F, x>", overwrite=True)),
    "raw": (raw, read_raw),
    "formats": (raw, read_array),
}


def grown() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read_one(number: int, folder: Path) -> dict[str, Any]:
    draw = random.Random(number)
    kind = list(KINDS)[number % len(KINDS)]
    write, read = KINDS[kind]
    path = folder / f"file{number}{Path(kind).suffix if '.' in kind else '.json'}"
    path.write_bytes(write(draw))
    path.chmod(0o600)
    before, began, error = grown(), time.process_time(), ""
    try:
        read(path, draw)
    except IsovizError as refused:
        error = type(refused).__name__ if len(str(refused)) < 2000 else f"a message of {len(str(refused))} characters"
    except BaseException as failed:  # noqa: BLE001  # it is told
        error = f"untyped: {type(failed).__name__}: {failed}"[:300]
    took = time.process_time() - began
    found = {
        "number": number,
        "kind": kind,
        "seconds": took,
        "grown": grown() - before,
        "error": error,
        "size": path.stat().st_size,
    }
    for left in folder.glob(f"file{number}*"):
        left.unlink()
    return found


def honest(folder: Path) -> float:
    """The seconds that a machine takes to be read whose file is as large as hostile ones may be, 1 MiB."""
    path = folder / "honest.json"
    save(preset("sapling", nodes=16), path)
    began = time.process_time()
    load(path)
    return time.process_time() - began


if __name__ == "__main__":
    documents()
    print(json.dumps(honest(Path(sys.argv[3]))))
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(read_one(number, Path(sys.argv[3]))), flush=True)
