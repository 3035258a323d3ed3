"""Signals that end a command."""

from __future__ import annotations

import signal
import sys
import time
import weakref

import pytest

from isoviz.cli.output import watched


class Watched:
    """Something that weak references can look at."""


def test_a_signal_inside_a_callback_of_the_collector_ends_the_command() -> None:
    """Python drops the exception that the handler raises there."""
    before = sys.unraisablehook, signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGTERM)
    thing = Watched()
    _reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))

    def collected() -> None:
        nonlocal thing
        with watched():
            del thing
            end = time.monotonic() + 10
            while time.monotonic() < end:
                pass

    with pytest.raises(KeyboardInterrupt) as caught:
        collected()
    assert caught.value.args == (signal.SIGTERM,)
    assert before == (sys.unraisablehook, signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGTERM))


def test_a_command_that_ends_meanwhile_is_not_ended_by_the_timer() -> None:
    """The block ends before the exception is raised again: no timer is left, which would end the process."""
    thing = Watched()
    _reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))
    with watched():
        del thing
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
