"""The first message of a worker, which says what it is, and whether client and worker fit together."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from isoviz._version import __version__
from isoviz.launch.wire import PROTOCOL, NotUnderstood
from isoviz.this_computer import host_name, usable_cpus

_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
_BITS = 63
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")


@dataclass(frozen=True)
class Hello:
    """A process: its versions, where it runs, and its rank in a job of `size` ranks (-1: not known before MPI starts)."""

    protocol: int
    isoviz: str
    python: str
    numpy: str
    host: str
    pid: int
    cpus: int
    rank: int = -1
    size: int = -1

    @classmethod
    def of_this_process(cls, rank: int | None = None, size: int | None = None) -> Hello:
        """What this process says of itself. Its rank and size are those of the environment, unless they are given."""
        return cls(
            PROTOCOL,
            __version__,
            platform.python_version(),
            _numpy(),
            host_name(),
            os.getpid(),
            usable_cpus(),
            _from_environment(_RANK) if rank is None else rank,
            _from_environment(_SIZE) if size is None else size,
        )

    @classmethod
    def from_json(cls, data: Any) -> Hello:
        """What another process said.

        Raises:
            NotUnderstood: it is something else.
        """
        values: dict[str, Any] = {name: data.get(name) for name in _KINDS} if isinstance(data, dict) else {}
        if not values or any(type(value) is not _KINDS[name] for name, value in values.items()):
            raise NotUnderstood("the other end sent something that is no greeting")
        if any(value.bit_length() > _BITS for value in values.values() if isinstance(value, int)):
            raise NotUnderstood("the other end sent numbers that no greeting has")
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """An object from which `from_json` makes an equal value."""
        return asdict(self)


_KINDS: dict[str, type] = {
    "protocol": int,
    "isoviz": str,
    "python": str,
    "numpy": str,
    "host": str,
    "pid": int,
    "cpus": int,
    "rank": int,
    "size": int,
}


def refusal(worker: Hello, client: Hello) -> str | None:
    """Why a client cannot work with a worker, in words; None if it can.

    Plans and results travel as pickles of isoviz's and NumPy's own classes, so both ends need the same isoviz, the same Python
    (without its last number) and the same major version of NumPy.
    """
    wrong = []
    for name, theirs, ours in (
        ("isoviz", worker.isoviz, client.isoviz),
        ("Python", _first(worker.python, 2), _first(client.python, 2)),
        ("NumPy", _first(worker.numpy, 1), _first(client.numpy, 1)),
        ("protocol", str(worker.protocol), str(client.protocol)),
    ):
        if theirs != ours:
            wrong.append(f"{name} {theirs} there, {name} {ours} here")
    if not wrong:
        return None
    who = f"rank {worker.rank}" if worker.rank >= 0 else "a rank"
    return f"{who} on {worker.host} is of another version: {'; '.join(wrong)}; expected the same at both ends"


def ranks_of_this_job() -> int:
    """The number of ranks of the MPI job that started this process as one of them; 1 if none did."""
    return max(1, _from_environment(_SIZE)) if _from_environment(_RANK[:-1]) >= 0 else 1


def _from_environment(names: tuple[str, ...]) -> int:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return -1


def _numpy() -> str:
    """The version of NumPy, which need not be loaded for it."""
    module = sys.modules.get("numpy")
    if module is not None and hasattr(module, "__version__"):
        return str(module.__version__)
    try:
        return version("numpy")
    except PackageNotFoundError:
        return "missing"


def _first(text: str, parts: int) -> str:
    return ".".join(text.split(".")[:parts])
