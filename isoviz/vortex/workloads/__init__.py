"""Workloads of Gioiosa et al., each for a Data Vortex (`on_vics`) and for MPI over InfiniBand (`on_messages`), and verified."""

from isoviz.vortex.workloads.breadth_first import Bfs, bfs
from isoviz.vortex.workloads.graph import kronecker, search_keys, validate

__all__ = ["Bfs", "bfs", "kronecker", "search_keys", "validate"]
