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
from isoviz.widgets.panes.why_pane import elsewhere_part
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


def test_what_converting_elsewhere_takes_is_what_the_plan_by_hand_takes() -> None:
    session = Session(EXAMPLES["two-node"].settings)
    session.demand("elsewhere")
    try:
        made = session.wait().derived.plan
        assert made is not None
        found = session.until(lambda state: (part := elsewhere_part(state)) is not None and part["done"], 60.0, 0.0)
        part = elsewhere_part(found)
        assert part is not None and part["isOfPlan"] and len(part["seconds"]) == len(made.hops)
        own = [str(each) for each in made.paths[0].order_changes].index("converts")
        assert part["seconds"][own] == made.seconds
        for hop, seconds in enumerate(part["seconds"]):
            if hop == own:
                continue
            session.send({"kind": "convert-at", "hop": hop})
            moved = session.wait().derived.plan
            assert moved is not None
            changes = [str(each) for each in moved.paths[0].order_changes]
            assert changes[hop] == "converts" and changes.count("converts") == 1
            assert seconds == pytest.approx(moved.seconds, rel=1e-9)
            session.undo()
            session.wait()
    finally:
        session.close()


@pytest.mark.parametrize("example", ["gpu-mesh", "lattice"])
def test_several_paths_or_none_that_converts_have_nothing_to_convert_elsewhere(example: str) -> None:
    session = Session(EXAMPLES[example].settings)
    session.demand("elsewhere")
    try:
        state = session.until(lambda state: elsewhere_part(state) is not None, 60.0, 0.0)
        assert elsewhere_part(state) == {"seconds": [], "done": True, "isOfPlan": True}
    finally:
        session.close()
