"""The runtime: it carries out plans. It uses memories and channels only through protocols (see `isoviz.runtime.protocols`)."""

from isoviz.runtime.engine.engine import BaseEngine
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer
from isoviz.runtime.engine.progress import Progress
from isoviz.runtime.protocols import CancelToken, Devices, Endpoint, RealChannel, RealMemory, Slot, Store
from isoviz.runtime.simulator import Simulator, simulate
from isoviz.runtime.trace.critical_path import critical_path
from isoviz.runtime.trace.report import HopMeasurement, Report
from isoviz.runtime.trace.trace import RequestSpan, Span, Trace, TransferSpan
from isoviz.scheduling.coordinator import Coordinator
from isoviz.scheduling.pool import XD, ChannelState, first_come_first_served, highest_priority_first
from isoviz.scheduling.rank_scheduler import RankScheduler
from isoviz.scheduling.scheduler import Scheduler

__all__ = [
    "XD",
    "BaseEngine",
    "CancelToken",
    "ChannelState",
    "Coordinator",
    "Devices",
    "Endpoint",
    "Event",
    "HopMeasurement",
    "PreparedTransfer",
    "Progress",
    "RankScheduler",
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
    "critical_path",
    "first_come_first_served",
    "highest_priority_first",
    "simulate",
]
