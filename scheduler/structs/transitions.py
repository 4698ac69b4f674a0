"""The law of statuses: which may follow which. Whoever changes a status asks here.

In: a status and the next one. Out: whether that is legal, or IllegalTransition. Staying the same
is always legal.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from scheduler.errors import IllegalTransition
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import DEPLOYMENT_ACTIVE, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeStatus

Status = TypeVar("Status", bound=StrEnum)

#: evaluations.md 3.1. A canceled one may have been on its way to a worker, whose outcome stands.
EVALUATION: Mapping[EvalStatus, frozenset[EvalStatus]] = {
    EvalStatus.PENDING: frozenset({EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED}),
    EvalStatus.BLOCKED: frozenset({EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED}),
    # Its allocations came back: the follow-up has lost its reason.
    EvalStatus.COMPLETE: frozenset({EvalStatus.CANCELED}),
    EvalStatus.FAILED: frozenset(),
    EvalStatus.CANCELED: frozenset({EvalStatus.COMPLETE, EvalStatus.FAILED}),
}

#: control-plane.md 6.2.
DEPLOYMENT: Mapping[DeploymentStatus, frozenset[DeploymentStatus]] = {
    status: frozenset(DeploymentStatus) if status in DEPLOYMENT_ACTIVE else frozenset()
    for status in DeploymentStatus
}

#: control-plane.md 9.3.
NODE: Mapping[NodeStatus, frozenset[NodeStatus]] = {
    NodeStatus.INITIALIZING: frozenset({NodeStatus.READY, NodeStatus.DOWN}),
    NodeStatus.READY: frozenset(
        {NodeStatus.DOWN, NodeStatus.DISCONNECTED, NodeStatus.INITIALIZING}
    ),
    NodeStatus.DISCONNECTED: frozenset({NodeStatus.INITIALIZING, NodeStatus.DOWN}),
    NodeStatus.DOWN: frozenset({NodeStatus.READY, NodeStatus.INITIALIZING}),
}

#: Wanted by the server: nothing stopped is ever wanted again.
DESIRED: Mapping[DesiredStatus, frozenset[DesiredStatus]] = {
    DesiredStatus.RUN: frozenset({DesiredStatus.STOP, DesiredStatus.EVICT}),
    DesiredStatus.STOP: frozenset({DesiredStatus.EVICT}),
    DesiredStatus.EVICT: frozenset({DesiredStatus.STOP}),
}

_LIVE = frozenset(ClientStatus)

#: Reported by a node, or `lost` and `unknown` by the server; a node that returns may correct both.
CLIENT: Mapping[ClientStatus, frozenset[ClientStatus]] = {
    ClientStatus.PENDING: _LIVE,
    ClientStatus.RUNNING: _LIVE,
    ClientStatus.UNKNOWN: _LIVE,
    ClientStatus.LOST: frozenset({ClientStatus.COMPLETE, ClientStatus.FAILED}),
    ClientStatus.COMPLETE: frozenset({ClientStatus.FAILED}),
    ClientStatus.FAILED: frozenset({ClientStatus.COMPLETE}),
}


def is_legal(law: Mapping[Status, frozenset[Status]], before: Status, after: Status) -> bool:
    """Whether `after` may follow `before`."""
    return before is after or after in law[before]


def require_legal(law: Mapping[Status, frozenset[Status]], before: Status, after: Status) -> None:
    """Raise IllegalTransition unless `after` may follow `before`."""
    if not is_legal(law, before, after):
        raise IllegalTransition(f"{before.value} may not become {after.value}")
