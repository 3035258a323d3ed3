"""`isoviz course`: folders for the learners of a class, a report on them, and the notebooks for other graders."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from isoviz.cli.output import whole_number

LONGEST_NAME = 200
"""Characters of a learner's name, at most."""
LONGEST_SEED = 1000
"""Bytes of a file with the seed of a class, at most."""


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
    _add_seed(new, "a text that only the teacher knows")
    new.add_argument("--no-solutions", action="store_true", help="hints only: no solution is told after them")
    new.set_defaults(func=run_new)

    report = parts.add_parser(
        "report",
        help="a report on learners' folders",
        description="Judge the answers in learners' folders again, ignore kept verdicts, and print who did what,"
        " which wrong models there are, and what does not fit: copied folders, changed names, forged verdicts. Functions of the"
        " learners run with your rights, in processes with limits of time and memory.",
    )
    report.add_argument("folders", metavar="FOLDER", nargs="+", help="a learner's folder")
    _add_seed(report, "the seed of the class: also compare names with numbers")
    report.add_argument("--csv", metavar="FILE", help="also write a row for each learner and exercise")
    report.add_argument("--html", metavar="FILE", help="also write the report as a page")
    report.add_argument("--json", action="store_true", help="print one JSON object")
    report.set_defaults(func=run_report)

    export = parts.add_parser(
        "export",
        help="the notebooks for nbgrader or otter",
        description="Write the notebooks with a graded cell for each exercise. Learners hand in course.json and progress.jsonl"
        " with the notebook: their numbers and answers stand there.",
    )
    export.add_argument("folder", metavar="FOLDER", help="where the notebooks are written")
    graders = export.add_mutually_exclusive_group(required=True)
    graders.add_argument("--nbgrader", dest="grader", action="store_const", const="nbgrader", help="for source/ of nbgrader")
    graders.add_argument("--otter", dest="grader", action="store_const", const="otter", help="with a folder tests/ for otter")
    export.add_argument("--notebook", metavar="N", type=whole_number, help="only this notebook")
    export.set_defaults(func=run_export)


def _add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--class-seed-file", metavar="FILE", help=f"a file with {what}")
    seeds.add_argument("--class-seed", metavar="SEED", help="the same as a text; other programs can read it while this one runs")


def _class_seed(args: argparse.Namespace) -> str | None:
    """The seed of the class, or None where none is given.

    Raises:
        FileError: the file cannot be read, or it is not text. InputError: there is no text in it.
    """
    from isoviz.errors import FileError, InputError
    from isoviz.regular_files import read_some

    seed, source = args.class_seed, "--class-seed"
    if args.class_seed_file is not None:
        source = args.class_seed_file
        found = read_some(source, LONGEST_SEED + 1)
        if len(found) > LONGEST_SEED:
            raise FileError(f"{source}: expected a seed of at most {LONGEST_SEED:,} bytes")
        try:
            seed = found.decode()
        except UnicodeDecodeError:
            raise FileError(f"{source}: expected a seed as text in UTF-8") from None
    if seed is not None and not seed.strip():
        raise InputError(f"course {args.part}: {source} is empty; expected a text that only the teacher knows")
    return None if seed is None else seed.strip()


def run_new(args: argparse.Namespace) -> int:
    """Make a folder."""
    from isoviz.cli.lab_command import notebooks_beside
    from isoviz.cli.output import print_text
    from isoviz.course.classroom import new_folder
    from isoviz.errors import FileError, InputError
    from isoviz.regular_files import write_text

    learner, seed = (args.learner or "").strip(), _class_seed(args)
    if (args.learner is None) != (seed is None):
        raise InputError("course new: expected both --learner and --class-seed-file, or neither: numbers follow from both")
    if args.learner is not None and not learner:
        raise InputError("course new: --learner is empty; expected a text")
    if len(learner) > LONGEST_NAME:
        raise InputError(f"course new: the name has {len(learner):,} characters; expected {LONGEST_NAME} at most")
    folder = Path(args.folder)
    notebooks = notebooks_beside()
    for each in notebooks:
        if (folder / each.name).exists():
            raise FileError(f"{folder / each.name} is there already; expected a folder without it")
    new_folder(folder, learner, seed or "", solutions=not args.no_solutions)
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
    _check_outside(args.folders, (args.csv, args.html))
    report = ClassReport(args.folders, _class_seed(args) or "")
    if args.csv is not None:
        write_file(args.csv, report.csv().encode(), None)
    if args.html is not None:
        write_file(args.html, document_page(report.document, kind="course").encode(), None)
    if args.json:
        print_json(report.document.to_json())
    else:
        print_text(report.document)
    return 0


def _check_outside(folders: Iterable[str], outputs: Iterable[str | None]) -> None:
    """A report tells about a whole class: it does not get into the folder of a learner, nor does it replace a file there."""
    from isoviz.errors import FileError
    from isoviz.regular_files import final_path

    for output in filter(None, outputs):
        for folder in folders:
            if final_path(output).is_relative_to(Path(folder).resolve()):
                raise FileError(f"{output}: lies in the learner's folder {folder}; expected a place outside of all of them")


def run_export(args: argparse.Namespace) -> int:
    """Write the notebooks for a grader."""
    import json

    from isoviz.cli.lab_command import notebooks_beside
    from isoviz.cli.output import print_text
    from isoviz.course.export import exercises_in, exported, otter_file, otter_test
    from isoviz.errors import FileError, InputError
    from isoviz.regular_files import reason, write_text

    notebooks = {int(each.name[0]): each for each in notebooks_beside() if each.name[0].isdigit()}
    if args.notebook is not None and args.notebook not in notebooks:
        raise InputError(f"course export: --notebook {args.notebook}; expected one of {', '.join(map(str, notebooks))}")
    files: dict[Path, str] = {}
    for number, path in notebooks.items():
        if args.notebook in (None, number):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            files[Path(path.name)] = json.dumps(exported(notebook, args.grader), indent=1, ensure_ascii=False) + "\n"
            if args.grader == "otter":
                files |= {Path("tests") / otter_file(name): otter_test(name) for name in exercises_in(notebook)}
    folder = Path(args.folder)
    taken = [name for name in files if (folder / name).exists()]
    if taken:
        raise FileError(f"{folder / taken[0]} is there already; expected a folder without it")
    try:
        for each in dict.fromkeys((folder / name).parent for name in files):
            each.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: the folder cannot be made: {reason(error)}") from error
    for name, text in files.items():
        write_text(folder / name, text)
    print_text(f"{folder}: {len(files)} files for {args.grader}")
    return 0
