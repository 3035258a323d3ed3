"""`isoviz plan FILE`: the plan of a transfer file."""

from __future__ import annotations

import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `plan`."""
    parser = subparsers.add_parser(
        "plan", help="plan a transfer", description="Plan the transfer that a transfer file (TOML) describes and print the plan."
    )
    add_transfer_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the plan as one JSON object")
    parser.set_defaults(func=run)


def add_transfer_arguments(parser: argparse.ArgumentParser) -> None:
    """What `plan`, `run` and `show` take alike."""
    parser.add_argument("file", metavar="FILE", help="the transfer file")
    parser.add_argument("--planner", metavar="NAME", help="auto, simple, spsl, spdl or direct (default: what the file says)")


def run(args: argparse.Namespace) -> int:
    """Plan and print."""
    from isoviz.backends.running import plan_transfer_file
    from isoviz.cli.output import print_json
    from isoviz.planner import load_transfer

    file = load_transfer(args.file)
    plan = plan_transfer_file(file, file.machine(), args.planner)
    if args.json:
        print_json(plan.to_json())
    else:
        print(plan)
    return 0
