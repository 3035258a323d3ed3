"""Presets whose nodes have one processor: a cluster of Grace Hopper superchips, a workstation, a laptop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isoviz import checks
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets import numbers
from isoviz.machines.presets.clusters import MOST_NODES, node_channels, node_memories
from isoviz.machines.presets.numbers_gh200 import GH200
from isoviz.machines.presets.numbers_workstation import GPUS, WORKSTATION
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.presets.today import PROVENANCE, NodeOfToday, Uses


def workstation(gpus: int = 1) -> Machine:
    """A workstation of 2025: an AMD Threadripper PRO 9000 WX, up to four NVIDIA RTX PRO 6000 Blackwell, an NVMe drive on PCIe
    5.0.

    The memories are `node0.sys`, `node0.zcm`, `node0.dsk`, and `node0.fbm0`, `node0.fbm1`, … for the GPUs, which reach each other
    over PCIe. Host memory, drive and every link are shared resources.

    Raises:
        MachineError: `gpus` is not a whole number from 1 to 4.
    """
    count = checks.whole("preset 'workstation'", "gpus", gpus, low=1, high=GPUS)
    return _machine("workstation", 1, count, WORKSTATION)


def gh200(nodes: int = 2) -> Machine:
    """A cluster of NVIDIA GH200 Grace Hopper Superchips, one per node, with a ConnectX-7 NIC of 400 Gb/s.

    Every node has `node<k>.sys`, `.reg`, `.zcm`, `.fbm0` and `.dsk`. NVLink-C2C joins the GPU with the processor. The NIC reads
    and writes `.reg` (RemoteMemcpy) and the memory of the GPU (GPUDirectRemote). The GPU reaches pageable memory as fast as
    pinned memory.

    Raises:
        MachineError: `nodes` is not a whole number from 1 to 128.
    """
    count = checks.whole("preset 'gh200'", "nodes", nodes, low=1, high=MOST_NODES)
    return _machine("gh200", count, 1, GH200)


def laptop() -> Machine:
    """A laptop with one GPU and an NVMe disk: `node0.sys`, `.zcm`, `.fbm0` and `.dsk`. All figures are assumed."""
    memories = node_memories(0, 1, numbers.LAPTOP)
    return Machine("laptop", tuple(memories), tuple(node_channels([memories], numbers.LAPTOP)), provenance="assumed")


def _machine(name: str, nodes: int, gpus: int, figures: NodeOfToday) -> Machine:
    made = [_Node(number, gpus, figures) for number in range(nodes)]
    networked = "remote" in figures.channels
    return Machine(
        name,
        tuple(memory for node in made for memory in node.memories()),
        tuple(
            channel
            for node in made
            for channel in (
                *node.channels(),
                *(each for other in made if networked and other is not node for each in node.to(other)),
            )
        ),
        tuple(resource for node in made for resource in node.resources()),
        provenance=PROVENANCE,
    )


class _Node:
    """One node with its memories, channels and resources. Host memory and each GPU, with its link, lie in boxes; a NIC is one."""

    def __init__(self, number: int, gpus: int, figures: NodeOfToday) -> None:
        self.number, self.figures = number, figures
        self.name = f"node{number}"
        self.gpus = range(gpus)
        self.host = ["sys", "reg", "zcm"] if "remote" in figures.channels else ["sys", "zcm"]

    def memories(self) -> Iterator[Memory]:
        figures = self.figures
        sizes = dict.fromkeys(self.host, figures.pinned) | {"sys": figures.dram - (len(self.host) - 1) * figures.pinned}
        for suffix in self.host:
            kind = MemoryKind(suffix.upper())
            yield Memory(f"{self.name}.{suffix}", kind, self.number, sizes[suffix], within=("socket 0",))
        for gpu in self.gpus:
            within = (f"GPU {gpu}",)
            yield Memory(f"{self.name}.fbm{gpu}", MemoryKind.FBM, self.number, figures.gpu_memory, within=within)
        yield Memory(f"{self.name}.dsk", MemoryKind.DSK, self.number, figures.disk_space)

    def resources(self) -> Iterator[Resource]:
        names: dict[str, dict[str, tuple[str, ...]]] = {
            "bus": {"bus": ("socket 0",)},
            "gpu": {f"gpu{gpu}": (f"GPU {gpu}",) for gpu in self.gpus},
            "link": {f"link{gpu}.{way}": (f"GPU {gpu}",) for gpu in self.gpus for way in ("up", "down")},
            "nic": {f"nic.{way}": ("NIC",) for way in ("out", "in")},
            "drive": {"drive": ()},
        }
        for kind, (capacity, origin) in self.figures.resources.items():
            for name, within in names[kind].items():
                yield Resource(f"{self.name}.{name}", capacity, origin, node=self.number, within=within)

    def channels(self) -> Iterator[Channel]:
        """The channels within the node."""
        for here in self.host:
            for there in self.host:
                yield self._channel("memcpy", here, there, {"bus": 2.0})
            yield from self._files("disk", here, {"bus": 1.0}, {"bus": 1.0})
        for gpu in self.gpus:
            yield from self._gpu(gpu)

    def _gpu(self, gpu: int) -> Iterator[Channel]:
        """The channels out of one GPU, and those into it from host memory and files."""
        name, memory = f"fbm{gpu}", f"gpu{gpu}"
        up, down = {f"link{gpu}.up": 1.0, memory: 1.0}, {f"link{gpu}.down": 1.0, memory: 1.0}
        yield self._channel("copy", name, name, {memory: 2.0})
        for other in self.gpus:
            if other != gpu:
                yield self._channel("peer", name, f"fbm{other}", up | {f"link{other}.down": 1.0, f"gpu{other}": 1.0})
        for host in self.host:
            how = "pageable" if host == "sys" else "pinned"
            yield self._channel(f"{how} read", name, host, up | {"bus": 1.0})
            yield self._channel(f"{how} write", host, name, down | {"bus": 1.0})
        yield self._channel("kernel read", name, "zcm", up | {"bus": 1.0}, beside=True)
        yield self._channel("kernel write", "zcm", name, down | {"bus": 1.0}, beside=True)
        if "direct read" in self.figures.channels:
            yield from self._files("direct", name, down, up)

    def _files(self, how: str, memory: str, reading: Mapping[str, float], writing: Mapping[str, float]) -> Iterator[Channel]:
        """The channels between files and a memory. Writing occupies the drive for longer."""
        known = self.figures.channels
        longer = known["disk read"].throughput.peak / known["disk write"].throughput.peak
        yield self._channel(f"{how} read", "dsk", memory, {"drive": 1.0, **reading})
        yield self._channel(f"{how} write", memory, "dsk", {"drive": longer, **writing})

    def to(self, other: _Node) -> Iterator[Channel]:
        """The channels over the network. It takes data from registered memory or from the GPU, and gives them to either."""
        taken = {"reg": ("bus",), "fbm0": ("gpu0", "link0.up")}
        given = {"reg": ("bus",), "fbm0": ("link0.down", "gpu0")}
        for here, before in taken.items():
            for there, after in given.items():
                role = "remote" if here == there == "reg" else "direct remote"
                names = [f"{self.name}.{each}" for each in (*before, "nic.out")] + [
                    f"{other.name}.{each}" for each in ("nic.in", *after)
                ]
                uses: Uses = tuple((name, 1.0) for name in names)
                yield self.figures.channels[role].channel(f"{self.name}.{here}", f"{other.name}.{there}", uses)

    def _channel(self, role: str, source: str, destination: str, uses: Mapping[str, float], *, beside: bool = False) -> Channel:
        named: Uses = tuple((f"{self.name}.{name}", weight) for name, weight in uses.items())
        return self.figures.channels[role].channel(f"{self.name}.{source}", f"{self.name}.{destination}", named, beside=beside)


register_preset(
    PresetInfo(
        "gh200",
        "Grace Hopper superchips, one per node: NVLink-C2C, a NIC of 400 Gb/s; figures published, measured, assumed",
        {"nodes": PresetOption(2, "how many nodes")},
        gh200,
    )
)
register_preset(
    PresetInfo(
        "workstation",
        "a workstation of 2025: RTX PRO 6000 Blackwell and NVMe on PCIe 5.0; figures published, measured, assumed",
        {"gpus": PresetOption(1, "how many GPUs; the board has slots for 4")},
        workstation,
    )
)
register_preset(PresetInfo("laptop", "one computer with a GPU and an NVMe disk; all figures assumed", {}, laptop))
