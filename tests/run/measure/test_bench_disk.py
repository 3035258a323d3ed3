"""`isoviz bench disk`: its table, and the plain requests it compares with."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from run_cases import names_in, no_leaked_files

from isoviz.bench.files import PAGE, created, in_pieces, moved, opened
from isoviz.cli import main

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]


@pytest.mark.full
def test_conversions_beside_the_same_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "disk", "--size", "4MiB", "--memory-limit", "1MiB", "--repeat", "1", "--directory", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cases = {row["case"] for row in found["rows"]}
    assert {"AOS → SOA", "SOA → AOS", "transposition", "requests of 4 KiB, 16 in flight"} <= cases
    for row in found["rows"]:
        assert row["throughput"] > 0
    for case in ("AOS → SOA", "SOA → AOS", "transposition"):
        plain = [row["to_plain"] for row in found["rows"] if row["case"] == case and row["by"].startswith("plain")]
        assert max(plain) == 1, "the limit is the faster way to issue the requests"
    turned = next(row for row in found["rows"] if row["case"] == "transposition" and row["by"] == "isoviz")
    assert turned["decision"]["passes"] in (1, 2)
    assert any(note.startswith("transposition: ") for note in found["notes"])
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("together", [1, 3 * PAGE, 1 << 20])
def test_every_request_is_carried_out_once_and_writes_wait_for_their_reads(together: int, tmp_path: Path) -> None:
    size = 64 * PAGE
    (tmp_path / "in").write_bytes(np.arange(size // 4, dtype="u4").tobytes())
    reads, writes = opened(tmp_path / "in"), created(tmp_path / "out", size)
    try:
        steps = [
            (in_pieces(at, 4 * PAGE, PAGE, size), in_pieces(at, 4 * PAGE, 2 * PAGE, size)) for at in range(0, size, 4 * PAGE)
        ]
        assert moved(reads, writes, steps, 3, together) > 0
        assert moved(reads, writes, [], 3, together) >= 0
    finally:
        os.close(reads)
        os.close(writes)
    assert b"\0" * PAGE not in (tmp_path / "out").read_bytes(), "every page was written"


@pytest.mark.parametrize("together", [1, 1 << 20])
def test_a_request_that_fails_is_told(together: int, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(4 * PAGE))
    reads = opened(tmp_path / "in")
    try:
        with pytest.raises(OSError, match="Bad file descriptor"):
            moved(reads, reads, [([(0, PAGE)] * 2, [(0, PAGE)] * 2)] * 20, 2, together)  # not open for writing
    finally:
        os.close(reads)


def test_pieces_are_whole_pages_within_the_file() -> None:
    assert in_pieces(100, 2 * PAGE, PAGE, 10 * PAGE) == [(0, PAGE), (PAGE, PAGE), (2 * PAGE, PAGE)]
    assert in_pieces(9 * PAGE, 2 * PAGE, 8 * PAGE, 10 * PAGE + 5) == [(9 * PAGE, PAGE)]
    assert in_pieces(PAGE, PAGE, PAGE, PAGE) == []
