"""`isoviz machine`: print, measure or write a machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from isoviz.cli.output import whole_number
from isoviz.cli.progress_line import ProgressLine

if TYPE_CHECKING:
    from isoviz.launch.probe import ProbeProgress
    from isoviz.machines import Machine


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `machine`."""
    parser = subparsers.add_parser(
        "machine",
        help="print, measure or write a machine",
        description="Print a machine: this computer, a preset, or a machine file. With --measure, measure this computer: its"
        " memory, its disks and its NVIDIA GPUs, how fast each is and what they share; less than a minute, or two with GPUs."
        " With --ranks, a machine of MPI ranks.",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a machine file (default: a preset)")
    parser.add_argument("--preset", metavar="NAME", help="the preset (default: local, this computer)")
    parser.add_argument("--nodes", type=whole_number, metavar="N", help="how many nodes, where the preset takes it")
    parser.add_argument("--gpus", type=whole_number, metavar="N", help="how many GPUs per node, where the preset takes it")
    parser.add_argument(
        "--ranks", type=whole_number, metavar="N", help="how many MPI ranks: of the preset ranks, or with --measure, to measure"
    )
    parser.add_argument("--hosts", metavar="HOSTS", help="with --ranks: how many hosts, or the host of each rank, with commas")
    parser.add_argument("--measure", action="store_true", help="measure this computer, or ranks; the presets use it from then on")
    parser.add_argument("--thorough", action="store_true", help="with --measure: more samples and repetitions, a few minutes")
    parser.add_argument(
        "--disk", metavar="DIR", action="append", help="with --measure: a directory on a disk to measure (default: this one)"
    )
    parser.add_argument("--no-gpus", action="store_true", help="with --measure: leave the GPUs out")
    parser.add_argument("--list", action="store_true", help="list the presets and their options")
    parser.add_argument("-o", "--output", metavar="OUT.json", help="write the machine to a file")
    parser.add_argument(
        "--figure", metavar="OUT.html", help="write a page with the throughput functions, measured ones with their spread"
    )
    parser.add_argument(
        "--beside",
        metavar="MACHINE",
        help="compare its rates with those of another machine, a file or a preset: --preset laptop --beside local",
    )
    parser.add_argument("--json", action="store_true", help="print the machine as one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print or write."""
    from isoviz import machines
    from isoviz.cli.output import check_outputs, print_json, print_text, write_file
    from isoviz.errors import InputError, printable

    if args.list:
        return _list(args)
    if args.beside is not None and (args.output is not None or args.figure is not None):
        raise InputError("machine: --beside prints a comparison; -o and --figure do not go with it")
    if not args.measure and (args.thorough or args.disk or args.no_gpus):
        raise InputError("machine: --thorough, --disk and --no-gpus belong to --measure")
    if args.figure is not None and not args.figure.lower().endswith((".html", ".htm")):
        raise InputError(f"machine: --figure {args.figure}: a page is written; expected a name that ends in .html")
    check_outputs(args.file, (args.output, args.figure))
    machine = _machine(args)
    if args.beside is not None:
        comparison = machines.rates_beside(machine, args.beside)
        if args.json:
            print_json(comparison.to_json())
        else:
            print_text(comparison)
        return 0
    if args.output is not None:
        machines.save(machine, args.output)
    if args.figure is not None:
        from isoviz.figures.throughput_page import throughput_page

        write_file(args.figure, throughput_page(machine).encode(), args.file)
    if args.json:
        print_json(machines.machine_to_json(machine))
    elif args.output is None:
        print_text(machines.draw(machine))
    else:
        print_text(printable(args.output))
    return 0


def _list(args: argparse.Namespace) -> int:
    from isoviz.cli.output import print_json, print_text
    from isoviz.machines import presets

    if args.json:
        print_json({name: str(info) for name, info in presets().items()})
    else:
        width = max(map(len, presets()))
        for name, info in presets().items():
            print_text(f"{name:{width}} {info}")
    return 0


def _machine(args: argparse.Namespace) -> Machine:
    """The machine that the options name, measured if they say so."""
    from isoviz.errors import InputError
    from isoviz.machines import load, preset

    names = ("nodes", "gpus", "ranks", "hosts")
    options: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.file is not None:
        if args.preset is not None or options or args.measure:
            raise InputError("machine: a machine file takes no preset and no options of one")
        return load(args.file)
    if not args.measure:
        return preset(args.preset or ("ranks" if "ranks" in options else "local"), **options)
    if args.preset not in (None, "ranks" if "ranks" in options else "local") or set(options) - {"ranks"}:
        raise InputError("machine: --measure measures this computer, or --ranks on it; no other preset or option goes with it")
    return _measured(args)


def _measured(args: argparse.Namespace) -> Machine:
    """This computer, measured; progress on a terminal, and a signal ends it without a trace."""
    from isoviz.cli.output import tell, watched
    from isoviz.launch.probe import probe
    from isoviz.measure.gpus.gpu_parts import why_not_measured

    line = _StepLine()
    gpus = False if args.no_gpus else None
    with watched():
        try:
            found = probe(args.disk, ranks=args.ranks, gpus=gpus, thorough=args.thorough, progress=line.tell)
        finally:
            line.clear()
    if args.ranks is None and not args.no_gpus and (reason := why_not_measured(found)):
        tell(f"no GPU was measured: {reason}")
    return found


class _StepLine(ProgressLine):
    """The current measurement, on one line of a terminal."""

    def tell(self, progress: ProbeProgress) -> None:
        if self._shown:
            self._write(f"{progress.done / progress.steps:4.0%} {progress.what}")
