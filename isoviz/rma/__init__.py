"""One-sided calls between ranks: put, get and atomic changes of words in the memory of another rank, which does not take part.

    heap = isoviz.rma.malloc((1024, 1024), "f8")   # all ranks together; heap.local is this rank's array
    heap.put(rows, to=2, at=np.s_[10:20, ::2])
    heap.fence(2)                                  # now the rows are in place
    row = heap.get(of=3, at=np.s_[5])
    heap.free()                                    # all ranks together

For programs under `mpiexec` and for functions that `ranks.call` runs on ranks. The model is that of ARMCI (Tipparaju et al.,
*Host-Assisted Zero-Copy Remote Memory Access Communication on InfiniBand*, section 2): `put` returns when its source may be
changed, and `fence` when the puts of this rank are in place. Neither notifies the program on the other rank.
"""

from isoviz.rma.handles import Handle
from isoviz.rma.heap import Heap
from isoviz.rma.heaps import malloc, share
from isoviz.rma.places import Place, Word

__all__ = ["Handle", "Heap", "Place", "Word", "malloc", "share"]
