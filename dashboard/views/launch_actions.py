"""Forms of a job's page that make work: launch now, dispatch, scale.

In: forms. Out: operations, and the page that shows what came of them; a form that is refused comes
back with what was typed and why.
"""

import hashlib
from collections.abc import Iterable
from urllib.parse import quote

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.jobspec.problems import Problem
from cluster.operations.errors import OperationRefused
from cluster.operations.job_dispatch import (
    MAX_PAYLOAD,
    Dispatch,
    DispatchRefused,
    dispatch_job,
    dispatch_problems,
)
from cluster.operations.periodic import force_launch
from cluster.operations.rights import require
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.page_addresses import job_url
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.meta_fields import meta_key, meta_name
from dashboard.page import action
from dashboard.queries.dispatch import Typed
from dashboard.queries.job import JobWish
from dashboard.queries.scale import ScaleTyped
from dashboard.rehearsed_acts import dispatch_change, scale_change
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
from dashboard.views.scale_rehearsed import refused_here, rehearse_here
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: The fields of the form by what a problem is about.
_FIELDS = {"Payload": "payload", "IdPrefixTemplate": "prefix", "Priority": "priority"}


@action
async def launch(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/launch/: a periodic job, now."""
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        launched = await the_store().awrite_call(
            force_launch, job.key, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        return refused(request, viewer, job, refusal)
    messages.success(
        request,
        gettext("{job} was launched, as {child_id}.").format(
            job=job.id, child_id=launched.child_id
        ),
    )
    return redirect(f"/evaluations/{launched.eval_id}/")


@action
async def dispatch(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/dispatch/: one child of a parameterized job, from what the form gives it.

    The button `rehearse` asks where it would run, and dispatches nothing.
    """
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    typed = _typed(request, job)
    payload, problems = _payload(request, typed)
    priority = number_in(typed.priority) if typed.priority else 0
    if priority is None:
        problems["priority"] = gettext("Give a number from 1 to 100, or nothing")
    asked = Dispatch(
        payload=payload,
        meta={key: value for key, value in typed.meta.items() if value},
        id_prefix=typed.prefix,
        priority=priority or 0,
    )
    if problems:
        return await _dispatch_again(request, viewer, job, typed, problems)
    if "rehearse" in request.POST:
        return await _dispatch_rehearsed(request, viewer, job, typed, asked)
    asked = msgspec.structs.replace(asked, idempotency_token=_token(request, asked))
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        made = await the_store().awrite_call(
            dispatch_job, job.key, asked, by=viewer.caller, now=viewer.now, ids=ids
        )
    except DispatchRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        errors = _errors(job, asked, refusal.problems)
        return await _dispatch_again(request, viewer, job, typed, errors)
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        return await _dispatch_again(request, viewer, job, typed, {"": reason_of(refusal)})
    if made.was_there:
        messages.info(
            request, gettext("Sent twice, dispatched once: this is the job that was made.")
        )
        return redirect(job_url(JobKey(job.namespace, made.job_id)))
    messages.success(
        request,
        gettext("{job} was dispatched, as {job_id}.").format(job=job.id, job_id=made.job_id),
    )
    if made.eval_id:
        return redirect(f"/evaluations/{made.eval_id}/")
    return redirect(job_url(JobKey(job.namespace, made.job_id)))


async def _dispatch_rehearsed(
    request: HttpRequest, viewer: Viewer, job: Job, typed: Typed, asked: Dispatch
) -> HttpResponseBase:
    """Ask where it would run, and on to the rehearsal's page; or the form with what is wrong."""
    try:
        require(viewer.caller, job.namespace, *ACTIONS["dispatch"])
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        return await _dispatch_again(request, viewer, job, typed, {"": reason_of(refusal)})
    if problems := tuple(dispatch_problems(job, asked)):
        return await _dispatch_again(request, viewer, job, typed, _errors(job, asked, problems))
    act = Act("dispatch job", "job", job.id, job.namespace)
    change = dispatch_change(job.key, asked)
    return await rehearse_act(request, viewer, change, act, back=job_url(job.key))


@action
async def scale(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/scale/: the group whose button was pressed, to the number beside it.

    The button `rehearse` asks what that would do; with `part` to be told beside the number.
    """
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    is_rehearsal = "rehearse" in request.POST
    group = request.POST.get("rehearse" if is_rehearsal else "group", "")
    typed = {
        each.name: request.POST.get(f"count.{quote(each.name, safe='')}", "")
        for each in job.task_groups
    }
    count = number_in(typed.get(group, ""))
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        if not group:
            raise OperationRefused(gettext("press the button beside the group that you mean"))
        if count is None:
            raise OperationRefused(gettext("give a whole number"))
        if is_rehearsal:
            require(viewer.caller, job.namespace, *ACTIONS["scale"])
            act = Act("scale job", "job", job.id, job.namespace)
            change = scale_change(job.key, group, count)
            if "part" in request.POST:
                return await rehearse_here(request, viewer, group, change, act)
            return await rehearse_act(request, viewer, change, act, back=job_url(job.key))
        asked = ScalingRequest(
            task_group=group, count=count, message=request.POST.get("message", "").strip()
        )
        written = await the_store().awrite_call(
            scale_job, job.key, asked, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        if is_rehearsal and "part" in request.POST:
            return refused_here(request, group, str(refusal))
        told = ScaleTyped(
            counts=typed,
            group=group,
            error=reason_of(refusal),
            message=request.POST.get("message", ""),
        )
        return await typed_again(request, viewer, job, JobWish(scale=told, token=_page(request)))
    messages.success(
        request,
        gettext("Group {group} of {job} is to have {count}.").format(
            group=group, job=job.id, count=count
        ),
    )
    return redirect(f"/evaluations/{written.eval_id}/" if written.eval_id else job_url(job.key))


def _typed(request: HttpRequest, job: Job) -> Typed:
    rules = job.parameterized_job
    keys = (*rules.meta_required, *rules.meta_optional) if rules is not None else ()
    sent = {key: name for name in request.POST if (key := meta_key(name)) is not None}
    # What the rules did not ask for any more when it came is refused by name, not dropped.
    wanted = {*keys, *(key for key, name in sent.items() if request.POST[name])}
    return Typed(
        meta={key: request.POST.get(sent.get(key, ""), "") for key in sorted(wanted)},
        payload=request.POST.get("payload", ""),
        prefix=request.POST.get("prefix", "").strip(),
        priority=request.POST.get("priority", "").strip(),
    )


def _payload(request: HttpRequest, typed: Typed) -> tuple[bytes, dict[str, str]]:
    """The bytes of the text or of the file, and what is wrong with that."""
    # Browsers send lines of forms with CRLF.
    text = typed.payload.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    sent = request.FILES.get("file")
    if sent is None or isinstance(sent, list):
        return text, {}
    if text:
        return text, {"payload": gettext("Give a text or a file, not both")}
    if sent.size and sent.size > MAX_PAYLOAD:
        return b"", {
            "payload": gettext("Payload exceeds maximum size; {size} > {max_payload}").format(
                size=sent.size, max_payload=MAX_PAYLOAD
            )
        }
    return sent.read(), {}


def _token(request: HttpRequest, asked: Dispatch) -> str:
    """The same for the same form sent twice; another one for other content."""
    page = request.POST.get("token", "")
    if not page:
        return ""
    parts = [page, asked.id_prefix, str(asked.priority)]
    parts += [f"{key}={value}" for key, value in sorted(asked.meta.items())]
    content = "\0".join(parts).encode("utf-8", "surrogatepass") + b"\0" + asked.payload
    return f"page-{hashlib.sha256(content).hexdigest()[:32]}"


def _errors(job: Job, asked: Dispatch, problems: Iterable[Problem]) -> dict[str, str]:
    """Each problem at its field; what several fields share, at each that is meant."""
    rules = job.parameterized_job
    missing = [key for key in (rules.meta_required if rules else ()) if key not in asked.meta]
    errors: dict[str, str] = {}
    for problem in problems:
        field = _FIELDS.get(problem.path, "")
        if problem.path == "Meta" and missing and "required" in problem.message:
            told = gettext("Give a value; the job file asks for it")
            errors |= {meta_name(key): told for key in missing}
        elif field not in errors:
            errors[field] = problem.message
    return errors


async def _dispatch_again(
    request: HttpRequest, viewer: Viewer, job: Job, typed: Typed, errors: dict[str, str]
) -> HttpResponseBase:
    sent = msgspec.structs.replace(typed, errors=errors)
    wish = JobWish(dispatch=sent, token=_page(request))
    return await typed_again(request, viewer, job, wish)


def _page(request: HttpRequest) -> str:
    """What the page was told apart by, or a new name for one that had none."""
    new: str = request.ids.next_id()  # type: ignore[attr-defined]  # set by request_context
    return request.POST.get("token", "") or new
