"""Noncontiguous gets and puts: figures 7b to 10, section 5.2, and which protocol the planner takes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.machines.channel_kinds.assisted import RUNS
from isoviz.machines.presets.armci import GET, PUT
from isoviz.planner import Plan, plan
from isoviz.planner.explanation.handshake import handshake
from isoviz.reproduce import Claim, Columns, Curves, Depends, by_column, experiment
from isoviz.reproduce.armci.assumptions import (
    ASSISTED,
    BUFFERED,
    CLIENT,
    KIB,
    MIB,
    ON_DEMAND,
    OWNER,
    PIPELINED,
    ZERO_COPY,
    ArmciAssumptions,
    at_largest,
    carried_out,
    machine,
    overlap,
    overlaps,
    scattered,
    seconds,
)

DOUBLE = 8
SQUARES = (8, 16, 32, 64, 128, 256, 512)


@experiment(
    "figure 7b",
    "overlap of gets of squares",
    section="5.4",
    quick={"sides": SQUARES[::3]},
    claims=(
        Claim("host-assisted, largest square: overlap", "up to 95 %", 0.95, at_largest(ASSISTED, "side"), "share").because(
            "what is left counts 8 µs and 1 µs for each further request; to make the lists of runs is not counted"
        ),
        Claim("buffered, largest square: overlap", "much less", (None, 0.9), at_largest(BUFFERED, "side"), "share").because(
            "the caller copies out of the buffer while it waits"
        ),
    ),
    shows=overlaps(("doubles of a side", "side", "count"), ("requests", "requests", "count")),
    depends=(Depends("figure 7b: buffered, overlap", "share", at_largest(BUFFERED, "side"), "copy copied_run", sides=(512,)),),
)
def figure7b(given: ArmciAssumptions, sides: Sequence[int] = SQUARES) -> list[dict[str, Any]]:
    """The part of a get of a square of doubles in which the program may compute."""
    rows = []
    for protocol in (ASSISTED, BUFFERED):
        for side in sides:
            found = carried_out(protocol, scattered(side, side * DOUBLE), machine(given))
            (wire,) = [hop for hop in found.hops if hop.kind != "Memcpy"]
            channel = machine(given).channel(wire.channel)
            requests = handshake(found, machine=machine(given)).keys if protocol == ASSISTED else 1
            lists = (requests - 1) * channel.request_seconds
            rows.append(
                {
                    "protocol": protocol,
                    "side": side,
                    "requests": requests,
                    "seconds": found.first,
                    "overlap": overlap(found, lists),
                }
            )
    return rows


def _before(call: str) -> Any:
    return lambda found: sum(row["sender"] != row["receiver"] and row["name"] != "send" for row in found[call])


_MESSAGES = (
    ("message", "name"),
    ("from", "sender"),
    ("to", "receiver"),
    ("begins", "start", "seconds"),
    ("ends", "end", "seconds"),
    ("what it says", "words"),
)


@experiment(
    "figure 8",
    "the messages of host-assisted calls",
    section="5.2",
    claims=(
        Claim("get: messages without data", "a request", 1, _before(GET), "count"),
        Claim("put: messages without data", "a request and an acknowledgement", 2, _before(PUT), "count"),
    ),
    shows=(
        Columns(_MESSAGES, lambda found: found[GET], "A get of 150 runs of 512 bytes"),
        Columns(_MESSAGES, lambda found: found[PUT], "A put of the same"),
    ),
)
def figure8(given: ArmciAssumptions) -> dict[str, Any]:
    """The messages of a get and of a put of 150 runs in order."""
    found = {}
    for call, ends in ((GET, (OWNER, CLIENT)), (PUT, (CLIENT, OWNER))):
        on = machine(given, call=call)
        told = handshake(carried_out(ASSISTED, scattered(150, 512, "reg", *ends), on), machine=on)
        found[call] = [vars(each) for each in told.messages]
    return found


def _of_runs(runs: int) -> Any:
    return lambda found: next(row["more"] for row in found if row["runs"] == runs)


@experiment(
    "section 5.2",
    "runs of a request",
    claims=(
        Claim("60 runs over one of the same bytes", "< 1 µs", (None, 1e-6), _of_runs(RUNS), "seconds").put_in(
            "what a run costs is taken from this limit"
        ),
        Claim("requests of 61 runs", "2", 2, lambda found: next(row["requests"] for row in found if row["runs"] == 61), "count"),
    ),
    shows=(
        Columns(
            (("runs", "runs", "count"), ("requests", "requests", "count"), ("more than one run", "more", "seconds")),
            iter,
            "Host-assisted gets of about 4 KB",
        ),
    ),
)
def section52(given: ArmciAssumptions) -> list[dict[str, Any]]:
    """What the number of runs costs a host-assisted get."""
    rows = []
    for runs in (1, 15, RUNS, RUNS + 1, 2 * RUNS, 4 * RUNS):
        run = max(8, 3840 // runs)
        found, whole = (carried_out(ASSISTED, scattered(*each), machine(given)) for each in ((runs, run), (1, runs * run)))
        requests = handshake(found, machine=machine(given)).keys
        rows.append({"runs": runs, "requests": requests, "more": found.first - whole.first})
    return rows


ROWS, LENGTHS = 256, (64, 256, KIB, 4 * KIB, 16 * KIB)
COLOURS = {ASSISTED: "measured", BUFFERED: "predicted", ZERO_COPY: "dim1"}


def over(found: Any, protocol: str, run: int, state: str = "idle", other: str = ASSISTED) -> float:
    """How many times as long a protocol takes as another one, for runs of `run` bytes."""
    took = {row["protocol"]: row["seconds"] for row in found[state] if row["run"] == run}
    return float(took[protocol] / took[other])


def _over(protocol: str, run: int) -> Any:
    return lambda found: over(found, protocol, run)


def _least(found: Any) -> float:
    return min(over(found, BUFFERED, row["run"]) for row in found["idle"])


def _grows(found: Any) -> float:
    return over(found, BUFFERED, LENGTHS[-1]) / over(found, BUFFERED, LENGTHS[0])


def _lost(protocol: str) -> Any:
    def ours(found: Any) -> float:
        took = {(state, row["run"]): row["seconds"] for state in found for row in found[state] if row["protocol"] == protocol}
        return float(max(took["busy", run] / took["idle", run] for state, run in took if state == "idle"))

    return ours


def _peak(found: Any) -> float:
    (assisted,) = [row for row in found["idle"] if (row["protocol"], row["run"]) == (ASSISTED, 4 * KIB)]
    return float(assisted["contiguous"] / assisted["seconds"])


_CAPTION = "the caption says contiguous; the text and the axes are those of two-dimensional gets"
_QUICK = {"lengths": (LENGTHS[0], 4 * KIB, LENGTHS[-1])}


def _curves(state: str) -> Curves:
    return Curves(
        lambda found: by_column("run", "throughput", by="protocol")(found[state]),
        ("bytes of a run", "bytes"),
        colours=COLOURS.__getitem__,
    )


@experiment(
    "figure 9",
    "gets of 256 runs, the owner idle",
    section="5.3",
    quick=_QUICK,
    claims=(
        Claim("buffered over host-assisted, least", "host-assisted is much better", (1.0, None), _least, "times").because(
            _CAPTION
        ),
        Claim("the same, runs of 16 KiB over runs of 64 B", "more so for long runs", (1.0, None), _grows, "times"),
        Claim(
            "a get for each run over host-assisted, 64 B", "host-assisted is better", (1.0, None), _over(ZERO_COPY, 64), "times"
        ).because("from runs of 4 KiB on both are alike"),
        Claim("1 MiB in runs of 4 KiB beside contiguous, throughput", "close to the peak", (0.95, None), _peak, "share"),
    ),
    shows=(_curves("idle"),),
    depends=(
        Depends("figure 9: buffered over host-assisted, least", "times", _least, "copy copied_run call"),
        Depends("figure 9: a get for each run, 64 B", "times", _over(ZERO_COPY, 64), "read", quick="read", lengths=(64,)),
    ),
)
def figure9(given: ArmciAssumptions, lengths: Sequence[int] = LENGTHS) -> dict[str, Any]:
    """Gets of 256 runs of registered memory by three protocols, the owner idle and busy."""
    found: dict[str, Any] = {}
    for state in ("idle", "busy"):
        on = machine(given, state == "busy")
        found[state] = []
        for protocol in COLOURS:
            for run in lengths:
                took, nbytes = seconds(protocol, scattered(ROWS, run), on), ROWS * run
                contiguous = seconds(ZERO_COPY, scattered(1, nbytes), on)
                found[state].append(
                    {"protocol": protocol, "run": run, "seconds": took, "throughput": nbytes / took, "contiguous": contiguous}
                )
    return found


figure10 = figure9.further(
    "figure 10",
    "gets of 256 runs, the owner busy",
    section="5.3",
    claims=(
        Claim("host-assisted, most: busy over idle", "not affected at all", 1.0, _lost(ASSISTED), "times").because(
            "to post requests takes so little that a busy processor is not asked for more than it has left"
        ),
        Claim("buffered, most: busy over idle", "drops very significantly", (1.2, None), _lost(BUFFERED), "times"),
    ),
    shows=(_curves("busy"),),
    depends=(
        Depends("figure 10: host-assisted, busy over idle", "times", _lost(ASSISTED), "left helper"),
        Depends("figure 10: buffered, busy over idle", "times", _lost(BUFFERED), "left copy copied_run", quick="left"),
    ),
)


CASES = (
    *[("sys", 1, nbytes) for nbytes in (64, 4 * KIB, 64 * KIB, MIB)],
    *[("reg", runs, run) for runs, run in ((1, 64), (1, MIB), (16, 4 * KIB), (256, 4 * KIB), (4096, 64), (16 * KIB, 8))],
)


def protocol_of(found: Plan) -> str:
    """The protocol of the paper that a plan is."""
    if any(hop.kind.startswith("Assisted") for hop in found.hops):
        return ASSISTED
    if any("on demand" in hop.channel for hop in found.hops):
        return ON_DEMAND
    if any(hop.kind == "Memcpy" for hop in found.hops):
        return PIPELINED if found.only.chunk_count > 1 else BUFFERED
    return ZERO_COPY


@experiment(
    "section 4.2",
    "the protocol by size, as the planner takes it",
    claims=(
        Claim(
            "cases in which a busy owner changes the choice",
            "by size alone",
            None,
            lambda found: sum(row["idle"] != row["busy"] for row in found),
            "count",
        ).because("the paper chooses by size and by what is registered; a planner that knows of the other end does more"),
    ),
    shows=(
        Columns(
            (
                ("memory of both ends", "memory"),
                ("runs", "runs", "count"),
                ("bytes of a run", "run", "bytes"),
                ("owner idle", "idle"),
                ("time", "idle_seconds", "seconds"),
                ("owner busy", "busy"),
                ("time", "busy_seconds", "seconds"),
            )
        ),
    ),
)
def section42(given: ArmciAssumptions) -> list[dict[str, Any]]:
    """The plans of the planner for gets, with the owner idle and busy."""
    rows = []
    for end, runs, run in CASES:
        row: dict[str, Any] = {"memory": "registered" if end == "reg" else "pageable", "runs": runs, "run": run}
        for state in ("idle", "busy"):
            found = plan(scattered(runs, run, end), machine(given, state == "busy"), "full")
            row |= {state: protocol_of(found), f"{state}_seconds": found.seconds}
        rows.append(row)
    return rows
