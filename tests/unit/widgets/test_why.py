"""The plan explained, what is tried on it, and the plan by hand: the session against the planner itself."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from given.sessions import session_fixture

import isoviz
from isoviz.errors import InputError
from isoviz.machines import Machine, preset
from isoviz.planner import Options, Plan
from isoviz.planner.explanation.constraints import constraints_of
from isoviz.planner.explanation.curves import sweeping
from isoviz.planner.explanation.curves.scaling import resized
from isoviz.planner.explanation.curves.winner_map import map_text
from isoviz.planner.explanation.rivals import crossover_steps, crossovers_of, with_bandwidth
from isoviz.planner.problem import Problem
from isoviz.schema import named, plain
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.python_text import python_text, same_settings
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import ByHand, Part, Range, Settings, settings_for
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot

SETTINGS = settings_for(
    machine="two-node", space={"x": 1024, "y": 1024}, fields={"value": "complex128"}, planner="full",
    source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"),
)  # fmt: skip
MACHINE = preset("two-node")
SPACE, FIELDS = isoviz.IndexSpace(x=1024, y=1024), isoviz.FieldSpace(value="complex128")
TRANSFER = isoviz.Transfer.whole(SPACE, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
PATH = ("node0.fbm0->node0.zcm", "node0.zcm->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.fbm0")
"""The path of Isometry, section 4.3, table 3."""
FULL = Options(planner="full")


def layouts(x_in: int, y_in: int) -> tuple[str, ...]:
    """The layouts of its buffers."""
    columns = f"<F, y_in={y_in}, x_in={x_in}, x_out, y_out>"
    return f"<F, x_in={x_in}, y_in={y_in}, x_out, y_out>", columns, columns


session = session_fixture(SETTINGS, "why")


def panes(session: Session) -> Any:
    return snapshot(session.wait(), 1)["panes"]


def by_hand(session: Session, hand: ByHand | None, part: str = "") -> None:
    session.send({"kind": "by-hand", "part": part, "byHand": plain(hand)})


def tried(
    bandwidths: dict[str, float],
    slot: int | None = None,
    sizes: dict[str, int] | None = None,
    reuse: int | None = None,
    capacities: dict[str, float] | None = None,
) -> dict[str, Any]:
    """The command that tries these changes."""
    return {
        "kind": "what-if",
        "moving": False,
        "whatIf": {
            "bandwidths": named(bandwidths),
            "slotLimit": slot,
            "sizes": named(sizes or {}),
            "reuse": reuse,
            "capacities": named(capacities or {}),
        },
    }


# ---- the explanation


def test_it_explains_as_explain_does(session: Session) -> None:
    why = panes(session)["why"]
    known = isoviz.explain(TRANSFER, MACHINE, options=FULL)
    assert why["isOfPlan"]
    assert not why["byHand"]
    assert [each["channels"] for each in why["candidates"]] == [list(each.channels) for each in known.candidates][:12]
    assert [each["seconds"] for each in why["candidates"]] == [each.seconds for each in known.candidates][:12]
    assert why["moreCandidates"] == max(0, len(known.candidates) - 12)
    assert why["optimum"] == known.solution.throughput
    assert (why["gap"], why["beaten"], why["proved"]) == (known.gap, known.beaten, known.proved)
    rates = [row for row in why["constraints"] if row["kind"] == "throughput"]
    assert [row["bound"] for row in rates] == [hop.throughput for hop in known.plan.hops]
    binding = {row.hop for row in known.solution.binding if row.kind == "throughput"}
    assert {row["hop"] for row in rates if row["binding"]} == binding
    prices = {row.hop: row.price_up for row in known.solution.rows if row.kind == "throughput"}
    assert {row["hop"]: row["price"] for row in rates} == prices


def test_it_is_computed_only_while_somebody_looks() -> None:
    session = Session(SETTINGS)
    session.demand("explorer")
    try:
        assert panes(session)["why"] is None
        session.send({"kind": "watch", "views": ["why"], "client": "a", "number": 1})
        assert panes(session)["why"]["isOfPlan"]
    finally:
        session.close()


def test_candidates_that_take_as_long_are_ties() -> None:
    """A machine in which two channels differ by their names alone."""
    twin = replace(MACHINE.channel("node0.reg->node1.zcm"), name="a twin")
    machine = replace(MACHINE, channels=(*MACHINE.channels, twin))
    session = Session(settings_for(start=SETTINGS, machine=machine))
    session.demand("why")
    try:
        candidates = panes(session)["why"]["candidates"]
        known = isoviz.explain(TRANSFER, machine, options=FULL).candidates
        ties = [other.seconds is not None and abs(other.seconds / known[0].least - 1) < 1e-7 for other in known[1:12]]
        assert [each["isTie"] for each in candidates] == [False, *ties]
        assert ties[0], "the same path over the other channel"
    finally:
        session.close()


def test_steps_of_turns_lead_to_the_same_turns(monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    if not full:
        monkeypatch.setattr("isoviz.planner.explanation.rivals.MOST_CHANNELS", 1)
    problem = Problem(TRANSFER, MACHINE, FULL)
    candidates = isoviz.explain(TRANSFER, MACHINE, options=FULL).candidates
    steps = list(crossover_steps(problem, candidates, 1))
    assert None in steps, "a caller may stop between two searches"
    assert tuple(turn for turn in steps if turn is not None and turn.value is not None) == crossovers_of(problem, candidates, 1)


# ---- what if


@pytest.mark.parametrize("factor", [0.25, 1.5, 6.0])
def test_a_bandwidth_that_is_tried_gives_the_plan_on_the_changed_machine(session: Session, factor: float) -> None:
    plan = session.wait().derived.plan
    assert plan is not None
    channel = min(plan.hops, key=lambda hop: hop.throughput).channel
    session.send(tried({channel: MACHINE.channel(channel).peak * factor}))
    answer = panes(session)["what_if"]
    expected = isoviz.plan(TRANSFER, with_bandwidth(MACHINE, channel, factor), options=FULL)
    assert (answer["seconds"], answer["throughput"]) == (expected.seconds, expected.throughput)
    assert [hop["channel"] for hop in answer["hops"]] == [hop.channel for hop in expected.hops]
    assert answer["isFinal"]
    assert answer["isAnswer"]
    assert answer["samePath"] == ([hop.channel for hop in expected.hops] == [hop.channel for hop in plan.hops])
    assert session.state.derived.plan is plan, "the plan itself stays"
    assert not session.state.past, "nothing is undone"


def test_a_slot_limit_and_a_size_are_tried_together(session: Session) -> None:
    session.send(tried({}, slot=1 << 16, sizes={"x": 2048}))
    answer = panes(session)["what_if"]
    expected = isoviz.plan(resized(TRANSFER, "x", 2048), MACHINE, options=Options(planner="full", slot_limit=1 << 16))
    assert (answer["seconds"], answer["throughput"]) == (expected.seconds, expected.throughput)


def test_what_is_tried_is_kept_as_settings_and_undone(session: Session) -> None:
    channel = "node0.reg->node1.reg"
    session.send(tried({channel: 6e9}, slot=1 << 20, sizes={"y": 512}))
    expected = panes(session)["what_if"]["seconds"]
    session.send({"kind": "keep-what-if"})
    state = session.wait()
    assert state.what_if.changes_nothing
    assert state.settings.machine.kind == "drawn"
    assert state.settings.slot_limit == "1 MiB"
    assert state.derived.machine is not None
    assert state.derived.machine.channel(channel).peak == pytest.approx(6e9)
    assert state.derived.plan is not None
    assert state.derived.plan.seconds == expected
    session.undo()
    assert session.wait().settings == SETTINGS


def keyed(machine: Machine) -> Machine:
    """The machine with a card between its GPUs that is quick once its keys are made."""
    key = isoviz.machines.OneTimeCost("key", 1.0, per="request")
    rate = isoviz.machines.LatencyBandwidth(1e-9, 50e9)
    card = isoviz.machines.Channel("card", "GPUDirectRemote", "node0.fbm0", "node1.fbm0", rate, costs=(key,))
    return replace(machine, channels=(*machine.channels, card))


def test_reuse_is_set_tried_and_kept() -> None:
    machine = keyed(MACHINE)
    once, often = (isoviz.plan(TRANSFER, machine, options=replace(FULL, reuse=reuse)) for reuse in (None, 1000))
    settings = settings_for(machine=machine, start=SETTINGS)
    with closing(Session(settings)) as session:
        assert panes(session)["plan"]["reuse"] == 1
        session.send(tried({}, reuse=1000))
        answer = panes(session)["what_if"]
        assert [hop["channel"] for hop in answer["hops"]] == ["card"] != [hop.channel for hop in once.hops]
        assert (answer["seconds"], answer["again"], answer["reuse"]) == (often.seconds, often.again, 1000)
        session.send({"kind": "keep-what-if"})
        state = session.wait()
        assert state.settings.reuse == "1000" and state.derived.plan is not None
        told = panes(session)["plan"]
        assert (told["seconds"], told["again"], told["reuse"]) == (often.seconds, often.again, 1000)
        assert "reuse=1000" in python_text(state.settings).replace('"', "").replace("'", "")
        assert settings_in(session_text(state.settings), "session").reuse == "1000"
        for wrong in ("0", "often", "1.5"):
            session.send({"kind": "set", "field": "reuse", "value": wrong})
            assert "reuse" in session.wait().derived.problems, wrong
        session.send({"kind": "set", "field": "reuse", "value": ""})
        state = session.wait()
        assert state.derived.problems == {} and state.derived.plan is not None
        assert state.derived.plan.hops == once.hops
        session.send(tried({}, reuse=0))
        assert "reuse" in panes(session)["what_if"]["problem"]


def test_a_busy_processor_is_tried_and_kept() -> None:
    """A held resource of any machine: how much there is of it. The rest is busy elsewhere."""
    machine = preset("armci-cluster")
    part = {"space": {"x": 128, "y": 4096}, "fields": {"value": "u1"}, "planner": "full", "part": {"x": (0, 64)}}
    settings = settings_for(machine=machine, source=("node0.reg", "<F, x, y>"), destination=("node1.reg", "<F, x, y>"), **part)  # type: ignore[arg-type]
    with closing(Session(settings)) as session:
        session.demand("why")
        session.until(lambda state: state.derived.later.get("explanation") is not None, 60)
        transfer = session.wait().derived.transfer
        assert transfer is not None and transfer.nbytes == 64 * 4096
        held = {each["name"]: (each["capacity"], each["whole"]) for each in panes(session)["why"]["held"]}
        assert held == {"node0.cpu": (1.0, 1), "node1.cpu": (1.0, 1)}
        busy = isoviz.plan(transfer, preset("armci-cluster", busy=0.6), options=FULL)
        session.send(tried({}, capacities={"node0.cpu": 0.4}))
        answer = panes(session)["what_if"]
        assert answer["isFinal"] and answer["whatIf"]["capacities"] == [("node0.cpu", 0.4)]
        assert answer["seconds"] == pytest.approx(busy.seconds)
        assert [hop["channel"] for hop in answer["hops"]] == [hop.channel for hop in busy.hops] and not answer["samePath"]
        session.send(tried({}, capacities={"node0.nic.out": 0.4}))
        assert "node0.nic.out is not held" in panes(session)["what_if"]["problem"]
        session.send(tried({}, capacities={"node0.cpu": 0.0}))
        assert "capacity: expected a finite number > 0" in panes(session)["what_if"]["problem"]
        session.send(tried({}, capacities={"node0.cpu": 0.4}))
        session.send({"kind": "keep-what-if"})
        state = session.wait()
        assert state.derived.machine is not None and state.derived.machine.resource("node0.cpu").capacity == 0.4
        assert state.derived.plan is not None and state.derived.plan.seconds == pytest.approx(busy.seconds)
        session.undo()
        assert session.wait().settings == settings


def test_what_is_tried_ends_with_the_settings_that_it_is_about(session: Session) -> None:
    session.send(tried({}, slot=1 << 20))
    session.wait()
    session.send({"kind": "set", "field": "slot-limit", "value": "2 MiB"})
    assert session.wait().what_if.changes_nothing
    assert panes(session)["what_if"] is None


def test_a_channel_that_is_not_there_is_told_of(session: Session) -> None:
    session.send(tried({"no such channel": 1e9}))
    assert "no such channel" in panes(session)["what_if"]["problem"]


# ---- by hand


@pytest.mark.parametrize(("blocks", "chunk"), [((64, 64), ""), ((512, 256), "4 MiB"), ((1024, 1024), "1 KiB")])
def test_by_hand_is_what_cost_says(session: Session, blocks: tuple[int, int], chunk: str) -> None:
    by_hand(session, ByHand(PATH, layouts(*blocks), chunk))
    plan = session.wait().derived.plan
    expected = isoviz.cost(TRANSFER, MACHINE, PATH, layouts(*blocks), chunk=chunk or None, options=FULL, over_limits=True)
    assert plan == expected
    why = panes(session)["why"]
    assert why["byHand"]
    assert why["seconds"] == expected.seconds
    assert why["referenceSeconds"] == isoviz.plan(TRANSFER, MACHINE, options=FULL).seconds


def test_constraints_hold_where_the_plan_keeps_its_limits_and_sustains_the_target() -> None:
    for blocks in ((16, 16), (2048, 1024), (1024, 1024), (4096, 4096)):
        space = isoviz.IndexSpace(x=8192, y=8192)
        transfer = isoviz.Transfer.whole(space, FIELDS, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
        plan = isoviz.cost(transfer, MACHINE, PATH, layouts(*blocks), over_limits=True)
        rows = constraints_of(plan, MACHINE, 3e9)
        limits = [row for row in rows if row.constraint not in ("throughput", "resource", "shuffle")]
        assert tuple(row for row in limits if not row.holds) == plan.violations, blocks
        assert len(plan.violations) == len(plan.notes)
        rates = [row for row in rows if row.constraint == "throughput"]
        assert all(row.holds for row in rates) == (plan.throughput >= 3e9 * (1 - 1e-9)), blocks
        assert [row.slack for row in rates] == pytest.approx([rate - 3e9 for rate in plan.only.rates], abs=3.1)


def test_the_paper_finds_three_gigabytes_per_second_by_hand() -> None:
    """Isometry, section 4.3: x_in = 2K and y_in = 1K fill the slot and sustain the network."""
    settings = settings_for(start=SETTINGS, space={"x": 8192, "y": 8192})
    settings = replace(settings, source=SETTINGS.source, destination=SETTINGS.destination)
    session = Session(replace(settings, by_hand=ByHand(PATH, layouts(64, 64))))
    session.demand("why")
    try:
        why = panes(session)["why"]
        assert why["target"] == why["optimum"] == pytest.approx(3e9)
        assert [row["hop"] for row in why["constraints"] if not row["holds"]] == [0, 3]
        assert why["region"]["chosen"] == [64.0, 64.0]
        by_hand(session, ByHand(PATH, layouts(2048, 1024)))
        why = panes(session)["why"]
        assert all(row["holds"] for row in why["constraints"])
        (slot,) = {(row["left"], row["bound"]) for row in why["constraints"] if row["kind"] == "slot"}
        assert slot == (1 << 25, 1 << 25), "the blocks fill the slot"
    finally:
        session.close()


def test_a_path_is_built_hop_by_hop(session: Session) -> None:
    session.wait()
    by_hand(session, ByHand())
    path = panes(session)["hand"]["path"]
    assert [stop["memory"] for stop in path["stops"]] == ["node0.fbm0"]
    assert PATH[0] in [channel["name"] for channel in path["onward"]]
    assert session.state.derived.problems["by-hand-path"].message
    for count in range(1, len(PATH) + 1):
        by_hand(session, ByHand(PATH[:count], layouts(64, 64)[: count - 1]))
        path = panes(session)["hand"]["path"]
        assert len(path["stops"]) == count + 1
        assert path["reaches"] == (count == len(PATH))
    assert session.state.derived.plan == isoviz.cost(TRANSFER, MACHINE, PATH, layouts(64, 64), options=FULL)


def test_what_is_wrong_by_hand_is_told_at_its_control(session: Session) -> None:
    session.wait()
    by_hand(session, ByHand(PATH, ("<F, x", *layouts(64, 64)[1:]), "many"))
    problems = session.wait().derived.problems
    assert problems["by-hand-layout:0"].position is not None
    assert "by-hand-chunk" in problems
    assert panes(session)["why"] is not None, "the last plan stays, explained"


def test_back_to_the_planner_and_undo(session: Session) -> None:
    session.wait()
    by_hand(session, ByHand(PATH, layouts(64, 64)))
    by_hand(session, ByHand(PATH, layouts(128, 64)), "block x_in")
    by_hand(session, ByHand(PATH, layouts(256, 64)), "block x_in")
    session.wait()
    session.undo()
    assert session.wait().settings.by_hand == ByHand(PATH, layouts(64, 64)), "a slider that is dragged is one step"
    by_hand(session, None)
    assert session.wait().settings == SETTINGS
    assert panes(session)["hand"] == {"path": None}


@pytest.mark.parametrize("hand", [ByHand(PATH, layouts(64, 32), "1 MiB", 2.5e9), ByHand(PATH[:1]), ByHand()])
def test_files_and_python_know_a_path_by_hand(hand: ByHand) -> None:
    chosen = replace(SETTINGS, by_hand=hand)
    assert same_settings(settings_in(session_text(chosen), "a file"), chosen)

    def explore(example: str | None = None, **given: Any) -> Settings:
        return settings_for(start=None if example is None else EXAMPLES[example].settings, **given)

    made: dict[str, Any] = {"explore": explore}
    text = python_text(chosen).replace("isoviz.explore", "explore")
    exec(compile(text, "exported", "exec"), made)
    assert made["explorer"].by_hand == hand


# ---- the view alone


def test_plan_view_of_a_transfer_of_a_plan_and_of_a_session() -> None:
    plan = isoviz.plan(TRANSFER, MACHINE, options=FULL)
    view = isoviz.PlanView(TRANSFER, MACHINE, options=FULL)
    try:
        view.session.wait()
        assert view.plan == plan
        assert view.explanation is not None
        assert view.explanation.candidates == isoviz.explain(TRANSFER, MACHINE, options=FULL).candidates
        beside = isoviz.PlanView(view)
        assert beside.session is view.session
        beside.close()
    finally:
        view.close()
    hand: Plan = isoviz.cost(TRANSFER, MACHINE, PATH, layouts(64, 64))
    view = isoviz.PlanView(hand)
    try:
        view.session.wait()
        assert view.plan == hand
        assert view.explanation is not None
        assert view.explanation.constraints == isoviz.explain(hand, options=FULL).constraints
        assert view.explanation.reference == plan
    finally:
        view.close()


def test_plan_view_says_what_it_expects() -> None:
    with pytest.raises(InputError, match="machine of the transfer"):
        isoviz.PlanView(TRANSFER)
    with pytest.raises(InputError, match="expected a transfer, a plan"):
        isoviz.PlanView("two-node")  # type: ignore[arg-type]


def test_a_size_that_is_kept_is_that_of_the_part_that_moves() -> None:
    settings = replace(SETTINGS, part=Part((Range(SETTINGS.dimensions[0].key, "8", "32", "16"),)))
    session = Session(settings)
    session.demand("explorer")
    name = settings.dimensions[0].name
    session.wait()
    session.send(tried({}, sizes={name: 40}))
    expected = session.wait().derived.later["what_if"].plan
    session.send({"kind": "keep-what-if"})
    state = session.wait()
    session.close()
    assert state.derived.problems == {}
    assert state.derived.plan is not None and state.derived.plan.transfer == expected.transfer
    assert state.derived.plan.seconds == expected.seconds


@pytest.mark.parametrize("slot", [0, -5, 10**400])
def test_a_slot_limit_that_cannot_be_is_not_kept(session: Session, slot: int) -> None:
    session.send(tried({}, slot=slot))
    before = session.wait().settings
    session.send({"kind": "keep-what-if"})
    state = session.wait()
    assert state.refused is not None and state.defect == ""
    assert state.settings == before


def test_a_machine_with_bandwidths_that_were_kept_is_no_preset_and_was_not_measured(session: Session) -> None:
    session.send(tried({"node0.reg->node1.reg": 6e9}))
    session.wait()
    session.send({"kind": "keep-what-if"})
    state = session.wait()
    assert state.settings.machine.name == f"{MACHINE.name} (edited)"
    assert state.derived.machine is not None and state.derived.machine.measurement is None


def test_changes_are_not_kept_on_a_machine_that_was_just_replaced(session: Session) -> None:
    session.wait()
    session.send({"kind": "set", "field": "machine", "value": "sapling"})
    session.send(tried({"node0.reg->node1.reg": 6e9}))
    session.send({"kind": "keep-what-if"})
    state = session.wait()
    assert state.settings.machine.name in ("sapling", "sapling (edited)")


def test_the_plan_stays_while_something_is_tried_on_it(session: Session) -> None:
    session.wait()
    seen: list[object] = []
    session.observe(lambda change: seen.append(change["new"]), names="plan")
    session.send(tried({}, slot=1 << 20))
    assert session.wait().derived.later["what_if"].plan is not None
    assert session.plan is not None and seen == []


def test_the_map_is_worked_out_where_somebody_looks_at_it_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Options] = []
    real = sweeping.map_steps

    def counted(transfer: Any, machine: Any, options: Options, *more: Any) -> Any:
        asked.append(options)
        yield from real(transfer, machine, options, ([16, 512], [1, 64, 256]))

    monkeypatch.setattr(sweeping, "map_steps", counted)
    session = Session(SETTINGS)
    session.demand("explorer")
    assert panes(session)["winner_map"] is None
    release = session.demand("map")
    session.until(lambda state: getattr(state.derived.later.get("winner_map"), "done", False), 60)
    part = panes(session)["winner_map"]
    assert part["isDone"] and part["isOfPlan"] and part["problem"] == ""
    found = isoviz.sweep(TRANSFER, MACHINE, ("run", "runs"), ([16, 512], [1, 64, 256]), FULL)
    shown = part["map"]
    assert (shown["columns"], shown["rows"]) == ([16, 512], [1, 64, 256]) and shown["said"] == map_text(found)
    assert [[found.at[run, runs].way for run in (16, 512)] for runs in (1, 64, 256)] == shown["winners"]
    assert len(asked) == 1 + 1
    release()
    session.demand("map")
    assert panes(session)["winner_map"]["isDone"] and len(asked) == 1 + 1, "it is known"
    session.close()


def test_requests_are_worked_out_for_hops_with_descriptors() -> None:
    settings = settings_for(
        machine="theta-gpu", space={"x": 2048, "y": 64}, fields={"v": "u1"}, planner="direct", part={"x": (0, 1024, 0)},
        source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, x, y>"),
    )  # fmt: skip
    session = Session(settings)
    try:
        session.demand("explorer")
        assert panes(session)["requests"] is None
        hop = panes(session)["plan"]["paths"][0]["hops"][0]
        assert hop["hasProtocol"] and hop["descriptors"] == 22
        session.demand("requests")
        session.until(lambda state: state.derived.later.get("requests") is not None, 60)
        part = panes(session)["requests"]
        ((shown),) = part["hops"]
        named = shown["descriptors"]
        assert part["isOfPlan"] and (named["count"], named["shown"], named["window"]) == (3, 3, 22 * 1024)
        for end in ("source", "destination"):
            assert named[end]["owners"] == [run // 22 for run in range(64)]
            assert named[end]["starts"] == [2048 * run for run in range(64)] and set(named[end]["lengths"]) == {1024}
        first, again = shown["handshakes"]
        assert [each["name"] for each in first["messages"]] == ["RTS", "ready", "CTS", "ready", "write", "write", "write", "FIN"]
        assert first["messages"][1]["sender"] == first["messages"][1]["receiver"] == "destination"
        assert again["again"] and again["seconds"] < first["seconds"]
    finally:
        session.close()
