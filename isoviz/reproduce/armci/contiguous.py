"""Contiguous puts and gets: figures 2 to 7a, table 1, and sections 4.3 and 5.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.machines.presets.armci import GET, MYRINET, PUT, US
from isoviz.planner import plan_by_path
from isoviz.reproduce import Claim, Columns, Curves, Depends, by_column, experiment
from isoviz.reproduce.armci.assumptions import (
    ASSISTED,
    BUFFERED,
    KIB,
    MIB,
    ON_DEMAND,
    PIPELINED,
    ZERO_COPY,
    ArmciAssumptions,
    at_largest,
    carried_out,
    copies_of,
    machine,
    overlap,
    overlaps,
    scattered,
    seconds,
)

SIZES = tuple(1 << power for power in range(6, 21, 2))
SHORT = 8
QUICK = {"sizes": SIZES[::3]}
COLOURS = {ZERO_COPY: "measured", PIPELINED: "predicted", BUFFERED: "dim1", ON_DEMAND: "dim0"}
"""The protocols, and their colours in the plots."""
_PUT_IN = "the model was given this figure of the paper"


def over(found: Any, protocol: str, other: str, nbytes: int) -> float:
    """How many times as long a protocol takes as another one, for a number of bytes."""
    took = {row["protocol"]: row["seconds"] for row in found if row["bytes"] == nbytes}
    return float(took[protocol] / took[other])


def _rows(given: ArmciAssumptions, protocols: Sequence[str], sizes: Sequence[int], *, busy: bool = False) -> list[dict[str, Any]]:
    """Seconds and throughput of contiguous gets; of pageable memory, where a protocol copies or registers."""
    rows = []
    for protocol in protocols:
        for nbytes in sizes:
            transfer = scattered(1, nbytes, "reg" if protocol == ZERO_COPY else "sys")
            took = seconds(protocol, transfer, machine(given, busy))
            rows.append({"protocol": protocol, "bytes": nbytes, "seconds": took, "throughput": nbytes / took})
    return rows


def _curves(found: Any) -> dict[str, dict[float, float]]:
    return by_column("bytes", "throughput", by="protocol")(found)


def _least(found: Any) -> float:
    return min(over(found, ON_DEMAND, PIPELINED, row["bytes"]) for row in found if row["protocol"] == PIPELINED)


@experiment(
    "figure 2",
    "registration beside copies",
    section="4",
    quick=QUICK,
    claims=(
        Claim("gets up to 1 MiB: on demand over pipelined, least", "not very competitive", (1.0, None), _least, "times").because(
            "the figure is lost, and its curves are not claimed; about 20 µs for each buffer are enough for this"
        ),
    ),
    shows=(
        Curves(_curves, colours=COLOURS.__getitem__),
        Columns(
            (
                ("bytes", "bytes", "bytes"),
                ("to register both ends", "registered", "seconds"),
                ("to copy once", "copied", "seconds"),
            ),
            lambda found: [row for row in found if row["protocol"] == ON_DEMAND],
        ),
    ),
    depends=(Depends("figure 2: on demand over pipelined, least", "times", _least, "register page copy call", quick="register"),),
)
def figure2(given: ArmciAssumptions, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Gets of pageable memory that is registered first, and by copies in chunks."""
    rows = _rows(given, (ON_DEMAND, PIPELINED), sizes)
    for row in rows:
        transfer = scattered(1, row["bytes"], "sys")
        plan = carried_out(ON_DEMAND, transfer, machine(given))
        copied = copies_of(carried_out(BUFFERED, transfer, machine(given)), -1)
        row |= {"registered": plan.first - plan.again, "copied": copied}
    return rows


def _of_call(call: str) -> Curves:
    """The curve of a call."""
    return Curves(lambda found: {call: {row["bytes"]: row["throughput"] for row in found if row["call"] == call}})


def _peak(call: str) -> Any:
    return lambda found: max(row["throughput"] for row in found if row["call"] == call)


@experiment(
    "figure 3",
    "throughput of puts",
    section="4.1",
    quick=QUICK,
    claims=(Claim("put, peak", "730 MB/s", 730e6, _peak(PUT), "rate").put_in(_PUT_IN),),
    shows=(_of_call(PUT),),
)
def figure3(given: ArmciAssumptions, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Zero-copy puts and gets of registered memory."""
    rows = []
    for call in (PUT, GET):
        for nbytes in (*sizes, 16 * MIB):
            took = seconds(ZERO_COPY, scattered(1, nbytes), machine(given, call=call))
            rows.append({"call": call, "bytes": nbytes, "throughput": nbytes / took})
    return rows


figure4 = figure3.further(
    "figure 4",
    "throughput of gets",
    section="4.1",
    claims=(Claim("get, peak", "689 MB/s", 689e6, _peak(GET), "rate").put_in(_PUT_IN),),
    shows=(_of_call(GET),),
)


def _slower(protocol: str, other: str) -> Any:
    return lambda found: over(found["idle"], protocol, other, MIB)


def lost(found: Any, protocol: str) -> float:
    """How many times as long a protocol takes where the owner is busy, for 1 MiB."""
    idle, busy = (
        next(row["seconds"] for row in found[state] if row["protocol"] == protocol and row["bytes"] == MIB)
        for state in ("idle", "busy")
    )
    return float(busy / idle)


def _lost(protocol: str) -> Any:
    return lambda found: lost(found, protocol)


THREE = (ZERO_COPY, PIPELINED, BUFFERED)
_SERIOUS = "from a fifth on it is taken as serious"


@experiment(
    "figure 5",
    "three protocols, the owner idle",
    section="4.1",
    quick={"sizes": (64, 4 * KIB, MIB)},
    claims=(
        Claim("1 MiB: pipelined over zero-copy", "zero-copy is faster", (1.0, None), _slower(PIPELINED, ZERO_COPY), "times"),
        Claim("1 MiB: buffered over pipelined", "pipelined is faster", (1.0, None), _slower(BUFFERED, PIPELINED), "times"),
    ),
    shows=(Curves(lambda found: _curves(found["idle"]), colours=COLOURS.__getitem__),),
    depends=(
        Depends("figure 5: pipelined over zero-copy", "times", _slower(PIPELINED, ZERO_COPY), "copy call", sizes=(MIB,)),
        Depends("figure 5: buffered over pipelined", "times", _slower(BUFFERED, PIPELINED), "copy call", sizes=(MIB,)),
    ),
)
def figure5(given: ArmciAssumptions, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Gets by three protocols, the owner idle and busy."""
    return {state: _rows(given, THREE, sizes, busy=state == "busy") for state in ("idle", "busy")}


figure6 = figure5.further(
    "figure 6",
    "three protocols, the owner busy",
    section="4.1",
    claims=(
        Claim("1 MiB, zero-copy: busy over idle", "virtually immune", 1.0, _lost(ZERO_COPY), "times"),
        Claim("1 MiB, pipelined: busy over idle", "seriously degraded", (1.2, None), _lost(PIPELINED), "times").because(_SERIOUS),
        Claim("1 MiB, buffered: busy over idle", "seriously degraded", (1.2, None), _lost(BUFFERED), "times").because(_SERIOUS),
    ),
    shows=(Curves(lambda found: _curves(found["busy"]), colours=COLOURS.__getitem__),),
    depends=(
        Depends("figure 6: pipelined, busy over idle", "times", _lost(PIPELINED), "left copy", quick="left", sizes=(MIB,)),
        Depends("figure 6: buffered, busy over idle", "times", _lost(BUFFERED), "left copy", sizes=(MIB,)),
    ),
)


def _latency(call: str) -> Any:
    return lambda found: next(row["seconds"] for row in found if row["call"] == f"ARMCI {call}")


@experiment(
    "table 1",
    "latencies",
    section="4.2",
    claims=(
        Claim("short put", "7.44 µs", 7.44 * US, _latency(PUT), "seconds").put_in(_PUT_IN),
        Claim("short get", "16 µs", 16 * US, _latency(GET), "seconds").put_in(
            "the abstract says 15 µs, which is the figure of VAPI"
        ),
    ),
    shows=(
        Columns(
            (("call", "call"), ("paper", "paper", "seconds"), ("ours", "ours")),
        ),
    ),
)
def table1(given: ArmciAssumptions) -> list[dict[str, Any]]:
    """Seconds of calls of 8 bytes, beside those of the paper; MPI and VAPI are not modelled."""
    paper = {"ARMCI put": 7.44, "MPI": 8.03, "VAPI put": 5.84, "VAPI get": 15, "ARMCI get": 16}
    rows = []
    for call, latency in paper.items():
        kind = call.removeprefix("ARMCI ")
        took = seconds(ZERO_COPY, scattered(1, SHORT), machine(given, call=kind)) if kind in (PUT, GET) else None
        ours = "" if took is None else f"{took / US:.2f} µs"
        rows.append({"call": call, "paper": latency * US, "seconds": took, "ours": ours})
    return rows


@experiment(
    "figure 7a",
    "overlap of contiguous gets",
    section="4.2",
    quick=QUICK,
    claims=(
        Claim("zero-copy, largest get: overlap", "99 %", 0.99, at_largest(ZERO_COPY, "bytes"), "share").because(
            "it follows from the 8 µs and the rate of the paper, both put in"
        ),
        Claim("buffered, largest get: overlap", "relatively less", (None, 0.9), at_largest(BUFFERED, "bytes"), "share").because(
            "the caller copies out of the buffer while it waits"
        ),
    ),
    shows=overlaps(("bytes", "bytes", "bytes")),
    depends=(Depends("figure 7a: buffered, overlap", "share", at_largest(BUFFERED, "bytes"), "copy call", sizes=(MIB,)),),
)
def figure7a(given: ArmciAssumptions, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """The part of a get in which the program may compute."""
    rows = []
    for protocol in (ZERO_COPY, BUFFERED):
        for nbytes in sizes:
            plan = carried_out(protocol, scattered(1, nbytes, "reg" if protocol == ZERO_COPY else "sys"), machine(given))
            rows.append({"protocol": protocol, "bytes": nbytes, "seconds": plan.first, "overlap": overlap(plan)})
    return rows


ATOMICS = 17.1 * US
"""A read-modify-write by the network card (from the paper, section 4.3)."""


@experiment(
    "section 4.3",
    "read-modify-write",
    claims=(
        Claim("by the server", "22.1 µs", 22.1 * US, lambda found: found[0]["seconds"], "seconds").put_in(_PUT_IN),
        Claim("by atomics of the card", "17.1 µs", 17.1 * US, lambda found: found[1]["seconds"], "seconds").put_in(_PUT_IN),
        Claim("by atomics, less", "23 %", 0.23, lambda found: 1 - found[1]["seconds"] / found[0]["seconds"], "share").put_in(
            "it is the quotient of the two above"
        ),
    ),
    shows=(
        Columns(
            (
                ("way", "way"),
                ("time", "seconds", "seconds"),
                ("operations", "operations"),
                ("bits", "bits"),
                ("the helper", "helper"),
            ),
            iter,
            "Other operations need the server. One word has one way: the two are not atomic with each other",
        ),
    ),
)
def section43(given: ArmciAssumptions) -> list[dict[str, Any]]:
    """The two ways: the helper is asked and answers with 8 bytes, or the network card does it."""
    asked = seconds(ASSISTED, scattered(1, SHORT), machine(given))
    both = "fetch-and-add, swap"
    return [
        {"way": "server", "seconds": asked, "operations": both, "bits": "32, 64", "helper": "locks, and answers"},
        {"way": "atomics", "seconds": ATOMICS, "operations": "fetch-and-add", "bits": "64", "helper": "no part"},
    ]


LARGE = 16 * MIB


def _of(way: str, nbytes: int, value: str) -> Any:
    return lambda found: next(row[value] for row in found if (row["way"], row["bytes"]) == (way, nbytes))


COPIED, OWNERS = "copied by the owner", "the owner's put"


@experiment(
    "section 5.1",
    "contiguous gets on Myrinet",
    claims=(
        Claim("short get, copied", "27 µs", 27 * US, _of(COPIED, SHORT, "seconds"), "seconds").fitted(
            "what a call of a copy takes follows from it"
        ),
        Claim("short get by the owner's put", "24 µs", 24 * US, _of(OWNERS, SHORT, "seconds"), "seconds").put_in(_PUT_IN),
        Claim("large get, copied", "198 MB/s", 198e6, _of(COPIED, LARGE, "throughput"), "rate").because(
            "one copy, that of the owner, in one chunk, at the rate that is assumed for all copies"
        ),
        Claim("large get by the owner's put", "237 MB/s", 237e6, _of(OWNERS, LARGE, "throughput"), "rate").put_in(_PUT_IN),
    ),
    shows=(
        Columns(
            (("way", "way"), ("bytes", "bytes", "bytes"), ("time", "seconds", "seconds"), ("throughput", "throughput", "rate"))
        ),
    ),
    depends=(Depends("section 5.1: large get, copied", "rate", _of(COPIED, LARGE, "throughput"), "copy"),),
)
def section51(given: ArmciAssumptions) -> list[dict[str, Any]]:
    """Gets into registered memory of a network whose cards cannot read: the owner copies first, or puts from where data lie."""
    on, rows = machine(given, network=MYRINET), []
    put = "node0.reg->node1.reg get by put"
    for way, end, channels in ((COPIED, "sys", ["node0.sys->node0.reg", put]), (OWNERS, "reg", [put])):
        for nbytes in (SHORT, LARGE):
            whole = scattered(1, nbytes, end)
            to = scattered(1, nbytes).destination
            plan = plan_by_path(type(whole)(whole.source, to, shape=whole.shape), on, channels, chunk=nbytes)
            rows.append({"way": way, "bytes": nbytes, "seconds": plan.seconds, "throughput": nbytes / plan.seconds})
    return rows
