"""Fifteen everyday transfers on machines of today, each with the plan that an expert would make.

The plans, their reasons and their expected times were written down before any planner had planned these transfers. The times are
calculated from the sources that stand beside them, without isoviz's model. What has no source is called assumed. One plan was
completed later: for the rows and columns of two ranks, the layouts of the panels (blocks of 256 rows) were missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.planner import Instance, Transfer

MIB = 1 << 20
US, MS = 1e-6, 1e-3
DGX, WORKSTATION, GH200 = "dgx-h100-pair", "workstation", "gh200"


@dataclass(frozen=True)
class Everyday:
    """A transfer on a preset, and the plan of an expert.

    - `path`: the memories or channels of the plan; a memory twice in a row is a copy within it.
    - `layouts`: the layouts of its buffers.
    - `chunk`: the size of its chunks in bytes; None for the whole.
    - `why`: the reasons of the expert. `sources`: where the figures come from.
    - `expected`: seconds, calculated by hand from the sources.
    - `box`: shape, origin in the source and origin in the destination, where a part moves.
    - `differs`: why the plan of `full` differs, where it does; written after planning.
    """

    name: str
    preset: str
    sizes: Mapping[str, int]
    fields: Mapping[str, str]
    source: tuple[str, str]
    destination: tuple[str, str]
    path: tuple[str, ...]
    why: str
    sources: str
    expected: float
    layouts: tuple[str, ...] = ()
    chunk: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    box: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None = None
    differs: str = ""

    @property
    def transfer(self) -> Transfer:
        """The transfer."""
        space, fields = IndexSpace.of(dict(self.sizes)), FieldSpace.of(dict(self.fields))
        (here, before), (there, after) = self.source, self.destination
        source, destination = Instance(here, space, fields, Layout(before)), Instance(there, space, fields, Layout(after))
        return Transfer(source, destination, *(self.box or ()))


_COPY_KERNEL = (
    "HBM3 of 3.35 TB/s (NVIDIA, data sheet of the H100 SXM5), half of it for a copy; a tiled transpose of float32 reaches 88 % of"
    " it on an H100 (yencal.github.io/gpu-matrix-transpose-optimization)"
)
_LAUNCH = "a launch takes 4 to 6 µs (susun-blog.com/blog/pegainfer-3-cuda-graph)"
_RDMA = "GPU to NIC: about 49 GB/s for each GPU, measured by NVIDIA (MLPerf inference 3.1, start_from_device/dgx-h100.md)"
_NVLINK = "376 GB/s from GPU to GPU, copy engines and kernels alike (p2pBandwidthLatencyTest in NVIDIA/nccl issue 1264)"
_PCIE = "55.6 GB/s from pinned memory over PCIe 5.0 ×16 (NVIDIA, blog about nvbandwidth)"

_TRANSFERS = (
    Everyday(
        "Structs of 4, 4 and 8 bytes to arrays, transposed, in a GPU",
        DGX,
        {"x": 2048, "y": 2048},
        {"a": "float32", "b": "float32", "c": "float64"},
        ("node0.fbm0", "<F, x, y>"),
        ("node0.fbm0", "<y, x, F>"),
        ("node0.fbm0", "node0.fbm0"),
        "One kernel within the GPU. It reads tiles of rows and writes tiles of columns, both in whole sectors, through shared"
        " memory. Nothing leaves the GPU: PCIe has a thirtieth of the rate of its memory.",
        f"{_COPY_KERNEL}; structs of three fields get 0.66 of a copy (modelled from the instructions of isoviz's kernels):"
        f" 1.0 TB/s. {_LAUNCH}",
        72 * US,
    ),
    Everyday(
        "Positions of particles, structs to arrays, in a GPU",
        DGX,
        {"i": 16 * MIB},
        {"x": "float32", "y": "float32", "z": "float32"},
        ("node0.fbm0", "<F, i>"),
        ("node0.fbm0", "<i, F>"),
        ("node0.fbm0", "node0.fbm0"),
        "One kernel within the GPU: a block loads a tile of structs in whole sectors and stores three rows.",
        f"{_COPY_KERNEL}; about 0.8 of a copy for three fields of 4 bytes (modelled, as above): 1.2 TB/s. {_LAUNCH}",
        173 * US,
    ),
    Everyday(
        "Images, NHWC in pinned host memory to NCHW in a GPU",
        WORKSTATION,
        {"c": 3, "w": 224, "h": 224, "n": 128},
        {"pixel": "float32"},
        ("node0.zcm", "<F, c, w, h, n>"),
        ("node0.fbm0", "<F, w, h, c, n>"),
        ("node0.zcm", "node0.fbm0", "node0.fbm0"),
        "The link is the limit. Copy engines bring groups of images as they are; a kernel permutes a group while the next one"
        " comes.",
        f"{_PCIE}: 77 MB in 1.40 ms, and one group of images in the GPU at the end.",
        1.42 * MS,
        layouts=("<F, c, w, h, n>",),
        chunk=8 * MIB,
    ),
    Everyday(
        "A matrix, transposed, to a GPU of another node",
        DGX,
        {"x": 8192, "y": 8192},
        {"value": "float32"},
        ("node0.fbm0", "<F, x, y>"),
        ("node1.fbm0", "<F, y, x>"),
        ("node0.fbm0", "node0.fbm0", "node1.fbm0"),
        "GPUDirect RDMA, no copy in host memory. A kernel transposes panels of columns into a send buffer of the GPU, the NIC"
        " sends each panel while the next one is transposed. The NIC is the limit.",
        f"{_RDMA}: 268 MB in 5.48 ms, and one panel at the beginning.",
        5.5 * MS,
        layouts=("<F, y, x>",),
        chunk=8 * MIB,
    ),
    Everyday(
        "Blocks of a KV cache, NHD to HND, to a GPU of another node",
        DGX,
        {"d": 128, "h": 8, "t": 16, "b": 1024},
        {"k": "float16", "v": "float16"},
        ("node0.fbm0", "<d, h, t, b, F>"),
        ("node1.fbm0", "<d, t, h, b, F>"),
        ("node0.fbm0", "node1.fbm0", "node1.fbm0"),
        "Blocks travel as they are by GPUDirect RDMA, in large messages; the receiving GPU permutes heads and tokens.",
        f"vLLM's NixlConnector does the same (vllm-project/vllm, pull request 26556). {_RDMA}: 67 MB in 1.37 ms, and one group of"
        " blocks at the end.",
        1.4 * MS,
        layouts=("<d, h, t, b, F>",),
        chunk=4 * MIB,
        differs="`full` permutes before sending: the model takes both GPUs for idle, so the two orders cost the same, and its"
        " larger chunks save launches.",
    ),
    Everyday(
        "Weights, a file to a GPU",
        DGX,
        {"i": 2048 * MIB},
        {"weight": "float16"},
        ("node0.dsk", "<F, i>"),
        ("node0.fbm0", "<F, i>"),
        ("node0.dsk", "node0.fbm0"),
        "GPUDirect Storage: the drives write into the memory of the GPU, no buffer in host memory. The drives are the limit.",
        "eight drives read 40 GB/s together (assumed); four PCIe 5.0 drives gave 53 GiB/s through cuFile (gds-report.pages.dev)",
        107 * MS,
    ),
    Everyday(
        "A matrix in a file, transposed, to a GPU",
        WORKSTATION,
        {"x": 16384, "y": 16384},
        {"value": "float32"},
        ("node0.dsk", "<F, x, y>"),
        ("node0.fbm0", "<F, y, x>"),
        ("node0.dsk", "node0.fbm0", "node0.fbm0"),
        "The drive is read in sequence, by GPUDirect Storage into a buffer of the GPU; a kernel transposes bands of rows"
        " meanwhile.",
        "14.8 GB/s for reading (Samsung, data sheet of the 9100 PRO): 1.07 GB in 72.6 ms, and one band in the GPU",
        73 * MS,
        layouts=("<F, x, y>",),
        chunk=16 * MIB,
    ),
    Everyday(
        "Rows to columns between two ranks, host memory",
        GH200,
        {"x": 4096, "y": 4096},
        {"value": "complex64"},
        ("node0.reg", "<F, x, y>"),
        ("node1.reg", "<F, y, x>"),
        ("node0.reg", "node0.fbm0", "node0.fbm0", "node1.reg"),
        "The NIC is the limit, and a few threads hardly keep pace with it in a transpose. The GPU reads panels over NVLink-C2C at"
        " seven times the rate of the NIC, transposes them, and the NIC sends them from its memory (GPUDirect RDMA).",
        "NVLink-C2C: 375 GB/s to the GPU (Schieffer et al., Harnessing Integrated CPU-GPU System Memory for HPC, 2024);"
        " 400 Gb/s per NIC, 49 GB/s reached (as in MLPerf's page of the DGX H100): 134 MB in 2.74 ms, and two panels",
        2.8 * MS,
        layouts=("<F, x, y_in=256, y_out>", "<F, y_in=256, x, y_out>"),
        chunk=8 * MIB,
    ),
    Everyday(
        "A halo of four planes to the next GPU",
        DGX,
        {"x": 512, "y": 512, "z": 512},
        {"u": "float32"},
        ("node0.fbm0", "<F, x, y, z>"),
        ("node0.fbm1", "<F, x, y, z>"),
        ("node0.fbm0", "node0.fbm1"),
        "One kernel reads the planes and stores them straight into the neighbour's memory over NVLink: no packing, no buffer.",
        f"{_NVLINK}; pieces of 16 bytes fill half of a sector of 32, so about half of that: 4.2 MB in 22 µs. {_LAUNCH}",
        27 * US,
        box=((4, 512, 512), (504, 0, 0), (0, 0, 0)),
    ),
    Everyday(
        "A checkpoint, a GPU to a file",
        GH200,
        {"i": 2048 * MIB},
        {"weight": "float32"},
        ("node0.fbm0", "<F, i>"),
        ("node0.dsk", "<F, i>"),
        ("node0.fbm0", "node0.zcm", "node0.dsk"),
        "The drive is the limit by far. Pieces go through a ring of pinned buffers, which hides the GPU's part completely.",
        "one PCIe 4.0 drive writes 4 GB/s (assumed): 8.6 GB in 2.15 s",
        2150 * MS,
        layouts=("<F, i>",),
        chunk=16 * MIB,
    ),
    Everyday(
        "An array to another GPU of the node",
        DGX,
        {"i": 256 * MIB},
        {"value": "float32"},
        ("node0.fbm0", "<F, i>"),
        ("node0.fbm5", "<F, i>"),
        ("node0.fbm0", "node0.fbm5"),
        "One copy between peers over NVLink.",
        f"{_NVLINK}: 1.07 GB in 2.86 ms",
        2.86 * MS,
    ),
    Everyday(
        "An array in pageable host memory to a GPU",
        WORKSTATION,
        {"i": 64 * MIB},
        {"value": "float32"},
        ("node0.sys", "<F, i>"),
        ("node0.fbm0", "<F, i>"),
        ("node0.sys", "node0.zcm", "node0.fbm0"),
        "The driver stages pageable memory with one thread. A few threads that copy pieces into pinned buffers, with the copy"
        " engine behind them, are faster.",
        "9.6 GB/s pageable beside 32 GB/s pinned (kekzl/imp pull request 1409, an RTX 5090); a few threads copy 40 GB/s"
        " (assumed): 268 MB in 6.7 ms, and one piece over the link",
        6.9 * MS,
        layouts=("<F, i>",),
        chunk=8 * MIB,
    ),
    Everyday(
        "A matrix in host memory, transposed",
        WORKSTATION,
        {"x": 16384, "y": 16384},
        {"value": "float32"},
        ("node0.sys", "<F, x, y>"),
        ("node0.sys", "<F, y, x>"),
        ("node0.sys", "node0.sys"),
        "A blocked transpose by a few threads of the processor, in one pass.",
        "isoviz's own kernels: 0.77 of memcpy for two dimensions (benchmarks/layouts.md); a few threads copy 40 GB/s (assumed):"
        " 1.07 GB in 35 ms",
        35 * MS,
    ),
    Everyday(
        "Structs of eight fields in host memory to arrays in a GPU",
        GH200,
        {"i": 32 * MIB},
        {f"f{k}": "float32" for k in range(8)},
        ("node0.zcm", "<F, i>"),
        ("node0.fbm0", "<i, F>"),
        ("node0.zcm", "node0.fbm0", "node0.fbm0"),
        "NVLink-C2C is the limit. Copy engines bring pieces, a kernel turns them into arrays meanwhile, at five times the rate.",
        "375 GB/s to the GPU (Schieffer et al., 2024): 1.07 GB in 2.86 ms, and one piece in the GPU",
        2.9 * MS,
        layouts=("<F, i>",),
        chunk=16 * MIB,
    ),
    Everyday(
        "An array to a GPU of another node with another number",
        DGX,
        {"i": 64 * MIB},
        {"value": "float32"},
        ("node0.fbm0", "<F, i>"),
        ("node1.fbm3", "<F, i>"),
        ("node0.fbm0", "node0.fbm3", "node1.fbm3"),
        "Over NVLink to the GPU beside NIC 3, then GPUDirect RDMA on that rail; host memory is not touched. NCCL does the same"
        " (PXN).",
        f"{_RDMA}: 268 MB in 5.48 ms; NVLink is hidden but for one piece",
        5.5 * MS,
        layouts=("<F, i>",),
        chunk=8 * MIB,
    ),
)
EVERYDAY: Mapping[str, Everyday] = MappingProxyType({each.name: each for each in _TRANSFERS})
"""Name → transfer."""
