"""The places where plans run, as values: this process, and ranks on this computer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PlaceName = Literal["process", "ranks"]
RANKS: PlaceName = "ranks"
"""The place, and the name of the preset that describes ranks."""
PROCESS: PlaceName = "process"


@dataclass(frozen=True)
class RunPlace:
    """A place for runs, and why the plan does not run there ("" where it does).

    `ranks` is the number of ranks, 0 for the process. `about` is what a person should know of a run there, ""
    where that is nothing.
    """

    name: PlaceName
    reason: str
    ranks: int = 0
    about: str = ""


@dataclass(frozen=True)
class Where:
    """Where a plan runs.

    `is_here`: in one of the places on this computer; `place` is that place, `places` are all. `reason` says why it is not carried
    out, "" where it is. `emulable` names the memories that main memory would have to stand in for, to run the plan here.
    """

    is_here: bool
    reason: str
    place: RunPlace | None = None
    places: tuple[RunPlace, ...] = ()
    emulable: tuple[str, ...] = ()

    def reason_at(self, name: str) -> str:
        """Why the plan does not run in the place of that name; "" where it does."""
        return next((place.reason for place in self.places if place.name == name), "")
