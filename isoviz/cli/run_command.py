"""`isoviz run FILE`: plan a transfer file, run it on this computer, verify and measure."""

from __future__ import annotations

import argparse
import json
import logging
from typing import TYPE_CHECKING, Any

from isoviz.cli.output import whole_number
from isoviz.cli.plan_command import add_transfer_arguments, asked_file

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import TransferFile
    from isoviz.runtime import Report

_LOG = logging.getLogger(__name__)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `run`."""
    parser = subparsers.add_parser(
        "run",
        help="run a transfer on this computer and measure it",
        description="Plan the transfer that a transfer file (TOML) describes, run it on this computer, compare every byte, and"
        " print measured beside predicted figures. Where the file names no path, the source is generated and the destination"
        " given up afterwards. The destination is a new file in the folder of the transfer file, unless --overwrite is given.",
    )
    add_transfer_arguments(parser)
    parser.add_argument(
        "--ranks",
        metavar="N",
        type=whole_number,
        help="run on N MPI ranks, which are started for it: rank r has the memories of node r. `mpiexec -n N isoviz run FILE`"
        " does so on ranks that are there already",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="let the transfer file write anywhere, and replace a destination that exists once the new one is complete",
    )
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
    from isoviz.cli.output import check_outputs, watched
    from isoviz.launch.hello import ranks_of_this_job
    from isoviz.measure.run_file import run_file

    if args.ranks is None and ranks_of_this_job() > 1:
        return _run_with_others(args)
    file = asked_file(args)
    check_outputs(args.file, (args.chrome, args.output))
    if args.ranks is not None:
        return _run_on_ranks(args, file)
    _require_ranks(args.file, file)
    with watched() as watch:
        asked = {"planner": args.planner, "verify": not args.no_verify, "overwrite": args.overwrite}
        tried = {"trial": not args.no_trial, "of": args.of}
        report = run_file(file, progress=watch.progress, cancel=watch.cancel, **asked, **tried)
    _show(args, report, file, file.machine() if args.output is not None else None)
    return 0


def _run_on_ranks(args: argparse.Namespace, file: TransferFile) -> int:
    """Start ranks, run on them, and end them."""
    from isoviz.cli.output import watched
    from isoviz.launch.ranks import ranks
    from isoviz.launch.same_program import plan_on_ranks
    from isoviz.measure.run_file import target_of

    _refuse_trials(args)
    file.check_source()
    with watched() as watch, ranks(args.ranks) as group:
        plan, machine, file = plan_on_ranks(file, [process.host for process in group.processes], args.planner)
        target = target_of(file, machine, args.overwrite)
        watching: dict[str, Any] = {"progress": watch.progress, "cancel": watch.cancel}
        report = group.run(plan, None, target, machine=machine, verify=not args.no_verify, **watching)
    _show(args, report, file, machine)
    return 0


def _run_with_others(args: argparse.Namespace) -> int:
    """Run as one of the ranks of an MPI job. Rank 0 speaks for all; the exit status is the same everywhere."""
    from isoviz.cli.output import check_outputs, watched
    from isoviz.errors import InputError
    from isoviz.launch.hello import Hello
    from isoviz.launch.same_program import run_together
    from isoviz.launch.this_rank import switch_often

    switch_often()

    def check() -> None:
        _refuse_trials(args)
        check_outputs(args.file, (args.chrome, args.output))

    is_first = Hello.of_this_process().rank <= 0
    try:
        with watched(quiet=True) as watch:
            watch.running = True  # A signal ends the run on all ranks.
            asked = {"planner": args.planner, "reuse": args.reuse, "verify": not args.no_verify, "overwrite": args.overwrite}
            found = run_together(args.file, cancel=watch.cancel, check=check, **asked)
    except (Exception, KeyboardInterrupt) as error:
        if is_first:
            raise
        _LOG.debug("this rank ends with the others", exc_info=True)  # Rank 0 tells the user.
        if isinstance(error, KeyboardInterrupt):
            raise SystemExit(128 + watch.signal) from None
        raise SystemExit(2 if isinstance(error, InputError) else 1) from None
    if is_first:
        _show(args, found.report, found.file, found.machine)
    return 0


def _require_ranks(path: str, file: TransferFile) -> None:
    """Refuse a file for several nodes that only ranks have.

    Raises:
        InputError: `--ranks` is missing.
    """
    from isoviz.errors import InputError

    memories = file.machine().memories
    nodes = max(memory.node for memory in memories) + 1
    of_ranks = all(memory.kind.is_of_ranks for memory in memories)
    is_emulated = any(memory.emulated for memory in memories)
    if file.machine_options.get("preset") == "ranks" or (nodes > 1 and of_ranks and not is_emulated):
        raise InputError(
            f"{path}: its machine has {nodes} nodes, which are MPI ranks; expected: isoviz run {path} --ranks {nodes}"
        )


def _refuse_trials(args: argparse.Namespace) -> None:
    from isoviz.errors import InputError

    if args.of != 1:
        raise InputError(f"--of {args.of}: plans on ranks are not tried before; expected it to be left out")


def _show(args: argparse.Namespace, report: Report, file: TransferFile, machine: Machine | None) -> None:
    """Print the report, and write what was asked for."""
    from isoviz.cli.output import print_json, print_text, write_file

    if args.chrome is not None and report.trace is not None:
        write_file(args.chrome, json.dumps(report.trace.to_chrome(), allow_nan=False).encode(), args.file)
    if args.output is not None and machine is not None:
        from isoviz.widgets.pages.plan_page import plan_page
        from isoviz.widgets.pages.state_of_plan import machine_choice_of

        page = plan_page(
            report.plan, machine, kind="run", choice=machine_choice_of(file, machine), options=file.options, report=report
        )
        write_file(args.output, page.encode(), args.file)
    if args.json:
        print_json(report.to_json())
    else:
        print_text(report)
