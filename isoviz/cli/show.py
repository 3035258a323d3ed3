"""`isoviz show FILE`: a page about a transfer: machine, layouts, plan."""

from __future__ import annotations

import argparse
from pathlib import Path

from isoviz.cli.plan import RIVALS, add_transfer_arguments


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `show`."""
    parser = subparsers.add_parser(
        "show",
        help="write a page that shows a transfer and its plan",
        description="Plan the transfer that a transfer file (TOML) describes and write an HTML page that shows it.",
    )
    add_transfer_arguments(parser)
    parser.add_argument("-o", "--output", metavar="OUT.html", help="the page (default: FILE with .html instead of its ending)")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Plan and write the page."""
    import numpy as np

    from isoviz.backends.disk import NewFile
    from isoviz.backends.running import plan_transfer_file
    from isoviz.cli.output import print_text
    from isoviz.errors import FileError, printable
    from isoviz.figures import page
    from isoviz.planner import explain_plan, load_transfer

    file = load_transfer(args.file)
    machine = file.machine()
    plan = plan_transfer_file(file, machine, args.planner)
    out = Path(args.output) if args.output else Path(args.file).with_suffix(".html")
    if out.resolve() == Path(args.file).resolve():
        raise FileError(f"{out}: is the transfer file itself; give another name with -o")
    content = page(plan, machine=machine, explanation=explain_plan(plan, machine, file.options, turns=RIVALS)).encode()
    new = NewFile(out, len(content))
    try:
        new.write_at(0, np.frombuffer(content, np.uint8))
        new.publish()
    finally:
        new.close()
    print_text(printable(str(out)))
    return 0
