"""Arrays spread over ranks, and their redistribution.

`Distribution` says how an index space is spread over ranks. `DistributedInstance` adds fields, the layout of every rank's part
and the memory. `plan_redistribution` plans everything that ranks send each other to get from one distributed instance to another.
"""

from isoviz.redistribution.distributed_instance import DistributedInstance
from isoviz.redistribution.distribution import Distribution
from isoviz.redistribution.files import instance_from_json, redistribution_from_json, redistribution_to_json
from isoviz.redistribution.planning import plan_redistribution
from isoviz.redistribution.redistribution_plan import RedistributionPlan, Sending

__all__ = [
    "DistributedInstance",
    "Distribution",
    "RedistributionPlan",
    "Sending",
    "instance_from_json",
    "plan_redistribution",
    "redistribution_from_json",
    "redistribution_to_json",
]
