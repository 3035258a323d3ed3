"""At most so many paths, and so many proxies of a path: what the options allow is kept, and the best of it is taken."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from isoviz import FieldSpace, IndexSpace, plan, simulate
from isoviz.errors import InputError, NoPathError
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, preset
from isoviz.planner import Options, Plan, Transfer, plan_together
from isoviz.planner.multipath import reasons

MACHINE = preset("v100-mesh")


def moved(destination: str = "node0.fbm7") -> Transfer:
    return Transfer.whole(IndexSpace(x=1 << 22), FieldSpace(v="float64"), "node0.fbm0", "<F, x>", destination, "<F, x>")


def over(**options: int) -> Plan:
    return plan(moved(), MACHINE, options=Options("multipath", **options))


def test_more_paths_are_faster_and_never_more_than_allowed() -> None:
    free = over()
    made = [over(paths=count) for count in range(1, 6)]
    assert [len(each.paths) for each in made] == [min(count, len(free.paths)) for count in range(1, 6)]
    seconds = [simulate(each, MACHINE).end for each in made]
    assert seconds == sorted(seconds, reverse=True)
    assert made[-1].paths == free.paths, "what allows more than there are changes nothing"
    assert made[0].notes[-1] == "one path: the options allow no more"
    # The best two of four: both lanes of one way carry more than one of another.
    assert {path.memories[1] for path in made[1].paths} >= {"node0.fbm4"}


def test_proxies_are_counted_on_every_path() -> None:
    free = over()
    assert max(len(path.memories) - 2 for path in free.paths) == 2
    one = over(proxies=1)
    assert len(one.paths) == 2 and all(len(path.memories) == 3 for path in one.paths)
    assert free.seconds < one.seconds
    with pytest.raises(NoPathError, match=r"every path from node0.fbm0 to node0.fbm7 stops in more than 0 memories"):
        over(proxies=0)


@pytest.mark.parametrize("paths", [1, None])
def test_the_best_single_path_keeps_to_the_proxies_too(paths: int | None) -> None:
    """Two hops of 10 GB/s beside a channel of 1 GB/s: without a proxy, the slow one carries everything."""
    memories = [Memory(f"node0.fbm{k}", MemoryKind.FBM) for k in range(3)]
    channels = [
        Channel("", ChannelKind.GPU_COPY, f"node0.fbm{a}", f"node0.fbm{b}", Constant(rate), request_seconds=1e-6)
        for a, b, rate in ((0, 1, 10e9), (1, 2, 10e9), (0, 2, 1e9))
    ]
    machine = Machine("detour", memories, channels)
    question = Transfer.whole(IndexSpace(x=1 << 24), FieldSpace(v="u1"), "node0.fbm0", "<F, x>", "node0.fbm2", "<F, x>")
    made = [plan(question, machine, "multipath", Options(paths=paths, proxies=most)) for most in (0, 1, None)]
    assert [path.memories for path in made[0].paths] == [("node0.fbm0", "node0.fbm2")]
    assert ("node0.fbm0", "node0.fbm1", "node0.fbm2") in {path.memories for path in made[1].paths}
    assert made[0].seconds > made[1].seconds == made[2].seconds
    assert [simulate(each, machine).end for each in made] == pytest.approx([each.seconds for each in made], rel=1e-9)


def test_each_of_several_transfers_has_no_more_than_allowed() -> None:
    both = [moved("node0.fbm7"), moved("node0.fbm6")]
    assert max(len(each.paths) for each in plan_together(both, MACHINE)) > 1
    assert all(len(each.paths) == 1 for each in plan_together(both, MACHINE, Options("multipath", paths=1)))


@pytest.mark.parametrize("options", [{"paths": 0}, {"paths": 65}, {"proxies": -1}, {"paths": 1.5}, {"proxies": "2"}])
def test_wrong_numbers_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Options(**options)  # type: ignore[arg-type]


def test_a_path_whose_time_does_not_grow_has_no_threshold() -> None:
    fixed, other = (SimpleNamespace(seconds=lambda _, base=base: base, seconds_per_byte=0.0) for base in (1e-6, 2e-6))
    assert reasons._threshold([fixed, other], fixed) == "the time of the first one hardly grows with the bytes"  # type: ignore[list-item,arg-type]
