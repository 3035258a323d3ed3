"""`isoviz bench SUITE`: measured ratios against peers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from isoviz.cli.output import whole_number
from isoviz.cli.progress_line import ProgressLine

if TYPE_CHECKING:
    from isoviz.bench import Suite

OPTIONS = ("size", "memory_limit", "directory", "repeat", "seed", "thorough", "minutes", "quick", "parts")
"""What suites may take."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `bench`."""
    from isoviz.bench import SUITES

    parser = subparsers.add_parser(
        "bench",
        help="measure isoviz beside its peers",
        description="Measure isoviz beside its peers, all in one run; compare ratios, not times.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser, SUITES)


def add_arguments(parser: argparse.ArgumentParser, suites: Mapping[str, Suite]) -> None:
    """Give a parser what runs one of these suites: its name, the options of all suites, and where the table goes."""
    parser.epilog = "\n".join(f"{name:12} {suite.description}" for name, suite in suites.items())
    pages: dict[str, list[str]] = {}
    for name, suite in suites.items():
        if suite.page:
            pages.setdefault(suite.page, []).append(name)
    formats = ", ".join(f"{page} ({', '.join(names)})" for page, names in pages.items())
    parser.add_argument("suite", nargs="?", choices=suites, help="what to measure")
    parser.add_argument("--size", metavar="SIZE", help="bytes to move, such as 1GiB")
    parser.add_argument("--memory-limit", metavar="SIZE", help="bytes of memory for buffers, such as 64MiB")
    parser.add_argument(
        "--directory", metavar="DIR", help="where files are written (default: the temporary directory; predictions: here)"
    )
    parser.add_argument("--repeat", metavar="N", type=whole_number, help="rounds; medians are reported")
    parser.add_argument("--seed", metavar="N", type=whole_number, help="draws other random transfers (predictions)")
    parser.add_argument("--thorough", action="store_true", default=None, help="measure more, for an hour (predictions)")
    parser.add_argument("--minutes", metavar="N", type=float, help="about how long it may take (gpu; default: 3)")
    parser.add_argument("-o", "--output", metavar="OUT", help=f"write a page as well: {formats}")
    parser.add_argument(
        "--quick", action="store_true", default=None, help="small transfers: only shows that it runs (ranks, gpu, multipath)"
    )
    parser.add_argument("--parts", metavar="NAMES", help="measure these parts only, such as choices,small (gpu, ranks)")
    parser.add_argument(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="print one JSON object instead; with FILE, write it and print the table",
    )
    parser.set_defaults(func=lambda args: run(args, suites))


def run(args: argparse.Namespace, suites: Mapping[str, Suite]) -> int:
    """Measure and print."""
    from isoviz.cli.output import check_outputs, print_json, print_text, watched, write_file
    from isoviz.errors import InputError
    from isoviz.runtime.ledger.ledger import unrecorded

    if args.suite is None and args.json in suites:  # `bench --json engine`: the name of the suite is no file
        args.suite, args.json = args.json, "-"
    if args.suite is None:
        raise InputError(f"bench: name what to measure: {', '.join(suites)}")
    suite = suites[args.suite]
    given = {name: getattr(args, name) for name in OPTIONS}
    options = {name: value for name, value in given.items() if value is not None}
    if unknown := [name for name in options if name not in suite.options]:
        raise InputError(f"bench {args.suite}: takes no --{unknown[0].replace('_', '-')}")
    if options.get("repeat", 1) < 1:
        raise InputError(f"bench: --repeat {args.repeat}; expected at least 1")
    if args.output is not None and not suite.page:
        raise InputError(f"bench {args.suite}: takes no --output")
    file = None if args.json == "-" else args.json
    check_outputs(None, (args.output, file))
    line = _Line()
    if "progress" in suite.options:
        options["progress"] = line.tell
    try:
        with watched(), unrecorded():  # A signal still removes the folders, and the ledger is for the runs of users.
            table = suite.measure(**options)
    finally:
        line.clear()
    for name in (args.output, file):
        if name is not None:
            table.check_place(name)
    if args.output is not None:
        write_file(args.output, table.to_page().encode(), None)
    if file is not None:
        write_file(file, f"{json.dumps(table.to_json(), indent=2, allow_nan=False)}\n".encode(), None)
    if args.json == "-":
        print_json(table.to_json())
    else:
        print_text(table)
    return 0


class _Line(ProgressLine):
    """The current measurement, on one line of a terminal."""

    def tell(self, what: str) -> None:
        if self._shown:
            self._write(what)
