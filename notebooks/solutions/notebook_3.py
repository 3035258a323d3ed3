"""Right answers to the exercises of notebook 3, for teachers. The wheel and the folders of learners leave this file out."""

import itertools
import math

import isoviz
from isoviz.course import path_rates
from isoviz.course.notebook_3.blocks_by_hand import MEMORIES, buffer_layouts, machine_of, transfer_of
from isoviz.course.notebook_3.missing_channels import chain_of
from isoviz.course.notebook_3.missing_channels import machine_of as unfinished


def _channels(given):
    missing = [pair for pair in itertools.pairwise(chain_of(given)) if "->".join(pair) not in given["channels"]]
    made = unfinished(given)
    for source, destination in missing:
        from isoviz.machines.edits.channel_edits import connected

        made, _name = connected(made, source, destination)
    there = {*given["channels"], "node0.sys->node0.zcm"}
    more = [("node0.sys", "node0.zcm")] if len(there) > len(given["channels"]) else []  # which leads nowhere else
    return [missing, made, [*reversed(missing), *more], tuple(missing)]


def _blocks(given):
    first, *_, last = given["hops"]
    x, y = (math.ceil(path_rates.run_for(hop, given["target"]) / given["entry"]) for hop in (first, last))
    options = isoviz.Options(slot_limit=given["slot"])
    path = ", ".join(MEMORIES)
    plan = isoviz.plan_by_path(transfer_of(given), machine_of(given), path, buffer_layouts(x + 1, y), options=options)
    # The middle buffer may turn on the way: any layouts with such runs will do.
    other = [f"<F, x_in={x}, y_in={y}, y_out, x_out>", *[f"<F, y_in={y}, x_in={x}, y_out, x_out>"] * 2]
    return [(x, y), [x, y + 1], plan, isoviz.plan_by_path(transfer_of(given), machine_of(given), path, other, options=options)]


def program(data):
    """Cutting planes in PuLP: tangents of log tp where the solution needs them."""
    import math

    import pulp

    first, *flat, last = data["hops"]
    problem = pulp.LpProblem("path", pulp.LpMaximize)
    t = problem.add_variable("log_TP")
    x = problem.add_variable("log_x_in", 0, math.log(data["x"]))
    y = problem.add_variable("log_y_in", 0, math.log(data["y"]))
    problem += t
    problem += x + y <= math.log(data["slot"] / data["entry"]), "slot"
    for hop in flat:
        problem += t <= math.log(hop["bandwidth"])

    def tangent(hop, size, run):
        seconds = hop["latency"] + run / hop["bandwidth"]
        slope = hop["latency"] / seconds
        problem.addConstraint(t <= math.log(run / seconds) + slope * (size + math.log(data["entry"] / run)))

    for hop, size in ((first, x), (last, y)):
        for power in range(0, 16, 3):
            tangent(hop, size, data["entry"] * 4.0**power)
    for _ in range(60):
        problem.solve(pulp.HiGHS(msg=False))
        missed = False
        for hop, size in ((first, x), (last, y)):
            run = data["entry"] * math.exp(size.value())
            if t.value() > math.log(run / (hop["latency"] + run / hop["bandwidth"])) + 1e-9:
                tangent(hop, size, run)
                missed = True
        if not missed:
            break
    return math.exp(t.value()), abs(problem.get_constraint_by_name("slot").pi or 0.0)


def by_bisection(data):
    """The paper's bisection on TP: the runs that a throughput needs, and whether they fit."""
    import math

    first, *flat, last = data["hops"]

    def most(slot):
        def fits(throughput):
            sizes = []
            for hop, limit in ((first, data["x"]), (last, data["y"])):
                left = 1 / throughput - 1 / hop["bandwidth"]
                sizes.append(max(1.0, hop["latency"] / left / data["entry"]) if left > 0 else math.inf)
                if sizes[-1] > limit:
                    return False
            return data["entry"] * sizes[0] * sizes[1] <= slot

        low, high = 1.0, min(hop["bandwidth"] for hop in flat)
        if fits(high):
            return high
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    here, more = most(data["slot"]), most(data["slot"] * 1.0001)
    return here, math.log(more / here) / math.log(1.0001)


def closed_form(data):
    """Each bound alone; the slot's by a quadratic equation in 1/TP."""
    import math

    first, *flat, last = data["hops"]
    b = [1 / hop["bandwidth"] for hop in (first, last)]
    k = first["latency"] * last["latency"] / data["entry"] / data["slot"]
    by_slot = 2 / (sum(b) + math.sqrt((b[0] - b[1]) ** 2 + 4 * k))
    bounds = [hop["bandwidth"] for hop in flat]
    for hop, size in ((first, data["x"]), (last, data["y"])):
        run = data["entry"] * size
        bounds.append(run / (hop["latency"] + run / hop["bandwidth"]))
    if by_slot > min(bounds):
        return min(bounds), 0.0
    s = [1 - by_slot * each for each in b]
    return by_slot, s[0] * s[1] / (s[0] + s[1])


def _prices(given):
    rows = [*(hop["name"] for hop in given["hops"]), "slot"]
    before = closed_form(given)[0]

    def faster(name):
        if name == "slot":
            return {**given, "slot": 1.01 * given["slot"]}
        hops = given["hops"]
        return {**given, "hops": [{**hop, "latency": hop["latency"] / 1.01, "bandwidth": hop["bandwidth"] * 1.01}
                                  if hop["name"] == name else hop for hop in hops]}  # fmt: skip

    gains = {name: 100 * (closed_form(faster(name))[0] / before - 1) for name in rows}
    best = max(gains, key=gains.get)
    first, *_, last = given["hops"]
    s = [1 - before / hop["bandwidth"] for hop in (first, last)]
    price = (s[1] if best == first["name"] else s[0]) / sum(s)
    return [(best, gains[best]), {"row": best, "percent": f"{price:.4f} %"}, [rows.index(best) + 1, price]]


def _fills(given):
    fills = []
    for name in ("hand", "planner"):
        of = given[name]
        total = of["setup"] + sum(of["seconds"]) + (of["chunks"] - 1) * max(of["seconds"])
        fills.append(total - of["chunks"] * max(of["seconds"]))
    return [tuple(fills), dict(zip(("hand", "planner"), fills, strict=True)), [f"{1e3 * each:.6f} ms" for each in fills]]


def _runs(given):
    latency, bandwidth, wanted = given["microseconds"] / 1e6, given["gigabytes"] * 1e9, given["wanted"] * 1e9
    run, half = latency / (1 / wanted - 1 / bandwidth), latency * bandwidth
    return [(run, half), {"run": math.ceil(run), "half": round(half)}, (f"{run / 1024:.3f} KiB", f"{half / 1024:.3f} KiB")]


def _changes(given):
    found = {}
    for power in range(7):
        slot = (1 << power) << 20
        low, high = 1.0, 64.0
        if not _wins(given, high, slot):
            continue
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if _wins(given, middle, slot) else (middle, high)
        found[slot] = high
    slot = min(found, key=found.get)
    return [(found[slot], slot), (1.004 * found[slot], f"{slot >> 20} MiB"), {"factor": found[slot] * 1.001, "slot": float(slot)}]


def _wins(given, factor, slot):
    by = {given["changed"]: factor}
    changed = [{**hop, "bandwidth": hop["bandwidth"] * by.get(hop["name"], 1)} for hop in given["loser"]]
    winner, loser = (closed_form({**given, "slot": slot, "hops": hops})[0] for hops in (given["winner"], changed))
    return loser >= winner


ANSWERS = {
    "3.0": _channels,
    "3.1": _blocks,
    "3.2": lambda _given: [program, by_bisection, closed_form],
    "3.3": _prices,
    "3.4": _fills,
    "3.5": _runs,
    "3.P": _changes,
}
"""Name of an exercise → a function from its numbers to right answers, at least three that differ in form."""
