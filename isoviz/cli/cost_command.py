"""`isoviz cost FILE --path …`: the cost of a path that is given by hand."""

from __future__ import annotations

import argparse
from dataclasses import replace

from isoviz.cli.output import whole_number
from isoviz.cli.plan_command import add_reuse, asked_file

EPILOG = """examples:
  isoviz cost in.toml --path node0.dsk,node0.sys
  isoviz cost in.toml --path node0.dsk,node0.sys,node0.sys --layout "<F, x_in=64, y, x_out>" --chunk 4MiB
  isoviz cost in.toml --path "node0.sys->node1.sys#1" --json

A path names memories, source first; a memory twice in a row is its copy within itself. A channel's name stands for a hop where
several are parallel. There is one layout for each memory between the ends, in the order of the path; without any, these hold the
source's layout. Block sizes stand in the layouts."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `cost`."""
    parser = subparsers.add_parser(
        "cost",
        help="say what a path costs that you give",
        description="Plan the transfer of a transfer file (TOML) along a path, through layouts and in chunks given by hand.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="the transfer file")
    parser.add_argument("--path", metavar="NAMES", required=True, help="memories or channels of the path, with commas between")
    parser.add_argument(
        "--layout", metavar="LAYOUT", action="append", default=[], help="the layout of a buffer between; once for each of them"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--chunk", metavar="SIZE", help="bytes of a chunk, such as 4MiB (default: what takes the least time)")
    size.add_argument("--blocks", metavar="N", type=whole_number, help="blocks of a chunk")
    parser.add_argument("--slots", metavar="N", type=whole_number, help="slots of a buffer (default: what file and machine say)")
    add_reuse(parser)
    parser.add_argument("--over-limits", action="store_true", help="print the plan even where it breaks limits, and say which")
    parser.add_argument("--json", action="store_true", help="print the plan as one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Price the path and print its plan."""
    from isoviz.cli.output import print_json, print_text
    from isoviz.measure.run_file import as_stored
    from isoviz.planner import plan_by_path, plan_to_json

    file = asked_file(args)
    options = file.options if args.slots is None else replace(file.options, slots=args.slots)
    plan = plan_by_path(
        as_stored(file.transfer),
        file.machine(),
        args.path,
        args.layout,
        chunk=args.chunk,
        blocks=args.blocks,
        options=options,
        over_limits=args.over_limits,
    )
    if args.json:
        print_json(plan_to_json(plan))
    else:
        print_text(plan)
    return 0
