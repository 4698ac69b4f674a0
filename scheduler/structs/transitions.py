"""The law of statuses: which a row may begin with, and which may follow which.

In: a row as it stands and as it is to be. Out: nothing, or IllegalTransition. An open transaction
asks here before it puts a row, so no way into the record leads past it. Staying the same is always
legal. Doors that may receive late news sort it out before; what arrives here is meant.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from scheduler.errors import IllegalTransition
from scheduler.structs.allocation import Allocation, ClientStatus, DesiredStatus
from scheduler.structs.deployment import DEPLOYMENT_ACTIVE, Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.node import Node, NodeStatus


class Named(Protocol):
    """A row that an error can name."""

    @property
    def id(self) -> str:
        """The key of the row."""


Row = TypeVar("Row", bound=Named)
Status = TypeVar("Status", bound=StrEnum)


@dataclass(frozen=True, kw_only=True)
class Law(Generic[Row, Status]):
    """What holds for one status of one kind of row."""

    #: What an error calls the row.
    noun: str
    status_of: Callable[[Row], Status]
    #: What a row that was not there may begin with.
    births: frozenset[Status]
    #: Every status, and those that may come next.
    follows: Mapping[Status, frozenset[Status]]

    def require(self, before: Row | None, after: Row) -> None:
        """Raise IllegalTransition unless the row may become `after`; None: it was not there."""
        status = self.status_of(after)
        if before is None:
            if status not in self.births:
                raise IllegalTransition(f"{self.noun} {after.id} may not begin as {status}")
            return
        was = self.status_of(before)
        if was != status and status not in self.follows[was]:
            raise IllegalTransition(f"{self.noun} {after.id} is {was} and may not become {status}")


#: evaluations.md 3.1.
EVALUATION: Law[Evaluation, EvalStatus] = Law(
    noun="evaluation",
    status_of=lambda row: row.status,
    births=frozenset({EvalStatus.PENDING, EvalStatus.BLOCKED}),
    follows={
        EvalStatus.PENDING: frozenset(
            {EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED}
        ),
        EvalStatus.BLOCKED: frozenset(
            {EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED}
        ),
        # Canceled when the allocations that wait for it came back. Failed when its job was purged
        # under it: the copy a worker holds still runs, and its outcome stands.
        EvalStatus.COMPLETE: frozenset({EvalStatus.CANCELED, EvalStatus.FAILED}),
        EvalStatus.FAILED: frozenset(),
        # It may have been on its way to a worker, whose outcome stands.
        EvalStatus.CANCELED: frozenset({EvalStatus.COMPLETE, EvalStatus.FAILED}),
    },
)

#: control-plane.md 6.2. The first statuses but `running` are those of multiregion rollouts.
DEPLOYMENT: Law[Deployment, DeploymentStatus] = Law(
    noun="deployment",
    status_of=lambda row: row.status,
    births=DEPLOYMENT_ACTIVE - {DeploymentStatus.PAUSED},
    follows={
        status: frozenset(DeploymentStatus) if status in DEPLOYMENT_ACTIVE else frozenset()
        for status in DeploymentStatus
    },
)

_AS_REQUESTED = frozenset({NodeStatus.DOWN, NodeStatus.DISCONNECTED, NodeStatus.INITIALIZING})

#: control-plane.md 9.1, 9.3: a disconnected node reports its allocations before it is ready.
NODE: Law[Node, NodeStatus] = Law(
    noun="node",
    status_of=lambda row: row.status,
    births=frozenset({NodeStatus.INITIALIZING, NodeStatus.READY}),
    follows={
        NodeStatus.INITIALIZING: _AS_REQUESTED | {NodeStatus.READY},
        NodeStatus.READY: _AS_REQUESTED,
        NodeStatus.DISCONNECTED: _AS_REQUESTED,
        NodeStatus.DOWN: _AS_REQUESTED | {NodeStatus.READY},
    },
)

#: Wanted by the server (control-plane.md 1.5, 13.4): nothing stopped is ever wanted again.
DESIRED: Law[Allocation, DesiredStatus] = Law(
    noun="allocation",
    status_of=lambda row: row.desired_status,
    births=frozenset({DesiredStatus.RUN}),
    follows={
        DesiredStatus.RUN: frozenset({DesiredStatus.STOP, DesiredStatus.EVICT}),
        DesiredStatus.STOP: frozenset({DesiredStatus.EVICT}),
        DesiredStatus.EVICT: frozenset({DesiredStatus.STOP}),
    },
)

_ANY = frozenset(ClientStatus)

#: Reported by a node, or `lost` and `unknown` by the server (control-plane.md 10, 13.4). A node
#: that was given up and is back says what its allocations really do; what has ended, has ended.
CLIENT: Law[Allocation, ClientStatus] = Law(
    noun="allocation",
    status_of=lambda row: row.client_status,
    births=frozenset({ClientStatus.PENDING}),
    follows={
        ClientStatus.PENDING: _ANY,
        ClientStatus.RUNNING: _ANY,
        ClientStatus.UNKNOWN: _ANY,
        ClientStatus.LOST: _ANY - {ClientStatus.UNKNOWN},
        ClientStatus.COMPLETE: frozenset({ClientStatus.FAILED}),
        ClientStatus.FAILED: frozenset({ClientStatus.COMPLETE}),
    },
)
