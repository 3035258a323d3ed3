"""`isoviz machine`: print or write a machine."""

from __future__ import annotations

import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `machine`."""
    parser = subparsers.add_parser(
        "machine",
        help="print or write a machine",
        description="Print a machine: this computer, a preset, or a machine file.",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a machine file (default: a preset)")
    parser.add_argument("--preset", metavar="NAME", help="the preset (default: local, this computer)")
    parser.add_argument("--nodes", type=int, metavar="N", help="how many nodes, where the preset takes it")
    parser.add_argument("--gpus", type=int, metavar="N", help="how many GPUs per node, where the preset takes it")
    parser.add_argument("--measure", action="store_true", help="measure this computer anew (about a second)")
    parser.add_argument("--list", action="store_true", help="list the presets and their options")
    parser.add_argument("-o", "--output", metavar="OUT.json", help="write the machine to a file")
    parser.add_argument("--json", action="store_true", help="print the machine as one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print or write."""
    from isoviz.cli.output import print_json
    from isoviz.errors import InputError
    from isoviz.machines import Machine, preset, presets

    if args.list:
        if args.json:
            print_json({name: str(info) for name, info in presets().items()})
        else:
            width = max(map(len, presets()))
            for name, info in presets().items():
                print(f"{name:{width}} {info}")
        return 0
    options = {name: getattr(args, name) for name in ("nodes", "gpus") if getattr(args, name) is not None}
    if args.measure:
        options["measure"] = "fresh"
    if args.file is not None:
        if args.preset is not None or options:
            raise InputError("machine: a machine file takes no preset and no options of one")
        machine = Machine.load(args.file)
    else:
        machine = preset(args.preset or "local", **options)
    if args.output is not None:
        machine.save(args.output)
    if args.json:
        print_json(machine.to_json())
    elif args.output is None:
        print(machine)
    else:
        print(args.output)
    return 0
