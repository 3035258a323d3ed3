"""Signal handlers of the caller while signals are deferred: they come back unless the caller has installed others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import InputError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.runtime.engine import interrupts
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts

MACHINE = Machine(
    "one",
    (Memory("m0", MemoryKind.SYS),),
    (Channel("", ChannelKind.MEMCPY, "m0", "m0", LatencyBandwidth(20e-6, 2e9)),),
)


@pytest.fixture
def handlers() -> Iterator[None]:
    """The handlers of before come back."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_handler_that_a_callback_installs_acts_at_once_and_stays(number: signal.Signals, fails: bool) -> None:
    """In a run within the callback of a run, too. What the callback restores is what was there, not a handler of the engine."""
    came: list[str] = []

    def first(*_: object) -> None:
        came.append("first")

    def second(*_: object) -> None:
        came.append("second")

    seen: list[Any] = []
    made = plan(Transfer.whole(IndexSpace(x=1 << 14), FieldSpace(a="u1"), "m0", "<F, x>", "m0", "<F, x>"), MACHINE)
    signal.signal(number, first)
    with Engine(MACHINE, EmulatedMachine()) as engine:

        def progress(_: object) -> None:
            if seen:
                return
            seen.append(signal.getsignal(number))
            signal.raise_signal(number)
            signal.signal(number, second)
            signal.raise_signal(number)
            engine.run(made, verify=False)
            signal.raise_signal(number)
            if fails:
                raise ZeroDivisionError

        with pytest.raises(InputError, match="the function raised ZeroDivisionError") if fails else nullcontext():
            engine.run(made, progress=progress)
        assert seen == [first] and came == ["first", "second", "second"]
        assert signal.getsignal(number) is second
        engine.run(made)
        engine.submit(made).wait(120)
        assert signal.getsignal(number) is second


@pytest.mark.usefixtures("handlers")
def test_what_a_handler_raises_within_a_callback_passes_as_it_is() -> None:
    def handler(*_: object) -> None:
        raise ZeroDivisionError

    made = plan(Transfer.whole(IndexSpace(x=1 << 14), FieldSpace(a="u1"), "m0", "<F, x>", "m0", "<F, x>"), MACHINE)
    signal.signal(signal.SIGTERM, handler)
    with Engine(MACHINE, EmulatedMachine()) as engine, pytest.raises(ZeroDivisionError):
        engine.run(made, progress=lambda _: signal.raise_signal(signal.SIGTERM))


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_handlers_that_python_does_not_call_stay(handler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGTERM, handler)
    with defer_interrupts():
        assert signal.getsignal(signal.SIGTERM) == handler
        with permit_interrupts():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (signal.SIG_IGN, handler)
    replaced: list[int] = []
    monkeypatch.setattr(interrupts, "_handler_of", lambda number: None)  # as for a handler that was not installed by Python
    monkeypatch.setattr(interrupts, "_set_handler", lambda number, handler: replaced.append(number))
    with defer_interrupts(), permit_interrupts():
        pass
    assert not replaced


@pytest.mark.usefixtures("handlers")
def test_what_is_installed_while_signals_are_deferred_stays() -> None:
    """By a device, say. A handler of the engine that somebody kept and installs later ends a command as Python's own does."""

    def other(*_: object) -> None: ...

    with defer_interrupts():
        kept = signal.signal(signal.SIGINT, other)
    assert signal.getsignal(signal.SIGINT) is other
    signal.signal(signal.SIGINT, kept)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        signal.raise_signal(signal.SIGINT)
