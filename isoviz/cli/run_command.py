"""`isoviz run FILE`: plan a transfer file, run it on this computer, verify and measure."""

from __future__ import annotations

import argparse
import json

from isoviz.cli.output import whole_number
from isoviz.cli.plan_command import add_transfer_arguments


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `run`."""
    parser = subparsers.add_parser(
        "run",
        help="run a transfer on this computer and measure it",
        description="Plan the transfer that a transfer file (TOML) describes, run it on this computer, compare every byte, and"
        " print measured beside predicted figures. Where the file names no path, the source is generated and the destination"
        " given up afterwards. A destination file that exists is replaced once the new one is complete.",
    )
    add_transfer_arguments(parser)
    parser.add_argument("--no-verify", action="store_true", help="do not compare source and destination afterwards")
    trials = parser.add_mutually_exclusive_group()
    trials.add_argument("--no-trial", action="store_true", help="predict by the model alone: do not try a few MiB before")
    trials.add_argument(
        "--of",
        metavar="N",
        type=whole_number,
        default=1,
        help="try the plan and its best alternatives, N in all; run the quickest",
    )
    parser.add_argument("-o", "--output", metavar="PAGE.html", help="write a page: the plan, the run, simulated above measured")
    parser.add_argument("--chrome", metavar="OUT.json", help="write the trace for ui.perfetto.dev")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Run and print the report."""
    from isoviz.cli.output import check_outputs, print_json, print_text, watched, write_file
    from isoviz.measure.run_file import run_file
    from isoviz.planner import load_transfer

    file = load_transfer(args.file)
    check_outputs(args.file, (args.chrome, args.output))
    with watched() as watch:
        asked = {"planner": args.planner, "verify": not args.no_verify, "trial": not args.no_trial, "of": args.of}
        report = run_file(file, progress=watch.progress, cancel=watch.cancel, **asked)
    if args.chrome is not None and report.trace is not None:
        write_file(args.chrome, json.dumps(report.trace.to_chrome(), allow_nan=False).encode())
    if args.output is not None:
        from isoviz.widgets.pages.plan_page import plan_page
        from isoviz.widgets.pages.state_of_plan import machine_choice_of

        machine = file.machine()
        page = plan_page(
            report.plan, machine, kind="run", choice=machine_choice_of(file, machine), options=file.options, report=report
        )
        write_file(args.output, page.encode())
    if args.json:
        print_json(report.to_json())
    else:
        print_text(report)
    return 0
