"""The runtime: what carries plans out. It knows memories and channels by protocols only (see `isoviz.runtime.protocols`)."""

from isoviz.runtime.engine import Engine, Progress
from isoviz.runtime.protocols import CancelToken, Devices, Endpoint, RealChannel, RealMemory, Slot, Store
from isoviz.runtime.report import HopMeasurement, Report

__all__ = [
    "CancelToken",
    "Devices",
    "Endpoint",
    "Engine",
    "HopMeasurement",
    "Progress",
    "RealChannel",
    "RealMemory",
    "Report",
    "Slot",
    "Store",
]
