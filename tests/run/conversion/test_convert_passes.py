"""Conversions by way of a temporary file: right, out of core, and with nothing left behind whatever happens."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import FIELDS, command, environment, isoviz, names_in, no_leaked_files, random_bytes

from isoviz import FieldSpace, IndexSpace, Layout, convert
from isoviz.backends.disk import aio
from isoviz.backends.disk import file_access as disk
from isoviz.backends.disk.disk_memory import DiskWrite
from isoviz.backends.disk.file_access import NewFile
from isoviz.conversion import execute as passing
from isoviz.errors import Cancelled, RunError, TransferError, VerificationError
from isoviz.machines import preset
from isoviz.measure import kept_measurements as measurements
from isoviz.runtime.engine.progress import Progress

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

LIMIT = "256KiB"
TURN = {"from_layout": "<F, x, y>", "to_layout": "<F, y, x>", "memory_limit": LIMIT, "passes": 2}


def square(folder: Path, side: int = 700) -> np.ndarray[Any, Any]:
    array = np.arange(side * (side + 3), dtype="u4").reshape(side, side + 3)
    np.save(folder / "in.npy", array)
    return array


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("unbuffered", [True, False])
@pytest.mark.few(1)
def test_a_transposition(passes: int, unbuffered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not unbuffered:
        monkeypatch.setattr(disk, "_DIRECT", 0)
    array = square(tmp_path)
    done = convert(tmp_path / "in.npy", tmp_path / "out.npy", verify=True, **{**TURN, "passes": passes})
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)
    assert (len(done.reports), done.verified) == (passes, True)
    assert names_in(tmp_path) == ["in.npy", "out.npy"]
    said = done.to_json()
    assert said["decision"]["passes"] == passes
    assert said["measured"]["seconds"] == pytest.approx(sum(report.seconds for report in done.reports))
    assert said["verified"] is True
    json.dumps(said, allow_nan=False)
    if passes == 2:
        assert said["passes"][1]["hops"][0]["source_layout"] == said["decision"]["through"]
        assert "two passes, through a temporary file" in str(done)
        assert "not verified" not in str(done)


@pytest.mark.full
def test_random_layouts_in_two_passes(tmp_path: Path, full: bool) -> None:
    """Bit for bit NumPy's own transposition, whatever the fields and whichever dimension is where."""
    rng = random.Random(12)
    taken = 0
    for case in range(120 if full else 7):
        names = list("xyz"[: rng.randint(2, 3)])
        sizes = {name: rng.randint(9, 70 if len(names) == 3 else 400) for name in names}
        fields = FieldSpace.of({f"f{i}": rng.choice(FIELDS) for i in range(rng.randint(1, 3))})
        space = IndexSpace.of(sizes)
        orders = [rng.sample([*names, "F"], len(names) + 1) for _ in range(2)]
        here, there = (Layout(f"<{', '.join(order)}>") for order in orders)
        a, b = here.on(space, fields), there.on(space, fields)
        data = random_bytes(rng, a.nbytes)
        (tmp_path / "in").write_bytes(data.tobytes())
        with contextlib.suppress(TransferError):  # one that converts nothing, or is smaller than the buffers
            convert(tmp_path / "in", tmp_path / "out", here, there, space, fields, "64KiB", verify=True, overwrite=True, passes=2)
        if not (tmp_path / "out").exists():
            continue
        taken += 1
        out = np.frombuffer((tmp_path / "out").read_bytes(), "u1")
        for name in fields.names:
            assert np.array_equal(as_array(a, data, name), as_array(b, out, name)), (case, here, there, name)
        assert names_in(tmp_path) == ["in", "out"]
        (tmp_path / "out").unlink()
    assert taken > 2


def as_array(lin: Any, data: Any, field: str) -> np.ndarray[Any, Any]:
    """The elements of a field by index, as bytes, from the strides of the layout alone."""
    size = lin.fields.sizes[lin.fields.index(field)]
    strides = {digit.dim: stride for digit, stride in lin.strides(field)}
    shape = (*lin.space.sizes, size)
    steps = (*(strides.get(dim, 0) for dim in lin.space.dims), 1)
    return np.lib.stride_tricks.as_strided(data[lin.field_base(field) :], shape, steps)


def test_two_passes_where_they_cannot_be(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((40, 40), "f4"))
    for there in ("<F, x, y>", "<F, y_in=8, x, y_out>"):
        with pytest.raises(TransferError, match="two passes"):
            convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x, y>", there, passes=2)
    with pytest.raises(ValueError, match="from 1 to 2"):
        convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x, y>", "<F, y, x>", passes=3)
    assert names_in(tmp_path) == ["in.npy"]


def test_no_room_for_the_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then one pass, which says so; where two were asked for, an error before anything is written."""
    array = square(tmp_path)
    monkeypatch.setattr(passing, "free_bytes", lambda directory: int(1.5 * array.nbytes))
    monkeypatch.setattr("isoviz.conversion.passes.NEGLIGIBLE", 0.0)
    seconds = iter((10.0, 20.0, *[1.0] * 100))  # of one pass, with more slots as well; of two
    monkeypatch.setattr("isoviz.conversion.passes.disk_seconds", lambda plan, machine: next(seconds))
    done = convert(tmp_path / "in.npy", tmp_path / "out.npy", **{**TURN, "passes": None})
    assert len(done.reports) == 1
    assert "although two would be faster" in str(done)
    assert any("although two would be faster" in note for note in done.to_json()["notes"])
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)
    seconds = iter([1.0] * 100)
    (tmp_path / "out.npy").unlink()
    with pytest.raises(RunError, match=r"out.npy: needs .* with its temporary file, the disk has .* free"):
        convert(tmp_path / "in.npy", tmp_path / "out.npy", **TURN)
    assert names_in(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("at", [1, 60])
def test_a_disk_that_fills_up_in_either_pass(nameless: bool, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE")
    square(tmp_path)
    write, calls = NewFile.write_at, 0

    def full(self: NewFile, *given: Any) -> int:
        nonlocal calls
        calls += 1
        if calls > at:
            raise self._no_room(OSError(errno.ENOSPC, "No space left on device"))
        return write(self, *given)

    monkeypatch.setattr(NewFile, "write_at", full)
    with pytest.raises(RunError, match="the disk is full") as caught:
        convert(tmp_path / "in.npy", tmp_path / "out.npy", **TURN)
    assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == ["in.npy"]


def test_a_comparison_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    square(tmp_path)
    move = DiskWrite.move

    def wrong(self: DiskWrite, copies: Any, source: Any, destination: Any, check: Any) -> int:
        source.array[copies[0].source_offset] ^= 1
        return move(self, copies, source, destination, check)

    monkeypatch.setattr(DiskWrite, "move", wrong)
    with pytest.raises(VerificationError, match="verification failed: field"):
        convert(tmp_path / "in.npy", tmp_path / "out.npy", verify=True, **TURN)
    assert names_in(tmp_path) == ["in.npy"]


def test_progress_goes_once_from_nothing_to_all(tmp_path: Path) -> None:
    array = square(tmp_path)
    told: list[Progress] = []
    convert(tmp_path / "in.npy", tmp_path / "out.npy", verify=True, progress=told.append, **TURN)
    moving = [now for now in told if now.stage == "move"]
    done = [now.bytes_done for now in moving]
    assert done == sorted(done) and done[0] == 0 and done[-1] == array.nbytes
    assert {now.bytes for now in told} == {array.nbytes}
    assert [now.chunks_done for now in moving] == sorted(now.chunks_done for now in moving)
    assert told[-1].stage == "verify"


@pytest.mark.parametrize("during", ["first", "second", "verify"])
def test_a_cancelled_conversion_leaves_nothing(during: str, tmp_path: Path) -> None:
    import threading

    array = square(tmp_path)
    cancel = threading.Event()

    def progress(now: Progress) -> None:
        halfway = now.bytes_done * 2 >= array.nbytes
        if now.stage == "verify" if during == "verify" else now.bytes_done and halfway == (during == "second"):
            cancel.set()

    with pytest.raises(Cancelled):
        convert(tmp_path / "in.npy", tmp_path / "out.npy", verify=True, progress=progress, cancel=cancel, **TURN)
    assert names_in(tmp_path) == ["in.npy"]


# The second write of the second pass waits until something happens to the process.
SLOW = """
import threading
from isoviz.backends.disk.disk_memory import DiskWrite
move, calls = DiskWrite.move, 0
def wait(self, copies, source, destination, check):
    global calls
    calls += destination.durable  # the temporary file is not
    if calls == 2:
        print('waiting', flush=True)
        for _ in range(6000):
            check()
            threading.Event().wait(0.01)
    return move(self, copies, source, destination, check)
DiskWrite.move = wait
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.few(1)
def test_a_process_that_is_stopped_in_the_second_pass(number: signal.Signals, status: int, tmp_path: Path) -> None:
    square(tmp_path)
    arguments = ("convert", "in.npy", "out.npy", "--from", "<F, x, y>", "--to", "<F, y, x>", "--memory-limit", LIMIT)
    started = subprocess.Popen(
        command((*arguments, "--passes", "2"), SLOW),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "waiting\n"
    started.send_signal(number)
    _, error = started.communicate(timeout=250)
    assert started.returncode == status, error
    assert error.count("\n") == (number != signal.SIGKILL)
    # Neither file had a name, where the file system has such files.
    nameless = True
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        nameless = False
    left = names_in(tmp_path)
    assert "out.npy" not in left
    assert left == ["in.npy"] or (not nameless and number == signal.SIGKILL)


@pytest.mark.full
def test_the_command_line_says_what_was_decided(tmp_path: Path) -> None:
    array = square(tmp_path)
    arguments = ("convert", "in.npy", "out.npy", "--from", "<F, x, y>", "--to", "<F, y, x>", "--memory-limit", LIMIT)
    done = isoviz(*arguments, "--passes", "2", "--verify", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no progress line where nobody looks"
    assert "two passes, through a temporary file" in done.stdout
    assert "every byte verified" in done.stdout
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T)
    quiet = isoviz(*arguments, "--quiet", "--overwrite", cwd=tmp_path)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


@pytest.mark.full
def test_a_memory_limit_that_was_asked_for_leaves_compilers_out(tmp_path: Path) -> None:
    """Loading one takes more memory than the conversion may use, whatever the size of the file."""
    square(tmp_path, 1200)
    said = "import atexit\natexit.register(lambda: print([name for name in ('numba', 'llvmlite') if name in sys.modules]))"
    arguments = ("convert", "in.npy", "out.npy", "--from", "<F, x, y>", "--to", "<F, y, x>", "--memory-limit", "8MiB", "--quiet")
    for passes in ("1", "2"):
        done = isoviz(*arguments, "--passes", passes, "--overwrite", cwd=tmp_path, code=said)
        assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_files_are_read_and_written_in_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in sequence at both ends is asked for in sequence, as disks with heads like it."""
    array = np.arange(1 << 21, dtype="u4")
    np.save(tmp_path / "in.npy", array)
    offsets: dict[int, list[int]] = {aio.READ: [], aio.WRITE: []}
    real = {aio.READ: os.preadv, aio.WRITE: os.pwritev}

    def noted(self: aio.Queue, code: int, file: int, at: aio.Numbers, *given: Any, original: Any = aio.Queue.carry_out) -> Any:
        offsets[code] += at.tolist()
        return original(self, code, file, at, *given)

    def one(code: int, file: int, buffers: Any, at: int) -> int:
        offsets[code].append(at)
        return real[code](file, buffers, at)

    monkeypatch.setattr(aio.Queue, "carry_out", noted)
    monkeypatch.setattr(os, "preadv", partial(one, aio.READ))
    monkeypatch.setattr(os, "pwritev", partial(one, aio.WRITE))
    monkeypatch.setattr(passing, "in_flight", lambda _: 1)
    monkeypatch.setattr(measurements, "kept_probe", lambda _: None)  # which may say otherwise
    convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x>", "<F, x>", memory_limit="4MiB")
    for asked in offsets.values():
        assert len(asked) > 4 and asked == sorted(asked)


def test_the_temporary_file_is_where_the_result_will_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond links: the two may be on different disks."""
    array = square(tmp_path)
    (tmp_path / "far").mkdir()
    (tmp_path / "out.npy").symlink_to("far/real.npy")
    folders: list[Path] = []
    create = NewFile._create

    def noted(self: NewFile) -> int:
        folders.append(self.directory)
        return create(self)

    monkeypatch.setattr(NewFile, "_create", noted)
    convert(tmp_path / "in.npy", tmp_path / "out.npy", overwrite=True, **TURN)
    assert folders == [tmp_path / "far"] * 2
    assert (tmp_path / "out.npy").is_symlink()
    assert np.array_equal(np.load(tmp_path / "far" / "real.npy"), array.T)


def test_structs_with_gaps_in_two_passes(tmp_path: Path) -> None:
    """The temporary file holds what moves, and nothing of the gaps."""
    dtype = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "<i2")], align=True)
    array = np.zeros((220, 190), dtype)
    for name in "abc":
        array[name] = np.arange(array.size).reshape(array.shape) % 251
    np.save(tmp_path / "in.npy", array)
    done = convert(tmp_path / "in.npy", tmp_path / "out.npy", None, "<F, y, x>", memory_limit="64KiB", passes=2, verify=True)
    found = np.load(tmp_path / "out.npy")
    assert all(np.array_equal(found[name], array[name].T) for name in "abc")
    assert done.decision is not None and done.decision.temporary_bytes < array.nbytes


@pytest.mark.parametrize("probed", [None, 1, 8])
def test_buffers_and_threads_within_the_limit(probed: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a probe said of requests in flight: what threads need for what lies across pages is a part of the limit."""
    local = preset("local", directory=tmp_path, measure="assumed")
    channels = tuple(replace(channel, max_in_flight=probed or 1) for channel in local.channels)
    kept = None if probed is None else replace(local, channels=channels)
    monkeypatch.setattr(measurements, "kept_probe", lambda _: kept)
    for mib in (4, 8, 16, 32, 64, 256, 1024):
        limit = mib << 20
        machine = passing.disk_machine(tmp_path, limit)
        threads = sum(channel.max_in_flight for channel in machine.channels if not channel.is_self_loop)
        assert threads >= 2
        taken = passing.buffer_limit(limit, machine) + threads * disk.BOUNCE
        assert taken <= limit, (mib, threads)
