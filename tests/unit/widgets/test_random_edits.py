"""Random commands, right and wrong: the state keeps to the contract, nothing breaks, and undo brings everything back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

from isoviz.machines import machine_to_json, preset
from isoviz.schema import mismatch
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.python_text import same_settings
from isoviz.widgets.chosen.session_file import session_text
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.commands.explorer_commands import Command, TextControl
from isoviz.widgets.contract import WIRE, Concerns
from isoviz.widgets.panes.pane_table import PANES
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot
from isoviz.widgets.state import is_of_other_transfer

START = settings_for(machine="two-node", space={"x": 16, "y": 8}, fields={"a": "float32", "b": "float64"})
KINDS = dict.fromkeys(kind for each in get_args(Command) for kind in get_args(get_type_hints(each)["kind"]))
LAYOUTS = (
    "<F, x, y>",
    "<x, y, F>",
    "<x_in=4, F, x_out, y>",
    "<x_in=4, y_in=2, F, x_out, y_out>",
    "<F, x",
    "hello",
    "",
    "<F, x, q>",
)
TEXTS = (
    "",
    "1",
    "8",
    "0",
    "-1",
    "x",
    "F",
    "<script>",
    "10" * 12,
    "1MiB",
    "float64",
    "S8",
    "ß\ud800",
    "a b",
    "auto",
    "full",
    "simple",
)
MEMORIES = ("node0.sys", "node0.dsk", "node1.fbm0", "node0.zcm", "nowhere")
DRAWN = machine_to_json(preset("laptop"))
CHANNELS = tuple(channel.name for channel in preset("two-node").channels)[:6]


def machine_edit(draw: random.Random) -> dict[str, Any]:
    """An edit of the machine by hand, right or wrong."""
    memory, channel = draw.choice(MEMORIES), draw.choice((*CHANNELS, "nowhere"))
    number, text = draw.choice([0.0, -1.0, 1.0, 4096.0, 1e9, 1e300]), draw.choice((*TEXTS, "2 GB/s", "4 GiB", "3 us"))
    place = [[memory, [number, draw.choice([0.0, 50.0, -1e6])]]]
    edits: list[dict[str, Any]] = [
        {"do": "new"},
        {"do": "name-machine", "value": text},
        {
            "do": "add-memory", "memoryKind": draw.choice(["SYS", "FBM", "ODD"]), "node": draw.choice([0, 1, 7]), "place": None,
            "within": draw.choice([[], ["socket 0"], ["socket 0", "GPU 1"], ["a/b"]]),
            "positions": place,
        },
        {
            "do": "set-memory", "memory": memory, "value": text,
            "field": draw.choice(["name", "kind", "node", "capacity", "slot-limit", "label"]),
        },
        {"do": "emulate", "memories": [memory], "on": draw.random() < 0.5},
        {"do": "place", "positions": place, "goesOn": draw.random() < 0.5},
        {"do": draw.choice(["arrange", "add-node"])},
        {"do": "delete", "memories": [memory], "channels": [channel], "resources": [text]},
        {
            "do": draw.choice(["copy-node", "delete-node"]), "node": draw.choice([0, 1, 5]),
            "value": draw.choice(["", "1", "3", "lots"]),
        },
        {
            "do": "connect", "source": memory, "destination": draw.choice(MEMORIES),
            "channelKind": draw.choice(["", "Memcpy", "ODD"]),
        },
        {
            "do": "set-channel", "channel": channel, "value": text,
            "field": draw.choice(["name", "kind", "bandwidth", "latency", "setup"]),
        },
        {"do": "set-use", "channel": channel, "resource": text, "weight": draw.choice([None, "1", "-1"])},
        {"do": "add-resource", "channel": channel},
        {"do": "set-resource", "resource": text, "field": draw.choice(["name", "capacity", "held"]), "value": text},
        {"do": "set-point", "channel": channel, "point": draw.choice([0, 3, 99]), "run": number, "rate": number},
        {"do": "add-point", "channel": channel, "run": number, "rate": draw.choice([None, number])},
        {"do": "remove-point", "channel": channel, "point": draw.choice([0, 3, 99])},
        {"do": "fly"},
    ]  # fmt: skip
    return draw.choice(edits)


def command(draw: random.Random, rows: list[int]) -> dict[str, Any]:
    """A command as a browser might send it."""
    kind = draw.choice([kind for kind in KINDS if kind not in ("run", "cancel", "measure", "use-local")])
    if kind == "set":
        field = draw.choice(
            [*get_args(TextControl), "dimension-name", "dimension-size", "field-name", "field-dtype",
             "transfer-name", "transfer-priority", "transfer-begin"]
        )  # fmt: skip
        texts = LAYOUTS if field.endswith("layout") else MEMORIES if field.endswith("memory") else TEXTS
        value = draw.choice(("sapling", "two-node", "laptop", "nowhere")) if field == "machine" else draw.choice(texts)
        row = {"row": draw.choice(rows)} if field.partition("-")[0] in ("dimension", "field") else {}
        row |= {"transfer": draw.choice([1, 2, 3])} if field.startswith("transfer-") else {}
        return {"kind": "set", "field": field, "value": value, **row}
    more: dict[str, Callable[[], dict[str, Any]]] = {
        "describe-machine": lambda: {"machine": draw.choice([DRAWN, {"name": "half"}])},
        "open-machine": lambda: {"name": "m.json", "text": draw.choice([json.dumps(DRAWN), "<html>"])},
        "open-session": lambda: {"name": "s.json", "text": draw.choice([session_text(START), "{}"])},
        "example": lambda: {"value": draw.choice(["small", "transpose", "none"])},
        "remove-dimension": lambda: {"row": draw.choice(rows)},
        "remove-field": lambda: {"row": draw.choice(rows)},
        "export": lambda: {"what": "python"},
        "part": lambda: {
            "part": {
                "ranges": [
                    {"row": row, **{name: draw.choice(["", "0", "4", "x"]) for name in ("first", "extent", "to")}} for row in rows
                ],
                "leftOut": draw.choice([[], rows[-1:], rows]),
            },
            "control": draw.choice(["box", "fields"]),
        },
        "edit-transfer": lambda: {"transfer": draw.choice([1, 2, 3])},
        "copy-transfer": lambda: {"transfer": draw.choice([1, 2, 3])},
        "remove-transfer": lambda: {"transfer": draw.choice([1, 2, 3])},
        "edit-machine": lambda: {"edit": machine_edit(draw)},
        "what-if": lambda: {
            "whatIf": {
                "bandwidths": draw.choice([[], [[draw.choice((*CHANNELS, "nowhere")), draw.choice([0.0, 1e6, 1e12, -1.0])]]]),
                "slotLimit": draw.choice([None, 0, 1, 1 << 20]),
                "sizes": draw.choice([[], [["x", 64]], [["q", 4]], [["y", 0]]]),
                "reuse": draw.choice([None, 0, 1, 1000]),
                "capacities": draw.choice([[], [["nothing", 0.5]], [["node0.memory", -1.0]]]),
            },
            "moving": draw.random() < 0.5,
        },
        "by-hand": lambda: {
            "part": "byHand",
            "byHand": draw.choice([
                None,
                {
                    "path": draw.choice([[], [CHANNELS[0]], list(CHANNELS[:3]), ["nowhere"]]),
                    "layouts": draw.choice([[], ["<F, x, y>"], ["<x", "<y, x, F>"]]),
                    "chunk": draw.choice(["", "1 KiB", "many", "-4"]),
                    "target": draw.choice([None, 1e9, -1.0]),
                },
            ]),
        },
        "watch": lambda: {"views": draw.choice([[], ["plan", "why"], ["timeline", "machine"], ["nothing"]])},
        "steps": lambda: {"first": draw.choice([0, 10, -1, 10**9])},
        "trace": lambda: {"which": draw.choice(["simulated", "stored", "measured", "given"])},
        "note": lambda: {"run": draw.choice(["1", "nowhere"]), "note": draw.choice(TEXTS)},
        "select": lambda: {
            "selection": {
                "entry": draw.choice([None, {"index": [["x", draw.randrange(20)], ["y", 1]], "field": "a"}]),
                "chunk": draw.choice([None, 0, -1, 10**6]), "time": draw.choice([None, 0.0, 1e9]),
                "stop": draw.choice([None, 0, 9]), "hop": draw.choice([None, None, 0]),
            }
        },
    }  # fmt: skip
    return {"kind": kind, **more.get(kind, dict)()}


@pytest.mark.parametrize("seed", [*range(3), *[pytest.param(seed, marks=pytest.mark.full) for seed in range(3, 6)]])
def test_nothing_breaks_and_undo_brings_everything_back(seed: int) -> None:
    draw = random.Random(seed)
    session = Session(START)
    session.wait()
    for number in range(150):
        rows = [row.key for row in (*session.settings.dimensions, *session.settings.fields)] or [1]
        session.send({**command(draw, rows), "client": "a", "number": number})
        if number % 5 == 4:
            state = session.wait(120)
            assert state.defect == ""
            told: dict[str, Any] = json.loads(json.dumps(snapshot(state, number, session.name), allow_nan=False))
            panes = told.pop("panes")
            assert mismatch(told, Concerns, WIRE) is None
            json.dumps(told, ensure_ascii=False).encode()  # as Jupyter sends it
            for name, pane in PANES.items():
                assert mismatch(panes[name], get_type_hints(pane.part)["return"], WIRE) is None, name
            assert told["frame"]["acknowledged"] == {"a": number}
            if session.plan is not None:
                assert all(is_of_other_transfer(control) for control in state.derived.problems)
                assert same_settings(state.derived.settings, state.settings)
    for _ in range(len(session.state.past)):
        session.undo()
    assert session.wait().settings == START
    session.close()


def test_every_example_is_planned() -> None:
    for name, example in EXAMPLES.items():
        if example.settings.machine.name != "local":
            session = Session(example.settings)
            assert session.wait().derived.problems == {}, name
            assert session.plan is not None, name
            session.close()
