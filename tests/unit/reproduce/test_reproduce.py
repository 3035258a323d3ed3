"""`isoviz reproduce`: the models do what their descriptions say, and what is printed is what was simulated."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from html_cases import without_plots

from isoviz.cli import main
from isoviz.document import change, share, times
from isoviz.figures.page import document_page
from isoviz.layouts import IndexSpace
from isoviz.machines import ChannelKind, LatencyBandwidth, preset
from isoviz.reproduce import Claim, Reproduction, evaluation, isometry, reproduce
from isoviz.reproduce.assumption import described
from isoviz.reproduce.claim import Statement
from isoviz.reproduce.experiment import experiments_of
from isoviz.reproduce.isometry import microbenchmarks, realm
from isoviz.reproduce.isometry.applications import (
    APPLICATIONS,
    VGG_WEIGHTS,
    Move,
    engine,
    isometry_seconds,
    planner_of,
    realm_seconds,
    without_registered,
)
from isoviz.reproduce.isometry.assumptions import Assumptions, machine, sapling
from isoviz.reproduce.isometry.figure11 import GPUS, mpi_throughput
from isoviz.reproduce.isometry.microbenchmarks import MULTI_HOP, Pair, instance
from isoviz.reproduce.isometry.realm import Copy, Order, completion

GIVEN = Assumptions()
FEW = Assumptions(instances=2)


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("isometry", quick=True)


# ---- Realm


def order(*hops: tuple[str, float, int], priority: int = 0, at: float = 0.0) -> Order:
    return Order(tuple(Copy(*hop) for hop in hops), priority, at)


def test_a_thread_does_one_copy_after_the_other() -> None:
    assert completion([order(("a", 1.0, 0)), order(("b", 2.0, 0))], 1) == pytest.approx([1.0, 3.0])
    assert completion([order(("a", 1.0, 0)), order(("b", 2.0, 0))], 2) == pytest.approx([1.0, 2.0])


def test_threads_on_one_channel_share_it() -> None:
    # Half speed each until the short one is done at 2, then 1 of the long one is left.
    assert completion([order(("a", 1.0, 0)), order(("a", 2.0, 0))], 2) == pytest.approx([2.0, 3.0])


def test_hops_follow_each_other_and_nodes_have_threads_of_their_own() -> None:
    both = [order(("a", 1.0, 0), ("b", 1.0, 1))] * 2
    assert completion(both, 1) == pytest.approx([2.0, 3.0])  # node 1 moves the first on while node 0 begins with the second
    alone = [Order(realm.by_launcher(each.copies)) for each in both]
    assert completion(alone, 1) == pytest.approx([3.0, 4.0])  # first hops first: they were queued earlier


def test_a_high_priority_waits_for_a_thread() -> None:
    lows = [order(("a", 1.0, 0))] * 3
    assert completion([*lows, order(("a", 1.0, 0), priority=1, at=0.25)], 1)[-1] == pytest.approx(2.0)
    # Both threads are busy until 2, and then it shares the channel with the third one.
    assert completion([*lows, order(("a", 1.0, 0), priority=1, at=0.25)], 2)[-1] == pytest.approx(4.0)


def test_nothing_to_do() -> None:
    assert completion([], 1) == []
    assert completion([Order(())], 1) == [0.0]
    assert completion([order(("a", 1.0, 0), at=5.0)], 3) == [6.0]


def test_temporaries_are_whole_instances_in_plain_memory() -> None:
    cluster = sapling(GIVEN)
    assert realm.route(cluster, "node0.fbm0", "node1.fbm0") == ("node0.fbm0", "node0.sys", "node1.sys", "node1.fbm0")
    assert realm.route(cluster, "node0.sys", "node1.sys") == ("node0.sys", "node1.sys")
    hops = realm.copies(cluster, realm.route(cluster, "node0.fbm0", "node1.fbm0"), 10**9)
    assert [hop.node for hop in hops] == [0, 0, 1]
    # Table 5: 4502, 2701 and 5139 MB/s.
    assert [1e3 / hop.seconds for hop in hops] == pytest.approx([4502, 2701, 5139], rel=1e-3)


# ---- machines and patterns


def test_instances_are_those_of_the_paper() -> None:
    assert instance(MULTI_HOP[0]).nbytes * microbenchmarks.INSTANCES == 8 << 30
    assert [pair.label for pair in MULTI_HOP[:2]] == ["FBM → FBM*", "FBM → SYS*"]


@pytest.mark.parametrize(
    ("source", "destination", "limit"),
    [("fbm0", "node1.fbm0", 3180e6), ("fbm0", "node0.dsk", 270e6), ("dsk", "node1.sys", 280e6), ("sys", "node0.fbm0", 5941e6)],
)
def test_hardware_limits(source: str, destination: str, limit: float) -> None:
    assert microbenchmarks.hardware_limit(sapling(GIVEN), Pair(f"node0.{source}", destination)) == limit


def test_presets_are_used_as_they_are() -> None:
    assert sapling(GIVEN) == preset("sapling", nodes=2, gpus=1)


def test_scaled_assumptions() -> None:
    plain, slow = machine("xstream"), machine("xstream", latency=2.0, gpu_link=0.5, memcpy=3.0)
    for before, after in zip(plain.channels, slow.channels, strict=True):
        assert after.setup == 2 * before.setup
        factor = {ChannelKind.GPU_READ: 0.5, ChannelKind.GPU_WRITE: 0.5, ChannelKind.MEMCPY: 3.0}.get(before.kind, 1.0)
        assert after.peak == pytest.approx(factor * before.peak)
        if isinstance(before.throughput, LatencyBandwidth):
            assert isinstance(after.throughput, LatencyBandwidth)
            assert after.throughput.latency == 2 * before.throughput.latency
    network = [each.between("node0.reg", "node1.reg")[0] for each in (plain, slow)]
    assert network[1].rate(1.0) == pytest.approx(network[0].rate(1.0) / 2)


def test_every_assumption_is_named_and_turned() -> None:
    names = {each.name for each in described(GIVEN)}
    turned = {name for each in experiments_of(isometry) for figure in each.depends for name in figure.on}
    assert names == turned | {"circuit_share"}
    assert names == {*vars(GIVEN)} - {"instances", "nodes"}


def test_every_node_sends_and_receives_as_much() -> None:
    for name in ("PageRank", "VGG-16"):
        for phase in APPLICATIONS[name](GIVEN).phases(4):
            for attribute in ("here", "there"):
                moved = [sum(move.nbytes for move in phase if getattr(move, attribute) == node) for node in range(4)]
                assert len(set(moved)) == 1
    assert APPLICATIONS["VGG-16"](GIVEN).phases(16)[2][0].nbytes * 16 == pytest.approx(4 * VGG_WEIGHTS, rel=1e-6)


def test_the_threshold_between_the_planners() -> None:
    space = IndexSpace(x=4_000_000)  # 16 MB of float32
    assert planner_of(Move("fbm0", 0, "fbm0", 1, space)) == "full"
    assert planner_of(Move("fbm0", 0, "fbm0", 1, IndexSpace(x=3_999_999))) == "simple"


def test_channels_of_a_node_are_one_of_a_kind() -> None:
    cluster = preset("xstream", nodes=2, gpus=2)
    network = cluster.between("node0.reg", "node1.zcm")[0]
    assert engine(network, (3, 7), None) == "node3 network out"
    assert engine(network, (3, 0), 0) == "node0 network in"
    assert engine(network, (0, 3), 0) == "node0 network out"
    assert engine(cluster.between("node1.zcm", "node1.fbm1")[0], (3, 7), None) == "node7.fbm1 GPUWrite"
    assert engine(cluster.between("node0.sys", "node0.zcm")[0], (3, 3), None) == "node3 Memcpy"


def test_a_pair_of_nodes_stands_for_all_that_do_the_same() -> None:
    for name in ("PageRank", "VGG-16"):
        folded = APPLICATIONS[name](GIVEN)
        whole = isometry_seconds(replace(folded, alike=False), 3, GIVEN)
        assert isometry_seconds(folded, 3, GIVEN) == pytest.approx(whole, rel=1e-9)


def test_direct_transfers_take_as_long_with_both() -> None:
    app = APPLICATIONS["PageRank"](GIVEN)
    assert isometry_seconds(app, 1, GIVEN) == pytest.approx(realm_seconds(app, 1, GIVEN), rel=1e-2)


def test_paths_of_realm_alone() -> None:
    cluster = without_registered(preset("xstream", nodes=2, gpus=1), "sys")
    assert cluster.between("node0.zcm", "node0.fbm0")  # direct transfers stay
    assert not cluster.between("node0.fbm0", "node0.zcm")
    assert not cluster.between("node0.reg", "node1.sys")


def test_an_mpi_that_packs() -> None:
    cluster = sapling(FEW)
    plain, packed = (mpi_throughput(cluster, GPUS, FEW, way) for way in ("none", "on the GPU"))
    assert plain == pytest.approx(3180e6, rel=1e-2)
    copy = cluster.between("node0.fbm0", "node0.fbm0")[0]
    assert packed == pytest.approx(copy.rate(4.0), rel=1e-2)


# ---- figures beside the paper's


def statement(low: float | None, high: float | None, ours: float) -> Statement:
    return Claim("what", "said", (low, high), "ours", "change").beside({"ours": ours}, "6")


@pytest.mark.parametrize(
    ("low", "high", "ours", "verdict"),
    [
        (-0.62, -0.62, -0.62, "agrees"),
        (-0.62, -0.62, -0.67, "agrees"),
        (-0.62, -0.62, -0.92, "more"),
        (-0.62, -0.62, -0.3, "less"),
        (-0.8, -0.4, -0.5, "agrees"),
        (2.2, 2.2, 1.9, "less"),
        (3.5, None, 9.0, "agrees"),
        (None, 0.5, 0.7, "more"),
        (0, 0, 0, "agrees"),
        (None, None, 1.0, "no figure"),
    ],
)
def test_verdicts(low: float | None, high: float | None, ours: float, verdict: str) -> None:
    assert statement(low, high, ours).verdict == verdict
    assert replace(statement(low, high, ours), given="put in").verdict == "put in"


def test_a_claim_that_tests_nothing_says_so() -> None:
    claim = Claim(lambda rows: f"{len(rows)} rows", "three", 3, len, "count")
    for made, verdict in ((claim.put_in, "put in"), (claim.fitted, "fitted"), (claim.assumed, "assumed")):
        shown = made(lambda rows: f"as {rows[0]}").beside("abc", "6")
        assert (shown.what, shown.why, shown.verdict, shown.agrees) == ("3 rows", "as a", verdict, None)
    assert claim.because("so").beside("abc", "6").verdict == "agrees"


def test_figures_are_written() -> None:
    assert [change(value) for value in (-0.62, -0.004, 0.0, -1e-9, 0.31, -0.9997)] == [
        "−62 %", "−0.4 %", "0.0 %", "0.0 %", "31 %", "−99.97 %",
    ]  # fmt: skip
    assert [times(value) for value in (1.2345, 12.3, 4612.0)] == ["1.23 ×", "12.3 ×", "4,612 ×"]
    assert [share(value) for value in (0.36, 0.9953, 1.0)] == ["36 %", "99.5 %", "100 %"]


# ---- the whole


@pytest.mark.full
def test_what_must_hold(found: Reproduction) -> None:
    data = found.to_json()
    for row in data["figure7"]:
        assert row["realm"] <= row["isometry"] <= row["limit"] * (1 + 1e-9), row["pair"]
    for row in data["direct"]:
        assert row["speedup"] == pytest.approx(1.0, abs=0.05), row["pair"]
    for case, row in data["figure8"].items():
        assert row["alone"] <= row["isometry"] * (1 + 1e-9)
        # Spread over the channels, a few transfers of low priority may leave Realm a thread and the whole channel.
        assert row["isometry"] <= min(row["realm"].values()) * (1.01 if case == "8a spread" else 1.0), case
    for rows in data["figure9"].values():
        for row in rows:
            assert row["throughput"]["full"] >= max(row["throughput"].values()) * (1 - 0.01), row["pair"]
    for points in data["figure12"].values():
        assert all(point["isometry"] <= point["realm"] * (1 + 1e-2) for point in points)
    assert not any(row["again"] for row in data["table6"])
    assert data["figure13"]["together"] == sorted(data["figure13"]["together"])


@pytest.mark.full
def test_as_data(found: Reproduction) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["benchmark"] == "reproduce isometry" and data["quick"]
    assert [row["what"] for row in data["rows"]] == [each.what for each in found.statements]
    assert {each["name"] for each in data["assumptions"]} == {each.name for each in found.assumptions}
    assert data["figure8"]["8b"]["realm"]["8"] == found.to_json()["figure8"]["8b"]["realm"][8]
    assert data["figure12"]["PageRank"][0]["nodes"] == 1
    agreed, of = found.agreed
    assert 0 < agreed <= of < len(found.statements)
    assert all(math.isfinite(each.ours) for each in found.statements)


class Tags(HTMLParser):
    """Checks that elements are closed in order; keeps their names and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name in ("src", "href") for name, _ in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


@pytest.mark.full
def test_the_page(found: Reproduction) -> None:
    text = document_page(found.document)
    shown, plots = without_plots(text)
    tags = Tags()
    tags.feed(shown)
    assert not tags.open and {"table", "details"} <= tags.seen and len(plots) == len(list(found.document.plots())) == 9
    assert shown.count("<script") == text.count("document.head.append") == 1, "BokehJS, once"
    assert "url(http" not in text and "prefers-color-scheme:dark" in text
    said = " ".join(tags.said)
    for each in found.statements:
        assert each.what in said and str(each.cells()[3]).replace(" %", "\u00a0%").replace(" ×", "\u00a0×") in said
    for assumption in found.assumptions:
        assert assumption.what in said


@pytest.mark.full
def test_the_command(
    found: Reproduction, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(name: str, *, quick: bool, progress: evaluation.Progress | None) -> Reproduction:
        assert name == "isometry"
        if progress is not None:
            progress("Figure 10")
        return replace(found, quick=quick)

    monkeypatch.setattr(evaluation, "reproduce", known)
    out, figures = tmp_path / "page.html", tmp_path / "figures"
    figures.mkdir()
    assert main(["reproduce", "isometry", "--quick", "-o", str(out), "--report", str(tmp_path / "report.md"), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["seconds"] == found.seconds
    assert told.err == ""
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# ")
    assert main(["reproduce", "isometry", "--figures", str(figures)]) == 0
    assert len(list(figures.iterdir())) == 9
    for path in figures.iterdir():
        assert path.suffix == ".html" and len(without_plots(path.read_text(encoding="utf-8"))[1]) == 1
    told = capsys.readouterr()
    assert any(line.split() == ["where", "what", "paper", "ours"] for line in told.out.splitlines())
    assert told.err == "isoviz: Figure 10 …\n"  # a terminal or not
    assert main(["reproduce", "isometry", "-o", str(tmp_path / "nowhere" / "page.html")]) == 2
    assert "no folder" in capsys.readouterr().err
    assert main(["reproduce", "isometry", "--figures", str(out)]) == 2
    assert "is no folder" in capsys.readouterr().err
