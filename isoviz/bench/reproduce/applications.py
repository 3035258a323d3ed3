"""The transfers of PageRank, VGG-16 and Circuit in an iteration (Isometry, section 6.5 and table 6).

The paper gives kinds of transfers, not sizes: "large" for PageRank, "varying" for the others; direct ones (ZCM → local FBM) and
ones of several hops (FBM → remote FBM). Everything beyond that is assumed. One GPU of each node of XStream takes part. With the
15 other nodes and one local transfer that makes the 16 paths per node of table 6, so this count tests nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import FieldSpace, IndexSpace

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions

VALUE = FieldSpace(value="float32")
LABEL = FieldSpace(label="int32")
VGG_WEIGHTS = 138_357_544
"""Parameters of VGG-16 with biases: 13 convolutions, 3 fully connected layers (Simonyan and Zisserman, configuration D)."""
VGG_OPERATIONS = 3 * 2 * 15.47e9
"""Floating-point operations per image: 15.47 · 10⁹ multiply-adds forward, twice as many backward."""
NHWC, NCHW = "<c, w, h, n>", "<w, h, c, n>"


class Move(NamedTuple):
    """A transfer: from a memory of a node to a memory of a node (`fbm0`, node 0)."""

    source: str
    here: int
    destination: str
    there: int
    space: IndexSpace
    fields: FieldSpace = VALUE
    source_layout: str = ""
    destination_layout: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes that move."""
        return self.space.volume * self.fields.nbytes

    @property
    def converts(self) -> bool:
        """Whether the layout changes."""
        return self.source_layout != self.destination_layout


Phase = tuple[Move, ...]
"""Transfers that are launched together; the next phase begins when all of them are done."""


@dataclass(frozen=True)
class Application:
    """An application: its cluster, and how many GPUs of a node take part.

    `phases(nodes)` are the transfers of an iteration on all nodes, `compute` the seconds it computes, before or after them.
    `alike` tells whether all nodes do the same, `hub` which node talks with all others.
    """

    name: str
    cluster: str
    gpus: int
    sizes: tuple[int, ...]
    phases: Callable[[int], tuple[Phase, ...]]
    compute: float
    alike: bool = True
    hub: int | None = None


def page_rank(given: Assumptions) -> Application:
    """Every node takes its partition's vertex values from ZCM to its GPU, and every GPU sends its partition's to all others."""
    space = IndexSpace(x=given.page_rank_bytes // VALUE.nbytes)
    gpus = given.page_rank_gpus

    def phases(nodes: int) -> tuple[Phase, ...]:
        own = [Move("zcm", node, f"fbm{k}", node, space) for node in range(nodes) for k in range(gpus)]
        return ((*own, *_to_all_others(nodes, space, gpus)),)

    return Application("PageRank", "xstream", gpus, (1, 2, 4, 8, 16), phases, given.page_rank_compute)


def vgg_16(given: Assumptions) -> Application:
    """Data parallel: every node takes a batch of images from SYS (NHWC) to its GPU (NCHW), with labels; then gradients are
    summed, each GPU collecting those of its n-th part of the weights, and the new weights sent to all others in the same way."""
    images = IndexSpace(w=224, h=224, c=3, n=given.vgg_batch)
    labels = IndexSpace(n=given.vgg_batch)

    def phases(nodes: int) -> tuple[Phase, ...]:
        batch = tuple(
            move
            for node in range(nodes)
            for move in (
                Move("sys", node, "fbm0", node, images, VALUE, NHWC, NCHW),
                Move("sys", node, "fbm0", node, labels, LABEL),
            )
        )
        loss = tuple(Move("fbm0", node, "sys", node, IndexSpace(n=1)) for node in range(nodes))
        part = _to_all_others(nodes, IndexSpace(x=-(-VGG_WEIGHTS // nodes)))
        return (batch, (*part, *loss), part) if nodes > 1 else (batch, loss)

    compute = given.vgg_batch * VGG_OPERATIONS / given.vgg_rate
    return Application("VGG-16", "xstream", 1, (1, 2, 4, 8, 16), phases, compute)


def circuit(given: Assumptions, compute: float = 0.0) -> Application:
    """The master's GPUs send to those of every other node and receive from them: three transfers of different sizes per GPU and
    direction. Every GPU takes its own piece from ZCM."""
    sizes = tuple(given.circuit_bytes // part for part in (1, given.circuit_ratio, given.circuit_ratio**2))
    spaces = [IndexSpace(x=max(1, nbytes // VALUE.nbytes)) for nbytes in sizes]

    def phases(nodes: int) -> tuple[Phase, ...]:
        own = [Move("zcm", node, f"fbm{k}", node, spaces[0]) for node in range(nodes) for k in range(2)]
        others = [(node, f"fbm{k}") for node in range(1, nodes) for k in range(2)]
        down = [Move(gpu, 0, gpu, node, space) for node, gpu in others for space in spaces]
        up = [Move(gpu, node, gpu, 0, space) for node, gpu in others for space in spaces]
        return (tuple(own + down + up),)

    return Application("Circuit", "moonlight", 2, (1, 2, 4, 8, 16, 32, 64), phases, compute, alike=False, hub=0)


def _to_all_others(nodes: int, space: IndexSpace, gpus: int = 1) -> Phase:
    """From every GPU to all others, each beginning with the next node, so that a node receives from one other at a time."""
    return tuple(
        Move(f"fbm{a}", node, f"fbm{b}", (node + step) % nodes, space)
        for step in range(nodes)
        for node in range(nodes)
        for a in range(gpus)
        for b in range(gpus)
        if step or a != b
    )


APPLICATIONS: dict[str, Callable[[Assumptions], Application]] = {
    "PageRank": page_rank,
    "VGG-16": vgg_16,
    "Circuit": circuit,
}
"""By the names of table 6."""
