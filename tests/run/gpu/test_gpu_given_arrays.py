"""Random arrays on a played GPU at either end: right, or refused as in host memory."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fake_arrays import FakeArray
from fake_driver import FakeDriver
from gpu_cases import engine, machine

import isoviz
from isoviz.errors import InputError

sys.path.append(str(Path(__file__).parents[2] / "property"))
from array_cases import FLAT, PERMUTED, Case, memory_of, random_case

MACHINE = machine()
HOST = {
    "memmap",
    "bytes",
    "bytearray",
    "memoryview of bytes",
    "memoryview",
    "array.array",
    "mmap",
    "dlpack",
    "sliced, by DLPack",
    "list",
}
"""The forms that no GPU has."""


def on_gpu(driver: FakeDriver, case: Case) -> FakeArray:
    """An array of the same form on the GPU."""
    given = np.asarray(case.given)
    data = np.frombuffer(bytearray(memory_of(case.given)), np.uint8)
    low, _ = np.lib.array_utils.byte_bounds(given)
    first = given.__array_interface__["data"][0] - low
    more = {"descr": given.dtype.descr} if given.dtype.names else {}
    found = FakeArray(driver, data, 0, shape=given.shape, typestr=given.dtype.str, strides=given.strides, **more)
    found.__cuda_array_interface__["data"] = (found._pointer + first, not given.flags.writeable)
    return found


def of_gpu(array: FakeArray, case: Case) -> np.ndarray:
    """What lies on the GPU, as an array of the form that the case gave it."""
    given = np.asarray(case.given)
    return np.ndarray(given.shape, given.dtype, bytearray(array.data.tobytes()), strides=given.strides)


def drop(arrays: list[FakeArray]) -> None:
    for each in arrays:
        each.drop()


def is_taken_by_gpus(case: Case) -> bool:
    dtype = getattr(case.given, "dtype", None)
    return case.form not in HOST and case.form != "masked" and dtype is not None and not dtype.hasobject and _has_descr(dtype)


def _has_descr(dtype: np.dtype[Any]) -> bool:
    try:
        return bool(dtype.itemsize) and dtype.descr is not None
    except ValueError:  # fields out of order
        return False


def test_random_arrays_on_a_gpu(tmp_path: Path, full: bool, report: Callable[[str, object], None]) -> None:
    found: Counter[str] = Counter()
    driver = FakeDriver()
    with engine(driver, MACHINE, tmp_path) as running:
        for number in range(1500 if full else 200):
            rng = random.Random(f"gpu {number}")
            source = random_case(rng, tmp_path)
            destination = random_case(rng, tmp_path, of=source)
            if not is_taken_by_gpus(source) or not is_taken_by_gpus(destination):
                continue
            here, there = rng.choice((("fbm0", "sys"), ("sys", "fbm0"), ("fbm0", "fbm0")))
            ends = [
                on_gpu(driver, each) if side == "fbm0" else each.given for each, side in ((source, here), (destination, there))
            ]
            gpu_arrays = [each for each in ends if isinstance(each, FakeArray)]
            words = f"gpu {number}: {source.form} {source.layout} to {destination.form} {destination.layout}"
            says_enough = not (source.form in FLAT or "ones" in (source.form, destination.form) or 1 in source.sizes.values())
            says_enough &= source.is_axis == destination.is_axis and source.form not in PERMUTED
            try:
                if says_enough and source.values is not None and rng.random() < 0.5:
                    running.copy(ends[0], source.layout, ends[1], destination.layout).wait(60)
                else:
                    space, fields = isoviz.IndexSpace(**source.sizes), isoviz.FieldSpace.of(source.fields)
                    memories = (f"node0.{here}", source.layout, f"node0.{there}", destination.layout)
                    plan = isoviz.plan(isoviz.Transfer.whole(space, fields, *memories), MACHINE)
                    assert running.run(plan, *ends).verified
            except InputError:
                assert source.values is None or destination.values is None, words
                found["refused"] += 1
                drop(gpu_arrays)
                continue
            assert source.values is not None and destination.values is not None, f"{words}: taken"
            if there == "fbm0":
                destination.given = of_gpu(ends[1], destination)
            assert np.array_equal(destination.elements(), source.values), words
            drop(gpu_arrays)
            found["right"] += 1
    assert found["right"] and found["refused"]
    report("random arrays on a played GPU", dict(found))
