"""Two GPUs without a link between them: their neighbours relay the data, over several paths at once.

The machine is the mesh of the eight V100s of a DGX-1. Each GPU has six NVLinks to four of the others, so some pairs have none, as
GPU 0 and GPU 5. Without NVLink their data passes through pinned host memory. The planner `multipath` finds the GPUs that can
relay it, and divides the bytes. Every GPU on the way receives one chunk while it sends the chunk before.

The mesh is emulated: real bytes move in host memory, at the rates of the machine divided by `--slower`. So the gain is measured,
and no figure is that of a GPU.

    python examples/gpu_mesh.py
    python examples/gpu_mesh.py --source 0 --destination 6 --size 64MiB
"""

from __future__ import annotations

import argparse
import itertools

import isoviz
from isoviz.backends.emulated import EmulatedMachine
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind, Resource
from isoviz.units import format_bytes, format_rate, format_seconds, parse_bytes

LINKS = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2,
    (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
"""The NVLinks between two GPUs of a DGX-1 with V100s."""
NVLINK, PCIE = 25e9, 12e9
"""Bytes per second of one NVLink and of a GPU's way to host memory, per direction."""
HOST = "node0.zcm"


def mesh(slower: float) -> isoviz.Machine:
    """The eight GPUs, and pinned host memory."""
    gpus = [f"node0.fbm{gpu}" for gpu in range(8)]
    memories = [Memory(HOST, MemoryKind.ZCM, emulated=True), *(Memory(name, MemoryKind.FBM, emulated=True) for name in gpus)]

    def channel(kind: ChannelKind, source: str, destination: str, rate: float, *resources: tuple[str, float]) -> Channel:
        function = LatencyBandwidth(1e-8 * slower, rate / slower)
        return Channel("", kind, source, destination, function, request_seconds=5e-6 * slower**0.5, resources=resources)

    channels, resources = [], []
    for (a, b), count in LINKS.items():
        for here, there in ((a, b), (b, a)):
            channels.append(channel(ChannelKind.GPU_COPY, gpus[here], gpus[there], count * NVLINK))
    for switch in range(4):  # two GPUs share a PCIe switch, which leads to host memory
        for way, kind in (("up", ChannelKind.GPU_READ), ("down", ChannelKind.GPU_WRITE)):
            shared = f"pcie{switch}.{way}"
            resources.append(Resource(shared, PCIE / slower))
            for gpu in gpus[2 * switch : 2 * switch + 2]:
                ends = (gpu, HOST) if way == "up" else (HOST, gpu)
                channels.append(channel(kind, *ends, PCIE, (shared, 1.0)))
    return isoviz.Machine("eight V100s", tuple(memories), tuple(channels), tuple(resources))


def ways(machine: isoviz.Machine, source: str, destination: str, nbytes: int) -> dict[str, isoviz.Plan]:
    """The same transfer through host memory, over the best single path, and over several paths."""
    space, fields = isoviz.IndexSpace(x=nbytes // 4), isoviz.FieldSpace(value="float32")
    transfer = isoviz.Transfer.whole(space, fields, source, "<F, x>", destination, "<F, x>")
    return {
        "through host memory": isoviz.plan_by_path(transfer, machine, [source, HOST, destination]),
        "the best single path": isoviz.plan(transfer, machine, "full"),
        "several paths": isoviz.plan(transfer, machine, "multipath"),
    }


def main() -> None:
    """Run the transfer in three ways, and print what each predicted and took."""
    parser = argparse.ArgumentParser(description="A transfer between two GPUs of an emulated mesh of eight V100s.")
    parser.add_argument("--source", type=int, default=0, choices=range(8))
    parser.add_argument("--destination", type=int, default=5, choices=range(8))
    parser.add_argument("--size", type=parse_bytes, default="16MiB", help="bytes of the transfer")
    parser.add_argument("--slower", type=float, default=1000.0, help="the rates of the machine are divided by this")
    given = parser.parse_args()
    if given.source == given.destination:
        parser.error("source and destination are one GPU; expected two")
    machine = mesh(given.slower)
    plans = ways(machine, f"node0.fbm{given.source}", f"node0.fbm{given.destination}", given.size)
    what = f"{format_bytes(given.size)} from GPU {given.source} to GPU {given.destination}"
    print(f"{what}, emulated at 1/{given.slower:g} of the rates")
    first = None
    with isoviz.Engine(machine, EmulatedMachine()) as engine:
        for name, plan in plans.items():
            report = engine.run(plan)
            first = first or report.seconds
            verified = "every byte verified" if report.verified else "not verified"
            print(
                f"{name:22} predicted {format_seconds(plan.seconds):>8}, measured {format_seconds(report.seconds):>8},"
                f" {format_rate(given.size / report.seconds)}, {first / report.seconds:.1f} × host memory, {verified}"
            )
            for path in plan.paths:
                stops = " → ".join(name for name, _ in itertools.groupby(path.memories))
                print(f"    {stops}: {path.bytes / plan.bytes:.0%} in {path.chunk_count} chunks")


if __name__ == "__main__":
    main()
