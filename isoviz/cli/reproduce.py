"""`isoviz reproduce PAPER`: the evaluation of a paper again, in simulation, beside what the paper states."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `reproduce`."""
    parser = subparsers.add_parser(
        "reproduce",
        help="a paper's evaluation again, in simulation",
        description="Run a paper's evaluation again, in simulation on the presets of its machines, and print ours beside what the"
        " paper states. Takes about two minutes.",
    )
    parser.add_argument("paper", choices=("isometry",), help="whose evaluation")
    parser.add_argument("-o", "--output", metavar="PAGE", help="also write figures and tables as one HTML page")
    parser.add_argument("--figures", metavar="DIR", help="also write the figures as SVG into a folder")
    parser.add_argument("--report", metavar="FILE", help="also write the tables as Markdown")
    parser.add_argument("--quick", action="store_true", help="fewer instances and nodes, in some seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Reproduce and print."""
    from isoviz.bench.reproduce import charts, grids
    from isoviz.bench.reproduce.isometry import reproduce
    from isoviz.bench.reproduce.page import page
    from isoviz.bench.reproduce.report import markdown
    from isoviz.cli.output import print_json, print_text
    from isoviz.errors import FileError

    for name in (args.output, args.report):
        _check(name)
    if args.figures is not None and not Path(args.figures).is_dir():
        raise FileError(f"{args.figures}: is no folder")
    found = reproduce(quick=args.quick, progress=_say)
    if args.output is not None:
        _write(args.output, page(found))
    if args.figures is not None:
        for name, drawn in charts.everything(found).items():
            _write(str(Path(args.figures) / f"{name}.svg"), drawn)
    if args.report is not None:
        _write(args.report, markdown(found))
    if args.json:
        print_json(found.to_json())
    else:
        print_text("\n\n".join(grid.text() for grid in grids.everything(found)))
        print_text("\n" + "\n".join(f"note: {what}: {why}" for what, why in grids.reasons(found)))
    return 0


def _say(what: str) -> None:
    """Progress, where somebody looks."""
    from isoviz.cli.output import tell

    if sys.stderr.isatty():
        tell(f"{what} …")


def _check(name: str | None) -> None:
    """Complain about a place that cannot be written before minutes are spent, not after."""
    from isoviz.errors import FileError

    if name is not None and not Path(name).resolve().parent.is_dir():
        raise FileError(f"{name}: there is no folder {Path(name).parent}")


def _write(name: str, text: str) -> None:
    """A file, whole or not at all."""
    import numpy as np

    from isoviz.backends.disk import NewFile

    content = text.encode()
    new = NewFile(Path(name), len(content))
    try:
        new.write_at(0, np.frombuffer(content, np.uint8))
        new.publish()
    finally:
        new.close()
