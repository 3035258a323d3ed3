"""Run by a test: a kernel with a wrong access, on the way of a transfer. Prints what the engine says about it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from one_gpu import FBM, SYS, ZCM, machine, structs

from isoviz import Engine
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.cuda.kernels import KernelSource
from isoviz.backends.cuda.layout_kernels import DefaultMaker
from isoviz.backends.devices import ThisComputer
from isoviz.errors import RunError, TransferError
from isoviz.layouts import StridedCopy

ROADS = {"within": (FBM, FBM), "staged": (SYS, FBM), "pinned": (ZCM, FBM)}
WRONG = """
extern "C" __global__ void wrong(const char *source, char *destination, long long at, long long to) {
  *(volatile int *)16 = 1;
}
"""


class WrongMaker(DefaultMaker):
    """Its kernels write where nothing is."""

    def kernels_of(self, copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int) -> list[KernelSource]:
        found = super().kernels_of(copies, source_alignment, destination_alignment)[0]
        return [found._replace(name="wrong", code=WRONG, arguments=(0, 0), shared=0)]


def said(engine: Engine, road: str) -> tuple[str, str]:
    try:
        engine.run(structs(1 << 20, *ROADS[road]), verify=False)
    except (RunError, TransferError) as error:
        return type(error).__name__, str(error)
    return "none", ""


def main() -> None:
    devices = ThisComputer(gpus=Gpus(maker=WrongMaker()))
    with Engine(machine(), devices) as engine:
        error, text = said(engine, sys.argv[1])
        again, _ = said(engine, sys.argv[1])
        held = engine.held_bytes
    print(json.dumps({"error": error, "said": text, "again": again, "held": held}))


if __name__ == "__main__":
    main()
