"""Facts about this computer: its name, processor, NUMA nodes and caches, and the versions of the code that measures it."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from isoviz import checks
from isoviz.units import format_bytes

_SYSTEM = Path("/sys/devices/system")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class NumaNode:
    """A part of the host memory that some processors are nearest to: its number, its bytes (None: unknown), its processors."""

    number: int
    capacity: int | None
    cpus: tuple[int, ...]

    def __post_init__(self) -> None:
        owner = "NUMA node"
        checks.whole(owner, "number", self.number)
        if self.capacity is not None:
            checks.whole(owner, "capacity", self.capacity)
        object.__setattr__(self, "cpus", tuple([checks.whole(owner, "cpus", cpu) for cpu in self.cpus]))


@dataclass(frozen=True)
class Cache:
    """The caches of one level: the bytes of each, their number, and the number of processors that share one."""

    level: int
    size: int
    count: int
    shared_by: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            checks.whole("cache", name, value, low=1)


@dataclass(frozen=True)
class ComputerFacts:
    """The computer that a measurement belongs to.

    `host` is its name, `processor` its model, `cpus` the number of processors that this process may use, `system` the operating
    system. `nodes` and `caches` (of data, smallest first) are empty if the system does not list them.
    """

    host: str
    processor: str
    cpus: int
    system: str
    nodes: tuple[NumaNode, ...] = ()
    caches: tuple[Cache, ...] = ()

    def __post_init__(self) -> None:
        owner = "computer"
        checks.text(owner, "host", self.host)
        checks.text(owner, "processor", self.processor, empty=True)
        checks.whole(owner, "cpus", self.cpus, low=1)
        checks.text(owner, "system", self.system, empty=True)


@dataclass(frozen=True)
class GpuFacts:
    """A GPU: its number for CUDA, its name, its compute capability ("9.0"), its memory in bytes, and its link to the host.

    `link` is empty if the system does not tell it.
    """

    number: int
    name: str
    capability: str
    memory: int
    link: str = ""

    def __post_init__(self) -> None:
        owner = "gpu"
        checks.whole(owner, "number", self.number)
        checks.text(owner, "name", self.name)
        checks.text(owner, "capability", self.capability, empty=True)
        checks.whole(owner, "memory", self.memory, low=1)
        checks.text(owner, "link", self.link, empty=True)

    def __str__(self) -> str:
        said = [self.name, format_bytes(self.memory)]
        said += [f"compute capability {self.capability}"] if self.capability else []
        return f"GPU {self.number}: {', '.join(said + [self.link] * bool(self.link))}"


def this_computer() -> ComputerFacts:
    """The facts of the computer that this process runs on."""
    return ComputerFacts(host_name(), processor(), usable_cpus(), _printable(platform.platform()), numa_nodes(), caches())


def versions() -> tuple[tuple[str, str], ...]:
    """Versions of the code that the speed of channels depends on: pairs (name, version)."""
    import numpy

    from isoviz._version import __version__

    found = [("isoviz", __version__), ("python", platform.python_version()), ("numpy", numpy.__version__)]
    for name in ("numba", "llvmlite"):
        module = sys.modules.get(name)  # Only modules that are loaded already: no module is loaded for its version.
        if module is not None:
            found.append((name, _printable(str(getattr(module, "__version__", "")))))
    return tuple(found)


def nvidia_gpus(proc: Path = Path("/proc")) -> tuple[str, ...]:
    """The models of the NVIDIA GPUs as their kernel driver lists them, without CUDA; empty if it lists none, or is absent."""
    found = []
    for place in sorted(proc.glob("driver/nvidia/gpus/*/information")):
        with contextlib.suppress(OSError):
            lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [_printable(line.partition(":")[2]) for line in lines if line.startswith("Model:")]
    return tuple(found)


def nvidia_driver(system: Path = Path("/sys")) -> str:
    """The version of the kernel driver for NVIDIA GPUs; empty if it is absent."""
    with contextlib.suppress(OSError):
        return _printable((system / "module/nvidia/version").read_text(encoding="ascii", errors="replace"))
    return ""


def pci_link(address: str, system: Path = Path("/sys")) -> str:
    """The link of a device on the PCI bus, in words such as "PCIe 32.0 GT/s ×16"; empty if the system does not tell it.

    It is the fastest link that the device supports: idle GPUs slow their link down.
    """
    place = system / "bus/pci/devices" / address
    with contextlib.suppress(OSError, ValueError):
        speed, width = ((place / f"max_link_{name}").read_text(encoding="ascii").split() for name in ("speed", "width"))
        if address and float(speed[0]) > 0 and int(width[0]) > 0:
            return f"PCIe {speed[0]} GT/s ×{width[0]}"
    return ""


def host_name() -> str:
    """The name of this computer, as one printable line."""
    return _printable(socket.gethostname())[:80].strip() or "this computer"


def processor() -> str:
    """The model of the processor, if the system tells it."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("model name", "CPU part", "cpu model")):
                return _printable(line.partition(":")[2])
    return _printable(platform.processor() or platform.machine())


def usable_cpus() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def numa_nodes(system: Path = _SYSTEM) -> tuple[NumaNode, ...]:
    """The NUMA nodes that have memory and processors; empty if the system does not list them."""
    found = []
    for place in system.glob("node/node[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            cpus = cpu_list((place / "cpulist").read_text(encoding="ascii"))
            capacity = None
            for line in (place / "meminfo").read_text(encoding="ascii").splitlines():
                if "MemTotal" in line:
                    capacity = int(line.split()[-2]) << 10
            if cpus and capacity != 0:  # Some nodes have only memory (of devices), some only processors.
                found.append(NumaNode(int(place.name.removeprefix("node")), capacity, cpus))
    return tuple(sorted(found, key=lambda node: node.number))


def caches(system: Path = _SYSTEM) -> tuple[Cache, ...]:
    """The data caches by level, smallest first; empty if the system does not list them."""
    sizes: dict[int, tuple[int, set[tuple[int, ...]]]] = {}
    for place in system.glob("cpu/cpu[0-9]*/cache/index[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
            kind, level, size, shared = (
                (place / name).read_text(encoding="ascii").strip() for name in ("type", "level", "size", "shared_cpu_list")
            )
            if kind != "Instruction":
                nbytes = int(size[:-1]) * _UNITS[size[-1]]
                sizes.setdefault(int(level), (nbytes, set()))[1].add(cpu_list(shared))
    return tuple(
        Cache(level, nbytes, len(groups), max(map(len, groups))) for level, (nbytes, groups) in sorted(sizes.items()) if nbytes
    )


def cpu_list(text: str) -> tuple[int, ...]:
    """The numbers in a list of the system such as `0-3,8`.

    Raises:
        ValueError: the text is not such a list.
    """
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()[: checks.NAME_LIMIT]
