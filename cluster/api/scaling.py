"""Scaling groups of jobs and the policies that bound it (http-api.md 4.7, doors.md 3).

In: a call. Out: what became of a request to scale, a group's state with its newest events,
policies as an autoscaler follows them.
"""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.job_writes import written_form
from cluster.api.jobs import NOT_FOUND
from cluster.api.paging import read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_job, watch_row, watch_table
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.store.ports import Listing, RecordReader
from scheduler.access.access import EVERY_NAMESPACE, Access
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.job import Job
from scheduler.structs.scaling import ScalingEvent
from scheduler.structs.task_group import ScalingPolicy, TaskGroup

#: These two together read policies as well as a right of their own does.
_JOB_READER = ("list-jobs", "read-job")
_LIST, _READ = "list-scaling-policies", "read-scaling-policy"


async def scale(call: Call, job_id: str) -> HttpResponse:
    """PUT /v1/job/<id>/scale."""
    body = call.body("ScalingRequest")
    count = body.number("Count", "int64") if body.has("Count") else None
    target = body.texts("Target")
    if target.get("Job", job_id) not in {"", job_id}:
        raise OperationRefused("job ID in payload did not match URL")
    key = call.key_of_job(job_id)
    request = ScalingRequest(
        namespace=target.get("Namespace", ""),
        task_group=target.get("Group", ""),
        count=count,
        message=body.text("Message"),
        error=body.flag("Error"),
        meta=body.free("Meta"),
        job_modify_index=body.number("JobModifyIndex"),
    )
    written = await call.write(scale_job, key, request)
    return answer_write(call.request, written_form(written), written.index)


async def scale_status(call: Call, job_id: str) -> HttpResponse:
    """GET /v1/job/<id>/scale."""
    call.require("read-job", "read-job-scaling")
    key = call.key_of_job(job_id)

    def work(reader: RecordReader) -> Found:
        job = reader.job(key)
        if job is None:
            return Found(index=reader.table_index("jobs"), missing=NOT_FOUND)
        allocs = [
            alloc
            for alloc in reader.allocations_by_job(key)
            if alloc.job_create_index == job.create_index
        ]
        events = reader.list_by(SCALING_EVENTS, "job", key)
        moved = [alloc.modify_index for alloc in allocs]
        moved += [event.create_index for event in events]
        index = max(job.modify_index, *moved, 0)
        return Found(index=index, body=_status(job, allocs, events[::-1]))

    watches = (watch_job(key), watch_row("allocations", job_id))
    return await answer_read(call, work, *watches, watch_row("scaling_events", job_id))


async def list_policies(call: Call) -> HttpResponse:
    """GET /v1/scaling/policies, in order of their ids."""
    if call.namespace != EVERY_NAMESPACE:
        _require(call.caller, call.namespace, _LIST)
    listing = read_listing(call.query)
    job_id, policy_type = call.query.get("job", ""), call.query.get("type", "")

    def work(reader: RecordReader) -> Found:
        wanted = Listing(
            prefix=listing.prefix,
            namespaces=policy_namespaces(call, reader),
            equals={"job_id": job_id} if job_id else {},
        )
        stubs = [
            _stub(policy)
            for policy in reader.walk(SCALING_POLICIES, wanted)
            if policy.type.startswith(policy_type)
            and (listing.filter is None or listing.filter.wants(policy))
        ]
        return Found(index=reader.table_index("scaling_policies"), body=stubs)

    return await answer_read(call, work, watch_table("scaling_policies"))


async def read_policy(call: Call, policy_id: str) -> HttpResponse:
    """GET /v1/scaling/policy/<id>: by id alone, with the right of the namespace it is in."""
    _require(call.caller, call.namespace, _READ)

    def work(reader: StateReader) -> Found:
        policy = reader.get(SCALING_POLICIES, policy_id)
        if policy is None or not _may(call.caller.access, policy.job_key.namespace, _READ):
            index = reader.table_index("scaling_policies")
            return Found(index=index, missing="policy not found")
        return Found(index=policy.modify_index, body=to_plain(policy))

    return await answer_read(call, work, watch_row("scaling_policies", policy_id))


def searches_policies(access: Access, namespace: str) -> bool:
    """Whether the policies of a namespace may be listed; `*`: of any."""
    return _may(access, namespace, _LIST)


def _may(access: Access, namespace: str, capability: str) -> bool:
    return access.allows(namespace, capability) or all(
        access.allows(namespace, each) for each in _JOB_READER
    )


def _require(caller: Caller, namespace: str, capability: str) -> None:
    if not _may(caller.access, namespace, capability):
        others = " and ".join(_JOB_READER)
        raise NotAllowed(missing=f"{capability}, or {others}, in namespace {namespace}")


def policy_namespaces(call: Call, reader: StateReader) -> frozenset[str] | None:
    """The namespaces whose policies a list shows; None for all."""
    own = call.listed(reader, _LIST)
    both = _common(*(call.listed(reader, each) for each in _JOB_READER))
    return None if own is None or both is None else own | both


def _common(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The namespaces in both; None stands for all."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _stub(policy: ScalingPolicy) -> dict[str, Any]:
    plain = to_plain(policy)
    names = ("ID", "Enabled", "Type", "Target", "CreateIndex", "ModifyIndex")
    return {name: plain[name] for name in names}


def _status(job: Job, allocs: list[Allocation], events: Any) -> dict[str, Any]:
    return {
        "JobID": job.id,
        "Namespace": job.namespace,
        "JobCreateIndex": job.create_index,
        "JobModifyIndex": job.job_modify_index,
        "JobStopped": job.stop,
        "TaskGroups": {
            group.name: _group_status(
                group,
                [alloc for alloc in allocs if alloc.task_group == group.name],
                [event for event in events if event.task_group == group.name],
            )
            for group in job.task_groups
        },
    }


def _group_status(
    group: TaskGroup, allocs: list[Allocation], events: list[ScalingEvent]
) -> dict[str, Any]:
    """What is there of a group. Canaries are not counted, nor what has ended."""
    counted = [alloc for alloc in allocs if not alloc.is_terminal and not _is_canary(alloc)]
    health = [alloc.deployment_status for alloc in counted if alloc.deployment_status]
    return {
        "Desired": group.count,
        "Placed": len(counted),
        "Running": sum(alloc.client_status is ClientStatus.RUNNING for alloc in counted),
        "Healthy": sum(each.healthy is True for each in health),
        "Unhealthy": sum(each.healthy is False for each in health),
        "Events": [_event_form(event) for event in events] or None,
    }


def _is_canary(alloc: Allocation) -> bool:
    return alloc.deployment_status is not None and alloc.deployment_status.canary


def _event_form(event: ScalingEvent) -> dict[str, Any]:
    return {
        "Time": event.time,
        "Count": event.count,
        "PreviousCount": event.previous_count,
        "Message": event.message,
        "Error": event.error,
        "Meta": event.meta or None,
        "EvalID": event.eval_id or None,
        "CreateIndex": event.create_index,
    }
