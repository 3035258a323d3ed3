"""The script in parts: what a notebook keeps, what a view is sent, and what a page may ask for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import isoviz
from isoviz.widgets import Explorer, explorer
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.script import LOADER, SCRIPTS, message_of, parts_of_view

STATIC = Path(isoviz.__file__).parent / "widgets" / "static"
HASH = json.loads((STATIC / "parts.json").read_bytes())["hash"]


class Told(Explorer):
    """An explorer that keeps what it sends to the page."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.told: list[tuple[Any, list[bytes]]] = []
        super().__init__(*given, **options)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.told.append((content, list(buffers or [])))


def test_the_state_of_a_view_has_the_loader_and_no_more_script() -> None:
    view = Explorer(pane="layout-editor")
    try:
        state = view.get_state()
    finally:
        view.close()
    assert state["_esm"] == LOADER
    assert len(LOADER.encode()) <= 8192
    assert len(json.dumps(state)) < 12_000
    assert "_css" not in state


@pytest.mark.parametrize("pane", VIEWS)
def test_what_a_view_needs_first_is_complete(pane: str) -> None:
    """Every import of a part that is sent names a part that is sent with it."""
    message, buffers = message_of(parts_of_view(pane))
    sent = dict(zip(message["names"], buffers, strict=True))
    assert {"core.js", "explorer.js", "explorer.css"} <= set(sent)
    for name, content in sent.items():
        assert content == (STATIC / name).read_bytes()
        imported = re.findall(r'(?:from|import)\s*"\./([\w-]+\.js)"', content.decode())
        assert set(imported) <= set(sent), name
    assert (f"{pane}.js" in sent) == (f"{pane}.js" in SCRIPTS)


def test_parts_are_sent_unasked_once_and_to_each_page_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "is_in_kernel", lambda: True)
    monkeypatch.setattr(explorer, "_sent", set())
    views = [Told(pane="machine"), Told(pane="machine"), Told(pane="why")]
    try:
        names = [[name for message, _ in view.told for name in message["names"]] for view in views]
        assert {"core.js", "machine.js"} <= set(names[0]) and "why.js" not in names[0]
        assert names[1] == [], "the page has it"
        assert "why.js" in names[2] and "core.js" not in names[2]
        ask = {"kind": "parts", "hash": HASH, "names": ["core.js", "../script.py", 7]}
        views[1]._receive(views[1], ask, [])
        ((message, buffers),) = views[1].told
        assert message == {"kind": "parts", "hash": HASH, "names": ["core.js"]}
        assert buffers == [(STATIC / "core.js").read_bytes()]
        views[1]._receive(views[1], {**ask, "hash": "another version"}, [])
        views[1]._receive(views[1], {**ask, "names": "core.js"}, [])
        assert len(views[1].told) == 1
        assert views[1].session.state.refused is None, "the session is not asked for scripts"
    finally:
        for view in views:
            view.close()
