"""`isoviz simulate FILE`: a transfer in virtual time, on any machine."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from isoviz.cli.output import whole_number
from isoviz.cli.plan_command import add_transfer_arguments, asked_file

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan, TransferFile
    from isoviz.runtime import Simulator, Trace

MOST_REPEATS = 100_000
"""Transfers that one simulation submits: more take minutes and gigabytes."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `simulate`."""
    parser = subparsers.add_parser(
        "simulate",
        help="simulate a transfer, on any machine",
        description="Plan the transfer that a transfer file (TOML) describes and simulate it on its machine: what every channel"
        " does when, how full the buffers are, what holds the transfer up. Nothing is moved.",
    )
    add_transfer_arguments(parser)
    parser.add_argument(
        "--store-and-forward", action="store_true", help="let every hop move everything before the next one begins"
    )
    parser.add_argument(
        "--repeat", metavar="N", type=whole_number, default=1, help="copies of the transfer that run at once (default: 1)"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=whole_number,
        help="print the first N things that happen, each with what the scheduler answers",
    )
    parser.add_argument("--trace", metavar="OUT.json", help="write the trace: every request of every transfer")
    parser.add_argument("--chrome", metavar="OUT.json", help="write the trace for ui.perfetto.dev or chrome://tracing")
    parser.add_argument("-o", "--output", metavar="OUT.html", help="write a page: timeline, buffers, critical path, chunk sizes")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Plan, simulate, print and write."""
    from isoviz.cli.output import check_outputs, print_json, print_text, write_file
    from isoviz.errors import InputError
    from isoviz.measure.run_file import plan_transfer_file

    if not 1 <= args.repeat <= MOST_REPEATS:
        raise InputError(f"simulate: --repeat {args.repeat}; expected 1 to {MOST_REPEATS}")
    if args.steps is not None and args.steps < 0:
        raise InputError(f"simulate: --steps {args.steps}; expected 0 or more")
    if args.json and args.steps is not None:
        raise InputError("simulate: --steps is for people; give it without --json")
    check_outputs(args.file, (args.trace, args.chrome, args.output))
    file = asked_file(args)
    machine = file.machine()
    plan = plan_transfer_file(file, machine, args.planner)
    simulator = _submitted(plan, machine, args.repeat, pipelined=not args.store_and_forward)
    if args.steps is not None:
        _print_steps(simulator, args.steps)
    trace = simulator.run()
    stored = trace if args.store_and_forward else _stored(plan, machine, args.repeat)
    if args.json:
        print_json(_summary(plan, trace, stored, args))
    else:
        print_text(_text(plan, machine, trace, stored, args))
    if args.trace is not None:
        write_file(args.trace, json.dumps(trace.to_json(), allow_nan=False).encode(), args.file)
    if args.chrome is not None:
        write_file(args.chrome, json.dumps(trace.to_chrome(), allow_nan=False).encode(), args.file)
    if args.output is not None:
        write_file(args.output, _page(plan, machine, file, trace, stored).encode(), args.file)
    return 0


def _submitted(plan: Plan, machine: Machine, count: int, *, pipelined: bool) -> Simulator:
    from isoviz.runtime import Simulator

    simulator = Simulator(machine)
    for _ in range(count):
        simulator.submit(plan, pipelined=pipelined)
    return simulator


def _stored(plan: Plan, machine: Machine, count: int) -> Trace | None:
    """The same plan stored and forwarded; None if its buffers, which hold everything, are larger than a memory."""
    from isoviz.errors import LimitError

    try:
        return _submitted(plan, machine, count, pipelined=False).run()
    except LimitError:
        return None


def _print_steps(simulator: Simulator, most: int) -> None:
    from itertools import islice

    from isoviz.cli.output import print_text
    from isoviz.figures.traces.step_text import steps_text

    steps = islice(iter(simulator.step, None), most)
    for line in steps_text(steps):
        print_text(line)
    print_text()


# ---- what it says


def _text(plan: Plan, machine: Machine, trace: Trace, stored: Trace | None, args: argparse.Namespace) -> str:
    from isoviz.document import Document, Part, Prose, Table
    from isoviz.planner.explanation.plan_document import starts_text
    from isoviz.runtime.trace.critical_path import critical_path_text
    from isoviz.units import format_rate, format_seconds

    rows = [("predicted, one alone" if args.repeat > 1 else "predicted by the plan", plan.seconds, plan.bytes / plan.seconds)]
    if trace is not stored:
        rows.append(("simulated", trace.seconds, trace.throughput))
    if plan.reuse > 1 and args.repeat == 1:
        again = _submitted(plan.later, machine, 1, pipelined=not args.store_and_forward).run()
        rows.append(("simulated, a later start", again.seconds, again.throughput))
    if stored is not None:
        rows.append(("stored and forwarded", stored.seconds, stored.throughput))
    cells = [
        (name, format_seconds(seconds), format_rate(rate), f"{seconds / trace.seconds:.2f} ×" if trace.seconds > 0 else "")
        for name, seconds, rate in rows
    ]
    parts: list[Part] = [Prose(said)] if (said := starts_text(plan)) else []
    parts.append(Table(("", "time", "rate", "of this run"), cells, numbers=(1, 2, 3)))
    if stored is None:
        parts.append(Prose("stored and forwarded: no room; its buffers hold everything"))
    several = f"{args.repeat:,} transfers at once, each " if args.repeat > 1 else ""
    compared = Document("The plan in virtual time", parts, several + plan.headline())
    return "\n\n".join([str(compared), str(trace), critical_path_text(trace)])


def _summary(plan: Plan, trace: Trace, stored: Trace | None, args: argparse.Namespace) -> dict[str, Any]:
    from isoviz.runtime.trace.critical_path import critical_parts

    critical = critical_parts(trace)
    return {
        "planner": plan.planner,
        "machine": plan.machine_name,
        "transfers": args.repeat,
        "store_and_forward": bool(args.store_and_forward),
        **({"emulated": list(plan.emulated)} if plan.emulated else {}),
        "bytes": plan.bytes,
        "chunk_bytes": plan.chunk_bytes,
        "chunks": plan.chunk_count,
        "predicted": {"seconds": plan.seconds, "throughput": plan.throughput, **_starts(plan)},
        "simulated": {"seconds": trace.seconds, "throughput": trace.throughput, "overlap": trace.overlap},
        "stored_and_forwarded": {"seconds": stored.seconds, "throughput": stored.throughput} if stored is not None else None,
        "channels": [{**use._asdict(), "nbytes": round(use.nbytes)} for use in trace.uses],
        "critical_path": {
            "seconds": critical.seconds,
            "before": critical.before,
            "gaps": critical.gaps,
            "parts": [part._asdict() for part in critical.parts],
        },
    }


def _starts(plan: Plan) -> dict[str, float]:
    if plan.reuse == 1:
        return {}
    return {"reuse": plan.reuse, "first": plan.first, "again": plan.again, "total": plan.total}


def _page(plan: Plan, machine: Machine, file: TransferFile, trace: Trace, stored: Trace | None) -> str:
    from isoviz.planner import chunk_curve
    from isoviz.widgets.pages.plan_page import plan_page
    from isoviz.widgets.pages.state_of_plan import machine_choice_of

    return plan_page(
        plan,
        machine,
        kind="simulate",
        choice=machine_choice_of(file, machine),
        options=file.options,
        trace=trace,
        stored=None if stored is trace else stored,
        curve=chunk_curve(plan, machine, file.options),
    )


# ---- files
