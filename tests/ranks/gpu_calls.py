"""Functions that the tests call on ranks: they play GPUs there."""

from __future__ import annotations

import gc

from rank_gpu_cases import PlayedGpus

from isoviz.backends.cuda import gpus
from isoviz.backends.cuda.cupy_driver import Loaded, loaded
from isoviz.launch.this_rank import this_rank

_played: PlayedGpus | None = None


def play_gpus(capacity: int = 1 << 30) -> None:
    """Let CuPy be found on this rank, with a driver that plays two GPUs. It stays the same one, as real GPUs do."""
    global _played
    made = _played = _played or PlayedGpus(this_rank().rank, 2)
    made.driver.capacity = capacity
    made.driver.allocated.clear()
    gpus.loaded = lambda: Loaded(made.driver, "")  # type: ignore[assignment]
    gpus.DefaultMaker = lambda: made.kernels  # type: ignore[assignment,misc]


def stop_playing() -> list[int]:
    """Require that nothing is left of the played GPUs, once the engine is closed. Returns the devices that were used."""
    assert _played is not None
    this_rank().station.release()
    gc.collect()
    _played.require_clean()
    assert _played.driver.used == (0, 0)
    gpus.loaded = loaded
    return sorted(_played.driver.allocated)
