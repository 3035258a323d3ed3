"""The folder of a learner: one file says whose numbers are drawn, another has the progress. Neither holds a right answer.

The first has a digest of the class's seed and the learner's name. So a learner has the same numbers on every computer, and cannot
derive those of another learner.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoviz.course.exercise import Exercise
from isoviz.course.progress import VERSION, Progress
from isoviz.errors import FileError, InternalError, show
from isoviz.regular_files import read_some, reason, write_text

FILE = "course.json"
LARGEST_FILE = 1 << 16
"""The most bytes of that file that are read."""
MOST_DRAWS = 5000
"""Draws of numbers before an exercise is given up as one that tells no models apart."""


@dataclass(frozen=True)
class LearnersFolder:
    """The folder of a learner. `learner` is "" for one who learns alone. `solutions`: whether they follow after three hints."""

    path: Path
    seed: str
    learner: str = ""
    solutions: bool = True

    @property
    def progress(self) -> Progress:
        """The attempts that are kept in it."""
        return Progress(self.path)

    def given(self, exercise: Exercise) -> dict[str, Any]:
        """The numbers of this learner: the first drawn on which right answer and wrong models all differ."""
        return drawn(exercise, self.seed)


def drawn(exercise: Exercise, seed: str) -> dict[str, Any]:
    """The numbers of an exercise for a seed."""
    source = random.Random(hashlib.sha256(f"{seed}/{exercise.name}/{VERSION}".encode()).digest())  # noqa: S311  # no secret
    for _ in range(MOST_DRAWS):
        given = exercise.draw(source)
        if exercise.tells_apart(given):
            return given
    raise InternalError(f"exercise {exercise.name}: no draw tells its wrong models apart")


def learner_seed(class_seed: str, learner: str) -> str:
    """What a learner's folder has instead of the seed of the class."""
    return hashlib.sha256(f"{class_seed}\0{learner}".encode()).hexdigest()[:20]


def anybodys_seed() -> str:
    """The seed of one who learns alone."""
    return secrets.token_hex(10)


def new_folder(folder: str | Path, learner: str = "", class_seed: str = "", solutions: bool = True) -> LearnersFolder:
    """Make the file that says whose numbers are drawn in a folder. Without the seed of a class, anybody can derive the numbers.

    Raises:
        FileError: the folder has one already, or it cannot be written.
    """
    path = Path(folder)
    seed = learner_seed(class_seed, learner) if class_seed else anybodys_seed()
    kept = {"v": VERSION, "learner": learner, "seed": seed, "solutions": solutions}
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: the folder cannot be made: {reason(error)}") from error
    if (path / FILE).exists():
        raise FileError(f"{path / FILE} is there already; expected a folder without one")
    write_text(path / FILE, json.dumps(kept, indent=1) + "\n")
    return LearnersFolder(path, seed, learner, solutions)


def opened_folder(folder: str | Path) -> LearnersFolder:
    """The folder of a learner.

    Raises:
        FileError: it has no readable file `course.json`.
    """
    path = Path(folder)
    file = path / FILE
    try:
        kept = json.loads(read_some(file, LARGEST_FILE))
    except FileError as error:
        raise FileError(f"{error}; expected the file that `isoviz course new` or `course.start()` wrote") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"{file} is no JSON; expected what `isoviz course new` or `course.start()` wrote") from error
    if not isinstance(kept, dict):
        raise FileError(f"{file}: expected an object with a seed and a learner, got {show(kept)}")
    if type(kept.get("v")) is int and kept["v"] > VERSION:
        raise FileError(f"{file}: made by a later isoviz (course {kept['v']}, this one has {VERSION}); update isoviz")
    for key, kind, expected in (("seed", str, "a text"), ("learner", str, "a text"), ("solutions", bool, "true or false")):
        if not isinstance(kept.get(key), kind):
            raise FileError(f"{file}: {key}: expected {expected}, got {show(kept[key]) if key in kept else 'nothing'}")
    if type(kept.get("v")) is not int or kept["v"] != VERSION:
        raise FileError(f"{file}: v: expected {VERSION}, the version of the course, got {show(kept.get('v'))}")
    return LearnersFolder(path, kept["seed"], kept["learner"], kept["solutions"])
