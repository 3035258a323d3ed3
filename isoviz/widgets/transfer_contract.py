"""The contract, transfers and runs: what moves, the list of transfers, repeats, notes."""

from __future__ import annotations

from typing import Literal, TypedDict


class ShownRange(TypedDict):
    """The indices of a dimension that move, as typed: the dimension has the key `row`. `first` and `extent` are at the source,
    `to` is the first index at the destination. "" stands for what is usual: from the first index, up to the last, to the same
    index.
    """

    row: int
    first: str
    extent: str
    to: str


class ShownPart(TypedDict):
    """What moves: the ranges of some dimensions (all indices of the others), and the keys of the fields that stay."""

    ranges: list[ShownRange]
    leftOut: list[int]


class SetTransfer(TypedDict):
    """Enter a text of the transfer with the key `transfer`."""

    kind: Literal["set"]
    field: Literal["transfer-name", "transfer-priority", "transfer-begin"]
    transfer: int
    value: str


class ChoosePart(TypedDict):
    """Choose what moves. `control` names what was used: edits of one control are one step to undo."""

    kind: Literal["part"]
    part: ShownPart
    control: str


class OneTransfer(TypedDict):
    """Edit, copy or remove the transfer with the key `transfer`. A copy stands behind it and is edited from then on."""

    kind: Literal["edit-transfer", "copy-transfer", "remove-transfer"]
    transfer: int


class Repeat(TypedDict):
    """Run `times` times, one after the other."""

    kind: Literal["repeat"]
    times: int


class WriteNote(TypedDict):
    """Write a note to a run. `run` is its name in the list of runs; an empty note removes what was there."""

    kind: Literal["note"]
    run: str
    note: str


class AskRuns(TypedDict):
    """Ask for the runs of the session and for the earlier ones of its transfer on this computer."""

    kind: Literal["runs"]
