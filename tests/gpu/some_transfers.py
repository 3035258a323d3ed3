"""A few transfers over every way of a GPU, each verified: what compute-sanitizer watches (`make gpu`)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from one_gpu import DSK, FBM, SYS, ZCM, machine

from isoviz import Engine, FieldSpace, IndexSpace, Transfer
from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.backends.devices import ThisComputer
from isoviz.planner import cost

SHAPES = (
    # contiguous, rows and planes; structs; a transposition; blocks with ragged ends; fields of different sizes
    (IndexSpace(x=1 << 18), FieldSpace(a="f4"), "<F, x>", "<F, x>"),
    (IndexSpace(x=1 << 17), FieldSpace(re="f4", im="f4"), "<F, x>", "<x, F>"),
    (IndexSpace(x=515, y=509), FieldSpace(a="f4"), "<F, x, y>", "<F, y, x>"),
    (IndexSpace(x=700, y=300), FieldSpace(a="u2"), "<F, x, y>", "<F, x_in=64, y_in=8, x_out, y_out>"),
    (IndexSpace(x=65_537), FieldSpace(a="u1", b="f4", c="f8"), "<x, F>", "<F, x>"),
    (IndexSpace(c=3, w=56, h=56, n=9), FieldSpace(a="f4"), "<F, c, w, h, n>", "<F, w, h, c, n>"),
)
PATHS = ((ZCM, FBM), (FBM, ZCM), (SYS, FBM), (FBM, SYS), (FBM, FBM), (DSK, ZCM, FBM), (FBM, ZCM, DSK), (ZCM, FBM, FBM, ZCM))


def main() -> None:
    if loaded().driver is None:
        sys.exit(f"needs a GPU: {loaded().reason}")
    made = machine()
    count = 0
    with tempfile.TemporaryDirectory() as folder, Engine(made, ThisComputer(folder)) as engine:
        for path in PATHS:
            for space, fields, here, there in SHAPES:
                transfer = Transfer.whole(space, fields, path[0], here, path[-1], there)
                assert engine.run(cost(transfer, made, path)).verified, (path, space)
                count += 1
    print(f"{count} transfers, every byte verified")


if __name__ == "__main__":
    main()
