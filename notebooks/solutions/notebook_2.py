"""Right answers to the exercises of notebook 2, for teachers. The wheel and the folders of learners leave this file out."""

import math

import isoviz
from isoviz.course.kinds import linear_of
from isoviz.layouts import compare


def _compared(given, source, destination):
    return compare(linear_of(given, source), linear_of(given, destination))


def _runs(given):
    first, second = (_compared(given, given["source"], given[part]).run_bytes for part in ("first", "second"))
    return [(first, second), {"second": second, "first": first}, [f"{first:g}", f"{second:g} B"]]


def _shuffle(given):
    size = _compared(given, given["source"], given["destination"]).shuffle_bytes
    return [size, f"{size} B", float(size)]


def _order(given):
    runs = {name: _compared(given, *pair).run_bytes for name, pair in given["pairs"].items()}
    order = sorted(runs, key=lambda name: -runs[name])
    other = sorted(reversed(list(runs)), key=lambda name: -runs[name])  # equal runs the other way round
    return [order, ", ".join(order), other]


def _between(given):
    """Blocks as small as they may be, and longer ones along x or along y where the buffer has room."""
    entry = linear_of(given, "<F, x, y>").fields.nbytes
    least, most = given["run"] // entry, given["shuffle"] // entry
    found = []
    for x, y in ((least, least), (most // least, least), (least, least + 1)):
        rows, columns = f"<F, x_in={x}, y_in={y}, ", f"<F, y_in={y}, x_in={x}, "
        for outer in ("x_out, y_out>", "y_out, x_out>"):
            found.append((rows + outer, columns + outer))
    (first, second), *_ = found
    return [*found, {"first": isoviz.Layout(first), "second": linear_of(given, second)}]


def _pattern(given):
    entry, blocks = linear_of(given, "<F, x, y>").fields.nbytes, (given["here"], given["there"])
    run, entries = math.gcd(*blocks) * entry, math.lcm(*blocks) * given["sizes"]["y"]
    return [(run, entries), {"run": f"{run} B", "entries": float(entries)}, [float(run), str(entries)]]


def _prediction(given):
    from isoviz.course.notebook_2.fastest_conversion import SOURCE, TARGETS

    runs = {name: _compared(given, SOURCE, TARGETS[name]).run_bytes for name in given["names"]}
    order = sorted(runs, key=lambda name: -runs[name])
    slow, fast = (given["latency"] / runs[given[each]] + 1 / given["bandwidth"] for each in ("slow", "fast"))
    return [(order, slow / fast), (", ".join(order), f"{slow / fast:.3g}"), {"ratio": 1.01 * slow / fast, "order": tuple(order)}]


ANSWERS = {"2.1": _runs, "2.2": _shuffle, "2.3": _order, "2.4": _between, "2.5": _pattern, "2.P": _prediction}
"""Name of an exercise → a function from its numbers to right answers, at least three that differ in form."""
