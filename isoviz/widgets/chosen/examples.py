"""Transfers to begin from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.chosen.settings import ByHand, End, Part, Range, Settings, rows


@dataclass(frozen=True)
class Example:
    """A transfer worth looking at, with the words that offer it."""

    title: str
    settings: Settings


def _example(
    title: str,
    *,
    sizes: dict[str, int],
    fields: dict[str, str],
    source: tuple[str, str],
    destination: tuple[str, str],
    machine: str = "local",
    planner: str = Settings().planner,
    part: tuple[Range, ...] = (),
    by_hand: ByHand | None = None,
    **options: str,
) -> Example:
    """`part` says what moves, everything by default; `options` are those of the preset."""
    return Example(
        title,
        Settings(
            machine=PresetMachine(machine, tuple(options.items())),
            planner=planner,
            dimensions=rows(sizes, 1),
            fields=rows(fields, 1 + len(sizes)),
            source=End(*source),
            destination=End(*destination),
            part=Part.of(part, ()),
            by_hand=by_hand,
        ),
    )


class _Transfer(TypedDict):
    sizes: dict[str, int]
    fields: dict[str, str]
    source: tuple[str, str]
    destination: tuple[str, str]


_BLOCK: _Transfer = {
    "sizes": {"x": 512, "y": 512},
    "fields": {"value": "complex128"},
    "source": ("node0.sys", "<F, x, y>"),
    "destination": ("node5.sys", "<F, y, x>"),
}
"""What node 0 sends to node 5 of a matrix of 16,384 × 16,384 that 32 nodes hold by rows."""

_PICTURE = {"red": "uint8", "green": "uint8", "blue": "uint8"}
_GPUS: _Transfer = {
    "sizes": {"x": 8192, "y": 8192},
    "fields": {"value": "complex128"},
    "source": ("node0.fbm0", "<F, x, y>"),
    "destination": ("node1.fbm0", "<F, y, x>"),
}
"""The transfer of Isometry, section 4.3."""
_TABLE_3 = ByHand(
    ("node0.fbm0->node0.zcm", "node0.zcm->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.fbm0"),
    (
        "<F, x_in=2048, y_in=1024, x_out, y_out>",
        "<F, y_in=1024, x_in=2048, x_out, y_out>",
        "<F, y_in=1024, x_in=2048, x_out, y_out>",
    ),
    name="The paper's plan",
)
"""The path of table 3 of Isometry, with the blocks of section 4.3: 2K x 1K."""

EXAMPLES: dict[str, Example] = {
    "picture": _example(
        "A picture in a file, its pixels to planes of red, green and blue in memory",
        sizes={"x": 4096, "y": 3072},
        fields=_PICTURE,
        source=("node0.dsk", "<F, x, y>"),
        destination=("node0.sys", "<x, y, F>"),
    ),
    "picture-turned": _example(
        "The same picture laid on its side: rows to columns",
        sizes={"x": 4096, "y": 3072},
        fields=_PICTURE,
        source=("node0.dsk", "<F, x, y>"),
        destination=("node0.sys", "<F, y, x>"),
    ),
    "tile": _example(
        "The same picture cut into tiles of 512 × 512",
        sizes={"x": 4096, "y": 3072},
        fields=_PICTURE,
        source=("node0.dsk", "<F, x, y>"),
        destination=("node0.sys", "<F, x_in=512, y_in=512, x_out, y_out>"),
    ),
    "file-to-memory": Example("Structs in a file to fields in memory", Settings()),
    "transpose": _example(
        "Transpose a matrix in memory",
        sizes={"x": 4096, "y": 2048},
        fields={"value": "float64"},
        source=("node0.sys", "<F, x, y>"),
        destination=("node0.sys", "<F, y, x>"),
    ),
    "small": _example(
        "A small one, every cell visible",
        sizes={"x": 8, "y": 6},
        fields={"a": "float32", "b": "float64"},
        source=("node0.dsk", "<F, x, y>"),
        destination=("node0.sys", "<x_in=4, F, y, x_out>"),
    ),
    "isometry": _example(
        "Isometry, section 4.3: the paper's plan, from GPU to GPU across two nodes, and a faster one",
        **_GPUS,
        machine="two-node",
        by_hand=_TABLE_3,
    ),
    "two-node": _example(
        "Isometry, section 4.3: the faster plan alone",
        **_GPUS,
        machine="two-node",
    ),
    "tensor": _example(
        "NHWC tensors to NCHW on a GPU of another node",
        sizes={"c": 64, "w": 56, "h": 56, "n": 128},
        fields={"value": "float32"},
        source=("node0.sys", "<F, c, w, h, n>"),
        destination=("node1.fbm0", "<F, w, h, c, n>"),
        machine="sapling",
    ),
    "torus-pair": _example(
        "Blue Gene/Q: nine paths between two of 512 nodes",
        sizes={"x": 1048576},
        fields={"value": "float64"},
        source=("node0.sys", "<F, x>"),
        destination=("node511.sys", "<F, x>"),
        machine="bgq",
        planner="multipath",
        nodes="512",
    ),
    "gpu-mesh": _example(
        "Two GPUs without NVLink between them, through the others",
        sizes={"x": 4096, "y": 4096},
        fields={"value": "float64"},
        source=("node0.fbm0", "<F, x, y>"),
        destination=("node0.fbm7", "<F, x, y>"),
        machine="v100-mesh",
        planner="multipath",
    ),
    "two-nics": _example(
        "Both NICs of a node for one array",
        sizes={"x": 4096, "y": 4096},
        fields={"value": "float64"},
        source=("node0.sys", "<F, x, y>"),
        destination=("node1.sys", "<F, x, y>"),
        machine="two-nics",
        planner="multipath",
    ),
    "lattice": _example(
        "A face of a lattice from GPU to GPU, in 64 runs (MILC)",
        sizes={"c": 6, "s": 128, "z": 32, "t": 32, "parity": 2},
        fields={"v": "float32"},
        source=("node0.fbm0", "<F, c, s, z, t, parity>"),
        destination=("node1.fbm0", "<F, c, s, z, t, parity>"),
        machine="theta-gpu",
        planner="full",
        part=(Range(3, "31", "1", "0"),),
    ),
    "one-sided": _example(
        "A get of 4,096 runs from a node that may be busy (ARMCI)",
        sizes={"x": 128, "y": 4096},
        fields={"v": "uint8"},
        source=("node0.reg", "<F, x, y>"),
        destination=("node1.reg", "<F, x, y>"),
        machine="armci-cluster",
        planner="full",
        part=(Range(1, "", "64"),),
    ),
    "vortex-transpose": _example(
        "A block of a matrix that is transposed between 32 nodes (Data Vortex)",
        **_BLOCK,
        machine="data-vortex",
    ),
    "vortex-infiniband": _example(
        "The same block over InfiniBand: pin the plan of the Data Vortex first, to see both",
        **_BLOCK,
        machine="vortex-infiniband",
    ),
}

OPENING = EXAMPLES["picture"].settings
"""What `explore()` begins with."""
