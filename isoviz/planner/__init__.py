"""Planning: transfers, the planners, and the plans they make."""

from isoviz.planner.options import PLANNERS, Options
from isoviz.planner.plan import Buffer, Hop, Plan
from isoviz.planner.planners import plan
from isoviz.planner.transfer import Instance, Transfer
from isoviz.planner.transfer_file import TransferFile, load_transfer

__all__ = ["PLANNERS", "Buffer", "Hop", "Instance", "Options", "Plan", "Transfer", "TransferFile", "load_transfer", "plan"]
