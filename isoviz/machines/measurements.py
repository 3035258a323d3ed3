"""Quick measurements of this computer, kept in the user's cache directory so that the next plan has them at once."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isoviz.errors import FileError, MachineError
from isoviz.machines import checks, files
from isoviz.machines.reading import Node, parse
from isoviz.machines.throughput import Sampled, from_json

FORMAT = "isoviz local measurement"
VERSION = 1


@dataclass(frozen=True)
class LocalMeasurement:
    """Throughput functions of this computer. The disk's are None where its directory could not be written to.

    `host` is the computer's name, `date` the time of measuring (ISO 8601, UTC), `unbuffered` whether the disk was reached past
    the page cache.
    """

    host: str
    date: str
    memcpy: Sampled
    disk_read: Sampled | None
    disk_write: Sampled | None
    unbuffered: bool

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal measurement."""
        return {
            "host": self.host,
            "date": self.date,
            "memcpy": self.memcpy.to_json(),
            "disk_read": None if self.disk_read is None else self.disk_read.to_json(),
            "disk_write": None if self.disk_write is None else self.disk_write.to_json(),
            "unbuffered": self.unbuffered,
        }

    @classmethod
    def from_json(cls, node: Node) -> LocalMeasurement:
        """The measurement that `to_json` described.

        Raises:
            MachineError: not such an object.
        """
        parts = node.members(("host", "date", "memcpy", "disk_read", "disk_write", "unbuffered"))
        owner = "measurement"
        return node.build(
            lambda: cls(
                checks.text(owner, "host", parts["host"].value),
                checks.text(owner, "date", parts["date"].value),
                _sampled(parts["memcpy"]),
                None if parts["disk_read"].value is None else _sampled(parts["disk_read"]),
                None if parts["disk_write"].value is None else _sampled(parts["disk_write"]),
                checks.flag(owner, "unbuffered", parts["unbuffered"].value),
            )
        )


def _sampled(node: Node) -> Sampled:
    function = from_json(node)
    if not isinstance(function, Sampled):
        node.fail("expected samples")
    return function


def measure(directory: Path) -> LocalMeasurement:
    """Measures this computer's memory and the file system of a directory; takes about a second."""
    from isoviz.machines.measure_disk import measure_disk
    from isoviz.machines.measure_memory import measure_memcpy

    date = datetime.now(UTC).isoformat(timespec="seconds")
    memcpy = _function(measure_memcpy(), date)
    try:
        disk = measure_disk(directory)
    except FileError:
        return LocalMeasurement(host_name(), date, memcpy, None, None, unbuffered=False)
    reads, writes = _function(disk.reads, date), _function(disk.writes, date)
    return LocalMeasurement(host_name(), date, memcpy, reads, writes, disk.unbuffered)


def _function(triples: list[tuple[float, float, float]], date: str) -> Sampled:
    return Sampled.from_measurement(
        [(run, _rounded(rate)) for run, rate, _ in triples], [_rounded(spread) for _, _, spread in triples], date
    )


def _rounded(value: float) -> float:
    """Four digits: more than a quick measurement can tell, few enough to read."""
    return float(f"{value:.4g}")


def cached(directory: Path) -> LocalMeasurement | None:
    """The measurement kept for this computer and the device of a directory; None where there is none, or it is damaged."""
    try:
        root = Node(parse(files.read_text(_place(directory))))
        parts = root.members(("format", "version", "key", "measurement"))
        if parts["format"].value != FORMAT or parts["version"].value != VERSION or parts["key"].value != _key(directory):
            return None
        return LocalMeasurement.from_json(parts["measurement"])
    except (FileError, MachineError):
        return None


def keep(measurement: LocalMeasurement, directory: Path) -> bool:
    """Keeps a measurement for `cached`; False where the cache directory cannot be written to."""
    content = {"format": FORMAT, "version": VERSION, "key": _key(directory), "measurement": measurement.to_json()}
    place = _place(directory)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(place, files.format_json(content) + "\n")
    except (FileError, OSError):
        return False
    return True


def cache_directory() -> Path:
    """Where isoviz keeps what it can make again: `$XDG_CACHE_HOME/isoviz`, or the system's usual place."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if chosen and Path(chosen).is_absolute():  # relative ones are to be ignored, says the XDG specification
        return Path(chosen) / "isoviz"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        home = Path(tempfile.gettempdir())
    return (home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache") / "isoviz"


def host_name() -> str:
    """The name of this computer, as one printable line."""
    name = "".join(c for c in socket.gethostname() if c.isprintable()).strip()
    return name[:80] or "this computer"


def _place(directory: Path) -> Path:
    digest = hashlib.sha256(json.dumps(_key(directory), sort_keys=True).encode()).hexdigest()
    return cache_directory() / f"local-{digest[:16]}.json"


def _key(directory: Path) -> dict[str, Any]:
    """What a measurement depends on: another computer, processor or device needs its own."""
    return {"host": host_name(), "processor": _processor(), "cpus": os.cpu_count(), "device": directory.stat().st_dev}


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "CPU part", "cpu model")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
