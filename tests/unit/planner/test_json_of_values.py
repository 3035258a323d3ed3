"""Values as JSON: each is made again from its object or its text, and what is wrong with one is told with its place."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

import isoviz
from isoviz.errors import InputError, IsovizError, MachineError, TransferError
from isoviz.planner import Explanation, LayoutChoice, plan_of_paths

SPACE, FIELDS = isoviz.IndexSpace(x=64, y=32), isoviz.FieldSpace(re="f4", im="f8")
WHOLE = isoviz.Transfer.whole(
    SPACE, FIELDS, source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<y, x_in=8, F, x_out>")
)
PART = isoviz.Transfer(WHOLE.source, WHOLE.destination, (8, 16), (8, 0), (0, 4), ("im",), 3)
GPUS = "node0.fbm0"


def several() -> isoviz.Plan:
    upper = {"y": (0, 16)}, ["node0.fbm0", "node0.zcm", "node0.reg", "node1.zcm", "node1.fbm0"]
    return plan_of_paths(PLAIN, "two-node", [upper, ({"y": (16, 32)}, upper[1])])


PLAIN = isoviz.Transfer.whole(SPACE, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, x, y>")


def choice() -> LayoutChoice:
    uses = [isoviz.Use.from_("node1.fbm0", "<F, x, y>"), isoviz.Use.along("y", weight=2.5, shape={"x": 1}, fields=("im",))]
    return isoviz.find_layout(SPACE, FIELDS, GPUS, uses, "two-node", most_plans=12)


VALUES: dict[str, Callable[[], Any]] = {
    "a transfer": lambda: WHOLE,
    "a part": lambda: PART,
    "a plan": lambda: isoviz.plan(WHOLE, "two-node"),
    "a plan of several paths": several,
    "a machine": lambda: isoviz.preset("bgq"),
    "a measured machine": lambda: isoviz.preset("local", measure="assumed"),
    "a layout choice": choice,
    "an explanation": lambda: isoviz.explain(WHOLE, "two-node", crossovers=1),
    "an explanation by hand": lambda: isoviz.cost(WHOLE, "two-node", PATH, over_limits=True, options=SMALL).explain(
        options=SMALL
    ),
    "an explanation of several paths": lambda: isoviz.explain(PLAIN, "two-node", "multipath"),
    "an explanation by the program": lambda: isoviz.explain(WHOLE, "two-node", "program"),
}
PATH = ["node0.fbm0", "node0.zcm", "node0.reg", "node1.zcm", "node1.fbm0"]
SMALL = isoviz.Options(slot_limit=256)


@cache
def value_of(name: str) -> Any:
    return VALUES[name]()


ERRORS = {
    isoviz.Transfer: TransferError,
    isoviz.Plan: TransferError,
    isoviz.Machine: MachineError,
    LayoutChoice: InputError,
    Explanation: InputError,
}


SLOW = "an explanation of several paths"
NAMES = [pytest.param(name, marks=[pytest.mark.full] * (name == SLOW)) for name in VALUES]


@pytest.mark.parametrize("name", NAMES)
def test_a_value_is_made_again_from_its_object_and_from_its_text(name: str) -> None:
    value = value_of(name)
    data = value.to_json()
    text = json.dumps(data, allow_nan=False)
    for given in (data, text):
        again = type(value).from_json(given)
        assert again == value and type(again) is type(value)
        assert again.to_json() == json.loads(text)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each part of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from places(each, (*path, key))


def made(kind: Any, data: Any) -> Any:
    """The value of a document, or the error that it is refused with."""
    try:
        return kind.from_json(data)
    except IsovizError as error:
        return error


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**40,
    "",
    "<",
    "node9.sys",
    [],
    {},
    [None],
    {"a": []},
    float("nan"),
    float("inf"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_document_is_refused_with_its_place_or_is_another_value(name: str, full: bool) -> None:
    value = value_of(name)
    kind, data = type(value), json.loads(json.dumps(value.to_json()))
    chosen = random.Random(name)
    ways = list(places(data))
    keys = {key for way in ways for key in way if isinstance(key, str)}
    known = keys | {word.removesuffix("s") for key in keys for word in key.split("_")}
    refused = 0
    for _ in range(400 if full else 25):
        wrong, way = copy.deepcopy(data), chosen.choice(ways)
        at = wrong
        for key in way[:-1]:
            at = at[key]
        if chosen.random() < 0.3:
            del at[way[-1]]
        else:
            at[way[-1]] = chosen.choice(WRONG)
        found = made(kind, wrong)
        if isinstance(found, IsovizError):
            refused += 1
            said = str(found)
            assert isinstance(found, ERRORS[kind]) and "\n" not in said and len(said) < 600, (way, found)
            assert known & set(re.findall(r"\w+", said)), (way, said)
        else:
            assert kind.from_json(found.to_json()) == found, way
    assert refused > 8


@pytest.mark.parametrize("name", ["a transfer", "a plan", "a machine", "a layout choice", "an explanation"])
@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", "7", '{"a": 1}', "[" * 100_000, '{"a": ' * 5000, "[" * 600_000, "9" * 5000]
)
def test_a_text_that_is_none_of_them(name: str, text: str) -> None:
    kind = type(value_of(name))
    with pytest.raises(ERRORS[kind], match=r"JSON|expected|missing|unknown key|nested|brackets|digits"):
        kind.from_json(text)


def test_a_plan_from_the_text_of_a_saved_one_knows_its_machine(tmp_path: Any) -> None:
    machine = isoviz.Machine("mine", isoviz.preset("two-node").memories, isoviz.preset("two-node").channels, provenance="drawn")
    isoviz.plan(WHOLE, machine).save(tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    digest = machine.digest
    plan = isoviz.Plan.from_json(text)
    assert plan.simulate().seconds == pytest.approx(plan.seconds)
    with pytest.raises(TransferError, match=r"plan\.machine_file: machine 'mine' is not the one"):
        isoviz.Plan.from_json(text.replace(digest, "0" * 64))
    with pytest.raises(TransferError, match=r"plan\.machine_file: memories\[0\]\.kind"):
        isoviz.Plan.from_json(text.replace('"kind": "', '"kind": "No'))


def test_the_ends_of_a_transfer_as_pairs() -> None:
    positions = isoviz.Transfer.whole(SPACE, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<y, x_in=8, F, x_out>", 2)
    layout = isoviz.Layout("<F, x, y>")
    pairs = isoviz.Transfer.whole(
        SPACE, FIELDS, source=("node0.fbm0", layout), destination=("node1.fbm0", WHOLE.destination.layout), priority=2
    )
    assert pairs == positions != WHOLE


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"source": "node0.sys", "destination": ("node1.sys", "<F, x, y>")}, "source=('node0.sys', '<F, x>'), got 'node0.sys'"),
        ({"source": ("node0.sys", "<F, x, y>")}, "destination=('node0.sys', '<F, x>'), got None"),
        (
            {"source": ("node0.sys",), "destination": ("node1.sys", "<F, x, y>")},
            "transfer, source: expected a memory and a layout",
        ),
        ({"source": ("node0.sys", "<F, x, y>"), "source_layout": "<F, x, y>", "destination": ("a", "b")}, "got a list"),
        ({"source": (1, "<F, x, y>"), "destination": ("node1.sys", "<F, x, y>")}, "transfer, source: expected a memory"),
        ({"source": ("node0.sys", "<F, x, y>"), "destination": ("node1.sys", "<F, x>")}, "dimension 'y'"),
    ],
)
def test_ends_that_are_no_memory_with_a_layout(ends: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        isoviz.Transfer.whole(SPACE, FIELDS, **ends)
    assert words in str(caught.value)
