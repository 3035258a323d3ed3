"""Several threads give transfers to engines on one real GPU at the same time."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from one_gpu import DSK, held, machine, taken
from run_cases import elements, random_bytes, random_layout, random_spaces

from isoviz import Engine, Transfer, plan
from isoviz.backends.devices import ThisComputer

pytestmark = pytest.mark.gpu
THREADS = 6


def test_threads_share_engines(tmp_path: Path, full: bool, report: Callable[[str, object], None]) -> None:
    """Half of the threads share an engine, the others have one of their own on the same GPU."""
    made = machine()
    errors: list[BaseException] = []
    done: list[int] = []

    def work(number: int, shared: Engine) -> None:
        rng = random.Random(number)
        own = shared if number % 2 else Engine(made, ThisComputer(tmp_path))
        try:
            for _ in range(20 if full else 3):
                jobs = []
                for _ in range(4):
                    space, fields = random_spaces(rng, largest=24)
                    here, there = random_layout(rng, space), random_layout(rng, space)
                    near, far = (rng.choice([memory.name for memory in made.memories if memory.name != DSK]) for _ in range(2))
                    a, b = here.on(space, fields), there.on(space, fields)
                    data = random_bytes(rng, a.nbytes)
                    ends = held(near, data, tmp_path), held(far, np.zeros(b.nbytes, "u1"), tmp_path)
                    chosen = plan(Transfer.whole(space, fields, near, here, far, there), made)
                    jobs.append((own.submit(chosen, *ends, priority=rng.randrange(3)), a, b, data, ends))
                for event, a, b, data, ends in jobs:
                    event.wait(60)
                    assert elements(a, data) == elements(b, taken(ends[1]))
                    done.append(number)
        except BaseException as error:  # noqa: BLE001  # the test raises it
            errors.append(error)
        finally:
            if own is not shared:
                own.close()

    with Engine(made, ThisComputer(tmp_path)) as shared:
        threads = [threading.Thread(target=work, args=(number, shared)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    report("transfers of several threads on a GPU, equal element by element", len(done))
