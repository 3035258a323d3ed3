"""A busy computer, made from nothing: every thread of the tests loses its core now and then, for up to a quarter of a second.

`ISOVIZ_STALLS=7 make test ARGS=tests/run/engine`: 7 is the seed. What is red then asserts something that only the clock gives.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from types import FrameType

EVERY = 0.1
"""Seconds that a thread runs between two stalls, on average."""
LENGTHS = (0.003, 0.003, 0.003, 0.01, 0.01, 0.03, 0.03, 0.12, 0.25)


def install(seed: int) -> None:
    """Let the threads of this process stall from now on: at calls of Python functions, in which others go on."""
    chance, own, clock, sleep = random.Random(seed), threading.local(), time.perf_counter, time.sleep

    def called(frame: FrameType, event: str, argument: object) -> None:
        now, due = clock(), getattr(own, "due", None)
        if due is None:
            own.due = now + chance.expovariate(5 / EVERY)
        elif now > due:
            sleep(chance.choice(LENGTHS))
            own.due = clock() + chance.expovariate(1 / EVERY)

    threading.setprofile(called)
    sys.setprofile(called)
