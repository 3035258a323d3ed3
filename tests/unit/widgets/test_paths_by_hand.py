"""Several paths by hand: shares and proxies become a plan, survive files and Python text, and mistakes name their path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from isoviz.errors import InputError
from isoviz.planner import plan
from isoviz.widgets import ByHand, PathShare
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.python_text import _by_hand_text
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.pages.state_of_plan import settings_of_plan
from isoviz.widgets.session import Session
from isoviz.widgets.state import State

MESH = EXAMPLES["gpu-mesh"].settings
OVER_3_AND_4 = ByHand(
    paths=(
        PathShare(1, ("node0.fbm0", "node0.fbm3", "node0.fbm7"), ("<F, x, y>",)),
        PathShare(3, ("node0.fbm0", "node0.fbm4", "node0.fbm7"), ("<F, x, y>",)),
        PathShare(0, ("node0.fbm0", "node0.fbm1", "node0.fbm5", "node0.fbm7"), ("<F, x, y>", "<F, x, y>")),
    )
)


@contextmanager
def session_with(by_hand: ByHand) -> Iterator[State]:
    session = Session(replace(MESH, by_hand=by_hand))
    try:
        session.demand("explorer")
        yield session.wait()
    finally:
        session.close()


def test_shares_divide_the_bytes() -> None:
    with session_with(OVER_3_AND_4) as state:
        made, machine = state.derived.plan, state.derived.machine
        assert made is not None and machine is not None and state.derived.problems == {}
        assert [path.memories for path in made.paths] == [path.path for path in OVER_3_AND_4.paths[:2]]
        assert made.paths[0].bytes / made.bytes == pytest.approx(0.25, abs=0.01)
        assert made.seconds > plan(made.transfer, machine, "multipath").seconds
        again = settings_of_plan(made, MESH.machine)
        assert again.by_hand is not None and len(again.by_hand.paths) == 2
    with session_with(again.by_hand) as state:
        assert state.derived.plan is not None and state.derived.plan.paths == made.paths, "a plan file opens as it was"


def test_a_mistake_names_its_path() -> None:
    wrong = replace(OVER_3_AND_4.paths[1], path=("node0.fbm0", "node9.sys", "node0.fbm7"))
    with session_with(ByHand(paths=(OVER_3_AND_4.paths[0], wrong))) as state:
        assert "Path 1" in state.derived.problems["by-hand-path"].message
    with session_with(ByHand(paths=(replace(wrong, share=0.0),))) as state:
        assert "a share above 0" in state.derived.problems["by-hand-path"].message
    with pytest.raises(InputError, match="share"):
        PathShare(-1, ())


def test_files_and_python_text_keep_the_paths() -> None:
    settings = replace(MESH, by_hand=OVER_3_AND_4)
    assert settings_in(session_text(settings), "a file").by_hand == OVER_3_AND_4
    assert eval(_by_hand_text(OVER_3_AND_4), {"ByHand": ByHand, "PathShare": PathShare}) == OVER_3_AND_4
    one = ByHand(paths=OVER_3_AND_4.paths[:1])
    assert eval(_by_hand_text(one), {"ByHand": ByHand, "PathShare": PathShare}) == one


@pytest.mark.parametrize("source", ["<x, F, y>", "<F, x, y>"])
def test_the_conversion_is_moved_to_another_hop(source: str) -> None:
    ends = {"source": ("node0.dsk", source), "destination": ("node0.sys", "<x, y, F>")}
    session = Session(
        settings_for(machine="two-node", space={"x": 64, "y": 48}, fields={"a": "f4", "b": "f8"}, planner="full", **ends)
    )
    session.demand("explorer")
    try:
        before = session.wait().derived.plan
        assert before is not None and [str(each) for each in before.paths[0].order_changes] == ["keeps", "converts"]
        session.send({"kind": "convert-at", "hop": 0})
        moved = session.wait().derived.plan
        assert moved is not None and moved.planner == "by hand"
        assert str(moved.paths[0].order_changes[0]) == "converts" and str(moved.paths[0].order_changes[1]) != "converts"
        session.send({"kind": "convert-at", "hop": 7})
        assert "expected a hop from 0 to 1, got 7" in str(session.wait().refused)
        session.undo()
        assert session.wait().derived.plan == before
    finally:
        session.close()
