"""Dtypes as text: every way that writes one reads an equal one."""

from __future__ import annotations

import ast
import json
import random
import sys
import tomllib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import settings

from isoviz.cli.convert_command import parse_pairs
from isoviz.errors import SpaceError
from isoviz.figures.layouts.numpy_text import numpy_equivalent
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.layouts.dtypes import dtype_of, dtype_text
from isoviz.machines import preset
from isoviz.planner import Transfer, load_transfer, plan, plan_from_json, plan_to_json
from isoviz.redistribution import DistributedInstance, Distribution, instance_from_json
from isoviz.schema.literals import parse_literal
from isoviz.widgets.chosen.settings import settings_for

ADDED = tuple(
    np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "uint4", "float4_e2m1fn")
)
PLAIN = ("f4", ">f8", "i2", ">u8", "?", "c16", "<U3", ">U5", "S7", "V3", "M8[ns]", ">m8[25us]", "M8", "f2")
NAMES = ("a", "b", "größe", "it's", 'a "b"', "x, y", "k=v", "back\\slash", "]", "(3,)")


def random_dtype(random: random.Random, depth: int = 0) -> np.dtype[Any]:
    kind = random.random() if depth < 3 else 1.0
    if kind < 0.2:
        names = random.sample(NAMES, random.randint(1, 3))
        formats = [random_dtype(random, depth + 1) for _ in names]
        if random.random() < 0.3:
            return np.dtype({"names": names, "formats": formats}, align=True)
        if random.random() < 0.3:  # another order, with gaps
            offsets, at = [0] * len(names), random.randint(0, 3)
            for place in random.sample(range(len(names)), len(names)):
                offsets[place] = at
                at += formats[place].itemsize + random.randint(0, 2)
            return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at + 1})
        return np.dtype(
            [((f"title of {name}", name) if random.random() < 0.2 else name, f) for name, f in zip(names, formats, strict=True)]
        )
    if kind < 0.35:
        return np.dtype((random_dtype(random, depth + 1), tuple(random.randint(1, 3) for _ in range(random.randint(1, 2)))))
    if kind < 0.6:
        found = random.choice(ADDED)
        return found if random.random() < 0.8 else found.newbyteorder(">")
    return np.dtype(random.choice(PLAIN))


def some_dtypes() -> list[np.dtype[Any]]:
    chosen = random.Random(5)
    return [*ADDED, *map(np.dtype, PLAIN), *(random_dtype(chosen) for _ in range(4 * settings().max_examples))]


def test_text_of_a_dtype_gives_an_equal_one() -> None:
    for dtype in some_dtypes():
        assert dtype_of(dtype_text(dtype)) == dtype
        fields = FieldSpace.of({"v": dtype, "w": "u1"})
        assert FieldSpace.of(json.loads(json.dumps(fields.as_dict()))) == fields
        assert FieldSpace.of(parse_pairs("--fields", f"v={dtype_text(dtype)},w=u1", "")) == fields


def test_every_file_keeps_the_names_of_types() -> None:
    machine, space = preset("two-node"), IndexSpace(x=8)
    for dtype in some_dtypes()[:60]:
        fields = FieldSpace.of({"v": dtype, "w": "u1"})
        transfer = Transfer.whole(space, fields, "node0.sys", "<F, x>", "node1.sys", "<x, F>")
        chosen = plan(transfer, machine, "simple")
        assert plan_from_json(json.loads(json.dumps(plan_to_json(chosen)))) == chosen
        spread = DistributedInstance(space, fields, Distribution({"x": 2}), Layout("<F, x>"))
        assert instance_from_json(json.loads(json.dumps(spread.to_json()))) == spread
        rows = settings_for(fields=fields).fields
        assert FieldSpace.of({row.name: row.value for row in rows}) == fields
        assert settings_for(fields={"v": dtype, "w": np.uint8}).fields == rows


def test_a_transfer_file_names_types() -> None:
    text = """
        space = {x = 4}
        fields = {v = "bfloat16", w = "(3,)int4", t = "<M8[ns]"}
        source = {memory = "node0.sys", layout = "<F, x>"}
        destination = {memory = "node1.sys", layout = "<x, F>"}
    """
    expected = FieldSpace.of({"v": ml_dtypes.bfloat16, "w": (ml_dtypes.int4, (3,)), "t": "M8[ns]"})
    assert load_transfer(tomllib.loads(text)).transfer.fields == expected
    assert str(expected) == "v: bfloat16, w: (3,)int4, t: <M8[ns]"


@pytest.mark.parametrize("text", ["bfloat16", "(3,)int4", "[('a', 'float8_e5m2')]", ">bfloat16"])
def test_a_type_of_a_package_that_is_not_installed_names_the_package(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # type: ignore[arg-type]
    with pytest.raises(SpaceError, match=r"field 'v': .*: pip install ml_dtypes"):
        FieldSpace(v=text)


@pytest.mark.parametrize(
    "text",
    [
        *("float9", "int4x", "float8_nothing", "[", "[('a', 'f4'", "[('a',)]", "{}", "(3,)", "[1]", "['f4']", "O", "\0"),
        *("[('a', 'O')]", "{'names': ['a'], 'formats': ['f4'], 'offsets': [-4]}", "[" * 1000, "V0", "", "os.x()"),
    ],
)  # fmt: skip
def test_what_is_no_type_is_told(text: str) -> None:
    with pytest.raises(SpaceError, match="field 'v'"):
        FieldSpace(v=text)


def test_numpy_expressions_can_be_pasted() -> None:
    for dtype in some_dtypes()[:60]:
        for fields in (FieldSpace(v=dtype), FieldSpace(v=dtype, w="u1")):
            array = eval(numpy_equivalent(Layout("<F, x>").on(IndexSpace(x=3), fields)).array, {"np": np, "ml_dtypes": ml_dtypes})
            assert array.nbytes == 3 * fields.nbytes


def test_literals_are_those_of_python() -> None:
    chosen = random.Random(7)

    def value(depth: int) -> Any:
        kind = chosen.randint(0, 7 if depth < 4 else 4)
        if kind < 5:
            return chosen.choice(
                [chosen.choice(NAMES), chosen.randint(-(10**9), 10**18), True, False, None, "tab\t\n", "\U0001f600"]
            )
        items = [value(depth + 1) for _ in range(chosen.randint(0, 4))]
        if kind == 5:
            return items
        return tuple(items) if kind == 6 else {chosen.choice(NAMES): item for item in items}

    for _ in range(20 * settings().max_examples):
        expected = value(0)
        for text in (repr(expected), ascii(expected), f" {expected!r}\n "):
            assert parse_literal(text) == expected == ast.literal_eval(text.strip())
    assert parse_literal("{'shape': (3L, np.int64(4), -5l,), 'f': np.False_, 'd': np.str_('<f4'), u\"e\": [True]}") == {
        "shape": (3, 4, -5), "f": False, "d": "<f4", "e": [True],
    }  # fmt: skip
    for wrong in (
        "",
        "(",
        "(1",
        "1 2",
        "f(1)",
        "os.x(1)",
        "np.f(1, 2)",
        "np.int64",
        "{1}",
        "{(1, 2): 3}",
        "[1,,2]",
        "'a",
        "3LL",
        "3j",
        "1.5",
    ):
        with pytest.raises(ValueError, match="at character"):
            parse_literal(wrong)
    with pytest.raises(ValueError, match="at character 64"):
        parse_literal("[" * 100 + "]" * 100)
