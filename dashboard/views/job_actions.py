"""Buttons of jobs and allocations: each asks an operation, then leads to what came of it."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.agent_calls import order_agent
from cluster.operations.allocations import stop_allocation
from cluster.operations.errors import OperationRefused
from cluster.operations.jobs import (
    JobRegistration,
    JobWritten,
    deregister_job,
    evaluate_job,
    register_job,
)
from cluster.operations.rights import require
from cluster.page_addresses import job_url
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.page import action
from dashboard.queries.job_source import submission_of
from dashboard.rehearsed_acts import stop_change
from dashboard.rehearsing import rehearse_act
from dashboard.rights import ACTIONS
from dashboard.viewer import Viewer
from dashboard.views.job_forms import job_of_form
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: Seconds an agent may take to take an order.
_PATIENCE_S = 10.0

Ordered = Callable[[HttpRequest, Viewer, Job], Awaitable[JobWritten]]


@action
async def stop_job(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/stop/; with `rehearse`, what that would do."""
    if "rehearse" in request.POST:
        return await _rehearsed(request, viewer, "stop")
    return await _ordered(request, viewer, _stop, gettext("{job} is being stopped."))


@action
async def purge_job(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/purge/; with `rehearse`, what that would do."""
    if "rehearse" in request.POST:
        return await _rehearsed(request, viewer, "purge")
    return await _ordered(
        request, viewer, _purge, gettext("{job} is purged with all its versions.")
    )


@action
async def start_job(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/start/: the stopped job again, as a new version."""
    return await _ordered(request, viewer, _start, gettext("{job} starts again."))


@action
async def evaluate(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/evaluate/: look at it again."""
    return await _ordered(request, viewer, _evaluate, gettext("{job} is evaluated again."))


@action
async def stop(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /allocations/stop/."""
    alloc = await _allocation(request, viewer)
    if alloc is None:
        return _gone(request, "/jobs/")
    clock_ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        stopped = await the_store().awrite_call(
            stop_allocation, alloc.id, by=viewer.caller, now=viewer.now, ids=clock_ids
        )
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused)
        messages.error(request, gettext("Not stopped: {refused}.").format(refused=refused))
        return redirect(f"/allocations/{alloc.id}/")
    messages.success(
        request,
        gettext("{alloc} is being stopped. This is how it is replaced.").format(alloc=alloc.name),
    )
    return redirect(f"/evaluations/{stopped.eval_id}/")


@action
async def restart(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /allocations/restart/: all tasks, or the one named."""
    alloc = await _allocation(request, viewer)
    if alloc is None:
        return _gone(request, "/jobs/")
    task = request.POST.get("task", "")
    body: dict[str, object] = {"AllocID": alloc.id, "TaskName": task, "AllTasks": not task}
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await order_agent(alloc, "restart", body, by=viewer.caller, now=viewer.now)
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused)
        messages.error(request, gettext("Not restarted: {refused}.").format(refused=refused))
    except TimeoutError as error:
        note_refusal(request, viewer.caller, error)
        messages.error(request, gettext("Not restarted: the node does not answer."))
    else:
        messages.success(request, gettext("{task} restarts.").format(task=task or alloc.name))
    return redirect(f"/allocations/{alloc.id}/")


async def _rehearsed(request: HttpRequest, viewer: Viewer, act: str) -> HttpResponseBase:
    """Stopping or purging a job, on a copy of the cluster."""
    job = await job_of_form(request, viewer)
    if job is None:
        return _gone(request, "/jobs/")
    told = Act(f"{act} job", "job", job.id, job.namespace)
    try:
        require(viewer.caller, job.namespace, *ACTIONS[act])
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused, told)
        messages.error(
            request, gettext("Not rehearsed: {refused}.").format(refused=str(refused).strip())
        )
        return redirect(job_url(job.key))
    change = stop_change(job.key, purge=act == "purge")
    return await rehearse_act(request, viewer, change, told, back=job_url(job.key))


async def _ordered(
    request: HttpRequest, viewer: Viewer, order: Ordered, told: str
) -> HttpResponseBase:
    key = JobKey(request.POST.get("namespace", ""), request.POST.get("job", ""))
    job = await the_store().aread(lambda reader: reader.job(key))
    if job is None or not viewer.sees(key.namespace):
        return _gone(request, "/jobs/")
    try:
        written = await order(request, viewer, job)
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused)
        messages.error(
            request,
            gettext("Nothing was changed: {refused}.").format(refused=str(refused).strip()),
        )
        return redirect(job_url(key))
    messages.success(request, told.format(job=job.id))
    if written.eval_id:
        return redirect(f"/evaluations/{written.eval_id}/")
    is_there = await the_store().aread(lambda reader: reader.job(key) is not None)
    return redirect(job_url(key) if is_there else "/jobs/")


async def _stop(request: HttpRequest, viewer: Viewer, job: Job) -> JobWritten:
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    return await the_store().awrite_call(
        deregister_job, job.key, by=viewer.caller, now=viewer.now, ids=ids
    )


async def _purge(request: HttpRequest, viewer: Viewer, job: Job) -> JobWritten:
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    return await the_store().awrite_call(
        deregister_job, job.key, purge=True, by=viewer.caller, now=viewer.now, ids=ids
    )


async def _start(request: HttpRequest, viewer: Viewer, job: Job) -> JobWritten:
    submission = await the_store().aread(lambda reader: submission_of(reader, job))
    registration = JobRegistration(
        job=msgspec.structs.replace(job, stop=False),
        submission=submission,
        enforce_index=True,
        job_modify_index=job.job_modify_index,
    )
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    return await the_store().awrite_call(
        register_job, registration, by=viewer.caller, now=viewer.now, ids=ids
    )


async def _evaluate(request: HttpRequest, viewer: Viewer, job: Job) -> JobWritten:
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    return await the_store().awrite_call(
        evaluate_job,
        job.key,
        force_reschedule=bool(request.POST.get("force")),
        by=viewer.caller,
        now=viewer.now,
        ids=ids,
    )


async def _allocation(request: HttpRequest, viewer: Viewer) -> Allocation | None:
    alloc_id = request.POST.get("allocation", "")
    alloc = await the_store().aread(lambda reader: reader.allocation(alloc_id))
    return alloc if alloc is not None and viewer.sees(alloc.namespace) else None


def _gone(request: HttpRequest, url: str) -> HttpResponse:
    messages.error(request, gettext("Nothing was changed: it is not there any more."))
    return redirect(url)
