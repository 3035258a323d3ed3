"""A Fourier transform in one dimension (Gioiosa et al., section VI, figure 7), in six steps, on both networks.

The points are a matrix, row by row, whose rows are spread over the nodes: transpose, transform the rows, twist, transpose,
transform the rows, transpose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoviz.checks import count, expect
from isoviz.errors import InputError, VerificationError
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem
from isoviz.vortex.program import Vic
from isoviz.vortex.systems import System
from isoviz.vortex.workloads.distributed_transform import (
    FLOPS,
    Matrix,
    TurnedByDelivery,
    TurnedInMemory,
    Turner,
    TurnModel,
    row_seconds,
    transformed,
)

TWIST = 6
"""Operations for each point that is multiplied by a complex number."""


@dataclass(frozen=True, eq=False)
class Fourier:
    """A transform of so many `points`, in modelled `seconds`, and its spectrum, which has been verified; None where it is only
    modelled."""

    nodes: int
    points: int
    seconds: float
    spectrum: Matrix | None = None

    @property
    def rate(self) -> float:
        """Operations per modelled second, as HPC Challenge counts them: 5 N log₂ N."""
        return 5 * self.points * float(np.log2(self.points)) / self.seconds


def fourier(system: System, points: int = 1 << 14, seed: int = 0, *, pieces: int | None = None) -> Fourier:
    """Transform drawn points, and verify the spectrum against NumPy.

    - `points`: a power of two, at least the square of the number of nodes, which is one too.
    - `pieces`: on a Data Vortex, in how many pieces a transposition comes; by default as many as pay.

    Raises:
        InputError: an argument is out of range.
        VerificationError: the spectrum is not that of NumPy.
    """
    expect("fourier", system, System, "a system, as isoviz.vortex.simulated() or messages() makes it")
    shape = sides("fourier", points, system.nodes)
    signal = drawn(points, seed).reshape(shape)
    run = system.run(on_messages, signal) if isinstance(system, MessageSystem) else system.run(on_vics, signal, pieces)
    spectrum = np.concatenate([part for _, part in run.results]).reshape(-1)
    if not np.allclose(spectrum, np.fft.fft(signal.reshape(-1)), atol=1e-12 * points):
        raise VerificationError("fourier: the spectrum is not that of NumPy")
    return Fourier(system.nodes, points, max(seconds for seconds, _ in run.results), spectrum)


def drawn(points: int, seed: int) -> Matrix:
    """Points from 0 to 1 + i."""
    draw = np.random.default_rng(count("fourier", "seed", seed))
    return draw.random(points) + 1j * draw.random(points)


def sides(call: str, points: int, nodes: int) -> tuple[int, int]:
    """Rows and columns of the matrix.

    Raises:
        InputError: the number of points or of nodes is not a power of two, or there are too few points.
    """
    count(call, "points", points, low=1, high=1 << 50)
    if points & (points - 1) or nodes & (nodes - 1) or points < nodes**2:
        raise InputError(f"{call}: expected powers of two and at least {nodes}² points, got {points} points on {nodes} nodes")
    rows = 1 << (points.bit_length() - 1) // 2
    return rows, points // rows


def on_vics(vic: Vic, signal: Matrix, pieces: int | None = None) -> tuple[float, Matrix]:
    """The program of a node of a Data Vortex: seconds, and its rows of the spectrum."""
    return _six_steps(TurnedByDelivery(vic, pieces), signal)


def on_messages(comm: Communicator, signal: Matrix) -> tuple[float, Matrix]:
    """The program of a node with MPI: seconds, and its rows of the spectrum."""
    return _six_steps(TurnedInMemory(comm), signal)


def _six_steps(here: Turner, signal: Matrix) -> tuple[float, Matrix]:
    rank, rows = here.rank, len(signal)
    part = rows // here.nodes
    own = signal[rank * part : (rank + 1) * part]
    here.barrier()
    begin = here.seconds
    turned = transformed(here, here.turn(own))
    which = np.arange(rank * len(turned), (rank + 1) * len(turned))[:, None]
    here.compute(TWIST * turned.size / FLOPS)
    turned *= np.exp(-2j * np.pi / signal.size * (which * np.arange(rows)))
    spectrum = here.turn(transformed(here, here.turn(turned)))
    return here.seconds - begin, spectrum


def modelled_fourier(model: TurnModel, points: int = 1 << 33) -> Fourier:
    """What `fourier` takes, without computing it: by the same figures, for any number of points. The paper has 2³³.

    Raises:
        InputError: as `fourier`.
    """
    rows, columns = sides("modelled_fourier", points, model.nodes)
    own = points // model.nodes
    computed = row_seconds(own, rows) + row_seconds(own, columns) + TWIST * own / FLOPS
    turned = sum(model.seconds(16 * own, side // model.nodes) for side in (columns, rows, columns))
    return Fourier(model.nodes, points, computed + turned)
