"""`isoviz show FILE`: a page about a transfer: machine, layouts, plan."""

from __future__ import annotations

import argparse
from pathlib import Path

from isoviz.cli.plan_command import RIVALS, add_transfer_arguments, asked_file


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `show`."""
    parser = subparsers.add_parser(
        "show",
        help="write a page that shows a transfer and its plan",
        description="Plan the transfer that a transfer file (TOML) describes and write an HTML page that shows it.",
    )
    add_transfer_arguments(parser)
    parser.add_argument("-o", "--output", metavar="OUT.html", help="the page (default: FILE with .html instead of its ending)")
    parser.add_argument(
        "--map",
        action="store_true",
        help="also show which path wins for which length and number of runs between the two memories, and print it",
    )
    parser.add_argument(
        "--rivals", action="store_true", help="also work out what would make another path win, which takes some seconds"
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Plan and write the page."""
    from isoviz.cli.output import check_outputs, print_text, save_file
    from isoviz.errors import printable
    from isoviz.measure.run_file import plan_transfer_file
    from isoviz.planner import explain, sweep
    from isoviz.widgets.pages.plan_page import plan_page
    from isoviz.widgets.pages.state_of_plan import machine_choice_of

    file = asked_file(args)
    out = str(Path(args.file).with_suffix(".html")) if args.output is None else args.output
    check_outputs(args.file, (out,))
    machine = file.machine()
    plan = plan_transfer_file(file, machine, args.planner)
    explanation = explain(plan, machine, options=file.options, crossovers=RIVALS if args.rivals else 0)
    winners = sweep(plan.transfer, machine, ("run", "runs"), options=file.options) if args.map else None
    page = plan_page(
        plan,
        machine,
        choice=machine_choice_of(file, machine),
        options=file.options,
        explanation=explanation,
        rivals=args.rivals,
        winners=winners,
    )
    save_file(out, page.encode(), args.file)
    if winners is not None:
        print_text(winners)
    print_text(printable(out))
    return 0
