"""What the evaluation of the Isometry paper is about. Its figures are in the modules beside this one."""

from __future__ import annotations

from isoviz.reproduce import Evaluation
from isoviz.reproduce.isometry.assumptions import Assumptions

EVALUATION = Evaluation(
    title="Isometry's evaluation again, in simulation",
    part="Isometry (ICS '18), section 6",
    citation="Jia et al., Isometry: A Path-Based Distributed Data Transfer System, ICS '18, section 6.",
    given=Assumptions(),
    quick=Assumptions(instances=4, nodes=4, low_priority=8, launches=16),
    remark="All figures but planning times are simulated.",
    facts=lambda given: {"instances": f"{given.instances}"},
    models="""
Isometry: isoviz plans every transfer and its scheduler carries it out in virtual time, on presets that were fixed beforehand.
Bandwidths of Sapling are those of table 5; XStream's and Moonlight's are published or assumed.

Realm: every transfer is a series of single hops along a shortest path, through temporary instances of its whole size. Each node
has DMA threads; one takes the copy of the highest priority that waits and does it whole. Threads on one channel share it.

MVAPICH2-GPU: blocks go through a pipeline of GPURead, network and GPUWrite; entries that are not contiguous are packed by strided
copies, row by row.

Applications: in an iteration all transfers are launched together, then every node computes. Channels are one of a kind per node,
or per GPU, so the transfers of a node share its network card. Sizes, where the paper gives none, are assumed.
""",
)
