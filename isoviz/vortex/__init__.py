"""The Data Vortex: its switch, simulated cycle by cycle and packet by packet.

    switch = isoviz.vortex.Switch(heights=32, angles=4, inputs=[0])
    switch.saturate(cycles=10_000, seed=1).throughput              # packets per input port and cycle
    run = switch.run(isoviz.vortex.HotSpot(load=0.4, share=0.1, port=7), cycles=10_000, record=True)
    run.latencies.mean, run.packets.deflections

    with isoviz.vortex.simulated(nodes=32, seed=1) as system:      # VICs on such a switch; a program on each node
        system.run(program).results
    with isoviz.vortex.messages(nodes=32, seed=1) as system:       # modelled MPI over InfiniBand, to compare with
        system.run(other_program).seconds

    with isoviz.vortex.on_ranks() as system:                       # the same program on MPI ranks, by mapped memory
        system.run(program).results

The switch is that of Gioiosa et al., *Exploring DataVortex Systems for Irregular Applications*, section II: a deflection network
without buffers. The same packets and the same seed give the same run on every computer, and in the browser.
"""

from isoviz.vortex.modelled_mpi.communicator import Communicator, messages
from isoviz.vortex.modelled_mpi.system import Computed, MessageSystem, Request, SentMessage
from isoviz.vortex.packet import FIFO, header
from isoviz.vortex.patterns import Aggregated, transposed
from isoviz.vortex.program import DvMemory, FifoRing, Vic
from isoviz.vortex.ranks.system import on_ranks
from isoviz.vortex.run import Distribution, Packets, SwitchRun
from isoviz.vortex.switch import Switch
from isoviz.vortex.system import Costs, simulated
from isoviz.vortex.systems import ProgramRun, System
from isoviz.vortex.traffic import Bursty, Drawn, HotSpot, Permutation, Recorded, Traffic, Transposition, Uniform
from isoviz.vortex.vic import Race
from isoviz.vortex.workloads.random_updates import Gups, gups

__all__ = [
    "FIFO",
    "Aggregated",
    "Bursty",
    "Communicator",
    "Computed",
    "Costs",
    "Distribution",
    "Drawn",
    "DvMemory",
    "FifoRing",
    "Gups",
    "HotSpot",
    "MessageSystem",
    "Packets",
    "Permutation",
    "ProgramRun",
    "Race",
    "Recorded",
    "Request",
    "SentMessage",
    "Switch",
    "SwitchRun",
    "System",
    "Traffic",
    "Transposition",
    "Uniform",
    "Vic",
    "gups",
    "header",
    "messages",
    "on_ranks",
    "simulated",
    "transposed",
]
