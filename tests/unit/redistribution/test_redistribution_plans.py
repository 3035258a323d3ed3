"""Plans of redistributions: classes that share a search, times together, text and JSON, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isoviz import DistributedInstance, Distribution, FieldSpace, IndexSpace, Machine, machines, plan, plan_redistribution
from isoviz.errors import DistributionError, TransferError
from isoviz.planner import plan_from_json, plan_to_json
from isoviz.redistribution import RedistributionPlan, redistribution_from_json, redistribution_to_json

SPACE, FIELDS = IndexSpace(x=1024, y=1024), FieldSpace(value="float64")


def ranks(count: int = 4) -> Machine:
    return machines.preset("ranks", ranks=count, measure="assumed")


def ends(count: int = 4, block: int | None = None, memory: str = "reg") -> tuple[DistributedInstance, DistributedInstance]:
    blocks = {} if block is None else {"x": block}
    source: Any = DistributedInstance(SPACE, FIELDS, Distribution({"y": count}), "<F, x, y>")  # type: ignore[arg-type]
    return source, DistributedInstance(SPACE, FIELDS, Distribution({"x": count}, blocks), "<F, y, x>", memory)  # type: ignore[arg-type]


def transposition(count: int = 4, **options: Any) -> RedistributionPlan:
    return plan_redistribution(*ends(count, **options), ranks(count))


def test_alike_pairs_share_a_search() -> None:
    """Between ranks, and within a rank; every plan is what a search of its own finds."""
    machine = ranks(16)
    found = plan_redistribution(*ends(16), machine)
    assert len(found.sendings) == 256
    assert found.classes == 2
    assert set(found.matrix.values()) == {64 * 64 * 8}
    for each in (found.sendings[0], found.sendings[37], found.sendings[-1]):
        own = plan(each.plan.transfer, machine)
        assert own.objective == pytest.approx(each.plan.objective)
        assert (own.hops, own.machine_digest) == (each.plan.hops, each.plan.machine_digest)


def test_pairs_that_differ_are_searched_apart() -> None:
    """Ranks of two hosts reach each other by other channels than those of one host."""
    machine = machines.preset("ranks", ranks=4, hosts=2, measure="assumed")
    found = plan_redistribution(*ends(), machine)
    assert found.classes == 3
    ways = {(each.sender, each.receiver): each.plan.hops[0].kind for each in found.sendings}
    assert ways[0, 1] == "Window"
    assert ways[0, 2] != "Window"
    assert ways[0, 0] == "Memcpy"


def test_every_rank_begins_with_the_rank_after_it() -> None:
    found = transposition()
    for rank in range(4):
        assert [each.receiver for each in found.sent_by(rank)] == [(rank + turn) % 4 for turn in (1, 2, 3, 4)]
    assert [each.sender for each in found.sendings[:4]] == [0, 1, 2, 3]


def test_the_ranks_of_a_host_share_it() -> None:
    """All transfers together take longer than each alone, and as long as what they share needs for all bytes."""
    found = transposition()
    alone = max(each.plan.seconds for each in found.sendings)
    machine, hop = ranks(), found.sendings[0].plan.hops[0]
    uses = machine.channel(hop.channel).resources
    shared = found.bytes * max(machine.resource(name).cost(weight, hop.throughput) for name, weight in uses)
    assert {name for name, _ in uses} == {"host0.memory", "host0.processors"}
    assert found.seconds > 2 * alone
    assert shared <= found.seconds < 1.2 * shared + alone
    assert found.throughput == pytest.approx(found.bytes / found.seconds)


def test_text() -> None:
    text = str(transposition(block=32))
    assert "y in blocks over ranks 0…3" in text
    assert "x in blocks of 32, cyclic, over ranks 0…3" in text
    assert "16 transfers, 2 searches: 6 MiB between ranks, 2 MiB within" in text
    assert "rank 1  512 KiB  512 KiB  512 KiB  512 KiB" in text
    assert "rank 2 serves 3, 0, 1, itself" in text
    assert "12 by Window" in text
    many = str(plan_redistribution(*ends(32), ranks(32)))
    assert "32 × 32 ranks" in many
    assert len(many.splitlines()) < 12


def test_nothing_moves_where_a_rank_holds_nothing() -> None:
    space = IndexSpace(x=3, y=5)
    source = DistributedInstance(space, FIELDS, Distribution({"y": 4}), "<F, x, y>")  # type: ignore[arg-type]  # 2, 2, 1, 0
    destination = DistributedInstance(space, FIELDS, Distribution({}, ranks=(2,)), "<F, x, y>", "sys")  # type: ignore[arg-type]
    found = plan_redistribution(source, destination, ranks())
    assert found.matrix == {(0, 2): 48, (1, 2): 48, (2, 2): 24}
    assert "–" in str(found)


@pytest.mark.parametrize("block", [None, 1, 48])
def test_json_and_back(block: int | None) -> None:
    found = transposition(block=block)
    data = json.loads(json.dumps(redistribution_to_json(found)))
    again = redistribution_from_json(data)
    assert again.plans == found.plans
    assert (again.source, again.destination, again.seconds) == (found.source, found.destination, found.seconds)
    assert redistribution_to_json(again) == data


def test_a_plan_with_regular_sets_is_no_plain_plan() -> None:
    """A reader of single plans refuses it, since it does not know which entries move."""
    one = transposition(block=1).plans[0]
    with pytest.raises(TransferError, match="sets"):
        plan_from_json(json.loads(json.dumps(plan_to_json(one))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.pop("sendings"), "'sendings' is missing"),
        (lambda data: data["sendings"].pop(), "expected 16 transfers"),
        (lambda data: data["sendings"][3].update(receiver=3), "sendings[3]: expected 524288 bytes from rank 3 to rank 0"),
        (lambda data: data["sendings"][3].update({"class": 7}), "sendings[3].class: expected 0 to 1, got 7"),
        (lambda data: data["sendings"][3].update(channels=[]), "sendings[3].channels: expected 1 names, got 0"),
        (lambda data: data["sendings"][3].update(memories=["node0.sys", "node0.reg"]), "expected a path from node3.sys"),
        (
            lambda data: data["sendings"][3].update(memories=["node3.sys", ""]),
            "sendings[3].memories[1]: expected a name",
        ),
        (lambda data: data["sendings"][3].update(memories=["node0.sys"] * 2), "sendings[3].memories: expected one name for each"),
        (lambda data: data["source"].update(memory=3), "source.memory: expected a text"),
        (lambda data: data["source"]["distribution"].update(over={"y": 0}), "over['y']"),
        (lambda data: data["classes"].__setitem__(0, {}), "classes[0].transfer"),
        (lambda data: data.update(format="isoviz-plan-3"), "format: expected 'isoviz-redistribution-1'"),
    ],
)
def test_invalid_json(change: Any, words: str) -> None:
    data = redistribution_to_json(transposition())
    change(data)
    with pytest.raises(DistributionError) as caught:
        redistribution_from_json(data)
    assert words in str(caught.value)


def test_ends_that_do_not_suit_each_other() -> None:
    source, _ = ends()
    other = DistributedInstance(IndexSpace(x=1024, y=1023), FIELDS, Distribution({"x": 4}), "<F, x, y>")  # type: ignore[arg-type]
    with pytest.raises(DistributionError, match="y=1023"):
        plan_redistribution(source, other, ranks())
    more = DistributedInstance(SPACE, FieldSpace(other="float64"), Distribution({"x": 4}), "<F, x, y>")  # type: ignore[arg-type]
    with pytest.raises(DistributionError, match="field 'other' is not in the source"):
        plan_redistribution(source, more, ranks())
    narrow = DistributedInstance(SPACE, FieldSpace(value="float32"), Distribution({"x": 4}), "<F, x, y>")  # type: ignore[arg-type]
    with pytest.raises(DistributionError, match="float64 in the source and float32"):
        plan_redistribution(source, narrow, ranks())
    with pytest.raises(DistributionError, match=r"needs [34] ranks, and there are 2 .*mpiexec -n [34]"):
        plan_redistribution(*ends(memory="reg"), ranks(2))
