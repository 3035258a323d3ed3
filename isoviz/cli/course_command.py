"""`isoviz course`: folders for the learners of a class, a report on them, and the notebooks for other graders."""

from __future__ import annotations

import argparse
from pathlib import Path

LONGEST_NAME = 200
"""Characters of a learner's name, at most."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `course` with its parts."""
    course = subparsers.add_parser(
        "course",
        help="folders for a class, a report on them, notebooks for graders",
        description="The course for a class. Everything else about it is said in its notebooks.",
    )
    parts = course.add_subparsers(title="parts", dest="part", metavar="PART", required=True)

    new = parts.add_parser(
        "new",
        help="a folder for a learner",
        description="Make a folder with the notebooks of the course. With a name and a seed of the class, the learner has numbers"
        " that follow from both. The folder has a digest of them, so nobody finds the numbers of another learner.",
    )
    new.add_argument("folder", metavar="FOLDER", help="the folder to make")
    new.add_argument("--learner", metavar="NAME", help="the learner's name")
    new.add_argument("--class-seed", metavar="SEED", help="a text that only the teacher knows")
    new.add_argument("--no-solutions", action="store_true", help="hints only: no solution is told after them")
    new.set_defaults(func=run_new)

    report = parts.add_parser(
        "report",
        help="a report on learners' folders",
        description="Judge the answers in learners' folders again, whatever verdicts are kept there, and print who did what,"
        " which wrong models there are, and what does not fit: copied folders, changed names, forged verdicts. Functions of the"
        " learners run with your rights, in processes with limits of time and memory.",
    )
    report.add_argument("folders", metavar="FOLDER", nargs="+", help="a learner's folder")
    report.add_argument("--class-seed", metavar="SEED", help="the seed of the class: also compare names with numbers")
    report.add_argument("--csv", metavar="FILE", help="also write a row for each learner and exercise")
    report.add_argument("--html", metavar="FILE", help="also write the report as a page")
    report.add_argument("--json", action="store_true", help="print one JSON object")
    report.set_defaults(func=run_report)


def run_new(args: argparse.Namespace) -> int:
    """Make a folder."""
    from isoviz.cli.lab_command import notebooks_beside
    from isoviz.cli.output import print_text
    from isoviz.course.classroom import new_folder
    from isoviz.errors import FileError, InputError
    from isoviz.regular_files import write_text

    learner, seed = ((text or "").strip() for text in (args.learner, args.class_seed))
    if (args.learner is None) != (args.class_seed is None):
        raise InputError("course new: expected both --learner and --class-seed, or neither: numbers follow from both")
    if args.learner is not None and not (learner and seed):
        raise InputError(f"course new: {'--class-seed' if learner else '--learner'} is empty; expected a text")
    if len(learner) > LONGEST_NAME:
        raise InputError(f"course new: the name has {len(learner):,} characters; expected {LONGEST_NAME} at most")
    folder = Path(args.folder)
    notebooks = notebooks_beside()
    for each in notebooks:
        if (folder / each.name).exists():
            raise FileError(f"{folder / each.name} is there already; expected a folder without it")
    new_folder(folder, learner, seed, solutions=not args.no_solutions)
    for each in notebooks:
        write_text(folder / each.name, each.read_text(encoding="utf-8"))
    print_text(f"{folder} is made; the learner begins with {notebooks[0].name}")
    return 0


def run_report(args: argparse.Namespace) -> int:
    """Judge again, and print."""
    from isoviz.cli.output import check_outputs, print_json, print_text, write_file
    from isoviz.course.report import ClassReport
    from isoviz.figures.page import document_page

    check_outputs(None, (args.csv, args.html))
    report = ClassReport(args.folders, args.class_seed or "")
    if args.csv is not None:
        write_file(args.csv, report.csv().encode(), None)
    if args.html is not None:
        write_file(args.html, document_page(report.document, kind="course").encode(), None)
    if args.json:
        print_json(report.document.to_json())
    else:
        print_text(report.document)
    return 0
