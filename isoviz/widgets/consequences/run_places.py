"""Places where a plan can run: this process, and MPI ranks on this computer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PlaceName = Literal["process", "ranks"]
RANKS: PlaceName = "ranks"
"""The place, and the name of the preset that describes ranks."""
PROCESS: PlaceName = "process"


@dataclass(frozen=True)
class RunPlace:
    """A place for runs. `reason` tells why the plan cannot run there, "" if it can.

    `ranks` is the number of ranks, 0 for the process. `about` is a remark on runs there, or "".
    """

    name: PlaceName
    reason: str
    ranks: int = 0
    about: str = ""


@dataclass(frozen=True)
class Where:
    """The places where a plan can run, and the chosen one.

    `is_here` tells whether the plan can run on this computer, in `place`, one of `places`. Otherwise `reason` tells why not.
    `emulable` has the names of the memories that main memory would have to emulate to run the plan on this computer.
    """

    is_here: bool
    reason: str
    place: RunPlace | None = None
    places: tuple[RunPlace, ...] = ()
    emulable: tuple[str, ...] = ()

    def reason_at(self, name: str) -> str:
        """The reason why the plan cannot run in the place with this name, "" if it can."""
        return next((place.reason for place in self.places if place.name == name), "")
