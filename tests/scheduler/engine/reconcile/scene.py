"""Small scenes for the cluster reconciler: a job, its allocations, nodes by what befell them."""

import re

import msgspec

from scheduler.engine.reconcile.alloc_set import name_index
from scheduler.engine.reconcile.results import ReconcileResults
from scheduler.engine.reconcile.situation import Situation, UpdateKind
from scheduler.structs.allocation import (
    Allocation,
    AllocState,
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    DesiredTransition,
)
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.job import Job
from scheduler.structs.node import DrainStrategy, Node, NodeStatus
from scheduler.structs.plan_annotations import DesiredUpdates
from scheduler.structs.policies import (
    MINUTE,
    SECOND,
    DisconnectStrategy,
    ReschedulePolicy,
    UpdateStrategy,
)
from scheduler.structs.task_group import TaskGroup
from tests.builders import CountingIDs, make_allocation, make_job, make_node, make_task_group

NOW = 1_750_000_000 * SECOND
EVAL = "cccccccc-0000-0000-0000-000000000001"
OTHER_EVAL = "cccccccc-0000-0000-0000-000000000002"

RUNNING, PENDING, FAILED = ClientStatus.RUNNING, ClientStatus.PENDING, ClientStatus.FAILED
COMPLETE, LOST, UNKNOWN = ClientStatus.COMPLETE, ClientStatus.LOST, ClientStatus.UNKNOWN
STOP, EVICT = DesiredStatus.STOP, DesiredStatus.EVICT

POLICY = ReschedulePolicy(
    attempts=2, interval=10 * MINUTE, delay=5 * SECOND, delay_function="constant"
)
#: Nodes an allocation can be on; those in the map are tainted.
TAINTED: dict[str, Node | None] = {
    "draining": make_node(2, drain_strategy=DrainStrategy()),
    "down": make_node(3, status=NodeStatus.DOWN),
    "disconnected": make_node(4, status=NodeStatus.DISCONNECTED),
    "initializing": make_node(5, status=NodeStatus.INITIALIZING),
    "gone": None,
}


def group(count: int = 10, name: str = "web", **fields: object) -> TaskGroup:
    return make_task_group(name=name, count=count, **{"reschedule_policy": POLICY, **fields})


def job(count: int = 10, **fields: object) -> Job:
    """Version 1 of a service job with one group; group fields and job fields by their names."""
    of_group = {name: fields.pop(name) for name in list(fields) if name in _GROUP_FIELDS}
    return make_job(**{"version": 1, "task_groups": (group(count, **of_group),), **fields})


_GROUP_FIELDS = frozenset(TaskGroup.__struct_fields__) - frozenset(Job.__struct_fields__) | {
    "update"
}


def update(
    max_parallel: int = 4, canary: int = 0, *, auto_promote: bool = False
) -> UpdateStrategy:
    return UpdateStrategy(max_parallel=max_parallel, canary=canary, auto_promote=auto_promote)


def disconnect(
    lost_after: int = 5 * MINUTE,
    *,
    replace: bool | None = None,
    reconcile: str = "",
    stop_after: int | None = None,
) -> DisconnectStrategy:
    return DisconnectStrategy(
        lost_after=lost_after,
        replace=replace,
        reconcile=reconcile,
        stop_on_client_after=stop_after,
    )


def alloc(of: Job, index: int, node: str = "ready", tag: str = "", **fields: object) -> Allocation:
    """Running allocation `index` of the job's first group; `tag` tells namesakes apart."""
    defaults: dict[str, object] = {
        "id": f"{index}{tag}",
        "node_id": node,
        "client_status": RUNNING,
        "modify_time": 0,
    }
    return make_allocation(of, index, **{**defaults, **fields})


def allocs(of: Job, *indexes: int, **fields: object) -> list[Allocation]:
    return [alloc(of, index, **fields) for index in indexes]


def flags(**wishes: bool) -> DesiredTransition:
    return DesiredTransition(**wishes)


def canary(*, healthy: bool | None = None) -> DeploymentHealth:
    return DeploymentHealth(canary=True, healthy=healthy)


def was_unknown(at: int = NOW - MINUTE) -> tuple[AllocState, ...]:
    return (AllocState(value="unknown", time=at),)


def deployment(
    of: Job, status: DeploymentStatus = DeploymentStatus.RUNNING, **groups: GroupRollout
) -> Deployment:
    """A deployment of this job version; `web` gets an empty part unless parts are given."""
    return Deployment(
        id="dep",
        job_id=of.id,
        job_version=of.version,
        job_create_index=of.create_index,
        status=status,
        task_groups=groups or {"web": GroupRollout()},
        create_index=30,
    )


def older(of: Job) -> Job:
    return msgspec.structs.replace(of, version=of.version - 1)


def ignore(*_: object) -> UpdateKind:
    return UpdateKind.IGNORE


def destructive(*_: object) -> UpdateKind:
    return UpdateKind.DESTRUCTIVE


def in_place(changed: Allocation, *_: object) -> Allocation:
    return changed


def old_destructive(existing: Allocation, current: Job, _: TaskGroup) -> UpdateKind:
    return UpdateKind.DESTRUCTIVE if existing.job_version < current.version else UpdateKind.IGNORE


def situation(current: Job | None, existing: list[Allocation], **fields: object) -> Situation:
    """A situation in which every allocation's job has the current job's groups."""
    known = fields.pop("known_as", None) or current

    def job_of(existing_alloc: Allocation) -> Job | None:
        if known is None:
            return None
        return msgspec.structs.replace(
            known,
            version=existing_alloc.job_version,
            create_index=existing_alloc.job_create_index,
        )

    defaults: dict[str, object] = {
        "job": current,
        "job_id": "web",
        "is_batch": current is not None and current.type == "batch",
        "deployment": None,
        "allocations": existing,
        "eval_id": EVAL,
        "eval_priority": 50,
        "tainted": TAINTED,
        "now": NOW,
        "judge_update": ignore,
        "job_of": job_of,
        "ids": CountingIDs(prefix="e"),
    }
    return Situation(**{**defaults, **fields})


def counters(text: str) -> DesiredUpdates:
    """`Place 5, Ignore 10` as counters."""
    pairs = (part.split() for part in text.split(", ") if part)
    return DesiredUpdates(
        **{re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): int(n) for name, n in pairs}
    )


def placed(results: ReconcileResults) -> list[int]:
    return [_index(placement.name) for placement in results.place]


def stopped(results: ReconcileResults) -> list[int]:
    return sorted(name_index(stop.alloc) for stop in results.stop)


def replaced(results: ReconcileResults) -> list[int]:
    return [_index(update.name) for update in results.destructive]


def _index(name: str) -> int:
    return int(name[name.rindex("[") + 1 : -1])


def updates_of(results: ReconcileResults) -> list[tuple[str, str]]:
    return [(one.status.value, one.status_description) for one in results.deployment_updates]


def rolling(
    strategy, *, count: int = 10, held: int = 10, state: GroupRollout | None = None, **fields
) -> Situation:
    """Old allocations under a new version with an update block; with a `state`, under way."""
    current = job(count, update=strategy)
    extra = fields.pop("extra", lambda _: [])(current)
    if state is not None:
        status = fields.pop("status", DeploymentStatus.RUNNING)
        fields["deployment"] = deployment(current, status, web=state)
    existing = [*allocs(older(current), *range(held)), *extra]
    return situation(current, existing, judge_update=old_destructive, **fields)


def canaries(of, *indexes: int, tag: str = "-canary", **fields) -> list[Allocation]:
    return [
        alloc(
            of,
            index,
            tag=tag,
            **{
                "deployment_id": "dep",
                "deployment_status": canary(healthy=True),
                **fields,
            },
        )
        for index in indexes
    ]


def canary_state(*ids: str, desired: int = 2, **fields: object) -> GroupRollout:
    return GroupRollout(placed_canaries=ids, desired_canaries=desired, **fields)
