"""One number has one value wherever it stands: in the explorer, in the picture for viewers without a kernel, page and text."""

from __future__ import annotations

import re
from html import unescape

import pytest
from given.questions import answer_to

from isoviz.units import format_bytes, format_rate, format_seconds
from isoviz.widgets import EXAMPLES, Session
from isoviz.widgets.notebook.static_picture import StaticPicture
from isoviz.widgets.panes.plan_pane import plan_part
from isoviz.widgets.state import State


def words_of(html: str) -> str:
    """What a reader sees of a page, without its pictures."""
    visible = re.sub(r"<(svg|style|script|title)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", visible))).replace("\u00a0", " ")


def texts_of(state: State, session: Session) -> dict[str, str]:
    """The plan as every place tells it."""
    shown = StaticPicture(session, "token")._repr_mimebundle_()
    page = answer_to({"kind": "export", "what": "page", "client": "view", "number": 0}, state).message
    assert page["error"] == ""
    return {
        "text": re.sub(r"\s+", " ", str(state.derived.plan)),
        "picture": words_of(shown["text/html"]),
        "picture as text": re.sub(r"\s+", " ", shown["text/plain"]),
        "page": words_of(page["text"]),
    }


@pytest.mark.parametrize(
    "example", [*(pytest.param(name, marks=pytest.mark.full) for name in ("two-node", "tensor")), "transpose"]
)
def test_figures_of_a_plan(example: str) -> None:
    session = Session(EXAMPLES[example].settings)
    try:
        state = session.wait()
        part = plan_part(state)
        assert part is not None
        plan = state.derived.plan
        assert plan is not None
        figures = [format_bytes(part["bytes"]), format_seconds(part["seconds"]), format_rate(part["throughput"])]
        (path,) = part["paths"]
        told = texts_of(state, session)
        for place, text in told.items():
            for figure in figures:
                assert figure in text, f"{place} does not say {figure}"
        for hop in path["hops"]:
            for place in ("text", "page"):
                for figure in (format_bytes(hop["run"]), format_rate(hop["rate"])):
                    assert figure in told[place], f"{place} does not say {figure} of hop {hop['index']}"
                if hop["shuffle"] is not None:
                    assert format_bytes(hop["shuffle"]) in told[place], f"{place}: shuffle of hop {hop['index']}"
        rows = [line for line in str(plan).splitlines() if re.match(r"\s+\d+  \S+\.", line)]
        assert [("–" in row) for row in rows] == [hop["shuffle"] is None for hop in path["hops"]]
    finally:
        session.close()
