"""Rows taken over as they stand, by someone who does not know how they came to be so.

In: an open change and a row of a world that was written down elsewhere, a capsule for example.
Out: the row, put after a lawful beginning in the same transaction; its event tells the end alone.
"""

from msgspec.structs import replace

from scheduler.ports import Change
from scheduler.structs import transitions
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.node import Node, NodeStatus


def put_found(change: Change, row: Node | Allocation | Deployment | Evaluation) -> None:
    """Put a row of any status. One that is there already may only change as it always may."""
    if isinstance(row, Node):
        if row.status not in transitions.NODE.births and change.node(row.id) is None:
            change.put_node(replace(row, status=NodeStatus.INITIALIZING))
        change.put_node(row)
    elif isinstance(row, Allocation):
        begun = row.changed(desired_status=DesiredStatus.RUN, client_status=ClientStatus.PENDING)
        if begun != row and change.allocation(row.id) is None:
            change.put_allocation(begun)
        change.put_allocation(row)
    elif isinstance(row, Deployment):
        if row.status not in transitions.DEPLOYMENT.births and change.deployment(row.id) is None:
            change.put_deployment(replace(row, status=DeploymentStatus.RUNNING))
        change.put_deployment(row)
    else:
        if row.is_terminal and change.evaluation(row.id) is None:
            change.put_evaluation(row.changed(status=EvalStatus.PENDING))
        change.put_evaluation(row)
