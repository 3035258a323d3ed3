"""Transfers by keys of network cards: how many keys a hop has, what the winner depends on, and the messages in order."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import isoviz
from isoviz import FieldSpace, IndexSpace, Options, Plan, Transfer, cost, plan, preset, simulate
from isoviz.bench.patterns import patterns
from isoviz.errors import InputError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory
from isoviz.machines.channel_kinds.assisted import RUNS
from isoviz.machines.presets.gpu_clusters import Costs
from isoviz.planner import Instance
from isoviz.planner.explanation.handshake import MOST_DATA, Handshake, handshake

GPU, OTHER = "node0.fbm0", "node1.fbm0"
KEYS = [f"{GPU}->{OTHER} UMR"]
MACHINE = preset("theta-gpu")
LIMIT = Costs.runs_of_key


def scattered(shape: tuple[int, ...], source: tuple[int, ...], destination: tuple[int, ...]) -> Transfer:
    """A box of bytes between arrays of these sizes, whose first dimension is the fastest."""
    names = "abc"[: len(shape)]
    ends = [
        Instance(memory, IndexSpace.of(dict(zip(names, sizes, strict=True))), FieldSpace(v="u1"), f"<F, {', '.join(names)}>")  # type: ignore[arg-type]
        for memory, sizes in ((GPU, source), (OTHER, destination))
    ]
    return Transfer(*ends, shape=shape)


def vector(count: int, block: int) -> Transfer:
    return scattered((block, count), (2 * block, count), (2 * block, count))


def written(told: Handshake) -> list[int]:
    return [each.nbytes for each in told.messages if each.name == "write"]


@pytest.mark.parametrize("count", [1, 16, 64, 100])
def test_the_messages_take_what_the_hop_takes(count: int) -> None:
    made = cost(vector(count, 1024), MACHINE, KEYS)
    first, again = handshake(made), handshake(made, start=2)
    assert first.seconds == pytest.approx(made.first) and again.seconds == pytest.approx(made.again)
    assert simulate(made, MACHINE, starts=3).seconds == pytest.approx(first.seconds + 2 * again.seconds)
    assert all(here.end == there.start for here, there in zip(first.messages, first.messages[1:], strict=False))
    keys = math.ceil(count / LIMIT)
    assert first.keys == keys and len(written(first)) == keys and sum(written(first)) == made.bytes
    assert all(nbytes <= first.window for nbytes in written(first))
    names = [each.name for each in first.messages]
    assert [name for name in names if name != "write"] == ["RTS", "ready", "CTS", "ready", "FIN"]
    assert [each.name for each in again.messages if each.name != "write"] == ["RTS", "CTS", "FIN"]
    assert [each.nbytes for each in (*first.messages, *again.messages) if each.name == "CTS"] == [4 * keys, 0]
    ready = [each.sender for each in first.messages if each.name == "ready"]
    assert ready == [OTHER, GPU], "the receiver maps its keys before it answers"
    costs = Costs()
    assert made.first - made.again == pytest.approx(
        keys * (2 * costs.map_key + costs.exchange) + (2 * count if count > 1 else 2) * costs.map_run
    )


def test_many_keys_are_told_in_few_messages() -> None:
    made = cost(vector(4096, 8), MACHINE, KEYS, chunk=8192)
    told = handshake(made)
    writes = [each for each in told.messages if each.name == "write"]
    assert len(writes) == MOST_DATA
    assert sum(each.count for each in writes) == told.keys and sum(written(told)) == made.bytes
    assert told.seconds == pytest.approx(made.seconds)
    assert told.to_json()["messages"][0]["name"] == "RTS" and told.to_json()["seconds"] == told.seconds


def naive_keys(first: int, second: int, total: int) -> int:
    """The fewest keys whose windows, all alike, hold at most `LIMIT` runs of either end; the runs have these lengths."""

    def most(run: int, window: int) -> int:
        return max((min(at + window, total) - 1) // run - at // run + 1 for at in range(0, total, window))

    window = next(size for size in range(total, 0, -1) if most(first, size) <= LIMIT and most(second, size) <= LIMIT)
    return math.ceil(total / window)


def test_keys_count_the_runs_of_both_ends_and_not_the_mean_run() -> None:
    # Runs of 192 bytes at the source, of 32 at the destination: by the mean run, 600 pieces of 32 bytes.
    one = scattered((32, 6, 100), (32, 12, 100), (64, 6, 100))
    told = handshake(cost(one, MACHINE, KEYS))
    assert (told.source_runs, told.destination_runs, told.window) == (100, 600, 576)
    assert told.keys == 34 and naive_keys(192, 32, one.nbytes) <= told.keys
    assert told.keys > math.ceil(600 / LIMIT)
    whole = handshake(cost(scattered((32, 6, 100), (32, 12, 100), (32, 6, 100)), MACHINE, KEYS))
    assert (whole.source_runs, whole.destination_runs, whole.keys) == (100, 1, math.ceil(100 / LIMIT))
    swapped = handshake(cost(scattered((32, 6, 100), (32, 6, 100), (32, 12, 100)), MACHINE, KEYS))
    assert (swapped.source_runs, swapped.destination_runs, swapped.keys) == (1, 100, whole.keys)


def test_a_bundle_lists_the_runs_of_all_its_members() -> None:
    made = cost(isoviz.bundle([vector(30, 64), vector(30, 64)]), MACHINE, KEYS)
    told = handshake(made)
    assert (told.source_runs, told.destination_runs, told.keys) == (60, 60, math.ceil(60 / LIMIT))


def test_a_list_counts_the_stretches_of_its_entries() -> None:
    entries = np.sort(np.random.default_rng(1).permutation(4000)[:1000])
    ends = [Instance(memory, IndexSpace(x=size), FieldSpace(v="f8"), "<F, x>") for memory, size in ((GPU, 4000), (OTHER, 1000))]  # type: ignore[arg-type]
    told = handshake(cost(Transfer.listed(*ends, entries=entries), MACHINE, KEYS))
    assert (told.source_runs, told.destination_runs) == (1 + np.count_nonzero(np.diff(entries) != 1), 1)
    assert told.keys == math.ceil(8000 / told.window)


def winner(transfer: Transfer, reuse: int) -> Plan:
    return plan(transfer, MACHINE, "full", Options(reuse=reuse))


@pytest.mark.parametrize("grid", "ABCD")
def test_reuse_changes_the_winner_for_the_lattices_of_milc(grid: str) -> None:
    """64 runs of 768 to 6,144 bytes: packed if it moves once, by keys if it moves often."""
    (transfer,) = patterns("UMR")[f"MILC {grid}"].transfers(GPU, OTHER)
    once, often = winner(transfer, 1), winner(transfer, 1000)
    assert [hop.kind for hop in once.hops] == ["GPUCopy", "GPUDirectRemote", "GPUCopy"]
    assert [hop.kind for hop in often.hops] == ["UMR"]
    keyed = cost(transfer, MACHINE, KEYS)
    assert once.seconds < keyed.first and often.again == pytest.approx(keyed.again) and keyed.again < once.seconds
    turns = [winner(transfer, reuse).hops[0].kind for reuse in (1, 2, 4, 8, 16)]
    at = turns.index("UMR")
    assert at > 0 and set(turns[:at]) == {"GPUCopy"} and set(turns[at:]) == {"UMR"}, "it turns once"


def test_runs_of_8_bytes_are_packed_however_often_they_move() -> None:
    (transfer,) = patterns("UMR")["stencil 128³, face x"].transfers(GPU, OTHER)
    assert [hop.kind for hop in winner(transfer, 1000).hops] == ["GPUCopy", "GPUDirectRemote", "GPUCopy"]


def test_channels_without_windows_count_as_before() -> None:
    """The same figures under another kind: the mean run decides, as for all kinds but this one."""
    keyed = MACHINE.channel(KEYS[0])
    plain = replace(keyed, kind="GPUDirectRemote", name="plain", costs=())
    assert keyed.has_windows and not plain.has_windows
    machine = replace(MACHINE, channels=(*MACHINE.channels, plain))
    one = scattered((32, 6, 100), (32, 12, 100), (64, 6, 100))
    by_mean, by_window = cost(one, machine, ["plain"]), cost(one, machine, KEYS)
    assert by_window.again - by_mean.seconds == pytest.approx((34 - math.ceil(600 / LIMIT)) * Costs.post)


HERE, THERE = "node0.reg", "node1.reg"


def assisted(kind: ChannelKind, count: int) -> Handshake:
    """The messages of `count` runs of 512 bytes over one channel of a kind, whose signals take 12 µs together."""
    memories = tuple(Memory(name, "REG", node) for node, name in enumerate((HERE, THERE)))
    wire = Channel("wire", kind, HERE, THERE, LatencyBandwidth(1e-8, 7e8), setup=12e-6, descriptors=RUNS, request_seconds=1e-6)
    machine = Machine("assisted", memories, (wire,))
    space, fields = IndexSpace(x=1024, y=count), FieldSpace(v="u1")
    ends = [Instance(memory, space, fields, "<F, x, y>") for memory in (HERE, THERE)]  # type: ignore[arg-type]
    made = cost(Transfer(*ends, shape=(512, count)), machine, ["wire"])
    told = handshake(made, machine=machine)
    assert told.seconds == pytest.approx(made.seconds)
    return told


@pytest.mark.parametrize(
    ("kind", "data", "before"),
    [
        (ChannelKind.ASSISTED, "send", [("request", HERE), ("posted", THERE), ("acknowledgement", THERE)]),
        (ChannelKind.ASSISTED_GET, "send", [("posted", THERE), ("request", THERE)]),
        (ChannelKind.GET_BY_PUT, "put", [("request", THERE)]),
    ],
)
def test_receives_are_posted_before_data_may_come(kind: ChannelKind, data: str, before: list[tuple[str, str]]) -> None:
    """A put is acknowledged once its receives are posted; a get posts its receives, and then asks."""
    told = assisted(kind, 150)
    signals = [each for each in told.messages if each.name != data]
    assert [(each.name, each.sender) for each in signals] == before
    assert told.messages[: len(signals)] == tuple(signals), "data come last"
    assert sum(each.end - each.start for each in signals) == pytest.approx(12e-6)
    posted = [each for each in signals if each.name == "posted"]
    assert all(each.words.endswith(": 150 runs, 3 requests") for each in posted)
    sent = [each for each in told.messages if each.name == data]
    assert len(sent) == 3 and sum(each.nbytes for each in sent) == 150 * 512
    assert all(each.sender == HERE for each in sent)


def test_an_assisted_request_has_at_most_60_runs() -> None:
    assert [assisted(ChannelKind.ASSISTED_GET, count).keys for count in (1, 60, 61, 120, 121)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"hop": 1}, "hop"),
        ({"path": 1}, "path"),
        ({"start": 0}, "start"),
        ({"machine": 3}, "machine"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        handshake(cost(vector(4, 64), MACHINE, KEYS), **arguments)  # type: ignore[arg-type]


def test_kinds_whose_messages_are_not_known() -> None:
    made = cost(vector(4, 64), MACHINE, [f"{GPU}->{OTHER}"])
    with pytest.raises(InputError, match=r"the messages of GPUDirectRemote .* are not known; those of .*UMR are"):
        handshake(made)
