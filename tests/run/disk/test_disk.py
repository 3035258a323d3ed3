"""Files: any offset and length, unbuffered or not; a destination is there completely or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from run_cases import command, environment, isoviz, names_in, no_leaked_files, random_bytes

from isoviz.backends.disk import aio
from isoviz.backends.disk import disk_memory as files
from isoviz.backends.disk import file_access as disk
from isoviz.backends.disk import run_requests as runs
from isoviz.backends.disk.file_access import NewFile, ReadFile
from isoviz.backends.disk.run_requests import read_runs, write_runs
from isoviz.backends.pages import BOUNCE, bounce, page_aligned
from isoviz.errors import FileError, RunError
from isoviz.layouts import StridedCopy

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]


@pytest.fixture(params=["unbuffered", "buffered", "refusing"])
def access(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Unbuffered as this file system has it; none at all; opened, but every request refused."""
    if request.param == "buffered":
        monkeypatch.setattr(disk, "_DIRECT", 0)
    elif request.param == "refusing":
        real_read, real_write, o_direct = os.preadv, os.pwritev, disk._DIRECT

        def is_direct(descriptor: int) -> bool:
            flags = int(Path(f"/proc/self/fdinfo/{descriptor}").read_text().split("flags:")[1].split()[0], 8)
            return bool(flags & o_direct)

        def refusing(real):  # type: ignore[no-untyped-def]
            def call(descriptor, buffers, offset):  # type: ignore[no-untyped-def]
                if is_direct(descriptor):
                    raise OSError(errno.EINVAL, "Invalid argument")
                return real(descriptor, buffers, offset)

            return call

        monkeypatch.setattr(os, "preadv", refusing(real_read))
        monkeypatch.setattr(os, "pwritev", refusing(real_write))
        refuse = lambda queue, _, __, numbers, *___: queue._early.append((numbers, np.full(len(numbers), -errno.EINVAL)))  # noqa: E731
        monkeypatch.setattr(aio.Queue, "begin", refuse)
    return str(request.param)


def cases(rng: random.Random, size: int) -> list[tuple[int, int]]:
    found = [(0, size), (0, 4096), (4096, 8192), (1, size - 1), (4095, 4098), (size - 1, 1), (10, 0)]
    for _ in range(60):
        start = rng.randrange(size)
        found.append((start, rng.randint(1, min(size - start, rng.choice((50, 5000, 200_000, size))))))
    return found


def test_reading(access: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    data = random_bytes(rng, 3_000_001)
    (tmp_path / "a").write_bytes(data.tobytes())
    file = ReadFile(tmp_path / "a")
    room = page_aligned(len(data) + 8192)
    for start, count in cases(rng, len(data)):
        shift = rng.choice((0, start % 4096, rng.randrange(4096)))
        room[:] = 0
        file.read_at(start, room[shift : shift + count])
        assert (room[shift : shift + count] == data[start : start + count]).all()
        assert not room[:shift].any()
        assert not room[shift + count :].any()
    with pytest.raises(RunError, match="ends at byte 3000001"):
        file.read_at(len(data) - 5000, room[:6000])
    assert file.is_direct == (access == "unbuffered") or access == "unbuffered"
    file.close()


@pytest.mark.parametrize("lead", [0, 1, 2000, 4095])
def test_reading_around_pages(lead: int, access: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in memory as it does on its pages comes in one request, its edges too, up to the end of the file; nothing around
    it is touched."""
    data = random_bytes(random.Random(lead), 4 * 4096 + lead + 300_000)
    (tmp_path / "a").write_bytes(data.tobytes())
    real, asked = os.preadv, []
    if access == "unbuffered":
        monkeypatch.setattr(os, "preadv", lambda *given: asked.append(1) or real(*given))
    with contextlib.closing(ReadFile(tmp_path / "a")) as file:
        begin = 4096 + lead
        for count in (4096 - lead, 4096 * 2 - lead, 4096 * 2 - lead - 1, 4096 * 2 - lead + 1, 100_000, len(data) - begin):
            room = page_aligned(begin + count + 8192)
            asked.clear()
            requests = file.read_at(begin, room[begin : begin + count])
            assert (room[begin : begin + count] == data[begin : begin + count]).all(), count
            assert not room[:begin].any() and not room[begin + count :].any(), count
            if access == "unbuffered" and file.is_direct and count >= 8192:
                assert requests == len(asked) == 1, count
        with pytest.raises(RunError, match=f"ends at byte {len(data)}"):
            file.read_at(begin, page_aligned(begin + len(data))[begin:])


def test_writing(access: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    size = 2_000_003
    expected = np.zeros(size, "u1")
    file = NewFile(tmp_path / "a", size)
    for start, count in cases(rng, size)[1:]:
        shift = rng.choice((0, start % 4096, rng.randrange(4096)))
        room = page_aligned(count + 4096)[shift : shift + count]
        room[:] = random_bytes(rng, count)
        file.write_at(start, room)
        expected[start : start + count] = room
    back = np.zeros(size, "u1")
    file.read_at(0, back)
    assert (back == expected).all()
    assert names_in(tmp_path) == []
    file.flush()
    file.publish()
    file.close()
    assert (tmp_path / "a").read_bytes() == expected.tobytes()


@pytest.mark.parametrize("loops", [(), (5,), (7, 5), (3, 7, 5), (200,), (200, 3), (2, 200), (4, 30, 6)])
@pytest.mark.parametrize("disk_end", [1, 2])
def test_runs_in_the_order_of_the_disk(loops: tuple[int, ...], disk_end: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, once, many together."""
    monkeypatch.setattr(files, "_BATCH", 16)
    rng = random.Random(len(loops))
    here, there = (rng.sample([8 * 1000**k for k in range(len(loops))], len(loops)) for _ in range(2))
    copy = StridedCopy(40, 16, 8, tuple(zip(loops, here, there, strict=True)))
    found = [[each.tolist() for each in pair] for pair in files.runs_in_order(copy, disk_end)]
    pairs = [pair for at, to in found for pair in zip(at, to, strict=True)]
    steps = list(itertools.product(*(range(extent) for extent in loops)))
    expected = [
        (
            40 + sum(k * step for k, step in zip(ks, here, strict=True)),
            16 + sum(k * step for k, step in zip(ks, there, strict=True)),
        )
        for ks in steps
    ]
    assert pairs == sorted(expected, key=lambda pair: pair[disk_end - 1])
    assert all(len(at) <= 16 for at, _ in found)
    assert len(found) <= max(1, 4 * len(pairs) / 16), "not a few at a time"


WAYS = ["one by one", "together"] if aio.is_available() else ["one by one"]


@pytest.fixture(params=WAYS)
def requests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Short runs many at a time, and where the system has no such calls."""
    if request.param == "one by one":
        monkeypatch.setattr(aio, "_taken", lambda: None)
    return str(request.param)


def numbers(pairs: list[tuple[int, int]]) -> tuple[aio.Numbers, aio.Numbers]:
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)


@pytest.mark.parametrize("run", [4096, 8192, 4097, 100, 60_000, 61_440, 300_000])
@pytest.mark.few(10)
def test_many_runs(run: int, access: str, requests: str, tmp_path: Path) -> None:
    """Wherever they begin, in the file and in memory, evenly or not; and none but them is touched."""
    rng = random.Random(run)
    size = 12 * (-(-run // 4096) * 4096) + 9000
    data = random_bytes(rng, size)
    (tmp_path / "a").write_bytes(data.tobytes())
    source = ReadFile(tmp_path / "a")
    for grid, turn in ((1, 7), (4096, 7), (1, 1), (4096, 1)):
        step = -(-run // grid) * grid
        places = [(k * step + (grid == 1) * k, ((k * turn) % 10) * step + (grid == 1) * 3) for k in range(10)]
        room = page_aligned(11 * step + 9000)
        asked: list[int] = []
        at, to = numbers(places)
        assert read_runs(source, at, to, run, room, lambda asked=asked: asked.append(1)) >= 10
        assert asked
        expected = np.zeros_like(room)
        for begin, where in places:
            expected[where : where + run] = data[begin : begin + run]
        assert (room == expected).all()
        written = NewFile(tmp_path / "b", size)
        assert write_runs(written, to, at, run, room, lambda: None) >= 10
        back = np.zeros(size, "u1")
        written.read_at(0, back)
        kept = np.zeros(size, "u1")
        for begin, _ in places:
            kept[begin : begin + run] = data[begin : begin + run]
        assert (back == kept).all()
        assert written.moved_bytes == 10 * run + size
        written.close()
    with pytest.raises(RunError, match=f"ends at byte {size}"):
        read_runs(source, *numbers([(0, 0), (size - run + 1, 0)]), run, page_aligned(run), lambda: None)
    source.close()


def test_more_runs_than_are_handed_over_together(requests: str, tmp_path: Path) -> None:
    """By thousands, from several threads at once, each of which stops when it is told to."""
    data = random_bytes(random.Random(1), 2000 * 4096)
    (tmp_path / "a").write_bytes(data.tobytes())
    source = ReadFile(tmp_path / "a")
    order = np.random.default_rng(1).permutation(2000) * 4096

    def read(shift: int) -> bool:
        room = page_aligned(len(data) + 4096)
        read_runs(source, order, order + shift, 4096, room, lambda: None)
        return bool((room[shift : shift + len(data)] == data).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, (0, 0, 5, 4096)))
    asked = iter(range(3))
    with pytest.raises(StopIteration):
        read_runs(source, order, order, 4096, page_aligned(len(data)), lambda: next(asked))
    assert read(0)
    source.close()


@pytest.mark.parametrize("shared", [0, 16 << 10, 32 << 20])
@pytest.mark.few(2)
def test_runs_that_share_pages(shared: int, requests: str, tmp_path: Path, full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of any lengths, in any order, from two threads: whatever pages two of them share, and where nobody writes."""
    monkeypatch.setattr(runs, "_SHORT", 4096)
    rng = random.Random(shared)
    for number in range(60 if full else 15):
        run, rows = rng.choice((4096, 4100, 5000, 8190, 40_000, 70_001)), rng.randint(1, 40)
        gap = rng.choice((0, 0, 0, 7, 5000))
        start = rng.choice((0, 0, 3, 4095))
        size = start + rows * (run + gap) + rng.choice((0, 0, 1, 5000))
        data = random_bytes(rng, size)
        order = np.array(rng.sample(range(rows), rows), np.int64) * (run + gap) + start
        written = NewFile(tmp_path / "b", size, shared=shared)
        source = page_aligned(size)
        source[:] = data
        with ThreadPoolExecutor(2) as pool:
            parts = [part for part in np.array_split(order, rng.randint(1, 6)) if len(part)]
            done = [pool.submit(write_runs, written, part, part, run, source, disk.always) for part in parts]
            assert sum(each.result() for each in done) <= 3 * rows
        wanted = np.zeros(size, "u1")
        for at in order.tolist():
            wanted[at : at + run] = data[at : at + run]
        if rng.random() < 0.5:  # again, what was there counts no more
            at = rng.choice(order.tolist())
            source[at : at + run] ^= 1
            wanted[at : at + run] ^= 1
            write_runs(written, *numbers([(at, at)]), run, source, lambda: None)
        if number % 2:
            written.flush()
            written.publish()
            assert np.array_equal(np.fromfile(tmp_path / "b", "u1"), wanted), (run, rows, gap, start)
        back = np.zeros(size, "u1")
        written.read_at(0, back)
        assert np.array_equal(back, wanted), (run, rows, gap, start)
        assert not written.shared.among(0, size)
        written.close()


def test_pages_that_are_shared_do_not_go_to_the_page_cache(tmp_path: Path) -> None:
    """But for the last one, all of which nobody writes."""
    run, rows = 50_001, 60
    source = page_aligned(run * rows)
    order = np.random.default_rng(2).permutation(rows) * run
    with contextlib.closing(NewFile(tmp_path / "b", run * rows)) as written:
        if not written.is_direct:
            pytest.skip("this file system takes no unbuffered access")
        assert write_runs(written, order, order, run, source, lambda: None) <= rows
        written.flush()
        assert written.cached_bytes == run * rows % 4096
        assert written.moved_bytes == run * rows


@pytest.mark.parametrize("way", ["whole", "short", "failing"])
def test_long_runs_meet_on_their_pages(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request each, with the page that it shares with the one before, and nothing through the page cache but the last one;
    also where a request writes less than it was asked to, or nothing: then it is tried again."""
    run, rows = 300_001, 9
    source = page_aligned(run * rows)
    source[:] = random_bytes(random.Random(6), run * rows)
    real, asked = os.pwritev, []

    def call(file: int, buffers: list[memoryview], at: int) -> int:
        asked.append(len(buffers))
        if way == "failing" and len(buffers) > 1:
            raise OSError(errno.EIO, "Input/output error")
        return real(file, buffers[:1] if way == "short" else buffers, at)

    monkeypatch.setattr(os, "pwritev", call)
    with contextlib.closing(NewFile(tmp_path / "b", run * rows)) as written:
        for k in (0, 2, 1, 3, 4, 6, 5, 8, 7):
            assert write_runs(written, *numbers([(k * run, k * run)]), run, source, lambda: None) >= 1
        if way == "whole" and written.is_direct:
            assert len(asked) == rows and max(asked) == 3
        written.flush()
        assert written.moved_bytes == run * rows
        assert written.cached_bytes == (run * rows % 4096 if written.is_direct else run * rows)
        back = np.zeros(run * rows, "u1")
        written.read_at(0, back)
        assert (back == source).all()
        assert not written.shared.among(0, run * rows)


def test_more_runs_than_slots(requests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that begin within pages, several times as many as the buffer holds, in any order; where the file ends, it is said; and
    nothing is under way once somebody has stopped."""
    run, rows = 60_001, 150
    data = random_bytes(random.Random(7), run * rows)
    (tmp_path / "a").write_bytes(data.tobytes())
    order = np.random.default_rng(7).permutation(rows) * run
    assert (run + 8192) * rows > 4 * BOUNCE
    with contextlib.closing(ReadFile(tmp_path / "a")) as file:
        room = page_aligned(len(data) + 100)
        assert read_runs(file, order, order + 100, run, room, lambda: None) == rows
        assert (room[100:] == data).all() and not room[:100].any()
        assert file.moved_bytes == run * rows
        behind = order.copy()
        behind[rows // 2] = len(data) - 50_000
        with pytest.raises(RunError, match=f"ends at byte {len(data)}"):
            read_runs(file, behind, order + 100, run, room, lambda: None)
        asked, used, real = iter(range(2)), [], aio.Queue._arrivals

        def one(queue: aio.Queue, least: int) -> tuple[aio.Numbers, aio.Numbers]:
            """The others are still under way when somebody stops."""
            used.append(queue)
            call = queue._call
            queue._call = lambda number, context, _, __, *given: call(number, context, 1, 1, *given)
            try:
                return real(queue, least)
            finally:
                queue._call = call

        monkeypatch.setattr(aio.Queue, "_arrivals", one)
        with pytest.raises(StopIteration):
            read_runs(file, order, order + 100, run, room, lambda: next(asked))
        assert (len(used) > 2) == (requests == "together")
        assert all(not queue.under_way and queue in aio._free for queue in used)
        room[:] = 0
        read_runs(file, order, order + 100, run, room, lambda: None)
        assert (room[100:] == data).all()


def test_what_is_kept_of_pages_is_written_before_a_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the disk fails at first: nothing is forgotten that was not written."""
    run, rows = 50_001, 20
    source = random_bytes(random.Random(4), run * rows)
    order = np.arange(0, rows, 2) * run
    with contextlib.closing(NewFile(tmp_path / "b", run * rows)) as written:
        write_runs(written, order, order, run, source, lambda: None)
        kept = len(written.shared.among(0, run * rows))
        real, calls = os.pwritev, iter(range(100))

        def failing(*given):  # type: ignore[no-untyped-def]
            if next(calls) == 3:
                raise OSError(errno.EIO, "Input/output error")
            return real(*given)

        monkeypatch.setattr(os, "pwritev", failing)
        if kept:
            with pytest.raises(RunError, match="cannot be written: input/output error"):
                written.flush()
        written.publish()
    wanted = np.zeros((rows, run), "u1")
    wanted[::2] = source.reshape(rows, run)[::2]
    found = np.fromfile(tmp_path / "b", "u1")
    assert np.array_equal(found, wanted.reshape(-1)[: len(found)]) and len(found) == run * rows


def test_what_one_thread_writes_of_a_page_another_does_not_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two short runs within a page, between two long ones, each in a thread of its own."""
    size, long = 200 * 4096, 33_000
    data = random_bytes(random.Random(6), size)
    tail = 30 * 4096 + 1000
    head = tail + 200
    with contextlib.closing(NewFile(tmp_path / "b", size)) as written:

        def long_runs(offset: int) -> None:
            at = np.array([offset, offset + 80 * 4096])
            write_runs(written, at, at, long, data, lambda: None)

        def short_run(offset: int) -> None:
            written.write_at(offset, data[offset : offset + 100])

        inside, go, real = threading.Event(), threading.Event(), written._put

        def held_up(offset, *given):  # type: ignore[no-untyped-def]
            done = real(offset, *given)
            if offset == 30 * 4096 and threading.current_thread().name == "first":
                inside.set()
                assert go.wait(120)
            return done

        monkeypatch.setattr(written, "_put", held_up)
        long_runs(tail - long)
        threads = [threading.Thread(target=short_run, args=(tail,), name="first")]
        threads[0].start()
        if written.shared.among(0, 200):
            assert inside.wait(120)
        for action, offset in ((short_run, tail + 100), (long_runs, head)):
            threads.append(threading.Thread(target=action, args=(offset,)))
            threads[-1].start()
            threads[-1].join(0.2)  # or it waits for the first
        go.set()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        written.publish()
    found = np.fromfile(tmp_path / "b", "u1")
    for begin in (tail - long, head):
        for end in (begin, begin + 80 * 4096):
            assert np.array_equal(found[end : end + long], data[end : end + long])
    assert np.array_equal(found[tail:head], data[tail:head])


def test_pages_that_wait_have_no_room_for_long(tmp_path: Path) -> None:
    run = 50_001
    source, order = page_aligned(200 * run), np.arange(200) * run
    with contextlib.closing(NewFile(None, 200 * run, tmp_path, shared=64 * 4096)) as written:
        write_runs(written, order[::2], order[::2], run, source, lambda: None)
        assert len(written.shared.among(0, 200 * run)) <= 64
        written.flush()
        assert not written.shared.among(0, 200 * run) and not written.shared._free


def test_a_child_of_a_process_has_queues_of_its_own(requests: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(256)) * 256)
    source = ReadFile(tmp_path / "a")
    at = np.arange(16) * 4096
    room = page_aligned(1 << 16)
    read_runs(source, at, at, 4096, room, lambda: None)
    child = os.fork()
    if not child:
        room[:] = 0
        read_runs(source, at, at, 4096, room, lambda: None)
        os._exit(0 if room.tobytes() == bytes(range(256)) * 256 else 1)
    assert os.waitpid(child, 0)[1] == 0
    source.close()


@pytest.mark.full
def test_a_system_that_refuses(tmp_path: Path) -> None:
    """Queues that may be made but not waited for, none at all, an unknown processor: requests go one by one, and it is noticed
    before any is under way."""
    (tmp_path / "a").write_bytes(bytes(range(256)) * 256)
    for broken in (
        "aio._NUMBERS = {}",
        "aio._NUMBERS = {key: (9999, 9999, 9999) for key in aio._NUMBERS}",
        "aio._NUMBERS = {key: (numbers[0], 9999, numbers[2]) for key, numbers in aio._NUMBERS.items()}",
    ):
        code = (
            "import sys; import numpy as np; from isoviz.backends.disk import aio;"
            "from isoviz.backends.disk.file_access import ReadFile;"
            "from isoviz.backends.pages import page_aligned; from isoviz.backends.disk.run_requests import read_runs;"
            f"{broken};"
            "room, at = page_aligned(1 << 16), np.arange(16) * 4096;"
            "read_runs(ReadFile(sys.argv[1]), at, at, 4096, room, lambda: None);"
            "print(aio.is_available(), room.tobytes() == bytes(range(256)) * 256)"
        )
        found = subprocess.run([sys.executable, "-c", code, tmp_path / "a"], capture_output=True, text=True, check=False)
        assert (found.stdout, found.stderr) == ("False True\n", ""), broken


@pytest.mark.skipif(not aio.is_available(), reason="this system takes one request at a time")
@pytest.mark.parametrize("by_slots", [False, True])
def test_a_full_queue_is_waited_for(by_slots: bool, tmp_path: Path) -> None:
    """It takes some, refuses others until one of those is done, and then takes these: none fails for it."""
    data = random_bytes(random.Random(8), 40 * 4096)
    (tmp_path / "a").write_bytes(data.tobytes())
    at, nbytes, room, refused = np.arange(40) * 4096, np.full(40, 4096), page_aligned(len(data)), []
    into = page_aligned(16 * 4096)
    with aio.requests(40) as way, (tmp_path / "a").open("rb") as file:
        assert isinstance(way, aio.Queue)
        real = way._call

        def call(number: int, context: int, count: int, *given: int) -> int:
            if number == way._submit:
                if way._waiting and len(refused) < 3:
                    refused.append(number)
                    ctypes.set_errno(errno.EAGAIN)
                    return -1
                count = min(count, 3)
            return int(real(number, context, count, *given))

        def arrived(which: aio.Numbers, places: aio.Numbers) -> None:
            for k, place in zip(which.tolist(), places.tolist(), strict=True):
                room[k * 4096 :][:4096] = into[place:][:4096]

        way._call = call
        try:
            if by_slots:
                moved = way.read_by_slots(file.fileno(), at, nbytes, into, 4096, arrived, lambda: None)
            else:
                moved = way.carry_out(aio.READ, file.fileno(), at, room, at, nbytes)
        finally:
            way._call = real
    assert len(refused) == 3
    assert (moved == 4096).all() and (room == data).all()


@pytest.mark.parametrize("places", [[0, 1], [-1, 0]] if "together" in WAYS else [])
def test_requests_outside_of_memory_are_refused(places: list[int]) -> None:
    at, nbytes = np.zeros(2, np.int64), np.full(2, 4096)
    with aio.requests(2) as way, Path(os.devnull).open("rb") as file:
        assert isinstance(way, aio.Queue)
        with pytest.raises(ValueError, match="outside of memory of 4096 bytes"):
            way.carry_out(aio.READ, file.fileno(), at, page_aligned(4096), np.array(places), nbytes)


def test_many_runs_to_a_disk_that_fills_up(requests: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = NewFile(tmp_path / "a", 100 * 4096)
    monkeypatch.setattr(os, "pwritev", full)
    # However they are handed over: those that were not carried out are tried again, and say why they cannot be.
    monkeypatch.setattr(aio.Queue, "carry_out", lambda _, __, ___, offsets, *____: np.full(len(offsets), -errno.ENOSPC))
    with pytest.raises(RunError, match="the disk is full"):
        write_runs(file, *numbers([(0, 4096), (4096, 40_960)]), 4096, page_aligned(8192), lambda: None)
    file.close()


@pytest.mark.few(1)
def test_a_file_too_large_for_its_limits(requests: str, tmp_path: Path) -> None:
    """The system itself refuses: no other process or thread is held to this."""
    code = (
        "import resource, signal, sys; import numpy as np;"
        "from isoviz.backends.disk import aio; from isoviz.backends.disk.file_access import NewFile;"
        "from isoviz.backends.pages import page_aligned; from isoviz.backends.disk.run_requests import write_runs;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"aio._taken = aio._taken if {requests == 'together'} else lambda: None;"
        "file = NewFile(sys.argv[1], 64 * 4096);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (32 * 4096, resource.RLIM_INFINITY));"
        "at = np.arange(64) * 4096;"
        "write_runs(file, at, at, 4096, page_aligned(64 * 4096), lambda: None)"
    )
    found = subprocess.run([sys.executable, "-c", code, tmp_path / "a"], capture_output=True, text=True, check=False)
    assert "RunError" in found.stderr and "larger than files may be here" in found.stderr


@pytest.mark.parametrize("nameless", [True, False])
def test_a_name_appears_with_publish_only(nameless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "a"
    path.write_text("before")
    path.chmod(0o640)
    for publish in (False, True):
        file = NewFile(path, 5)
        file.write_at(0, np.frombuffer(b"after", "u1"))
        assert path.read_text() == "before"
        if publish:
            file.publish()
        file.close()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names_in(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    file = NewFile(tmp_path / "link", 5)
    file.write_at(0, np.frombuffer(b"after", "u1"))
    file.publish()
    file.close()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "after"


def test_too_little_space_is_found_before_writing(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="free"):
        NewFile(tmp_path / "a", 2**60)
    with pytest.raises(FileError, match="is a device"):
        NewFile("/dev/null", 5)
    assert names_in(tmp_path) == []


def test_a_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = NewFile(tmp_path / "a", 100_000)
    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(RunError, match="the disk is full"):
        file.write_at(0, np.zeros(100_000, "u1"))
    file.close()
    assert names_in(tmp_path) == []


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"


def test_a_file_larger_than_allowed_fails_in_one_line(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((1024, 1024), "f4"))
    done = isoviz("convert", "in.npy", "out.npy", "--from", "<F, x, y>", "--to", "<F, y, x>", cwd=tmp_path, code=LIMITED)
    assert done.returncode == 1
    assert done.stderr.startswith("isoviz: error: ")
    assert done.stderr.count("\n") == 1
    assert "larger than files may be" in done.stderr
    assert names_in(tmp_path) == ["in.npy"]


# Moves stop after the second chunk until something happens to the process.
SLOW = """
import signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born ignoring it
from isoviz.backends.host.host_memory import Memcpy
move, calls = Memcpy.move, 0
def wait(self, copies, source, destination, check):
    global calls
    calls += 1
    if calls == 3:
        print('waiting', flush=True)
        for _ in range(6000):
            check()
            threading.Event().wait(0.01)
    return move(self, copies, source, destination, check)
Memcpy.move = wait
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.few(1)
def test_a_process_that_is_stopped_leaves_no_file(number: signal.Signals, status: int, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.arange(1 << 18).reshape(512, 512))
    arguments = ("convert", "in.npy", "out.npy", "--from", "<F, x, y>", "--to", "<F, y, x>", "--memory-limit", "256KiB")
    started = subprocess.Popen(
        command(arguments, SLOW), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "waiting\n"
    started.send_signal(number)
    out, error = started.communicate(timeout=250)
    assert started.returncode == status, error
    assert out == ""
    if number != signal.SIGKILL:
        assert error.startswith("isoviz: error: interrupted")
        assert error.count("\n") == 1
    left = [name for name in names_in(tmp_path) if not name.endswith(".part")]
    assert left == ["in.npy"]
    if number != signal.SIGKILL:
        assert names_in(tmp_path) == ["in.npy"]


def test_every_thread_has_a_buffer_of_its_own() -> None:
    """Also where there are more threads than lie in large pages together; and those to come take over what they leave."""

    def taken(count: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        together = threading.Barrier(count)

        def take() -> None:
            mine = bounce()
            assert mine is bounce() and len(mine) == BOUNCE and mine.ctypes.data % 4096 == 0
            found.append((mine.ctypes.data, mine.ctypes.data + len(mine)))
            together.wait(timeout=250)  # or memory that one has given back would be another's

        threads = [threading.Thread(target=take) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(found)

    found = taken(20)
    assert len(found) == 20
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(found))
    assert set(taken(15)) <= set(found) | set(taken(20))
    assert set(taken(20)) == set(taken(20))


def test_whole_pages_up_to_the_end_of_a_file(access: str, tmp_path: Path) -> None:
    data = random_bytes(random.Random(3), 3 * 4096 + 100)
    (tmp_path / "a").write_bytes(data.tobytes())
    file = ReadFile(tmp_path / "a")
    for offset, wanted in ((0, 12388), (0, 12387), (0, 4096), (8192, 4196), (8192, 5), (12288, 100)):
        room = page_aligned(4 * 4096)
        before = file.moved_bytes
        requests = file.read_pages(offset, room[: -(-wanted // 4096) * 4096], wanted)
        assert requests == 1 or access == "refusing"
        assert np.array_equal(room[:wanted], data[offset : offset + wanted])
        assert file.moved_bytes - before == wanted
    with pytest.raises(RunError, match=r"ends at byte 12388, where byte 12.88 was expected"):
        file.read_pages(0, page_aligned(4 * 4096), 12389)
    file.close()


@pytest.mark.parametrize("piece", [512, 5000])
def test_reads_that_come_back_short(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a page, too, as from files of a network, and of the first one: what was read before stays."""
    data = random_bytes(random.Random(5), 40 * 4096 + 7)
    (tmp_path / "a").write_bytes(data.tobytes())
    real = os.preadv

    def short(file: int, buffers: list[memoryview], at: int) -> int:
        return real(file, [buffers[0][: piece if piece < 4096 else max(piece, len(buffers[0]) // 3)]], at)

    monkeypatch.setattr(os, "preadv", short)
    with contextlib.closing(ReadFile(tmp_path / "a")) as file:
        room = page_aligned(41 * 4096)
        for into in (room, bounce()[: 41 * 4096]):  # what is read across gaps goes to the buffer by way of which others come
            before = file.moved_bytes
            assert file.read_pages(0, into, len(data)) > 1
            assert np.array_equal(into[: len(data)], data)
            assert file.moved_bytes - before == len(data)
        for offset in (5000, 4096 * 3 + 100):
            file.read_at(offset, room[: 3 * 4096])
            assert np.array_equal(room[: 3 * 4096], data[offset : offset + 3 * 4096])
