"""The page of the scheduler, and the buttons that pause it and change its settings."""

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop
from msgspec.structs import replace

from cluster.jobspec.durations import read_duration
from cluster.operations.errors import OperationRefused
from cluster.operations.scheduler_settings import (
    set_node_rejection,
    set_scheduler_settings,
)
from cluster.store.access import the_store
from dashboard.acts import note_refusal
from dashboard.page import action, page, shown
from dashboard.queries.scheduler import scheduler_page
from dashboard.viewer import Viewer
from dashboard.wording import span
from scheduler.structs.scheduler_settings import (
    NodeRejection,
    PreemptionConfig,
    SchedulerSettings,
)

_MOVED_ON = gettext_noop(
    "Nothing was changed: somebody changed the settings since you opened the page."
)
_TYPED = "pause"


@page
async def scheduler(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /scheduler/?moved=5m: flows are told over a minute, five or an hour."""
    query = partial(scheduler_page, window=request.GET.get("moved", ""))
    return await shown(request, viewer, "dashboard/scheduler.html", query)


@action
async def change(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /scheduler/change/: one setting, `act`, while `seen` is the index of those shown."""
    stored = await the_store().aread(lambda reader: reader.scheduler_settings())
    seen = _index(request.POST.get("seen", ""))
    try:
        if request.POST.get("act", "") == "rejection":
            rejection, told = _rejection(request)
            written = await the_store().awrite_call(
                set_node_rejection, rejection,
                expected_index=seen, by=viewer.caller, now=viewer.now,
            )  # fmt: skip
        else:
            wanted, told = _wanted(request, stored)
            written = await the_store().awrite_call(
                set_scheduler_settings, wanted,
                expected_index=seen, by=viewer.caller, now=viewer.now,
            )  # fmt: skip
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        messages.error(request, gettext("Nothing was changed: {refusal}.").format(refusal=refusal))
        return redirect("scheduler")
    if written.updated:
        messages.success(request, told)
    else:
        messages.error(request, gettext(_MOVED_ON))
    return redirect("scheduler")


def _rejection(request: HttpRequest) -> tuple[NodeRejection | None, str]:
    """When a disputed node is to be closed, as it was typed, and what is told then.

    Raises OperationRefused, which names every field that cannot be read.
    """
    given = request.POST
    if given.get("started", "") == "yes":
        return None, gettext("Disputed nodes are closed as the server was started.")
    refusals = _index(given.get("refusals", "").strip())
    window = read_duration(given.get("window", "").strip())
    wrong = [gettext("refusals must be a whole number")] if refusals < 0 else []
    wrong += [gettext("within must be a time such as 90s or 5m")] if window is None else []
    if wrong or window is None:
        raise OperationRefused("; ".join(wrong))
    rejection = NodeRejection(
        enabled=given.get("enabled", "") == "yes", refusals=refusals, window=window
    )
    if not rejection.enabled:
        return rejection, gettext("No node is closed for refusing plans.")
    return rejection, gettext(
        "A node that refuses {refusals} plans in {window} is closed."
    ).format(refusals=refusals, window=span(window))


def _wanted(request: HttpRequest, stored: SchedulerSettings) -> tuple[SchedulerSettings, str]:
    """The settings as the form wants them and what is told then. Raises OperationRefused."""
    given = request.POST
    match given.get("act", ""):
        case "pause" if given.get("typed", "").strip() != _TYPED:
            raise OperationRefused(gettext("type {typed} to confirm").format(typed=_TYPED))
        case "pause":
            return replace(stored, pause_eval_broker=True), gettext("The scheduler is paused.")
        case "resume":
            return replace(stored, pause_eval_broker=False), gettext("The scheduler goes on.")
        case "algorithm":
            algorithm = given.get("algorithm", "")
            told = gettext("Nodes are filled by {algorithm} from the next evaluation on.").format(
                algorithm=algorithm
            )
            return replace(stored, scheduler_algorithm=algorithm), told
        case "preemption":
            config = PreemptionConfig(
                system_scheduler_enabled="system" in given,
                sys_batch_scheduler_enabled="sysbatch" in given,
                batch_scheduler_enabled="batch" in given,
                service_scheduler_enabled="service" in given,
            )
            told = gettext("Who may move lower priorities aside is changed.")
            return replace(stored, preemption_config=config), told
        case "registration":
            rejects = given.get("reject") == "yes"
            told = (
                gettext("Jobs are refused until you allow them again.")
                if rejects
                else gettext("Jobs are taken.")
            )
            return replace(stored, reject_job_registration=rejects), told
        case "memory":
            allowed = given.get("allow") == "yes"
            told = (
                gettext("Memory may be oversubscribed from now on.")
                if allowed
                else gettext("Memory may not be oversubscribed from now on.")
            )
            return replace(stored, memory_oversubscription_enabled=allowed), told
    raise OperationRefused(gettext("the form names no setting"))


def _index(text: str) -> int:
    """-1, which nothing has, for what is no index."""
    return int(text) if text.isdecimal() and len(text) < 20 else -1
