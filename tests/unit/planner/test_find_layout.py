"""`find_layout`: uses as transfers, demands, ranking, what is gained against what, and the ways a result is shown."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from html_cases import Outline

import isoviz
from isoviz import FieldSpace, IndexSpace, Instance, Layout, Use
from isoviz.errors import Cancelled, InputError, LayoutError, MachineError, NoPathError, SpaceError
from isoviz.figures import html
from isoviz.layouts import Linearization, Mode
from isoviz.machines import Channel, LatencyBandwidth, Machine, Memory
from isoviz.planner import LayoutChoice, layout_choice_to_json
from isoviz.planner.layout_choice.layout_search import run_along

SPACE = IndexSpace(x=32, y=24)
FIELD, PAIR = FieldSpace(v="f4"), FieldSpace(re="f4", im="f4")
ROWS, COLUMNS = "<F, x, y>", "<F, y, x>"
ALIKE = 1.002
"""Times within this factor may be ranked either way."""


def one_channel() -> Machine:
    """Two memories and a channel each way whose rate depends on the run: nothing converts on the way."""
    memories = [Memory(name, kind="SYS", node=node) for node, name in enumerate(("a", "b", "alone"))]
    ends = [("a", "b"), ("b", "a")]
    rate = LatencyBandwidth(1e-6, 1e9)
    channels = [
        Channel(f"{one}->{other}", kind="RemoteMemcpy", source=one, destination=other, throughput=rate) for one, other in ends
    ]
    return Machine("one channel", memories, channels)


def found(*uses: Use, fields: FieldSpace = FIELD, **demands: object) -> LayoutChoice:
    return isoviz.find_layout(SPACE, fields, "a", uses, one_channel(), **demands)  # type: ignore[arg-type]


def naive_run(order: Linearization, dim: str) -> int:
    """Bytes of adjacent entries along a dimension from index 0, looked up one by one."""
    name = order.fields.names[0]
    zero = dict.fromkeys(order.space.dims, 0)
    first = order.offset(zero, name)
    step = order.fields.nbytes if order.inner_count == 1 else order.fields.sizes[0]
    count = 1
    while count < order.space[dim] and order.offset({**zero, dim: count}, name) == first + count * step:
        count += 1
    return count * step


@pytest.mark.parametrize("fields", [FIELD, PAIR])
@pytest.mark.parametrize(
    "text",
    [
        *(ROWS, COLUMNS, "<x, y, F>", "<x_in=8, F, y, x_out>", "<F, y_in=4, x, y_out>"),
        *("<x_out, F, x_in=4, y>", "<x_in=5, y, F, x_out>"),
    ],
)
def test_runs_of_a_layout(text: str, fields: FieldSpace) -> None:
    order = Layout(text).on(SPACE, fields)
    assert {dim: run_along(order, dim) for dim in SPACE} == {dim: naive_run(order, dim) for dim in SPACE}


def test_uses_are_transfers() -> None:
    array = Instance("a", SPACE, PAIR, "<F, x_in=4, y, x_out>")
    to = Use.to("b", "<y, x, F>", weight=2, shape={"x": 1}, fields=("im",)).transfer(array)
    assert (to.source, to.destination.memory, to.space, to.field_names) == (array, "b", IndexSpace(x=1, y=24), ("im",))
    back = Use.from_("b", ROWS).transfer(array)
    assert (back.destination, str(back.source.layout)) == (array, ROWS)
    along = Use.along("y").transfer(array)
    assert along.destination_order.same_as(Layout(COLUMNS).on(SPACE, PAIR)) and along.destination.memory == "a"
    soa = Instance("a", SPACE, PAIR, "<x, F, y>")
    assert str(Use.along("y", memory="b").transfer(soa).destination.layout) == "<y, x, F>"
    assert not Use.along("x").transfer(soa).converts  # x is the fastest already


def test_weights_decide() -> None:
    one, other = Use.to("b", ROWS, weight=10), Use.to("b", COLUMNS)
    first, second = found(one, other), found(replace(one, weight=1), replace(other, weight=10))
    assert (str(first.best.layout), str(second.best.layout)) == (ROWS, COLUMNS)
    assert first.best.weighted == pytest.approx(10 * first.best.times[0] + first.best.times[1])
    plans = [isoviz.plan(transfer, one_channel(), options=first.options) for transfer in first.transfers()]
    assert first.best.times == tuple(plan.seconds for plan in plans)
    for before, after in itertools.pairwise(first.candidates):
        assert before.weighted <= after.weighted * ALIKE


def test_what_is_gained_against_what() -> None:
    choice = found(Use.to("b", ROWS), Use.to("b", COLUMNS))
    line = choice.trade_off()
    assert {str(line[0].layout), str(line[-1].layout)} == {ROWS, COLUMNS}
    for before, after in itertools.pairwise(line):
        assert before.times[0] < after.times[0] and before.times[1] > after.times[1]
    for each in choice.candidates:  # nothing lies below the line
        assert any(all(mine <= other for mine, other in zip(point.times, each.times, strict=True)) for point in line)
    with pytest.raises(InputError, match="second"):
        choice.trade_off(0, 2)


def test_one_field_apart() -> None:
    """A field that is read alone wants fields apart, all of them wanted together want them together."""
    alone = found(Use.to("b", "<F, x, y>", fields=("re",)), fields=PAIR)
    assert alone.best.layout.on(SPACE, PAIR).normal == Layout("<x, y, F>").on(SPACE, PAIR).normal
    assert str(found(Use.to("b", ROWS), fields=PAIR).best.layout) == ROWS


@pytest.mark.parametrize(
    ("demands", "holds"),
    [
        ({"least_runs": {"y": "64B"}}, lambda order: naive_run(order, "y") >= 64),
        ({"fields_together": True}, lambda order: order.inner_count == 1),
        ({"order": ("y", "x")}, lambda order: [m.dim for m in order.normal if isinstance(m, Mode) and m.step == 1] == ["y", "x"]),
        ({"most_padding": 0.2}, lambda order: order.nbytes <= 1.2 * order.payload),
        ({}, lambda order: not order.is_padded),
    ],
)
def test_demands_hold(demands: dict[str, object], holds: Callable[[Linearization], bool]) -> None:
    choice = found(Use.to("b", "<x, y, F>"), Use.along("x", memory="b"), fields=PAIR, **demands)
    assert all(holds(each.layout.on(SPACE, PAIR)) for each in (*choice.candidates, *choice.front))


def test_padding_only_where_it_is_allowed() -> None:
    space = IndexSpace(x=10, y=6)
    use = Use.to("b", "<F, x_in=4, y, x_out>")
    tight, loose = (isoviz.find_layout(space, FIELD, "a", [use], one_channel(), most_padding=share) for share in (0.0, 0.25))
    assert not any(each.padding for each in tight.candidates)
    assert str(loose.best.layout) == "<F, x_in=4, y, x_out>" and loose.best.padding == 12 * 6 * 4 - 10 * 6 * 4


def test_the_same_again_and_progress() -> None:
    uses = [Use.to("b", ROWS), Use.to("b", "<x_in=4, y_in=4, F, y_out, x_out>"), Use.along("y", memory="b")]
    steps: list[LayoutChoice] = []
    first = found(*uses, fields=PAIR, progress=steps.append)
    assert found(*uses, fields=PAIR) == first
    weighted = [step.best.weighted for step in steps]
    assert all(after <= before * ALIKE for before, after in itertools.pairwise(weighted))
    assert weighted[-1] <= first.best.weighted * ALIKE and steps[0].plans == len(uses)
    fewer = found(*uses, fields=PAIR, most_plans=6)
    assert fewer.stopped and fewer.plans <= 6 + len(uses) and fewer.best.weighted * ALIKE >= first.best.weighted


def test_it_is_cancelled() -> None:
    token = threading.Event()
    choice = found(Use.to("b", ROWS), Use.to("b", COLUMNS), progress=lambda _: token.set(), cancel=token)
    assert choice.stopped and len(choice.candidates) == 1
    with pytest.raises(Cancelled):
        found(Use.to("b", ROWS), cancel=token)


def test_how_it_is_shown() -> None:
    choice = found(Use.to("b", ROWS, weight=2), Use.along("y", memory="b", shape={"x": 1}), fields=PAIR)
    text, shown = str(choice), Outline(html(choice)).text
    for each in choice.candidates:
        assert str(each.layout) in text and str(each.layout) in shown
    assert "use 1: 2 × to b <F, x, y>" in text and "along y to b (x=1)" in text and "along y to b (x=1)" in shown
    data = json.loads(json.dumps(layout_choice_to_json(choice)))
    assert [each["layout"] for each in data["candidates"]] == [str(each.layout) for each in choice.candidates]
    assert data["candidates"][0]["seconds"] == list(choice.best.times) and data["uses"][1]["shape"] == {"x": 1}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: found(), InputError, "at least one use"),
        (lambda: found(Use.to("c", ROWS)), MachineError, "'c'"),
        (lambda: found(Use.to("alone", ROWS)), NoPathError, "alone"),
        (lambda: found(Use.along("z", memory="b")), LayoutError, "'z'"),
        (lambda: found(Use.to("b", ROWS, fields=("w",))), SpaceError, "'w'"),
        (lambda: found(Use.to("b", ROWS), order=("x",)), InputError, "expected all of"),
        (lambda: found(Use.to("b", ROWS), least_runs={"x": 64, "y": 64}), InputError, "no layout has runs of 64 bytes along x"),
        (lambda: Use.to("b", ROWS, weight=0), InputError, "weight"),
        (lambda: Use("to", "b"), InputError, "a memory and a layout"),
        (lambda: Use("beside", "b", ROWS), InputError, "expected one of to, from, along"),  # type: ignore[arg-type]
        (lambda: Use.along("x", shape={"x": 0}), InputError, "shape"),
    ],
)
def test_bad_input(call: Callable[[], object], error: type[InputError], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
