"""An ideal incompressible flow in two dimensions, by its vorticity (Gioiosa et al., section VII, figure 9), on both networks.

The vorticity ω of a periodic square moves with the flow: ∂ω/∂t = −u · ∇ω, where u is the velocity that ω gives. A step needs five
Fourier transforms in two dimensions: back to both components of u and of ∇ω, and forth with the product. Steps are those of Adams
and Bashforth, of second order, the first one that of Euler; waves shorter than three points are left out of the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isoviz.checks import amount, count, expect, flag_argument
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

TRANSFORMS = 5
POINTWISE = 48
"""Operations of a step for each point, beside the transforms."""

Field = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Flow:
    """`steps` steps of a flow of `side`² points, in modelled `seconds`, and the vorticity at the end, verified; None
    where it is only modelled."""

    nodes: int
    side: int
    steps: int
    seconds: float
    vorticity: Field | None = None

    @property
    def rate(self) -> float:
        """Points computed per modelled second."""
        return self.side**2 * self.steps / self.seconds


def vorticity(
    system: System, side: int = 64, steps: int = 4, seed: int = 0, *, step: float = 2e-3, restructured: bool = True
) -> Flow:
    """Let two shear layers roll up (Kelvin-Helmholtz), and verify the vorticity against NumPy.

    - `side`: points of a side of the square, which is 2π long: a multiple of the nodes. `step`: the time of a step.
    - `restructured`: transforms stay transposed, and have one transposition each; else they turn back, and have two.

    Raises:
        InputError: an argument is out of range.
        VerificationError: the vorticity is not that of NumPy.
    """
    call = "vorticity"
    expect(call, system, System, "a system, as isoviz.vortex.simulated() or messages() makes it")
    _check(call, side, steps, system.nodes)
    amount(call, "step", step, high=1, open_low=True)
    flag_argument(call, "restructured", restructured)
    begin = shear_layers(side, seed)
    program = on_messages if isinstance(system, MessageSystem) else on_vics
    run = system.run(program, begin, steps, step, restructured)
    found = np.concatenate([part for _, part in run.results])
    if not np.allclose(found, reference(begin, steps, step), atol=1e-9 * np.abs(begin).max()):
        raise VerificationError("vorticity: it is not that which NumPy gives")
    return Flow(system.nodes, side, steps, max(seconds for seconds, _ in run.results), found)


def _check(call: str, side: int, steps: int, nodes: int) -> None:
    count(call, "side", side, low=4, high=1 << 20)
    count(call, "steps", steps, low=1)
    if side % nodes:
        raise InputError(f"{call}, side: expected a multiple of the {nodes} nodes, got {side}")


def shear_layers(side: int, seed: int) -> Field:
    """The vorticity of two shear layers in opposite directions, with a drawn disturbance of long waves."""
    draw = np.random.default_rng(count("vorticity", "seed", seed))
    y, x = np.mgrid[:side, :side] * (2 * np.pi / side)
    width = 0.3
    field = np.cosh((y - np.pi / 2) / width) ** -2 - np.cosh((y - 3 * np.pi / 2) / width) ** -2
    for wave in range(1, 4):
        field += 0.05 * draw.random() * np.cos(wave * x + 2 * np.pi * draw.random())
    return np.asarray(field - field.mean())


def reference(begin: Field, steps: int, step: float) -> Field:
    """The same by NumPy, on the whole."""
    side = len(begin)
    waves = np.fft.fftfreq(side, 1 / side)
    up, along = np.meshgrid(waves, waves, indexing="ij")
    squared = up**2 + along**2
    squared[0, 0] = 1
    kept = -1.0 * (np.maximum(abs(up), abs(along)) < side / 3)
    spectrum, before = np.fft.fft2(begin), None
    for _ in range(steps):
        stream = spectrum / squared
        parts = (1j * up * stream, -1j * along * stream, 1j * along * spectrum, 1j * up * spectrum)
        u, v, dx, dy = (np.fft.ifft2(part).real for part in parts)
        change = kept * np.fft.fft2(u * dx + v * dy)
        spectrum = spectrum + step * (change if before is None else 1.5 * change - 0.5 * before)
        before = change
    return np.fft.ifft2(spectrum).real


def on_vics(vic: Vic, begin: Field, steps: int, step: float, restructured: bool = True) -> tuple[float, Field]:
    """The program of a node of a Data Vortex: seconds, and its rows of the vorticity."""
    return _flow(TurnedByDelivery(vic), begin, steps, step, restructured)


def on_messages(comm: Communicator, begin: Field, steps: int, step: float, restructured: bool = True) -> tuple[float, Field]:
    """The program of a node with MPI: seconds, and its rows of the vorticity."""
    return _flow(TurnedInMemory(comm), begin, steps, step, restructured)


def _flow(here: Turner, begin: Field, steps: int, step: float, restructured: bool) -> tuple[float, Field]:
    side, rank = len(begin), here.rank
    rows = slice(rank * side // here.nodes, (rank + 1) * side // here.nodes)
    waves = np.fft.fftfreq(side, 1 / side)
    # A spectrum that stays transposed has a row for each wave along x, and else for each wave along y.
    up, along = (waves[None, :], waves[rows, None]) if restructured else (waves[rows, None], waves[None, :])
    squared = up**2 + along**2
    squared[squared == 0] = 1
    kept = -1.0 * (np.maximum(abs(up), abs(along)) < side / 3)

    def forth(field: Field) -> Matrix:
        turned = transformed(here, here.turn(transformed(here, field.astype(np.complex128))))
        return turned if restructured else here.turn(turned)

    def back(spectrum: Matrix) -> Field:
        if not restructured:
            spectrum = here.turn(spectrum)
        turned = here.turn(transformed(here, spectrum, inverse=True))
        return np.asarray(transformed(here, turned, inverse=True).real)

    spectrum, before = forth(begin[rows]), None
    here.barrier()
    started = here.seconds
    for _ in range(steps):
        stream = spectrum / squared
        parts = (1j * up * stream, -1j * along * stream, 1j * along * spectrum, 1j * up * spectrum)
        u, v, dx, dy = (back(part) for part in parts)
        change = kept * forth(u * dx + v * dy)
        here.compute(POINTWISE * spectrum.size / FLOPS)
        spectrum = spectrum + step * (change if before is None else 1.5 * change - 0.5 * before)
        before = change
    seconds = here.seconds - started
    return seconds, back(spectrum)


def modelled_vorticity(model: TurnModel, side: int = 4096, steps: int = 1, *, restructured: bool = True) -> Flow:
    """What `vorticity` takes, without computing it: by the same figures, for any size.

    Raises:
        InputError: as `vorticity`.
    """
    _check("modelled_vorticity", side, steps, model.nodes)
    own = side**2 // model.nodes
    turns = (1 if restructured else 2) * model.seconds(16 * own, side // model.nodes)
    each = TRANSFORMS * (2 * row_seconds(own, side) + turns) + POINTWISE * own / FLOPS
    return Flow(model.nodes, side, steps, steps * each)
