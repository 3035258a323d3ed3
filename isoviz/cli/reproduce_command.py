"""`isoviz reproduce PAPER`: the evaluation of a paper, repeated in simulation, beside what the paper states."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `reproduce`."""
    parser = subparsers.add_parser(
        "reproduce",
        help="a paper's evaluation again, in simulation",
        description="Run a paper's evaluation again, in simulation on the presets of its machines, and print ours beside what the"
        " paper states. Takes two to three minutes on a quiet computer.",
    )
    parser.add_argument("paper", help="whose evaluation, such as bgq; with another name, the error has all there are")
    parser.add_argument("-o", "--output", metavar="PAGE", help="also write figures and tables as one HTML page")
    parser.add_argument("--figures", metavar="DIR", help="also write a page for each figure into a folder")
    parser.add_argument("--report", metavar="FILE", help="also write the tables as Markdown")
    parser.add_argument("--quick", action="store_true", help="fewer instances and nodes, in some seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Reproduce and print."""
    from isoviz.cli.output import check_outputs, print_json, print_text, save_file
    from isoviz.document import Document, Prose
    from isoviz.errors import FileError
    from isoviz.figures.page import document_page
    from isoviz.reproduce.evaluation import reproduce

    check_outputs(None, (args.output, args.report))
    if args.figures is not None and not Path(args.figures).is_dir():
        raise FileError(f"{args.figures}: is no folder")
    found = reproduce(args.paper, quick=args.quick, progress=None if args.json else _say)
    document = found.document
    if args.output is not None:
        save_file(args.output, document_page(document, kind="reproduction").encode(), None)
    if args.figures is not None:
        for plot, table in document.plots():
            shown = Document(plot.title, [Prose(document.title), plot, *([table] if table else [])])
            save_file(Path(args.figures) / f"{plot.name}.html", document_page(shown, kind="reproduction").encode(), None)
    if args.report is not None:
        save_file(args.report, document.markdown().encode(), None)
    if args.json:
        print_json(found.to_json())
    else:
        print_text(document)
    return 0


def _say(what: str) -> None:
    """A line for each step, as it takes minutes. If it cannot be told, the result is enough."""
    from isoviz.cli.output import tell

    with suppress(OSError):
        tell(f"isoviz: {what} …")
