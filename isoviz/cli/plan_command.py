"""`isoviz plan FILE`: the plan of a transfer file, and why it is what it is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.cli.output import whole_number

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.measure.trial import Trial
    from isoviz.planner import Options, Plan, TransferFile
    from isoviz.planner.time.spread import Prediction

CANDIDATES = 10
RIVALS = 2


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `plan`."""
    parser = subparsers.add_parser(
        "plan", help="plan a transfer", description="Plan the transfer that a transfer file (TOML) describes and print the plan."
    )
    add_transfer_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the plan as one JSON object")
    add_explain_arguments(parser)
    parser.add_argument("--lp", metavar="OUT.lp", help="write the program of all paths (Isometry, section 4.2) as an LP file")
    parser.add_argument(
        "--trial",
        action="store_true",
        help="try a chunk of a few MiB on this computer and predict with the rates that its hops have; only the copies within"
        " memory where there is no source to read yet",
    )
    parser.add_argument(
        "--of",
        metavar="N",
        type=whole_number,
        help="try the plan and its best alternatives, N in all, and take the quickest (implies --trial)",
    )
    parser.set_defaults(func=run)


def trial_table(best: Trial) -> str:
    """The plans that were tried, the quickest first, and what each is predicted to take."""
    from isoviz.document import aligned
    from isoviz.planner.time.spread import range_text
    from isoviz.units import format_bytes, format_seconds

    rows = [["plan", "chunks of", "by the model", "by the trial", "nine of ten runs", "took"]]
    for each in sorted((best, *best.others), key=lambda trial: trial.prediction.seconds):
        hops = " → ".join(f"{hop.kind}{'*' if hop.converts else ''}" for hop in each.plan.hops)
        said = each.prediction
        times = [format_seconds(seconds) for seconds in (each.plan.seconds, said.seconds)]
        rows.append(
            [hops, format_bytes(each.plan.chunk_bytes), *times, range_text(said.low, said.high), format_seconds(each.spent)]
        )
    return "\n".join(aligned(rows, left=(0,)))


def add_transfer_arguments(parser: argparse.ArgumentParser) -> None:
    """What `plan`, `run` and `show` take alike."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the transfer file; relative paths of data in it begin at the directory of their disk, if its [machine] names one,"
        " else at the file",
    )
    parser.add_argument("--planner", metavar="NAME")  # `Parser.format_help` names the planners
    add_reuse(parser)


def add_reuse(parser: argparse.ArgumentParser) -> None:
    """How often the transfer will run."""
    parser.add_argument(
        "--reuse",
        metavar="N",
        type=whole_number,
        help="how often the transfer runs; what is kept between runs is paid once (default: what the file says, or 1)",
    )


def asked_file(args: argparse.Namespace) -> TransferFile:
    """The transfer file of a command, with the reuse that it asks for."""
    from isoviz.planner import load_transfer

    return load_transfer(args.file).for_runs(args.reuse)


def add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    """What `plan` and `show` take about explanations."""
    parser.add_argument(
        "--explain", action="store_true", help="say why: constraints, program, rejected candidates, what would make rivals win"
    )
    parser.add_argument(
        "--candidates",
        metavar="N",
        type=whole_number,
        help=f"rejected candidates to list (default: {CANDIDATES}; implies --explain)",
    )


def run(args: argparse.Namespace) -> int:
    """Plan and print."""
    from isoviz.cli.output import check_outputs, print_text
    from isoviz.errors import InputError
    from isoviz.measure.run_file import plan_transfer_file
    from isoviz.planner.time.spread import spread_prediction

    if args.candidates is not None and args.candidates < 0:
        raise InputError(f"plan: --candidates {args.candidates}; expected 0 or more")
    check_outputs(args.file, (args.lp,))
    file = asked_file(args)
    machine = file.machine()
    plan = plan_transfer_file(file, machine, args.planner)
    expected = spread_prediction(plan, machine)
    if args.trial or args.of is not None:
        from isoviz.measure.trial import trial

        tried = trial(plan, machine, of=1 if args.of is None else args.of, options=file.options)
        if tried is None:
            print("plan: nothing was tried: there is nothing to read yet, nor to copy in memory", file=sys.stderr)
        else:
            plan, expected = tried.plan, tried.prediction
            if tried.others and not args.json:
                print_text(trial_table(tried) + "\n")
    if args.lp is not None:
        _write_program(args, plan, machine, file.options)
    if args.explain or args.candidates is not None:
        _print_explained(args, plan, machine, file.options, expected)
    else:
        _print(args, plan, machine, file.options, expected)
    return 0


def _print(args: argparse.Namespace, plan: Plan, machine: Machine, options: Options, expected: Prediction | None) -> None:
    """The plan, and what the program of its path says about it."""
    from isoviz.cli.output import print_json, print_text
    from isoviz.planner import certificate, certificate_to_json

    known = certificate(plan, machine, options) if len(plan.paths) == 1 else None  # several paths have a program each
    if args.json:
        print_json({**_json(plan, expected), **({} if known is None else {"program": certificate_to_json(known)})})
        return
    print_text(plan)
    if known is not None:
        print_text(known)
    if expected is not None:
        print_text(f"  {expected}")


def _print_explained(
    args: argparse.Namespace, plan: Plan, machine: Machine, options: Options, expected: Prediction | None
) -> None:
    """Why the plan is what it is."""
    from isoviz.cli.output import print_json, print_text
    from isoviz.planner import certificate, certificate_to_json, explain, explanation_text, explanation_to_json

    most = CANDIDATES if args.candidates is None else args.candidates
    explanation = explain(plan, machine, options=options, crossovers=RIVALS)
    if args.json:
        program = certificate_to_json(certificate(explanation.plan, machine, options))
        print_json({**_json(plan, expected), "program": program, "explanation": explanation_to_json(explanation, most)})
        return
    print_text(explanation_text(explanation, most=most))
    if expected is not None:
        print_text(f"\n{expected}")


def _json(plan: Plan, expected: Prediction | None) -> dict[str, Any]:
    from isoviz.planner import plan_to_json

    return {**plan_to_json(plan), **({} if expected is None else expected.to_json())}


def _write_program(args: argparse.Namespace, plan: Plan, machine: Machine, options: Options) -> None:
    """Write the program of all paths; what it found goes to standard error."""
    from isoviz.cli.output import tell
    from isoviz.errors import InputError
    from isoviz.planner import whole_solution
    from isoviz.planner.whole_program.program_planner import solved_line

    out = Path(args.lp)
    found = whole_solution(plan.transfer, machine, options)
    if found is None:
        raise InputError("plan: --lp: planning_time was used up before the program found a path; expected a larger planning_time")
    found.write(out, args.file)
    tell(f"plan: {out}: {solved_line(found)}")
