"""`isoviz convert IN OUT`: an array file from one layout to another, within a memory limit."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from isoviz.cli.output import whole_number
from isoviz.errors import show

_EPILOG = """\
Layouts count fastest first: "<F, x>" is an array of structs, "<x, F>" a struct of arrays, and "<F, x, y>" a C-order array whose
last axis is x. A .npy says its fields and sizes; other files are raw bytes and need --space and --fields. Types are those of
NumPy and of the package ml_dtypes, such as bfloat16. Where a raw IN has a header of its own, --offset says at which byte its data
begin. Files of other known formats (.npz, HDF5, zip, TIFF, …) are refused: save an array of theirs as a .npy first.

How a layout is stored in OUT.npy: a C-order array whose axes are the digits of the layout, slowest first. Where F is the
fastest component its elements are structs. Fields of one type elsewhere make an axis of their own: "<x, F>" of two float32 is
an array of shape (2, n). Fields of different types make a struct of arrays: numpy.load("OUT.npy")["re"] is all of re. A block
that does not divide its dimension pads the last block with zeros; such a file is read back with --space. The gaps of aligned
structs are left out, byte order stays as it is.

Memory is bounded for files of any size. Where rows become columns, moving everything twice through a temporary file can
be sooner done than once in short requests; which it is follows from the disk's request rates, measured before by "isoviz machine
--measure" or assumed, and the report says so. A terminal shows a progress line. What is stopped is not resumed: until it is
complete OUT has no name, so a run begins anew. Nothing has to be tidied up, not even after SIGKILL: where the file system knows
no files without a name, or the process was killed while it replaced OUT, the next run in that directory removes what was left.

examples:
  isoviz convert in.npy out.npy --from "<F, x>" --to "<x, F>"
  isoviz convert in.raw out.npy --from "<F, x, y>" --to "<F, y, x>" --space "x=4096,y=4096" --fields "re=float32,im=float32"
  isoviz convert scan.img out.npy --offset 512 --from "<F, x, y>" --to "<F, y, x>" --space "x=640,y=480" --fields "v=>i2"
"""


_OUTSIDE = re.compile(r"[(\[{,]")
_INSIDE = re.compile(r"""[(\[{)\]}]|'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*\"""")
"""What ends or opens a part of a list of pairs, outside and inside of brackets."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `convert`."""
    parser = subparsers.add_parser(
        "convert",
        help="write an array file in another layout",
        description="Write the array in the file IN to the file OUT in another layout, out of core.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="IN", help="a .npy file, or raw bytes")
    parser.add_argument("destination", metavar="OUT", help="the file to write, .npy or raw by its name; not a directory")
    parser.add_argument("--from", dest="from_layout", metavar="LAYOUT", help="the layout of IN (for .npy by default its own)")
    parser.add_argument("--to", dest="to_layout", metavar="LAYOUT", required=True, help="the layout of OUT")
    parser.add_argument("--space", metavar="SIZES", help='the index space, such as "x=4096,y=4096"')
    parser.add_argument("--fields", metavar="TYPES", help='the fields, such as "re=float32,im=float32"')
    parser.add_argument("--offset", metavar="BYTES", help="the byte at which the data of a raw IN begin (default: 0)")
    parser.add_argument("--memory-limit", metavar="SIZE", help="bytes of memory for buffers, such as 64MiB (default: 256MiB)")
    parser.add_argument(
        "--passes",
        type=whole_number,
        choices=(1, 2),
        help="one pass, or two by way of a temporary file beside OUT (default: what is predicted to be done sooner)",
    )
    parser.add_argument("--verify", action="store_true", help="compare every byte of IN and OUT before OUT gets its name")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists (otherwise that is an error)")
    parser.add_argument("--quiet", action="store_true", help="no progress line and no report; errors only")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Convert and print the report."""
    from isoviz.cli.output import print_json, print_text, watched
    from isoviz.conversion.convert import convert

    with watched(args.quiet) as watch:
        done = convert(
            args.source,
            args.destination,
            args.from_layout,
            args.to_layout,
            space=None if args.space is None else parse_space(args.space),
            fields=None if args.fields is None else parse_pairs("--fields", args.fields, "re=float32,im=float32"),
            memory_limit=args.memory_limit,
            verify=args.verify,
            overwrite=args.overwrite,
            progress=watch.progress,
            cancel=watch.cancel,
            passes=args.passes,
            offset=args.offset,
        )
    if args.json:
        print_json(done.to_json())
    elif not args.quiet:
        print_text(done)
    return 0


def parse_space(text: str) -> dict[str, int]:
    """The sizes in `"x=4096,y=4096"`.

    Raises:
        TextError: not such a list.
    """
    from isoviz.errors import TextError

    found = {}
    for name, value, position in _pairs("--space", text, "x=4096,y=4096"):
        number = re.match(r"[-+]?[0-9]*", value)
        assert number is not None
        end = number.end()
        if end < len(value) or not value[-1].isdigit():
            problem = f"found {value[end]!r}" if end < len(value) else "the size ends"
            raise TextError("--space", text, position + end, problem, f"a whole number as the size of {show(name)}, such as 4096")
        if len(value) > 30:
            raise TextError("--space", text, position, "a number of many digits", f"a size of {show(name)} below 2^63")
        found[name] = int(value)
    return found


def parse_pairs(option: str, text: str, example: str) -> dict[str, str]:
    """The pairs in `"name=value,name=value"`, in order.

    Raises:
        TextError: not such a list, or a name twice.
    """
    return {name: value for name, value, _ in _pairs(option, text, example)}


def _items(text: str) -> Iterator[str]:
    """The parts of a list between its commas. Commas within brackets belong to a value: the type `(3,)float32`."""
    start = at = depth = 0
    while found := (_INSIDE if depth else _OUTSIDE).search(text, at):
        mark, at = found[0], found.end()
        if mark == ",":
            yield text[start : found.start()]
            start = at
        depth += (mark in "([{") - (mark in ")]}")
    yield text[start:]


def _pairs(option: str, text: str, example: str) -> list[tuple[str, str, int]]:
    """Names, values and the positions of the values."""
    from isoviz.errors import TextError

    found: dict[str, tuple[str, str, int]] = {}
    start = 0
    for item in _items(text):
        at = start + len(item) - len(item.lstrip())
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            raise TextError(option, text, at, f"{show(item.strip())} is not name=value", f"a list such as {example!r}")
        if name in found:
            raise TextError(option, text, at, f"{show(name)} stands twice", "every name once")
        behind = item.partition("=")[2]
        found[name] = name, value, start + len(item) - len(behind.lstrip())
        start += len(item) + 1
    return list(found.values())
