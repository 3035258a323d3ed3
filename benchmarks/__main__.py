"""`python -m benchmarks SUITE`: what measures isoviz itself, with the options, tables, JSON and pages of `isoviz bench`.

The suites of `isoviz bench` run here as well, so that one command measures every report in this folder.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.suites import SUITES
from isoviz.bench import SUITES as SUITES_OF_USERS
from isoviz.cli.bench_command import add_arguments
from isoviz.cli.command_line import Parser, main


def parser() -> argparse.ArgumentParser:
    """The parser of this command line."""
    made = Parser(
        prog="python -m benchmarks",
        description="Measure isoviz itself, or isoviz beside its peers, all in one run; compare ratios, not times.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(made, {**SUITES, **SUITES_OF_USERS})
    return made


if __name__ == "__main__":
    sys.exit(main(make_parser=parser))
