"""What ranks keep of prepared transfers never reaches a buffer that was freed and made again at the same address."""

from __future__ import annotations

from pathlib import Path

from mpi_jobs import needs_mpi, run_json

SCRIPT = str(Path(__file__).with_name("freed_buffers.py"))
pytestmark = needs_mpi


def test_freed_and_made_again() -> None:
    """In windows, by addresses of the other process, and by messages: the right bytes, or an error, and no byte elsewhere."""
    here, there = run_json(2, SCRIPT, seconds=200)
    for way in ("reg Window", "sys ProcessWrite", "sys Packed"):
        assert here[way]["same"] + there[way]["same"] > 0, way
        assert here[way]["refused"] == there[way]["refused"] == 5, way
