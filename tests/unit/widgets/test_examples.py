"""The examples: what the explorer begins with, pictures, and the plan of a paper beside the planner's."""

from __future__ import annotations

from dataclasses import replace

import pytest

import isoviz
from isoviz.layouts import Layout
from isoviz.widgets import EXAMPLES, ByHand, Session
from isoviz.widgets.chosen.examples import OPENING
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.panes.plan_pane import plan_part, planned_part


def test_the_explorer_begins_with_a_picture_and_with_arguments_with_what_they_change() -> None:
    bare = isoviz.explore(restore=False)
    given = isoviz.explore(space={"x": 64, "y": 32}, restore=False)
    try:
        assert bare.session.settings == OPENING == EXAMPLES["picture"].settings
        assert [row.name for row in bare.session.settings.fields] == ["red", "green", "blue"]
        assert given.session.settings.fields == Settings().fields
    finally:
        bare.close()
        given.close()


def test_names_of_examples_stay() -> None:
    known = (
        "file-to-memory transpose tile small two-node tensor torus-pair gpu-mesh two-nics lattice one-sided vortex-transpose "
        "vortex-infiniband"
    )
    assert set(known.split()) <= EXAMPLES.keys()


@pytest.mark.parametrize("name", ["picture", "picture-turned", "tile"])
def test_pictures_are_planned_on_this_computer_and_their_bytes_turn(name: str) -> None:
    session = Session(EXAMPLES[name].settings)
    try:
        plan = session.wait().derived.plan
        assert plan is not None and not plan.emulated
        assert len(plan.hops) > 1 and [hop.converts for hop in plan.hops].count(True) == 1
        assert all(memory.startswith("node0.") for memory in plan.every_memory)
    finally:
        session.close()


def test_the_plan_of_the_paper_is_that_of_its_table_and_a_faster_one_stands_beside_it() -> None:
    session = Session(EXAMPLES["isometry"].settings)
    try:
        state = session.wait()
        plan, part, planned = state.derived.plan, plan_part(state), planned_part(state)
        assert plan is not None and part is not None and planned is not None
        # Isometry, section 4.3 and table 3: the path, the blocks 2K x 1K, 16 bytes, 32 MB for a chunk, 3 GB/s in all
        assert plan.only.memories == ("node0.fbm0", "node0.zcm", "node0.reg", "node1.reg", "node1.fbm0")
        rows, columns = "<F, x_in=2048, y_in=1024, x_out, y_out>", "<F, y_in=1024, x_in=2048, x_out, y_out>"
        layouts = [Layout(hop.destination_layout) for hop in plan.hops[:-1]]
        assert layouts == [Layout(rows), Layout(columns), Layout(columns)]
        assert [hop.request_bytes for hop in plan.hops] == [16 * 2048, 16, 32 << 20, 16 * 1024]
        assert [hop.converts for hop in plan.hops] == [False, True, False, False] and plan.only.shuffles[1] == 32 << 20
        assert plan.throughput == pytest.approx(3e9) and not plan.violations
        assert plan.only.slowest >= {2}, "the network"
        assert part["planner"] == "by hand" and planned["planner"] == "full"
        assert 1.05 < part["seconds"] / planned["seconds"] < 1.08, "the planner's is faster, by a few percent"
        assert state.settings.by_hand is not None and state.settings.by_hand.name == "The paper's plan"
        faster = Session(EXAMPLES["two-node"].settings)
        alone = faster.wait()
        assert plan_part(alone)["seconds"] == planned["seconds"] and planned_part(alone) is None  # type: ignore[index]
        faster.close()
        session.send({"kind": "by-hand", "part": "", "byHand": None, "client": "a", "number": 1})
        state = session.wait()
        assert plan_part(state)["seconds"] == planned["seconds"] and planned_part(state) is None  # type: ignore[index]
        session.send({"kind": "undo", "client": "a", "number": 2})
        assert session.wait().settings == EXAMPLES["isometry"].settings, "one click back"
    finally:
        session.close()


def test_a_plan_that_was_edited_has_the_name_no_more() -> None:
    session = Session(EXAMPLES["isometry"].settings)
    try:
        by_hand = session.settings.by_hand
        assert by_hand is not None
        edited = {"path": by_hand.path, "layouts": by_hand.layouts, "chunk": "64MiB", "target": None, "paths": [], "name": "mine"}
        session.send({"kind": "by-hand", "part": "chunk", "byHand": edited, "client": "a", "number": 1})
        state = session.wait()
        assert state.settings.by_hand == replace(by_hand, chunk="64MiB", name="")
        assert planned_part(state) is not None
    finally:
        session.close()


def test_a_name_is_a_text() -> None:
    with pytest.raises(isoviz.errors.InputError, match="path by hand, name"):
        ByHand(("a",), name=3)  # type: ignore[arg-type]
