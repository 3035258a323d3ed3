"""HTML representations and pages: a picture and a table, self-contained, escaped, the same facts as the values they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape

import pytest
from html_cases import Outline, check_self_contained, without_plots

from isoviz import DistributedInstance, Distribution, Use, find_layout, machines, plan_redistribution
from isoviz.document import Part, Quantity, Section, Table, Told
from isoviz.figures import PICTURES, html
from isoviz.figures.document_html import told_html
from isoviz.figures.plans.report_picture import Measured, bars_svg, measurements
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.machines import ChannelKind, Machine, Memory, MemoryKind, preset, presets
from isoviz.planner import Instance, Plan, Transfer, chunk_curve, explain, plan, sweep
from isoviz.planner.explanation.handshake import handshake
from isoviz.planner.explanation.plan_document import reasons
from isoviz.redistribution.running.redistribution_report import RedistributionReport
from isoviz.redistribution.running.run_on_rank import RankRun, Span
from isoviz.runtime import HopMeasurement, Report, simulate
from isoviz.units import format_rate
from isoviz.vortex import Switch

MACHINE = machines.preset("two-node")


def made(**sizes: int) -> Plan:
    space = IndexSpace.of(sizes or {"x": 2048, "y": 1024})
    first, *rest = space.dims
    turned = f"<F, {', '.join([*rest, first])}>"
    fields = FieldSpace.of({"re": "float64", "im <b>": "float64"})
    return plan(Transfer.whole(space, fields, "node0.fbm0", Layout.aos(*space.dims), "node1.fbm0", turned), MACHINE)


PLAN = made()


def report(made: Plan, *, verified: bool | None = True, ran: bool = True) -> Report:
    hops = tuple(
        HopMeasurement(hop.index, made.bytes / rate / 0.8 if ran else 0.0, made.bytes if ran else 0, made.chunk_count)
        for hop, rate in zip(made.hops, made.every_rate, strict=True)
    )
    return Report(made, made.seconds * 1.25 if ran else 0.0, 0.01, hops, verified, ("noted <i>here</i>",))


ENDS = [Instance(memory, IndexSpace(x=2048, y=64), FieldSpace(a="u1"), "<F, x, y>") for memory in ("node0.fbm0", "node1.fbm0")]
VECTOR = Transfer(*ENDS, shape=(1024, 64))


SPREAD = [
    DistributedInstance(IndexSpace(x=64, y=64), FieldSpace(v="f8"), Distribution({dim: 2}), f"<F, {dim}, {other}>")
    for dim, other in ("yx", "xy")
]
REDISTRIBUTION = plan_redistribution(*SPREAD, machines.preset("ranks", ranks=2, measure="assumed"))


def rank_run(rank: int) -> RankRun:
    """Every transfer of a rank as one request of a millisecond."""
    numbers = [number for number, each in enumerate(REDISTRIBUTION.sendings) if each.sender == rank]
    spans = [Span(number, 0, 0, at * 1e-3, (at + 1) * 1e-3) for at, number in enumerate(numbers)]
    return RankRun(rank, 0.0, 0.0, 0.002, RankRun.pack(spans))


VALUES = {
    "layout": Layout("<x_in=4, F, x_out>"),
    "linearization": Layout("<F, x, y>").on(IndexSpace(x=100, y=50), FieldSpace(a="int8", b="float64")),
    "machine": MACHINE,
    "transfer": PLAN.transfer,
    "plan": PLAN,
    "explanation": explain(PLAN, MACHINE),
    "sweep": sweep(PLAN.transfer, MACHINE, "slot_limit", [2.0**16, 2.0**20, 2.0**25]),
    "report": report(PLAN),
    "trace": simulate(PLAN, MACHINE),
    "chunk-curve": chunk_curve(PLAN, MACHINE),
    "winner-map": sweep(PLAN.transfer, MACHINE, ("run", "runs"), ([64, 4096], [1, 16])),
    "handshake": handshake(plan(VECTOR, "theta-gpu", "direct")),
    "redistribution-plan": REDISTRIBUTION,
    "redistribution-report": RedistributionReport(REDISTRIBUTION, 0.002, True, tuple(map(rank_run, range(2)))),
    "switch": Switch(heights=8, angles=4),
    "layout-choice": find_layout(
        *(IndexSpace(x=64, y=32), FieldSpace(a="f4", b="f4"), "node0.sys"),
        [Use.to("node0.fbm0", order) for order in ("<F, x, y>", "<F, y, x>")],
        MACHINE,
        most_plans=400,
    ),
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_representation_has_picture_and_table(kind: str) -> None:
    text, plots = without_plots(html(VALUES[kind]))
    outline = check_self_contained(text)
    assert outline.values("data-isoviz") == [kind]
    assert kind == "redistribution-plan" or ("svg" in outline.tags) != bool(plots)
    assert "table" in outline.tags
    assert outline.tags.count("svg") == outline.values("role").count("img")
    assert len(text) < 400_000
    assert str(VALUES[kind])  # the text twin


def tables_of(parts: Sequence[Part]) -> list[Table]:
    return [
        table
        for part in parts
        for table in ([part] if isinstance(part, Table) else tables_of(part.parts) if isinstance(part, Section) else [])
    ]


def told(value: object) -> bool:
    return isinstance(value, Told)


@pytest.mark.parametrize("kind", [kind for kind, value in VALUES.items() if told(value)])
def test_text_html_markdown_and_json_have_the_same_cells(kind: str) -> None:
    value = VALUES[kind]
    assert isinstance(value, Told)
    document = value.document()
    tables = tables_of(document.parts)
    cells = [[str(row[k]) for k in table.columns] for table in tables for row in table.rows]
    assert cells
    rows = re.findall(r"<tr[^>]*>((?:<td.*?</td>)+)</tr>", without_plots(html(value))[0])
    shown = [
        [unescape(re.sub("<.*?>", "", cell)).replace("\xa0", " ").strip() for cell in row.split("</td>")[:-1]] for row in rows
    ]
    assert shown == [["" if set(cell) == {"█"} else cell for cell in row] for row in cells]
    lines = [line[2:-2] for line in document.markdown().splitlines() if line.startswith("|")]
    rules = {number for number, line in enumerate(lines) if set(line) <= set("-:| ")}
    written = [re.split(r" ?(?<!\\)\| ?", line) for number, line in enumerate(lines) if not {number, number + 1} & rules]
    assert [[re.sub(r"\\(.)", r"\1", cell).strip() for cell in row] for row in written] == cells
    records = [record for found in document.to_json().values() for record in found]
    assert [list(record) for record in records] == [list(table.header) for table in tables for _ in table.rows]
    values = [[cell.value if isinstance(cell, Quantity) else str(cell) for cell in row] for table in tables for row in table.rows]
    assert [list(record.values()) for record in records] == values
    text = " ".join(str(document).split())
    for table in tables_of(document.head) if document.line else tables:
        assert all(" ".join(str(row[k]).split()) in text for row in table.rows for k in table.columns)
    assert len(repr(value)) <= 200 and "\n" not in repr(value) and repr(value).startswith(f"<{type(value).__name__}: ")


@pytest.mark.parametrize(
    "machine", [*(name for name, info in presets().items() if not info.is_measured), preset("bgq", nodes=512)]
)
def test_a_machine_in_a_notebook_is_small(machine: str | Machine) -> None:
    machine = preset(machine) if isinstance(machine, str) else machine
    assert len(html(machine).encode()) + len(repr(machine)) <= 30_000


@pytest.mark.parametrize("kind", sorted(VALUES.keys() - {"transfer", "explanation"}))
def test_a_value_in_a_notebook_is_small(kind: str) -> None:
    """Plots and all."""
    assert len(html(VALUES[kind]).encode()) + len(repr(VALUES[kind])) <= 30_000


def test_two_outputs_on_one_page_share_no_id() -> None:
    both = html(VALUES["plan"]) + html(VALUES["plan"]) + html(VALUES["layout"])
    check_self_contained(both)


def test_represented_names_the_types() -> None:
    found = {f"{type(value).__module__}.{type(value).__qualname__}" for value in VALUES.values()}
    assert found == set(PICTURES)


def test_a_value_without_picture_is_refused() -> None:
    with pytest.raises(TypeError, match="Layout"):
        html(3)


def test_plan_table_has_every_decision() -> None:
    for text in (html(PLAN), told_html(PLAN, MACHINE)):
        outline = check_self_contained(text)
        for hop in PLAN.hops:
            assert ChannelKind(hop.kind).words in outline.text and format_rate(hop.throughput) in outline.text
            assert Layout(hop.source_layout).pretty in outline.text
        assert "slowest" in outline.text
    assert "node 1" in Outline(told_html(PLAN, MACHINE)).text


def test_reasons_name_the_slowest_hop_and_what_hops_do_to_the_order() -> None:
    said = " ".join(reasons(PLAN))
    slow = min(PLAN.hops, key=lambda hop: hop.throughput)
    assert f"hop {slow.index} " in said
    assert "converts" in PLAN.only.order_changes
    for hop, change in zip(PLAN.hops, PLAN.only.order_changes, strict=True):
        assert (f"Hop {hop.index} ({ChannelKind(hop.kind).words}) {change}: " in said) == (change != "keeps")
    whole = PLAN.changed(per_chunk=PLAN.chunks.blocks)
    assert whole.chunk_count == 1 and "follow each other" in " ".join(reasons(whole))
    large = made(x=8192, y=8192)
    assert large.chunk_count > 1 and large.overlap and "at the same time" in " ".join(reasons(large))
    turns = " ".join(reasons(large.changed(overlap=False)))
    assert "take turns" in turns and f"{large.chunk_count:,} chunks" in turns
    same = plan(Transfer.whole(IndexSpace(x=64), FieldSpace(v="int8"), "node0.sys", "<F, x>", "node0.reg", "<F, x>"), MACHINE)
    assert "every hop keeps it" in " ".join(reasons(same))


@pytest.mark.parametrize(
    ("verified", "tone", "word"),
    [(True, "good", "every byte verified"), (False, "bad", "NOT VERIFIED"), (None, "none", "not verified (not asked for)")],
)
def test_report_says_whether_it_was_verified(verified: bool | None, tone: str, word: str) -> None:
    found = report(PLAN, verified=verified)
    outline = check_self_contained(html(found))
    assert [each for each in outline.values("class") if each.startswith("badge")] == [f"badge {tone}"]
    assert word in outline.words and word in str(found)
    assert "noted <i>here</i>" in outline.text


def test_report_sets_measured_beside_predicted() -> None:
    found = measurements(report(PLAN))
    assert [row.label for row in found[1:]] == [f"hop {hop.index} {ChannelKind(hop.kind).words}" for hop in PLAN.hops]
    assert all(row.ratio == pytest.approx(0.8) for row in found)
    outline = check_self_contained(html(report(PLAN)))
    for row in found:
        assert format_rate(row.predicted) in outline.text and row.measured and format_rate(row.measured) in outline.text


def test_a_run_that_moved_nothing_has_no_rates() -> None:
    assert all(row.measured is None and row.ratio is None for row in measurements(report(PLAN, ran=False, verified=None)))
    assert "not measured" in html(report(PLAN, ran=False, verified=None))


def test_bars_share_one_scale_from_zero() -> None:
    svg = bars_svg([Measured("a", "", 4e9, 2e9), Measured("b", "", 1e9, None)], title="t", theme="light")
    widths = [float(value) for value in re.findall(r'width="([\d.]+)" height="14"', svg)]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.01) and widths[0] == pytest.approx(4 * widths[2], rel=0.01)
    assert len(widths) == 3 and "not measured" in svg
    assert "Nothing was measured" in bars_svg([], title="t")


def test_pages_of_hostile_names() -> None:
    evil = "</style><script>alert(1)</script>"
    memories = (Memory(f"a{evil}", MemoryKind.SYS), Memory("b\"'&", MemoryKind.REG))
    channel = replace(MACHINE.channels[0], name=evil, kind="Memcpy", source=memories[0].name, destination=memories[1].name)
    machine = Machine(evil, memories, (channel,), provenance=evil)
    fields = FieldSpace.of({evil: "int32", "x\x00y": "int8"})
    transfer = Transfer.whole(IndexSpace(x=6, y=5), fields, memories[0].name, "<F, x, y>", memories[1].name, "<y, x, F>")
    found = plan(transfer, machine, "direct")
    for text in (
        html(machine),
        told_html(found, machine),
        html(transfer),
        told_html(report(found, verified=False), machine),
    ):
        check_self_contained(text)


def test_a_part_says_which() -> None:
    source = Instance("node0.sys", IndexSpace(x=10, y=8), FieldSpace(a="int8", b="int16"), Layout("<F, x, y>"))
    target = Instance("node0.reg", IndexSpace(y=4, x=10), FieldSpace(b="int16"), Layout("<y, x, F>"))
    found = Transfer(source, target, shape=(3, 4), source_origin=(7, 2), field_names=("b",))
    text = check_self_contained(html(found)).text
    assert "x 7 to 9; y 2 to 5; fields b" in text and "x 0 to 2" in text
    assert check_self_contained(html(PLAN.transfer)).words.count("all") == 2


@pytest.mark.parametrize("sizes", [{"x": 1}, {"x": 7}, {"x": 3, "y": 5, "z": 2}, {"a": 2, "b": 3, "c": 4, "d": 5}])
def test_plans_of_any_shape(sizes: dict[str, int]) -> None:
    found = made(**sizes)
    check_self_contained(told_html(found, MACHINE) + html(report(found)) + html(found.transfer))
