"""What the tests of real runs share."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.layouts import Linearization

ROOT = Path(__file__).parents[1]
FIELDS = ("u1", "<f4", ">f8", "i2", "S3", "c16", "V12")


def random_layout(rng: random.Random, space: IndexSpace, blocks: bool = True) -> Layout:
    """A layout of a space, blocked at times, its last blocks ragged at times."""
    parts = ["F"]
    for dim, size in space.as_dict().items():
        if blocks and size > 2 and rng.random() < 0.4:
            block = rng.randint(2, size - 1)
            parts += [f"{dim}_in={block}", f"{dim}_out"]
        else:
            parts.append(dim)
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def random_spaces(rng: random.Random, largest: int = 12) -> tuple[IndexSpace, FieldSpace]:
    """An index space of 1 to 3 dimensions and 1 to 4 fields of mixed sizes."""
    space = IndexSpace.of({name: rng.randint(1, largest) for name in "xyz"[: rng.randint(1, 3)]})
    fields = FieldSpace.of({f"f{i}": rng.choice(FIELDS) for i in range(rng.randint(1, 4))})
    return space, fields


def elements(lin: Linearization, data: np.ndarray[Any, Any]) -> dict[tuple[tuple[int, ...], str], bytes]:
    """(index, field) → bytes, by offsets alone."""
    found = {}
    for index in np.ndindex(*lin.space.sizes):
        for name, size in zip(lin.fields.names, lin.fields.sizes, strict=True):
            at = lin.offset(index, name)
            found[index, name] = data[at : at + size].tobytes()
    return found


def random_bytes(rng: random.Random, count: int) -> np.ndarray[Any, Any]:
    return np.frombuffer(rng.randbytes(count), np.uint8).copy()


def open_files() -> set[str]:
    """What the open descriptors of this process lead to."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(f"{entry.name}:{entry.readlink()}")
        except OSError:
            continue
    return {entry for entry in found if "/proc/" not in entry}


@pytest.fixture
def no_leaked_files(no_leaked_threads: None) -> Iterator[None]:
    """Fails a test that leaves descriptors or threads behind. A thread that still loads the compiled kernels closes its files."""
    before = open_files()
    yield
    last, pause = time.monotonic() + 30, threading.Event()
    while (left := open_files() - before) and time.monotonic() < last:
        pause.wait(0.01)
    assert not left, f"descriptors left behind: {sorted(left)}"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def isoviz(*args: str | Path, cwd: Path | None = None, code: str = "") -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own; `code` runs there first."""
    return subprocess.run(
        command(args, code), cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=250
    )


def command(args: Sequence[str | Path], code: str = "") -> list[str]:
    start = f"import sys\nfrom isoviz.cli import main\n{code}\nsys.exit(main())"
    return [sys.executable, "-c", start, *map(str, args)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def assumed_machine() -> Any:
    """This computer with assumed figures: the same plans everywhere."""
    from isoviz.machines import preset

    return preset("local", measure="assumed")
