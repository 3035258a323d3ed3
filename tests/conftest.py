"""What every test shares: reproducible property tests, counts in the summary, and a check for leaked threads."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import second_user
import stalls
from hypothesis import HealthCheck, settings

RANKS = Path(__file__).parent / "ranks"
FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")

# Seeded and few in `make test`; `make test-full` runs every count. Tests scale their own counts by `settings().max_examples`
# or the fixture `full`. Nothing has a deadline: the machines that run this differ.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("reduced", derandomize=True, max_examples=25, **_COMMON)
settings.register_profile("full", max_examples=2000, **_COMMON)
settings.load_profile("full" if FULL else "reduced")

# `make test &` in a script has Ctrl-C ignored, and so has whatever tests start, whether they send it or not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Runs of tests, and of what they start, are none of the user's.
os.environ["ISOVIZ_LEDGER"] = "off"

if os.environ.get("ISOVIZ_STALLS"):
    stalls.install(int(os.environ["ISOVIZ_STALLS"]))

_REPORTED = pytest.StashKey[dict[str, list[object]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_REPORTED] = {}


def pytest_collection_finish() -> None:
    """What was collected stays to the end."""
    _keep()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What caches keep of a module stays, too."""
    if nextitem is not None and nextitem.path != item.path:
        _keep()


def _keep() -> None:
    """The garbage collector need not look again and again at what is there now."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if RANKS in item.path.parents:
            item.add_marker("ranks")
    if not FULL:
        only = pytest.mark.skip(reason="only in `make test-full` (ISOVIZ_FULL=1)")
        for item in items:
            if item.get_closest_marker("full"):
                item.add_marker(only)
        for item in _beyond_the_few(items):
            item.add_marker(only)


def _beyond_the_few(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """The cases that `make test` leaves out of a test with many: `few(3)` keeps three of them, from the first to the last."""
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("full"):
            cases.setdefault((str(item.path), getattr(item, "originalname", item.name)), []).append(item)
    for all_cases in cases.values():
        marker = all_cases[0].get_closest_marker("few")
        count = len(all_cases) if marker is None else marker.args[0]
        kept = {round(place * (len(all_cases) - 1) / max(1, count - 1)) for place in range(count)}
        yield from (item for place, item in enumerate(all_cases) if place not in kept)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reported = config.stash[_REPORTED]
    if reported:
        terminalreporter.section("reported by tests")
        width = max(map(len, reported))
        for name, values in sorted(reported.items()):
            text = str(sum(values)) if all(type(value) is int for value in values) else ", ".join(map(str, values))  # type: ignore[arg-type]
            terminalreporter.write_line(f"{name.ljust(width)}  {text}")


@pytest.fixture(scope="session")
def full() -> bool:
    """Whether this run uses every count (ISOVIZ_FULL=1)."""
    return FULL


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Callable[[str, object], None]:
    """`report("property cases", 250)`: a line in the summary at the end; whole numbers of one name are added up."""
    reported = request.config.stash[_REPORTED]

    def add(name: str, value: object) -> None:
        reported.setdefault(name, []).append(value)

    return add


@pytest.fixture
def users() -> Iterator[second_user.TwoUsers]:
    """A victim and an attacker, in a folder of their own that both can reach; skips the test where there cannot be two users."""
    reason = second_user.why_not()
    if reason is not None:
        pytest.skip(reason)
    two = second_user.TwoUsers()
    yield two
    two.close()


@pytest.fixture
def no_leaked_threads() -> Iterator[None]:
    """Fails a test that leaves threads behind; those that are on their way out get a minute, which a busy computer may need."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before]
    last = time.monotonic() + 60
    for thread in left:
        thread.join(timeout=max(0.0, last - time.monotonic()))
    alive = [thread.name for thread in left if thread.is_alive()]
    assert not alive, f"threads left behind: {alive}"


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt`, also after tests that changed its handler.

    Callbacks of the garbage collector are taken away: Python drops an interrupt that comes inside one. Hypothesis has such a one.
    """
    before, callbacks = signal.signal(signal.SIGINT, signal.default_int_handler), gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = callbacks
    signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)
