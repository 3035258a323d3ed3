"""A rank of a job that runs plans again between the same arrays: `again_runs.py WAY SEED CASES`; `main` has the ways."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from given.rank_program import begin, tell
from lane_runs import SubmittedCase, direct_plan, engine_of

from isoviz import FieldSpace, IndexSpace, Instance, Plan, Report, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import RankError, RankLost, VerificationError
from isoviz.runtime.ranks.lanes.lane_events import PATIENCE
from isoviz.runtime.ranks.lanes.lane_sources import LaneSources
from isoviz.runtime.ranks.rank_engine import RankEngine


class RunCase(SubmittedCase):
    """A plan that is run again and again."""

    def run(self, **options: Any) -> Report:
        self.turn += 1
        if self.source is not None:
            self.source[:] = self.content(self.turn)
        found = self.engine.run(self.plan, self.source, self.room, **options)
        self.routes[found.route] = self.routes.get(found.route, 0) + 1
        self.check()
        return found

    def other_array(self, rng: random.Random) -> None:
        """Sometimes one of the ranks takes another array; all draw alike."""
        way = rng.randrange(8)
        if way == 0 and self.source is not None:
            self.source = self._array(self.world, self.plan.transfer.source)
        if way == 1 and self.room is not None:
            self.room = self._array(self.world, self.plan.transfer.destination)


def over_lane(case: RunCase) -> None:
    """Run until it goes over a lane: how soon the ranks have one depends on how busy they are."""
    for _ in range(200):
        if case.run().route == "lane":
            return
    raise AssertionError("no lane after 200 runs")


def random_runs(world: World, seed: str, count: int) -> dict[str, Any]:
    """Random plans, from several arrays, with late ranks, and with a token on one rank, which carries it out by messages."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    rng, routes = random.Random(seed), Counter[str]()
    with engine:
        for number in range(count):
            here = rng.randrange(world.size)
            ends = here, (here + rng.randrange(1, world.size)) % world.size
            case = RunCase(world, engine, direct_plan(rng, machine, world.size, ends, rng.choice((6, 40, 200, 300, 700))), number)
            kept = [case.source, case.source if case.source is None else case.source.copy()]
            for turn in range(16):
                late, who, seconds = rng.random(), rng.randrange(world.size), rng.choice((1e-4, 1e-3, 2 * PATIENCE))
                until = time.perf_counter() + seconds
                while late < 0.1 and who == world.rank and time.perf_counter() < until:
                    os.sched_yield()
                token, by, verify = rng.random() < 0.1, rng.choice(ends), rng.random() < 0.7
                if number % 3 == 0:
                    case.other_array(rng)
                elif number % 3 == 1 and not case.plan.transfer.source.memory.endswith("reg"):
                    case.source = kept[turn % 2]  # one after the other
                options = {"cancel": threading.Event()} if token and by == world.rank else {}
                assert case.run(verify=verify, **options).verified is (verify or None)
            routes.update(case.routes)
    return dict(routes)


def some_plans(engine: RankEngine) -> dict[str, Plan]:
    """Plans of a single request that have lanes: as it lies, a part; between windows also turned, and of structs."""
    space, fields = IndexSpace(x=40, y=24), FieldSpace(a="<f8", b="<i4")
    ways: dict[str, tuple[str, str, dict[str, Any]]] = {
        "sys as it lies": ("<F, x, y>", "<F, x, y>", {}),
        "sys part": ("<F, x, y>", "<F, x, y>", {"shape": (40, 20), "source_origin": (0, 3), "destination_origin": (0, 1)}),
        "reg as it lies": ("<F, x, y>", "<F, x, y>", {}),
        "reg turned": ("<F, x, y>", "<F, y, x>", {}),
        "reg fields": ("<F, x, y>", "<x, y, F>", {}),
        "reg part": ("<F, x, y>", "<F, x, y>", {"shape": (16, 24), "source_origin": (3, 0), "destination_origin": (0, 0)}),
    }
    found = {}
    for name, (here, there, options) in ways.items():
        kind = name[:3]
        ends = Instance(f"node0.{kind}", space, fields, here), Instance(f"node1.{kind}", space, fields, there)
        found[name] = engine.agreed(partial(plan, Transfer(*ends, **options), engine.machine, "direct"))
    much = Instance("node0.sys", IndexSpace(x=512, y=512), fields, "<F, x, y>"), Instance("node1.sys", space, fields, "<F, x, y>")
    rows = Transfer(*much, shape=(40, 4), source_origin=(7, 300), destination_origin=(0, 5))
    found["sys rows of much"] = engine.agreed(partial(plan, rows, engine.machine, "direct"))
    return found


def told_by(report: Report) -> dict[str, Any]:
    """What a report says but for times, and but for the number of the transfer."""
    assert report.trace is not None
    (transfer,) = report.trace.transfers
    assert report.trace.seconds == report.seconds == transfer.ended - transfer.submitted > 0
    assert transfer.label == f"transfer {transfer.number}"
    untimed = transfer._replace(number=0, label="", submitted=0.0, admitted=0.0, ended=0.0)
    return {
        "transfer": repr(untimed),
        "requests": [each[1:4] for each in report.trace.requests],
        "of it": all(each.transfer == transfer.number for each in report.trace.requests),
        "hops": [(hop.index, hop.bytes, hop.requests, hop.path) for hop in report.hops],
        "busy": all(0 < hop.seconds <= report.seconds * 1.001 for hop in report.hops),
        "where": report.trace.where,
        "verified": report.verified,
        "notes": [note for note in report.notes if not note.startswith("the clocks")],
        "bytes": report.bytes,
        "json": sorted(report.to_json()),
    }


def reports(world: World, seed: str, _count: int) -> dict[str, Any]:
    """What reports say of runs by messages and of runs over lanes, and over which the latter went."""
    said: list[dict[str, Any]] = []
    for lanes in (False, True):
        machine, engine = engine_of(world, seed, only_lanes=True)
        engine = engine if lanes else RankEngine(machine, world.devices, world.transport, lanes=False)
        with engine:
            found = {}
            for name, made in some_plans(engine).items():
                case = RunCase(world, engine, made, 1)
                if lanes:
                    over_lane(case)
                for verify in (True, False):
                    report = case.run(verify=verify)
                    found[f"{name} {verify}"] = told_by(report), report.route
            said.append(found)
    same = {name: said[0][name][0] == said[1][name][0] for name in said[0]}
    different = {name: [said[0][name][0], said[1][name][0]] for name, is_same in same.items() if not is_same}
    return {
        "same": len(same) - len(different),
        "different": different,
        "routes": [sorted({route for _, route in each.values()}) for each in said],
    }


def wrong(world: World, seed: str, _count: int) -> dict[str, Any]:
    """A byte is wrong when the destination is compared: all ranks hear of it, and the next run is right."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    compare = LaneSources.compare
    said = []
    with engine:
        for memory in ("sys", "reg"):
            made = direct_plan(random.Random(seed), machine, 2, (0, 1), 40, (memory,))
            case = RunCase(world, engine, made, 1)
            over_lane(case)

            def spoiled(sources: LaneSources, *given: Any, case: RunCase = case) -> None:
                moved = case.plan.transfer
                assert case.room is not None
                case.room[moved.destination.linearization.offset(moved.destination_origin, moved.field_names[0])] ^= 1
                compare(sources, *given)

            LaneSources.compare = spoiled  # type: ignore[method-assign]
            try:
                case.run()
            except VerificationError as error:
                said.append(str(error).split(":")[0])
            except RankError as error:
                said.append(f"{type(error).__name__} {error}")
            LaneSources.compare = compare  # type: ignore[method-assign]
            said.append(case.run().route)
        everyone: Any = engine.gather(said)
    return {str(rank): each for rank, each in enumerate(everyone)}


def killed(world: World, seed: str, which: int) -> dict[str, Any]:
    """A rank is killed when it has run often; the other one learns of it, whether it sends or receives."""
    machine, engine = engine_of(world, seed, only_lanes=True)
    with engine:
        ends_of = (0, 1) if which else (1, 0)
        case = RunCase(world, engine, direct_plan(random.Random(seed), machine, 2, ends_of, 40), 1)
        over_lane(case)
        if world.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            case.run()
        except (RankLost, RankError) as error:
            print(json.dumps({"error": type(error).__name__, "rank": error.rank}), flush=True)
        os._exit(0)


WAYS: dict[str, Callable[[World, str, int], Any]] = {
    "random": random_runs,
    "reports": reports,
    "wrong": wrong,
    "killed": killed,
}


def main() -> None:
    begin()
    way, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with World(limit=20) as world:
        tell(world.rank, WAYS[way](world, seed, count))


if __name__ == "__main__":
    main()
