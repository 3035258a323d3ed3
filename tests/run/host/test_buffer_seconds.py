"""The report names the time in which the system gave the memory of the buffers."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import isoviz
from isoviz.backends.host import host_memory
from isoviz.backends.pages import Bytes, touch


def test_memory_that_comes_late_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[int] = []

    def given_late(array: Bytes) -> None:
        late.append(len(array))
        threading.Event().wait(0.2)
        touch(array)

    monkeypatch.setattr(host_memory, "touch", given_late)
    np.save(tmp_path / "a.npy", np.arange(6_000_000, dtype="u1").reshape(2000, 3000))
    done = isoviz.convert(tmp_path / "a.npy", tmp_path / "b.npy", "<F, x, y>", "<F, y, x>", memory_limit="2MiB", passes=1)
    report = done.report
    assert report is not None and late
    assert report.buffer_seconds >= 0.2 * len(late)
    assert done.to_json()["measured"]["buffer_seconds"] == report.buffer_seconds
    assert "  buffers: " in str(done) or report.buffer_seconds <= 0.01 * report.seconds
