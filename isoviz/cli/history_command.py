"""`isoviz history`: what earlier runs were predicted to take, and what they took."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isoviz.cli.output import whole_number
from isoviz.errors import printable

if TYPE_CHECKING:
    from isoviz.document import Document
    from isoviz.runtime.ledger.ledger import Ledger
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry
    from isoviz.runtime.ledger.prediction_errors import ErrorSummary, Outcome

LISTED, MOST_ON_PAGE = 15, 500
"""Runs that are listed as text, unless a number is given, and on a page."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `history`."""
    parser = subparsers.add_parser(
        "history",
        help="earlier runs: predicted beside measured",
        description="Every run is kept in a ledger in your cache directory, with what the model and the trial predicted and what"
        " was measured. This shows the errors of both and the runs inside their intervals, by the channels of the path, and the"
        " last runs. ISOVIZ_LEDGER names another file, or says 'off'.",
    )
    parser.add_argument(
        "-n", "--last", metavar="N", type=whole_number, help=f"only the last N runs (listed without it: {LISTED})"
    )
    parser.add_argument("--machine", metavar="NAME", help="only runs on the machine of this name")
    parser.add_argument("--clear", action="store_true", help="forget all runs")
    parser.add_argument(
        "-o", "--output", metavar="OUT.html", help="write a page: predicted against measured, as plots and tables"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Show or forget."""
    from isoviz.cli.output import check_outputs, print_json, print_text, write_file
    from isoviz.errors import InputError
    from isoviz.runtime.ledger.ledger import ledger

    book = ledger()
    if book is None:
        raise InputError("history: runs are not kept (ISOVIZ_LEDGER says off, or there is no folder for them)")
    if args.last is not None and args.last < 1:
        raise InputError(f"history: --last {args.last}; expected 1 or more")
    if args.clear:
        book.clear()
        return 0
    check_outputs(None, (args.output,))
    reading = book.read()
    entries = [each for each in reading.entries if args.machine in (None, each.machine)]
    entries = entries[-args.last :] if args.last is not None else entries
    if args.output is not None:
        from isoviz.figures.page import document_page

        page = document_page(_document(entries, book, reading.unreadable, MOST_ON_PAGE))
        write_file(args.output, page.encode(), book.path)
    if args.json:
        print_json(_summary(entries, book, reading.unreadable))
    elif args.output is None:
        print_text(_document(entries, book, reading.unreadable, LISTED if args.last is None else args.last))
    return 0


def _real(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    return [each for each in entries if each.is_real]


def _ways(entries: Sequence[LedgerEntry]) -> dict[str, list[Outcome]]:
    """What came true of each way to predict: the model for all runs, the trial for those that had one."""
    real = _real(entries)
    return {"trial": [each.outcome for each in real if each.tried], "model": [each.model_outcome for each in real]}


def _summaries(outcomes: Sequence[Outcome]) -> list[ErrorSummary]:
    """One for every path, and one for all."""
    from isoviz.runtime.ledger.prediction_errors import by_path, summarized

    return [*by_path(outcomes), summarized(outcomes)] if outcomes else []


def _summary(entries: Sequence[LedgerEntry], book: Ledger, unreadable: int) -> dict[str, Any]:
    from isoviz.runtime.ledger.ledger_entry import hop_outcomes
    from isoviz.runtime.ledger.prediction_errors import by_path

    return {
        "ledger": str(book.path),
        "unreadable_lines": unreadable,
        "summary": {way: [each.to_json() for each in _summaries(found)] for way, found in _ways(entries).items()},
        "channels": [each.to_json() for each in by_path(hop_outcomes(_real(entries)))],
        "runs": [each.to_json() for each in entries],
    }


def _document(entries: Sequence[LedgerEntry], book: Ledger, unreadable: int, listed: int) -> Document:
    """Errors by path of both ways to predict, of the channels, and the last runs."""
    from isoviz.document import Document, Points, Prose, Section, Table
    from isoviz.planner.explanation.explanation_words import counted
    from isoviz.runtime.ledger.ledger_entry import hop_outcomes
    from isoviz.runtime.ledger.prediction_document import error_table, way_parts
    from isoviz.runtime.ledger.prediction_errors import by_path

    title = "Predictions and runs"
    if not entries:
        return Document(title, [Prose(f"No runs in {printable(str(book.path))}; `isoviz run FILE` makes one.")])
    days = sorted({each.date[:10] for each in entries})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    said = [f"{counted(len(entries), 'run')}, {span}, in {printable(str(book.path))}"]
    said += [f"{counted(unreadable, 'line')} could not be read"] if unreadable else []
    told = {
        "trial": ("By a trial", "Predicted by a trial just before the run."),
        "model": ("By the model alone", "Predicted by the throughput functions of the channels alone."),
    }
    ways = [
        Section(told[way][0], [Prose(told[way][1]), *way_parts(outcomes)]) for way, outcomes in _ways(entries).items() if outcomes
    ]
    hops = by_path(hop_outcomes(_real(entries)))
    channels = [Section("Channels, by the model", [error_table(hops)])] if hops else []
    shown = list(map(_row, reversed(entries[-listed:])))
    header = ("date", "bytes", "transfer", "predicted", "expected", "measured", "error", "")
    last = Section("The last runs", [Table(header, shown, numbers=(1, 3, 4, 5, 6))])
    return Document(title, [Points(said), *ways, *channels, last])


def _row(each: LedgerEntry) -> tuple[str, ...]:
    from isoviz.planner.time.spread import range_text
    from isoviz.runtime.ledger.prediction_errors import percent_text
    from isoviz.units import format_bytes, format_seconds

    ends = f"{each.source} {each.source_layout} → {each.destination} {each.destination_layout}"
    marks = ["tried"] * each.tried + ["emulated"] * each.emulated + ["not verified"] * (each.verified is not True)
    marks += [each.origin] * (each.origin != "run")
    return (
        each.date[:16].replace("T", " "),
        format_bytes(each.nbytes),
        ends if len(ends) <= 64 else f"{ends[:63]}…",
        format_seconds(each.predicted),
        "-" if each.interval is None else range_text(*each.interval),
        format_seconds(each.measured),
        percent_text(each.outcome.error),
        ", ".join(marks),
    )
