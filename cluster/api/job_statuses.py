"""Jobs with their allocations and rollouts in one list, newest change first (doors.md 6).

In: a call. Out: a page of jobs as a page of theirs shows them, and the wait for its next change.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.paging import Page, Rows, page_of_rows, read_listing
from cluster.api.parameters import read_flag, read_index
from cluster.api.request import Call
from cluster.api.respond import Found
from cluster.api.watches import watch_row, watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require
from cluster.store.blocking import Watch
from cluster.store.ports import Listing, RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.state import nouns
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.job import Job

_RIGHT = "read-job"
#: A job of this meta key was made by `nomad-pack`.
_PACK = "pack.name"


class _Item(NamedTuple):
    """A job of the page, and the index at which any of what it shows changed last."""

    form: dict[str, Any]
    changed_at: int
    key: JobKey


async def list_statuses(call: Call) -> HttpResponse:
    """GET /v1/jobs/statuses."""
    call.require(_RIGHT)
    shows_children = read_flag(call.query, "include_children") or False
    # Newest first, unless the other way is asked for.
    listing = read_listing(call.query)
    token = listing.next_token
    if not listing.reverse and token.isascii() and token.isdigit():
        # An index alone stands for all that was written there; a position would begin after them.
        token = str(int(token[:20]) + 1)
    listing = msgspec.structs.replace(
        listing, prefix="", reverse=not listing.reverse, next_token=token
    )

    def page(reader: RecordReader) -> Page:
        rows = Rows(
            noun=nouns.JOBS,
            namespaces=call.listed(reader, _RIGHT),
            equals={} if shows_children else {"parent_id": ""},
            by_change=True,
        )
        found = page_of_rows(reader, rows, listing, lambda job: _item(reader, job))
        last = found.items[-1].form["ModifyIndex"] if found.items else 0
        index, _, _ = found.next_token.partition(".")
        # What was changed in one write may be cut in two: then the token says where.
        return found if index == str(last) else Page(found.items, index)

    return await _answer(call, page)


async def named_statuses(call: Call) -> HttpResponse:
    """POST /v1/jobs/statuses: of the jobs that the body names, or as GET without a body."""
    if not call.raw_body.strip():
        return await list_statuses(call)
    try:
        body = call.body("JobStatusesRequest")
        keys = [_key(each) for each in body.objects("jobs")]
        shows_children = body.flag("include_children")
    except OperationRefused as refused:
        if refused.status != OperationRefused.status:
            raise
        raise OperationRefused(f"error decoding request: {refused}") from None
    if not keys:
        raise OperationRefused("no jobs in request")
    namespaces = {key.namespace for key in keys}
    require(call.caller, namespaces.pop() if len(namespaces) == 1 else EVERY_NAMESPACE, _RIGHT)
    # Nothing is named by a NUL, and PostgreSQL would not even look for one.
    wanted = {
        key
        for key in keys
        if call.allows(key.namespace, _RIGHT) and "\0" not in key.namespace + key.job_id
    }
    chosen = read_listing(call.query).filter

    def page(reader: RecordReader) -> Page:
        jobs = [
            job
            for job in reader.jobs_among(wanted)
            if (shows_children or not job.parent_id) and (chosen is None or chosen.wants(job))
        ]
        jobs.sort(key=lambda job: (job.modify_index, job.key), reverse=True)
        return Page([_item(reader, job) for job in jobs], "")

    return await _answer(call, page)


async def _answer(call: Call, page: Callable[[RecordReader], Page]) -> HttpResponse:
    """The page once its index is greater than the one asked for, or its jobs are others.

    A job that is gone leaves no younger change on the page. What was on it when the caller looked
    last is not known, so a first look is answered at once when any job changed since.
    """
    asked = read_index(call.query)
    before: list[frozenset[JobKey]] = []

    def work(reader: RecordReader) -> Found:
        found = page(reader)
        index = max((item.changed_at for item in found.items), default=0)
        keys = frozenset(item.key for item in found.items)
        jobs_index = reader.table_index("jobs")
        are_others = before[0] != keys if before else 0 < asked < jobs_index
        # Never lower than what was answered before.
        index = max(index, jobs_index if are_others else min(asked, jobs_index))
        before[:] = [keys]
        return Found(
            index=index,
            body=[item.form for item in found.items],
            next_token=found.next_token,
            watches=tuple(_watches(keys)),
        )

    return await answer_read(call, work, watch_table("jobs"))


def _watches(keys: Iterable[JobKey]) -> Iterable[Watch]:
    for key in keys:
        yield watch_row("allocations", key.job_id)
        yield watch_row("deployments", key.job_id)


def _key(body: Body) -> JobKey:
    return JobKey(body.text("namespace") or DEFAULT_NAMESPACE, body.text("id"))


def _item(reader: RecordReader, job: Job) -> _Item:
    is_parent = job.is_periodic or job.is_parameterized
    allocs = [
        alloc
        for alloc in (() if is_parent else reader.allocations_by_job(job.key))
        if alloc.job_create_index == job.create_index
    ]
    children = _children(reader, job) if is_parent else []
    deployment = next(iter(reversed(reader.deployments_by_job(job.key))), None)
    moved = [alloc.modify_index for alloc in allocs]
    moved += [child.modify_index for child in children]
    if deployment is not None:
        moved.append(deployment.modify_index)
    form = {
        "ID": job.id,
        "Namespace": job.namespace,
        "Name": job.name,
        "Type": job.type,
        "NodePool": job.node_pool,
        "Datacenters": list(job.datacenters),
        "Priority": job.priority,
        "Version": job.version,
        "ParentID": job.parent_id,
        "SubmitTime": job.submit_time,
        "ModifyIndex": job.modify_index,
        "Allocs": [_alloc_form(alloc) for alloc in allocs] or None,
        "GroupCountSum": sum(group.count for group in job.task_groups),
        "ChildStatuses": [child.status for child in children] if is_parent else None,
        "LatestDeployment": None if deployment is None else _deployment_form(deployment),
        "Stop": job.stop,
        "IsPack": _PACK in job.meta,
        "Status": job.status,
    }
    return _Item(form, max(job.modify_index, *moved, 0), job.key)


def _children(reader: RecordReader, job: Job) -> list[Job]:
    listing = Listing(
        prefix=f"{job.id}/",
        namespaces={job.namespace},
        equals={"parent_id": job.id},
    )
    return list(reader.walk(nouns.JOBS, listing))


def _alloc_form(alloc: Allocation) -> dict[str, Any]:
    health = alloc.deployment_status
    return {
        "ID": alloc.id,
        "Group": alloc.task_group,
        "ClientStatus": alloc.client_status.value,
        "NodeID": alloc.node_id,
        "DeploymentStatus": {
            "Canary": health is not None and health.canary,
            "Healthy": None if health is None else health.healthy,
        },
        "JobVersion": alloc.job_version,
        "FollowupEvalID": alloc.followup_eval_id,
        "HasPausedTask": False,
    }


def _deployment_form(deployment: Deployment) -> dict[str, Any]:
    with_canaries = [each for each in deployment.task_groups.values() if each.desired_canaries]
    is_running = deployment.status is DeploymentStatus.RUNNING and bool(deployment.task_groups)
    return {
        "ID": deployment.id,
        "IsActive": deployment.is_active,
        "JobVersion": deployment.job_version,
        "Status": deployment.status.value,
        "StatusDescription": deployment.status_description,
        "AllAutoPromote": is_running and all(each.auto_promote for each in with_canaries),
        "RequiresPromotion": is_running and any(not each.promoted for each in with_canaries),
    }
