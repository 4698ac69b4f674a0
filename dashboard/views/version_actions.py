"""Buttons of the versions of a job: go back to one, name it, call it good to go back to.

In: forms. Out: operations, and the page that shows what came of them.
"""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.operations.job_versions import (
    mark_job_stable,
    revert_job,
    tag_version,
    untag_version,
)
from cluster.operations.rights import require
from cluster.page_addresses import job_url
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.page import action
from dashboard.queries.job import JobWish
from dashboard.rehearsed_acts import revert_change
from dashboard.rehearsing import rehearse_act
from dashboard.rights import ACTIONS
from dashboard.viewer import Viewer
from dashboard.views.job_forms import (
    gone,
    job_of_form,
    number_in,
    reason_of,
    refused,
    typed_again,
)

_TAB = "versions"


@action
async def revert(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/revert/: `version` again as the newest, while `prior` is the current one.

    With `keep` its groups have as many instances as are wanted now. The button `rehearse` asks
    what that would do, and changes nothing.
    """
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    version = number_in(request.POST.get("version", ""))
    prior = number_in(request.POST.get("prior", ""))
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        if version is None or prior is None:
            raise OperationRefused(gettext("the form names no version"))
        if "rehearse" in request.POST:
            require(viewer.caller, job.namespace, *ACTIONS["revert"])
            change = revert_change(job.key, version, prior, keeps_counts="keep" in request.POST)
            act = Act("revert job", "job", job.id, job.namespace)
            back = job_url(job.key, tab=_TAB)
            return await rehearse_act(request, viewer, change, act, back=back)
        written = await the_store().awrite_call(
            revert_job,
            job.key,
            version,
            enforce_prior_version=prior,
            keeps_counts="keep" in request.POST,
            by=viewer.caller,
            now=viewer.now,
            ids=ids,
        )
    except OperationRefused as refusal:
        return refused(request, viewer, job, refusal, tab=_TAB)
    messages.success(
        request,
        gettext("{job} goes back to what version {version} asked for.").format(
            job=job.id, version=version
        ),
    )
    if written.eval_id:
        return redirect(f"/evaluations/{written.eval_id}/")
    return redirect(job_url(job.key, tab=_TAB))


@action
async def mark_stable(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/stable/: `version` is good to go back to, or with `stable=no` is not."""
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    version = number_in(request.POST.get("version", ""))
    stable = request.POST.get("stable") != "no"
    try:
        if version is None:
            raise OperationRefused(gettext("the form names no version"))
        await the_store().awrite_call(
            mark_job_stable, job.key, version, stable=stable, by=viewer.caller, now=viewer.now
        )
    except OperationRefused as refusal:
        return refused(request, viewer, job, refusal, tab=_TAB)
    told = (
        gettext("stable: rollouts that fail may go back to it")
        if stable
        else gettext("not stable any more")
    )
    messages.success(
        request,
        gettext("Version {version} of {job} is {told}.").format(
            version=version, job=job.id, told=told
        ),
    )
    return redirect(job_url(job.key, tab=_TAB))


@action
async def tag(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/tag/: give `version` the tag `name`; what was typed stays when it is refused."""
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    typed = {field: request.POST.get(field, "") for field in ("version", "name", "description")}
    version = number_in(typed["version"])
    name = typed["name"].strip()
    try:
        if version is None:
            raise OperationRefused(gettext("the form names no version"))
        await the_store().awrite_call(
            tag_version,
            job.key,
            name,
            version=version,
            description=typed["description"].strip(),
            by=viewer.caller,
            now=viewer.now,
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        told = {**typed, "error": reason_of(refusal)}
        return await typed_again(request, viewer, job, JobWish(tab=_TAB, tag_form=told))
    messages.success(
        request,
        gettext("Version {version} of {job} is {name}, and is kept.").format(
            version=version, job=job.id, name=name
        ),
    )
    return redirect(job_url(job.key, tab=_TAB))


@action
async def untag(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /jobs/untag/: take the tag `name` off the version that has it."""
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    name = request.POST.get("name", "")
    try:
        found = await the_store().awrite_call(
            untag_version, job.key, name, by=viewer.caller, now=viewer.now
        )
    except OperationRefused as refusal:
        return refused(request, viewer, job, refusal, tab=_TAB)
    messages.success(
        request,
        gettext("Version {version} of {job} has no tag: it goes like the others.").format(
            version=found.version, job=job.id
        ),
    )
    return redirect(job_url(job.key, tab=_TAB))
