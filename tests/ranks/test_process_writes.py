"""Plans with channels of the kind ProcessWrite on real ranks, and systems that refuse access to memory of other processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("process_writes.py"))
pytestmark = needs_mpi


@pytest.fixture(autouse=True)
def _messages_without_access(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI makes the same calls for large messages, and does not expect that they are refused."""
    monkeypatch.setenv("OMPI_MCA_smsc", "^cma")
    monkeypatch.setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0")


def test_one_hop_and_several_hops() -> None:
    found = run_json(2, SCRIPT, "never", seconds=150)
    assert found.pop("are lanes") == [True, True, True], "a lane takes one hop, also where the plan has several"
    assert found == {"refused": "", "one hop": [True, True, []], "several hops": [True, True, []]}


@pytest.mark.parametrize("when", ["early", pytest.param("late", marks=pytest.mark.full)])
def test_where_the_system_refuses_the_bytes_go_through_mpi(when: str) -> None:
    """The ranks know it when they have met; a refusal that comes later is found by the first write. The report says why."""
    found = run_json(2, SCRIPT, when, seconds=150)
    assert ("Operation not permitted" in found.pop("refused")) == (when == "early")
    assert found.pop("are lanes") == [False, False, True], "registered memory is written where it is mapped"
    for verified, arrived, notes in found.values():
        assert verified and arrived
        (note,) = notes
        assert note.startswith("ProcessWrite: the bytes were sent by MPI, because") and "Operation not permitted" in note
