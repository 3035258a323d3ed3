"""The runtime: what carries plans out. It knows memories and channels by protocols only (see `isoviz.runtime.protocols`)."""

from isoviz.runtime.engine import Engine
from isoviz.runtime.event import Event
from isoviz.runtime.pool import first_come_first_served, highest_priority_first
from isoviz.runtime.protocols import CancelToken, Devices, Endpoint, RealChannel, RealMemory, Slot, Store
from isoviz.runtime.report import HopMeasurement, Report
from isoviz.runtime.scheduler import Scheduler
from isoviz.runtime.simulator import Simulator, simulate
from isoviz.runtime.trace import RequestSpan, Span, Trace, TransferSpan
from isoviz.runtime.watching import Progress

__all__ = [
    "CancelToken",
    "Devices",
    "Endpoint",
    "Engine",
    "Event",
    "HopMeasurement",
    "Progress",
    "RealChannel",
    "RealMemory",
    "Report",
    "RequestSpan",
    "Scheduler",
    "Simulator",
    "Slot",
    "Span",
    "Store",
    "Trace",
    "TransferSpan",
    "first_come_first_served",
    "highest_priority_first",
    "simulate",
]
