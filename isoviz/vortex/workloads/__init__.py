"""Workloads of Gioiosa et al., each for a Data Vortex (`on_vics`) and for MPI over InfiniBand (`on_messages`), and verified."""

from isoviz.vortex.workloads.barriers import Barrier, barrier
from isoviz.vortex.workloads.breadth_first import Bfs, bfs, kronecker, modelled_bfs, search_keys, validate
from isoviz.vortex.workloads.distributed_transform import TurnModel
from isoviz.vortex.workloads.fourier_transform import Fourier, fourier, modelled_fourier
from isoviz.vortex.workloads.heat_equation import Heat, heat
from isoviz.vortex.workloads.incompressible_flow import Flow, modelled_vorticity, vorticity
from isoviz.vortex.workloads.ping_pongs import PingPong, ping_pong
from isoviz.vortex.workloads.transport_sweep import Sweep, sweep

__all__ = [
    "Barrier",
    "Bfs",
    "Flow",
    "Fourier",
    "Heat",
    "PingPong",
    "Sweep",
    "TurnModel",
    "barrier",
    "bfs",
    "fourier",
    "heat",
    "kronecker",
    "modelled_bfs",
    "modelled_fourier",
    "modelled_vorticity",
    "ping_pong",
    "search_keys",
    "sweep",
    "validate",
    "vorticity",
]
