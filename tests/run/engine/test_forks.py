"""Forked children: what belongs to the parent's threads raises there at once, and what is made there works.

Every case is a program of its own with a time limit: what it is about is hanging.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")

BEFORE = """
import multiprocessing, os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and newer warn of forking with threads
import numpy as np
import isoviz
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import ForkedError
from isoviz.runtime.device_bases import BaseChannel

machine = isoviz.machines.preset("two-node")
array = np.arange(6000, dtype=np.float64).reshape(60, 100)
large = np.arange(1 << 20, dtype=np.float64).reshape(1 << 10, 1 << 10)


def copied(engine, source=array):
    there = np.empty(source.shape[::-1])
    engine.copy(source, "<F, x, y>", there, "<F, y, x>").wait()
    return bool((there == source.T).all())


def raises(*calls):
    for number, call in enumerate(calls):
        try:
            call()
        except ForkedError as error:
            assert "forked" in str(error) and "\\n" not in str(error)
        else:
            raise AssertionError(f"call {number} did not raise")


def in_child(body):
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, f"the child ended with {status}"
        return
    try:
        body()
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
"""


def carried_out(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + code], capture_output=True, text=True, timeout=250, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_an_entered_engine_raises_and_a_new_one_works() -> None:
    """Every use of an engine, and of a transfer under way in it, that a child can think of."""
    carried_out("""
local = isoviz.machines.preset("local")
plan = isoviz.plan(isoviz.Transfer.whole(
    isoviz.IndexSpace(x=1 << 16), isoviz.FieldSpace(a="float64"), "node0.sys", "<F, x>", "node0.sys", "<F, x>"), local)

class Held:
    # Memory in which a transfer stays until it is let go: it is under way while the process forks.
    go = threading.Event()
    def __init__(self):
        self.inner = EmulatedMachine()
    def channel(self, channel, source, destination):
        real, go = self.inner.channel(channel, source, destination), self.go
        class Channel(BaseChannel):
            at_once = False
            def move(self, *arguments):
                go.wait()
                return real.move(*arguments)
        return Channel()
    def __getattr__(self, name):
        return getattr(self.inner, name)

with isoviz.Engine(local, Held(), record=True) as engine:
    pending = engine.submit(plan)
    finished = isoviz.Engine(local).submit(plan)
    finished.wait()

    def body():
        def entered():
            with engine:
                pass
        raises(
            lambda: copied(engine), lambda: engine.run(plan), lambda: engine.run(plan, trial=True), lambda: engine.submit(plan),
            lambda: engine.held_bytes, engine.trace, engine.close, engine.__enter__, entered,
            lambda: engine.__exit__(None, None, None),
            pending.wait, lambda: pending.wait(1), pending.error, pending.cancel, lambda: pending.done, lambda: pending.progress,
            lambda: pending.add_done_callback(print), pending.__await__,
        )
        assert "another process" in repr(pending)
        finished.wait()  # its outcome was known before
        assert finished.done and finished.progress == 1
        called = []
        finished.add_done_callback(called.append)
        assert called == [finished]
        finished.cancel()
        for make in (lambda: isoviz.Engine(local), lambda: isoviz.Engine(machine, EmulatedMachine())):
            assert copied(make())
            with make() as mine:
                assert copied(mine) and copied(mine, large)

    in_child(body)
    assert not pending.done
    Held.go.set()
    pending.wait()
    assert isoviz.Engine(local).run(plan).verified
""")


def test_leaving_the_block_of_an_engine_in_a_child() -> None:
    """It raises; but where the child is on its way out already, that is not covered up."""
    carried_out("""
def leave():
    with isoviz.Engine(machine, EmulatedMachine()) as engine:
        copied(engine)
        if not os.fork():
            return "child"
        os.wait()
        return "parent"

try:
    assert leave() == "parent"
except ForkedError:
    os._exit(0)

with isoviz.Engine(machine, EmulatedMachine()) as engine:
    copied(engine)
    child = os.fork()
    if not child:
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
""")


@pytest.mark.parametrize("entered", [True, pytest.param(False, marks=pytest.mark.full)])
@pytest.mark.few(1)
def test_multiprocessing(entered: bool) -> None:
    """A pool of forked workers, from a process whose engine is at work in another thread all the time."""
    carried_out(f"""
engine = isoviz.Engine(isoviz.machines.preset("local"))
if {entered}:
    engine.__enter__()
stop = threading.Event()

def busy():
    while not stop.is_set():
        assert copied(engine, large)

def work(number):
    raises(lambda: copied(engine), engine.close)
    with isoviz.Engine(isoviz.machines.preset("local")) as mine:
        return copied(mine, array + number) and copied(mine, large)

assert copied(engine, large)  # a child of a thread that forks amid another one's first import hangs in Python's own locks
thread = threading.Thread(target=busy)
thread.start()
try:
    for _ in range(3):
        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map_async(work, range(6)).get(120) == [True] * 6
finally:
    stop.set()
    thread.join()
engine.close()
""")


def test_copies_by_several_threads() -> None:
    """The threads that copy parts of what lies in memory are the parent's; a child starts its own."""
    carried_out("""
from isoviz.backends.host import copying as kernel

def alive():
    return kernel._pool().submit(lambda: 3).result()

assert alive() == 3
for _ in range(os.cpu_count() or 1):  # all of the pool's threads run
    alive()
in_child(lambda: alive() == 3 or os._exit(2))
""")


def test_locks_that_another_thread_held() -> None:
    """A child finds the locks of modules open, and the parent still finds them shut."""
    carried_out("""
from isoviz.backends.disk import aio
from isoviz.backends import pages
from isoviz.figures.charts import svg
from isoviz.planner.intermediate import layout_families
from isoviz.planner.program import certificate
from isoviz.planner.whole_program import program_planner
from isoviz.planner.cache import CACHE
from isoviz.runtime.ledger.ledger import Ledger
from pathlib import Path

book = Ledger(Path("nowhere"))
planners = [layout_families._LOCK, certificate._LOCK, program_planner._LOCK, CACHE._lock]
locks = [aio._lock, pages._lock, svg._seen_lock, book._lock, *planners]
taken, over = threading.Event(), threading.Event()

def holder():
    from contextlib import ExitStack
    with ExitStack() as stack:
        for lock in locks:
            stack.enter_context(lock)
        taken.set()
        over.wait()

thread = threading.Thread(target=holder)
thread.start()
taken.wait()

def body():
    for lock in locks:
        with lock:
            pass
    assert book.recent() == ()
    assert svg.finish("<svg/>")
    assert copied(isoviz.Engine(machine, EmulatedMachine()))

in_child(body)
over.set()
thread.join()
body()
""")


def test_a_progress_callback_that_forks() -> None:
    """The child leaves `run` with the error; the parent's transfer, and its file, come to their end."""
    carried_out("""
import tempfile
local = isoviz.machines.preset("local")
with tempfile.TemporaryDirectory() as folder:
    out = folder + "/out.npy"
    plan = isoviz.plan(isoviz.Transfer.whole(
        isoviz.IndexSpace(x=1 << 20), isoviz.FieldSpace(a="float64"), "node0.sys", "<F, x>", "node0.dsk", "<F, x>"), local)
    children = []

    def forks(progress):
        if not children:
            children.append(os.fork())

    try:
        report = isoviz.Engine(local).run(plan, None, out, progress=forks)
    except ForkedError:
        os._exit(0 if children == [0] else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    assert report.verified and os.listdir(folder) == ["out.npy"]
""")


def test_an_explorer() -> None:
    """Its threads are the parent's: a child is told so, and may close what it has of it."""
    pytest.importorskip("anywidget")
    carried_out("""
from isoviz.widgets.session import Session
from isoviz.widgets.worker import Publisher

session = Session()
publisher = Publisher(lambda: None, "publisher")

def body():
    raises(lambda: session.send({"kind": "hello"}), session.run, session.wait, lambda: publisher.touch(True))
    publisher.close()
    session.close()
    mine = Session()
    mine.wait()
    mine.close()

in_child(body)
session.wait()
publisher.close()
session.close()
""")
