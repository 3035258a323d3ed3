"""Dimensions, fields, memories and channels with the names of what every object of a browser has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from html_cases import check_saved_page

import isoviz
from isoviz.machines import Channel, Constant, Machine, Memory
from isoviz.widgets import Session
from isoviz.widgets.chosen.python_text import same_settings
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.pages.plan_page import state_page
from isoviz.widgets.snapshot import snapshot

SRC = Path(__file__).parents[3] / "widgets" / "src"
ODD = (
    "constructor", "__proto__", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable",
    "toLocaleString", "__defineGetter__", "__lookupSetter__", "prototype", "toJSON", "then", "length", "_", "é" * 90,
)  # fmt: skip


def machine_of(one: str, other: str) -> Machine:
    memories = (Memory(one, "SYS", 0), Memory(other, "REG", 0))
    pairs = ((one, other), (other, one), (one, one), (other, other))
    return Machine("odd", memories, tuple(Channel(f"{a}->{b}", "Memcpy", a, b, Constant(1e9)) for a, b in pairs))


@pytest.fixture(params=range(0, len(ODD), 2))
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    x, y = ODD[request.param], ODD[request.param + 1]
    made = Session(
        settings_for(
            machine=machine_of(x, y), space={x: 16, y: 8}, fields={y: "float32", x: "float64"},
            source=(x, f"<F, {x}, {y}>"), destination=(y, f"<{y}, {x}, F>"),
        )
    )  # fmt: skip
    yield made
    made.close()


def keys_in(value: object) -> Iterator[str]:
    """The keys of all objects in plain JSON."""
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(each)


@pytest.mark.few(3)
def test_no_object_that_a_browser_gets_has_them_as_keys(session: Session) -> None:
    session.demand("explorer")
    session.demand("machine")
    state = session.wait()
    assert state.derived.problems == {} and state.derived.plan is not None
    x, y = (row.name for row in state.settings.dimensions)
    session.send({"kind": "select", "selection": {
        "entry": {"index": [[x, 3], [y, 4]], "field": x}, "chunk": None, "time": None, "stop": None, "hop": 0,
    }})  # fmt: skip
    session.send({"kind": "what-if", "moving": False, "whatIf": {
        "bandwidths": [[state.derived.plan.hops[0].channel, 2e9]], "slotLimit": None, "sizes": [[x, 32], [y, 8]],
        "reuse": None, "capacities": [],
    }})  # fmt: skip
    state = session.wait()
    assert state.refused is None
    told = json.loads(json.dumps(snapshot(state, 1)))
    assert told["selected"]["selection"]["entry"]["index"] == [[x, 3], [y, 4]]
    assert told["panes"]["what_if"]["whatIf"]["sizes"] == [[x, 32], [y, 8]]
    assert not {*keys_in(told)} & ({*ODD} - {"length"})
    page: Any = check_saved_page(state_page(state))
    assert not {*keys_in(page.content)} & ({*ODD} - {"length"})


@pytest.mark.few(3)
def test_session_files_have_them(session: Session) -> None:
    settings = session.settings
    assert same_settings(settings_in(session_text(settings), "a file"), settings)


@pytest.mark.few(2)
def test_what_the_code_asked_for_can_be_begun_afresh(session: Session) -> None:
    begun = session.settings
    row = begun.dimensions[0].key
    session.send({"kind": "set", "field": "dimension-name", "row": row, "value": "hasOwnProperty_"})
    session.send({"kind": "example", "value": "transpose"})
    assert session.wait().settings != begun
    session.send({"kind": "begin-afresh"})
    assert session.wait().settings == begun
    session.undo()
    assert session.wait().settings != begun, "a step like any other"


def test_a_session_file_is_opened_and_begun_afresh(tmp_path: Path) -> None:
    explorer = isoviz.explore(space={"__proto__": 8, "constructor": 6}, fields={"__proto__": "float32"})
    try:
        explorer.session.save(tmp_path / "odd.json")
        again = isoviz.explore(session=tmp_path / "odd.json")
        assert same_settings(again.session.settings, explorer.session.settings)
        again.close()
    finally:
        explorer.close()


OF_THE_HOUSE = {
    "model/types.ts": "problems by control, commands by view, a machine as JSON",
    "model/connection.ts": "members of a trait",
    "model/layouts/notation.ts": "brackets",
    "model/selection.ts": "symbols of the page",
    "model/trace/trace-data.ts": "types and columns of a trace",
    "loader.ts": "imports by part",
    "panes/parts/timeline.tsx": "problems by kind of trace",
    "views/inspector/descriptors.tsx": "keys of the keyboard",
    "views/linearization/view.tsx": "source and destination",
    "views/plan/region.tsx": "keys of the keyboard",
    "views/plan/winner-map.tsx": "properties of a style",
    "views/vortex/curve.tsx": "names of lines",
    "views/vortex/switch-view.tsx": "words of options",
    "views/timeline/timeline.tsx": "keys of the keyboard",
    "app/offline/page-content.ts": "traits, symbols of the page",
    "app/offline/static-model.ts": "traits, commands as text",
    "lib/svg.ts": "attributes",
    "lib/recorder.ts": "methods of a canvas",
}
"""Files of the browser half with objects as tables, and what their keys are: names of the house, each for a reason."""
TABLE = re.compile(r"\bRecord<(string|symbol),|Object\.fromEntries\(|\[\w+: string\]:|[{,] \[\w+(\.\w+)+\]: ")


def test_no_object_of_the_browser_half_has_names_of_users_as_keys() -> None:
    found = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.ts*") if TABLE.search(path.read_text(encoding="utf-8"))}
    assert found == set(OF_THE_HOUSE), "a table by names of users is a Map: see model/by-name.ts"
    types = (SRC / "model" / "types.ts").read_text(encoding="utf-8")
    assert {*re.findall(r"(\w+): Record<string", types)} == {"problems", "acknowledged", "machine"}
