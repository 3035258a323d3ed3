"""Activations of VGG-16 from host memory to a GPU: NHWC becomes NCHW on the way.

For each size of VGG-16's layers, the batch goes from a NumPy array with the channels last to a CuPy array with the channels
first. The same is done, in turn, with

- PyTorch: `.to("cuda")`, `permute` and `contiguous`;
- CuPy: `asarray`, `transpose` and `ascontiguousarray`.

Every result is compared with NumPy's. The table has the medians, and how many times as long the others take.

    python examples/nhwc_to_gpu_nchw.py
    python examples/nhwc_to_gpu_nchw.py --pinned --batch 32

`--emulated` runs the same plans without a GPU: its memory is emulated in host memory, and the figures say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import isoviz
from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.units import format_bytes, format_seconds

LAYERS = ((64, 224), (128, 112), (256, 56), (512, 28), (512, 14))
"""Channels, and rows and columns, of the outputs of VGG-16's blocks of convolutions."""
EMULATED = "GPU memory is emulated in host memory: these figures say nothing about a GPU."


def machine(emulated: bool) -> isoviz.Machine:
    """Pageable and pinned host memory and a GPU. There is one path, so its rates need not be known."""
    kinds = {"sys": MemoryKind.SYS, "zcm": MemoryKind.ZCM, "fbm0": MemoryKind.FBM}
    memories = tuple(Memory(f"node0.{name}", kind, emulated=emulated and name != "sys") for name, kind in kinds.items())
    rate = LatencyBandwidth(1e-5, 1e10)
    channels = tuple(Channel("", ChannelKind.GPU_WRITE, f"node0.{name}", "node0.fbm0", rate) for name in ("sys", "zcm"))
    return isoviz.Machine("one GPU", memories, channels)


class Layer:
    """The activations of one layer: the host array, and the plan that brings them to the GPU."""

    def __init__(self, here: isoviz.Machine, channels: int, side: int, batch: int, pinned: bool) -> None:
        self.shape = batch, side, side, channels
        self.name = f"{channels} × {side}²"
        memory = "node0.zcm" if pinned else "node0.sys"
        space, fields = isoviz.IndexSpace(c=channels, w=side, h=side, n=batch), isoviz.FieldSpace(value="float32")
        ends = memory, "<F, c, w, h, n>", "node0.fbm0", "<F, w, h, c, n>"
        self.plan = isoviz.plan(isoviz.Transfer.whole(space, fields, *ends), here)
        self.wanted = np.random.default_rng(channels).random(self.shape, np.float32)
        self.turned = np.ascontiguousarray(self.wanted.transpose(0, 3, 1, 2))


def median(ways: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """The median seconds of each way, all in turn; a first round does not count."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeat + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if turn:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(found) for name, found in times.items()}


def on_gpu(engine: isoviz.Engine, layer: Layer, pinned: bool, repeat: int) -> dict[str, float]:
    """The medians on a GPU, after a comparison with NumPy."""
    import cupy

    host = layer.wanted
    if pinned:
        host = np.frombuffer(cupy.cuda.alloc_pinned_memory(host.nbytes), np.float32, host.size).reshape(layer.shape)
        host[...] = layer.wanted
    batch, rows, columns, channels = layer.shape
    device = cupy.zeros((batch, channels, rows, columns), np.float32)

    def by_cupy() -> Any:
        found = cupy.ascontiguousarray(cupy.asarray(host).transpose(0, 3, 1, 2))
        cupy.cuda.runtime.deviceSynchronize()
        return found

    ways: dict[str, Callable[[], Any]] = {"isoviz": lambda: engine.submit(layer.plan, host, device).wait(), "CuPy": by_cupy}
    torch = by_torch(host)
    if torch is not None:
        ways["PyTorch"] = torch
    found = median(ways, repeat)
    assert np.array_equal(device.get(), layer.turned), "isoviz and NumPy differ"
    assert np.array_equal(by_cupy().get(), layer.turned), "CuPy and NumPy differ"
    return found


def by_torch(host: np.ndarray[Any, Any]) -> Callable[[], Any] | None:
    """What PyTorch does; None where it is not installed or sees no GPU."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    tensor = torch.from_numpy(host)

    def work() -> Any:
        found = tensor.to("cuda", non_blocking=True).permute(0, 3, 1, 2).contiguous()
        torch.cuda.synchronize()
        return found

    return work


def emulated(engine: isoviz.Engine, layer: Layer, repeat: int) -> dict[str, float]:
    """The medians in host memory, after a comparison with NumPy."""
    out = np.zeros_like(layer.turned)
    found = median(
        {
            "isoviz": lambda: engine.submit(layer.plan, layer.wanted, out).wait(),
            "NumPy": lambda: np.ascontiguousarray(layer.wanted.transpose(0, 3, 1, 2)),
        },
        repeat,
    )
    assert np.array_equal(out, layer.turned), "isoviz and NumPy differ"
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8, help="images of a batch (default: 8)")
    parser.add_argument("--repeat", type=int, default=7, help="rounds; medians are printed (default: 7)")
    parser.add_argument("--pinned", action="store_true", help="begin in pinned host memory")
    parser.add_argument("--emulated", action="store_true", help="no GPU: emulate its memory in host memory")
    args = parser.parse_args()
    driver = loaded().driver
    if driver is None and not args.emulated:
        sys.exit(f"This example needs a GPU: {loaded().reason}. With --emulated it runs in host memory.")
    print(EMULATED if args.emulated or driver is None else f"{driver.device_name(0)}, {'pinned' if args.pinned else 'pageable'}")
    here = machine(args.emulated)
    with isoviz.Engine(here) as engine:
        for channels, side in LAYERS:
            layer = Layer(here, channels, side, args.batch, args.pinned)
            times = emulated(engine, layer, args.repeat) if args.emulated else on_gpu(engine, layer, args.pinned, args.repeat)
            own = times.pop("isoviz")
            others = ", ".join(f"{name} {format_seconds(seconds)} ({seconds / own:.2f} ×)" for name, seconds in times.items())
            print(f"{layer.name:>11}, {format_bytes(layer.turned.nbytes):>9}: isoviz {format_seconds(own)}; {others}")


if __name__ == "__main__":
    main()
