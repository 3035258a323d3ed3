"""Arrays that a client gives to ranks, and what arrives of them."""

from __future__ import annotations

import numpy as np


def table(size: int) -> np.ndarray:
    """A square of structs: a float32 and an int64."""
    rng = np.random.default_rng(size)
    found = np.zeros((size, size), [("a", "<f4"), ("b", "<i8")])
    found["a"], found["b"] = rng.random((size, size)), rng.integers(-(1 << 40), 1 << 40, (size, size))
    return found


def turned(given: np.ndarray) -> bytes:
    """Every field as a column, transposed."""
    return given["a"].T.tobytes() + given["b"].T.tobytes()
