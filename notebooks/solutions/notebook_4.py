"""Right answers to the exercises of notebook 4, for teachers. The wheel and the folders of learners leave this file out."""

import math


def _milliseconds(given, pace):
    hops = given["hops"]
    found = given["setup"] + sum(hops) + (given["chunks"] - 1) * pace(hops)
    return [found / 1000, f"{found} ms", f"{1000 * found:g} us"]


def _time(given):
    return _milliseconds(given, max)


def _time_with_one_slot(given):
    return _milliseconds(given, lambda hops: max(one + other for one, other in zip(hops, hops[1:])))


def _chunks(given):
    """The root that the solution tells, and round numbers near it."""
    others = 1 / 3e9 + 1 / 5.139e9
    small, large = (math.sqrt(given[part] * 100e-6 / others) for part in ("small", "large"))
    small_power, large_power = (2 ** round(math.log2(each)) for each in (small, large))
    return [
        (int(small), int(large)),
        {"small": f"{small_power // 1024} KiB", "large": f"{large_power >> 20} MiB"},
        [int(1.2 * small), f"{large / 2:.0f} B"],
    ]


def _cause(given):
    """The change with the least time, worked out by the formula of the notebook."""
    names = ["larger chunks", "one more slot", "a faster hop", "no set-up"]

    def time(times=1, slots=0, faster=None, setup=1):
        hops = []
        for number, (late, rate) in enumerate(zip(given["latencies"], given["rates"])):
            rate = 2 * rate if number == faster else rate
            hops.append(late + times * given["chunk"] / (rate * 1000))
        pairs = [one + other for one, other in zip(hops, hops[1:])]
        pace = max(pairs) if given["slots"] + slots == 1 else max(hops)
        return setup * given["setup"] + sum(hops) + (given["chunks"] / times - 1) * pace, hops

    hops = time()[1]
    times = [time(times=4)[0], time(slots=1)[0], time(faster=hops.index(max(hops)))[0], time(setup=0)[0]]
    best = times.index(min(times))
    return [names[best], best + 1, names[best].upper()]


def sorted_by_name(needs):
    return [sorted(each) for each in needs]


def first_seen(needs):
    seen = []
    for each in needs:
        seen += [name for name in each if name not in seen]
    return [[name for name in seen if name in each] for each in needs]


def most_wanted(needs):
    counts = {}
    for each in needs:
        for name in each:
            counts[name] = counts.get(name, 0) + 1
    return [sorted(each, key=lambda name: (-counts[name], name)) for each in needs]


def _orders(_given):
    return [sorted_by_name, first_seen, most_wanted]


def _pipeline(given):
    """4 MiB in two slots, and the least chunk by the formula, with a little more."""

    def time(chunk):
        read = given["disk_latency"] * 1e-6 + chunk / given["disk_rate"]
        write = given["gpu_latency"] * 1e-6 + chunk / given["gpu_rate"]
        return given["setup"] * 1e-3 + write + given["bytes"] / chunk * read

    chunk = 1 << 20
    while given["bytes"] / time(chunk) < 0.952 * given["disk_rate"]:
        chunk += 1 << 14
    return [("4 MiB", 2), {"chunk": chunk, "slots": 2}, [f"{4096 * 1024} B", 2.0]]


ANSWERS = {
    "4.1": _time,
    "4.2": _chunks,
    "4.3": _time_with_one_slot,
    "4.4": _cause,
    "4.5": _orders,
    "4.P": _pipeline,
}
"""Name of an exercise → a function from its numbers to right answers, at least three that differ in form."""
