"""Which nodes could ever run a task group, whatever room they have now.

A node is examined in the order of `CLASS_CHECKS` and `NODE_CHECKS`; the first refusal names its
reason.
"""

from scheduler.engine.feasibility.check import FeasibilityAsk, FeasibilityCheck, RefusedRows
from scheduler.engine.feasibility.constraints import GroupConstraints, JobConstraints
from scheduler.engine.feasibility.devices import Devices
from scheduler.engine.feasibility.drivers import Drivers, Secrets
from scheduler.engine.feasibility.networks import Networks
from scheduler.engine.feasibility.volumes import CSIVolumes, HostVolumes

#: Checks whose answer a computed class stands for (placement.md 2, stages 2 to 8).
CLASS_CHECKS: tuple[FeasibilityCheck, ...] = (
    JobConstraints(),
    Drivers(),
    GroupConstraints(),
    Devices(),
    Networks(),
    Secrets(),
)
#: Checks that differ from node to node of a class (stages 9 and 10).
NODE_CHECKS: tuple[FeasibilityCheck, ...] = (HostVolumes(), CSIVolumes())

__all__ = [
    "CLASS_CHECKS",
    "NODE_CHECKS",
    "FeasibilityAsk",
    "FeasibilityCheck",
    "RefusedRows",
]
