"""Buttons of a rollout: each asks an operation, then leads to its page, where the rest follows."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.deployments import (
    DeploymentWritten,
    fail_deployment,
    pause_deployment,
    promote_deployment,
)
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from dashboard.acts import note_refusal
from dashboard.page import action
from dashboard.rollouts import progress_of
from dashboard.viewer import Viewer
from scheduler.ports import IDSource, StateStore
from scheduler.structs.deployment import Deployment

#: An operation on the deployment that was found.
Operation = Callable[[StateStore, Deployment, Viewer, IDSource], DeploymentWritten]


@action
async def promote(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /deployments/promote/: the canaries that wait for a person."""
    told = gettext("The canaries of version {version} were promoted. The rest follows.")
    return await _ordered(request, viewer, request.POST.get("deployment", ""), _promote, told)


@action
async def pause(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /deployments/pause/: hold the deployment `pause`, or let `resume` go on."""
    resumed = request.POST.get("resume", "")
    if resumed:
        told = gettext("The rollout of version {version} goes on.")
        return await _ordered(request, viewer, resumed, _resume, told)
    told = gettext("The rollout of version {version} is paused until somebody lets it go on.")
    return await _ordered(request, viewer, request.POST.get("pause", ""), _pause, told)


@action
async def fail(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /deployments/fail/."""
    told = gettext("The rollout of version {version} has failed, as you wished.")
    return await _ordered(request, viewer, request.POST.get("deployment", ""), _fail, told)


async def _ordered(
    request: HttpRequest, viewer: Viewer, deployment_id: str, operation: Operation, told: str
) -> HttpResponseBase:
    store = the_store()
    found = await store.aread(lambda reader: reader.deployment(deployment_id))
    if found is None or not viewer.sees(found.namespace):
        messages.error(request, gettext("Nothing was changed: it is not there any more."))
        return redirect("deployments")
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        await store.awrite_call(operation, found, viewer, ids)
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused)
        messages.error(
            request,
            gettext("Nothing was changed: {refused}.").format(refused=str(refused).strip()),
        )
        return _back(request, found)
    messages.success(request, told.format(version=found.job_version))
    return _back(request, found)


def _back(request: HttpRequest, deployment: Deployment) -> HttpResponseBase:
    """To the story whose page was asked from, else to the page of the rollout."""
    if deployment.story_id and request.POST.get("story") == deployment.story_id:
        return redirect("story", deployment.story_id)
    return redirect("deployment", deployment.id)


def _promote(
    store: StateStore, deployment: Deployment, viewer: Viewer, ids: IDSource
) -> DeploymentWritten:
    waiting = progress_of(deployment).waiting
    # With none to promote the operation says which canaries are lacking.
    return promote_deployment(
        store,
        deployment.id,
        groups=waiting,
        every_group=not waiting,
        by=viewer.caller,
        now=viewer.now,
        ids=ids,
    )


def _pause(
    store: StateStore, deployment: Deployment, viewer: Viewer, ids: IDSource
) -> DeploymentWritten:
    return pause_deployment(
        store, deployment.id, pause=True, by=viewer.caller, now=viewer.now, ids=ids
    )


def _resume(
    store: StateStore, deployment: Deployment, viewer: Viewer, ids: IDSource
) -> DeploymentWritten:
    return pause_deployment(
        store, deployment.id, pause=False, by=viewer.caller, now=viewer.now, ids=ids
    )


def _fail(
    store: StateStore, deployment: Deployment, viewer: Viewer, ids: IDSource
) -> DeploymentWritten:
    return fail_deployment(store, deployment.id, by=viewer.caller, now=viewer.now, ids=ids)
