"""The programs of modelled MPI run on ranks of mpi4py as they stand."""

from __future__ import annotations

from pathlib import Path

import message_programs
import numpy as np
from mpi_jobs import needs_mpi, run_json

from isoviz.vortex import messages


@needs_mpi
def test_programs_give_the_same_bits_on_modelled_mpi_and_on_ranks() -> None:
    with messages(message_programs.NODES) as system:
        modelled = system.run(message_programs.workloads, np.maximum).results
    assert run_json(message_programs.NODES, str(Path(message_programs.__file__))) == list(modelled)
