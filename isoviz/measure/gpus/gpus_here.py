"""The GPUs of this computer that a probe measures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isoviz.backends.cuda.gpu import using
from isoviz.backends.cuda.gpus import Gpus
from isoviz.errors import DeviceError, InputError, line, show
from isoviz.this_computer import GpuFacts, nvidia_gpus, pci_link

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver
    from isoviz.machines import Machine

OWNER = "probe, gpus"


def gpus_here(asked: object, gpus: Gpus) -> tuple[GpuFacts, ...]:
    """The GPUs to measure, by number.

    `asked` is None for those that are found, False for none, True for all and at least one, or a collection of numbers.

    Raises:
        InputError: `asked` is something else.
        DeviceError: an asked GPU is absent, or a GPU fails.
    """
    if asked is False:
        return ()
    wanted = None if asked is None or asked is True else _numbers(asked)
    driver = gpus.driver()
    if driver is None:
        if asked is None or wanted == ():
            return ()
        raise DeviceError(f"{OWNER}: {gpus.reason()}")
    count = driver.device_count()
    numbers = tuple(range(count)) if wanted is None else wanted
    if missing := [number for number in numbers if number >= count]:
        have = "GPU 0" if count == 1 else f"GPUs 0 to {count - 1}"
        raise DeviceError(f"{OWNER}: there is no GPU {missing[0]}; this computer has {have}")
    return tuple(_facts(driver, number) for number in numbers)


def _numbers(asked: object) -> tuple[int, ...]:
    if isinstance(asked, str | bytes) or not isinstance(asked, Iterable):
        raise InputError(f"{OWNER}: expected true, false or numbers of GPUs, got {show(asked)}")
    found: set[int] = set()
    for number in asked:
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise InputError(f"{OWNER}: expected numbers of GPUs from 0, got {show(number)}")
        found.add(number)
    return tuple(sorted(found))


def free_bytes(gpus: Gpus, number: int) -> int:
    """The free bytes of a GPU.

    Raises:
        DeviceError: there is no GPU, or it fails.
    """
    driver = gpus.driver()
    if driver is None:
        raise DeviceError(f"{OWNER}: {gpus.reason()}")
    with using(driver, number):
        return driver.free_bytes()[0]


def _facts(driver: CudaDriver, number: int) -> GpuFacts:
    with using(driver, number):
        _, memory = driver.free_bytes()
    name = line(driver.device_name(number)).strip() or "GPU"
    return GpuFacts(number, name, capability(driver.architecture(number)), memory, pci_link(driver.pci_address(number)))


def capability(architecture: str) -> str:
    """The compute capability of an architecture: 9.0 for sm_90."""
    digits = architecture.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}" if digits[:-1].isdigit() else ""


def why_not_measured(machine: Machine) -> str:
    """Why a machine that was just measured has no GPU, although the computer has one; empty otherwise."""
    if machine.measurement is None or machine.measurement.gpus or not nvidia_gpus():
        return ""
    return Gpus().reason()
