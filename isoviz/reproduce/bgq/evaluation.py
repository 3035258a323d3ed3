"""What the evaluation of several paths on Blue Gene/Q is about. Its figures are in the modules beside this one."""

from __future__ import annotations

from isoviz.reproduce import Evaluation
from isoviz.reproduce.bgq.assumptions import BgqAssumptions

EVALUATION = Evaluation(
    title="Several paths on Blue Gene/Q again, in simulation",
    part="several paths on Blue Gene/Q, sections 5 and 6",
    citation="Bui et al., Improving Sparse Data Movement Performance Using Multiple Paths on the Blue Gene/Q Supercomputer,"
    " sections 5 and 6.",
    given=BgqAssumptions(),
    quick=BgqAssumptions(),
    models="""
Machine: the preset bgq, whose torus routes a message over the links of its default route. A message costs what MPI or PAMI
costs, and moves at 1.7 GB/s at most. All messages over a link share its 1.8 GB/s, and all to a node share what it receives.

Pairs and groups of nodes: paths are those of algorithm 1, in isoviz's search for link-disjoint paths. A message is cut into equal
parts, one for each path, and each part into windows; isoviz's scheduler carries all of them out in virtual time.

Output of whole partitions, over several paths: algorithm 1 with amounts of bytes, from every node to all I/O nodes, so that all
of them have even loads. Bytes are streams, which share links fairly until one ends: 8,192 nodes have too many windows to follow.

Default collective I/O: the two phases of ROMIO with its defaults on Blue Gene/Q. In every round each rank tells each other one
how much it sends, aggregators get the data over the torus, and then write it to the I/O nodes of their bridge nodes.

File system: it takes bytes at the rate of its servers, and gives locks on parts of the file one after the other.
""",
)
