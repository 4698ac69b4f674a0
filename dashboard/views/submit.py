"""The submit page: write a job file, see what is wrong, plan it, run what was reviewed.

In: the editor's form. Out: the page with problems or a plan; after a run, the evaluation. A run
carries the plan's job index and the digest of its text, so that nothing unseen is ever run.
"""

import asyncio
import hashlib
from typing import Any

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop

from cluster.jobspec.diff import diff_jobs
from cluster.operations.admission import JobMovedOn
from cluster.operations.errors import OperationRefused
from cluster.operations.job_rights import require_registration
from cluster.operations.jobs import JobRegistration, JobWritten, register_job
from cluster.page_addresses import job_url
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal
from dashboard.examples import EXAMPLES
from dashboard.page import action, key_in, page, shown
from dashboard.queries.differences import diff_lines
from dashboard.queries.job_source import source_of, submission_of
from dashboard.queries.rehearsals import rehearsal_context
from dashboard.queries.submission import (
    Draft,
    judge,
    read_text,
    refusal_findings,
    review,
)
from dashboard.rehearsed_acts import run_change
from dashboard.rehearsing import ask_to_rehearse, end_open_rehearsal
from dashboard.viewer import Absent, Viewer, crumbs
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission

_TEMPLATE = "dashboard/submit.html"
_OPENED_EARLIER = (
    gettext_noop("The job changed since you opened it."),
    gettext_noop("The plan compares your text with the job as it is now."),
)


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """The form as it was sent, or as it opens."""

    text: str
    variables: str = ""
    #: JobModifyIndex of the job whose text was opened; "" for a new one.
    base: str = ""
    #: Of the job that is edited.
    key: JobKey | None = None

    @property
    def digest(self) -> str:
        """Tells two texts apart."""
        whole = f"{self.text}\0{self.variables}".encode()
        return hashlib.sha256(whole).hexdigest()


async def new(request: HttpRequest) -> HttpResponseBase:
    """GET and POST /jobs/new/."""
    return await (_sent(request) if request.method == "POST" else _opened(request))


async def edit(request: HttpRequest, namespace: str = "", job_id: str = "") -> HttpResponseBase:
    """GET and POST /jobs/<namespace>/<id>/edit/, and /jobs/edit/?namespace=&id=."""
    key = key_in(request, namespace, job_id)
    return await (_sent(request, key) if request.method == "POST" else _opened(request, key))


@action
async def check(request: HttpRequest, viewer: Viewer) -> JsonResponse:
    """POST /jobs/check/: everything wrong with a text, and what its author should know."""
    sheet = sheet_of(request, None)
    draft = await judged(sheet, viewer)
    return JsonResponse({"problems": msgspec.to_builtins(draft.findings)})


@page
async def _opened(request: HttpRequest, viewer: Viewer, key: JobKey | None = None) -> HttpResponse:
    if key is None:
        name = request.GET.get("example", "")
        chosen = next((each for each in EXAMPLES if each.name == name), EXAMPLES[0])
        sheet = Sheet(text=chosen.text)
        draft = await judged(sheet, viewer)
        return await _page(request, viewer, sheet, draft=draft)

    def query(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
        job = reader.job(key) if viewer.sees(key.namespace) else None
        if job is None:
            raise Absent
        text, _, is_source = source_of(reader, job)
        submission = submission_of(reader, job)
        sheet = Sheet(
            text=text,
            variables=submission.variables if submission is not None and is_source else "",
            base=str(job.job_modify_index),
            key=key,
        )
        draft, parsed = read_text(sheet.text, sheet.variables)
        return _context(sheet, judge(reader, draft, parsed)) | {"edited": job}

    return await shown(request, viewer, _TEMPLATE, query)


@action
async def _sent(
    request: HttpRequest, viewer: Viewer, key: JobKey | None = None
) -> HttpResponseBase:
    sheet = sheet_of(request, key)
    draft = await judged(sheet, viewer)
    job = draft.job
    if job is None or draft.problems:
        extra = {"http_status": draft.status}
        return await _page(request, viewer, sheet, draft=draft, extra=extra)
    step = request.POST.get("step")
    if step not in ("run", "rehearse", "cancel"):
        return await _planned(request, viewer, sheet, draft, job)
    if request.POST.get("digest") != sheet.digest:
        notice = (
            (
                gettext("Not run: the text changed since your plan.")
                if step == "run"
                else gettext("Not rehearsed: the text changed since your plan.")
            ),
            gettext("This is the plan of the new text."),
        )
        return await _planned(request, viewer, sheet, draft, job, notice=notice)
    if step == "cancel":
        await _canceled(request, viewer)
        return await _planned(request, viewer, sheet, draft, job)
    if step == "rehearse":
        return await _rehearsed(request, viewer, sheet, draft, job)
    return await _run(request, viewer, sheet, draft, job)


async def _planned(  # noqa: PLR0913 - what the page shows beside the plan
    request: HttpRequest,
    viewer: Viewer,
    sheet: Sheet,
    draft: Draft,
    job: Job,
    *,
    notice: tuple[str, str] | None = None,
    rehearsal_id: str = "",
) -> HttpResponse:
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        plan = await the_store().asnapshot_call(
            review, job, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refused:
        return await _refused(request, viewer, sheet, draft, refused)
    http_status = 409 if notice is not None else 200
    if sheet.base and sheet.base != str(plan.job_modify_index):
        strong, rest = _OPENED_EARLIER
        notice = notice or (gettext(strong), gettext(rest))
        sheet = msgspec.structs.replace(sheet, base=str(plan.job_modify_index))
    extra: dict[str, Any] = {"review": plan, "notice": notice, "http_status": http_status}
    wanted = rehearsal_id or request.POST.get("rehearsal", "")
    if wanted and request.POST.get("digest") == sheet.digest:
        told = await the_store().aread(
            lambda reader: rehearsal_context(reader, wanted, viewer.caller, viewer.now)
        )
        extra |= {"rehearsal": told, "gone": told is None}
    return await _page(request, viewer, sheet, draft=draft, extra=extra)


async def _rehearsed(
    request: HttpRequest, viewer: Viewer, sheet: Sheet, draft: Draft, job: Job
) -> HttpResponse:
    """The plan, and below it the rollout on a copy of the cluster: asked for now, shown later."""
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        require_registration(viewer.caller, job, "register-job")
        asked = await the_store().awrite_call(
            ask_to_rehearse, [run_change(job)], by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused, Act("rehearse: register job", "job", job.id))
        notice = (gettext("Not rehearsed."), f"{str(refused).strip()}.")
        return await _planned(request, viewer, sheet, draft, job, notice=notice)
    return await _planned(request, viewer, sheet, draft, job, rehearsal_id=asked.id)


async def _canceled(request: HttpRequest, viewer: Viewer) -> None:
    """End the rehearsal that the page shows; where it will not end, the page says why."""
    try:
        await the_store().awrite_call(
            end_open_rehearsal, request.POST.get("rehearsal", ""), by=viewer.caller, now=viewer.now
        )
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused, Act("cancel rehearsal"))
        messages.error(request, gettext("Not canceled: {refused}.").format(refused=refused))


async def _run(
    request: HttpRequest, viewer: Viewer, sheet: Sheet, draft: Draft, job: Job
) -> HttpResponseBase:
    index = _number(request.POST.get("index", ""))
    registration = JobRegistration(
        job=job,
        submission=JobSubmission(
            source=sheet.text, format=draft.format, variables=sheet.variables
        ),
        enforce_index=True,
        job_modify_index=index,
    )
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        written = await the_store().awrite_call(
            register_job, registration, by=viewer.caller, now=viewer.now, ids=ids
        )
    except JobMovedOn as moved:
        note_refusal(request, viewer.caller, moved, _registration_of(job))
        return await _moved_on(request, viewer, sheet, draft, index)
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused, _registration_of(job))
        return await _refused(request, viewer, sheet, draft, refused)
    return _started(request, job, written)


def _registration_of(job: Job) -> Act:
    return Act("register job", "job", job.id, job.namespace)


def _started(request: HttpRequest, job: Job, written: JobWritten) -> HttpResponse:
    for warning in written.warnings:
        messages.warning(request, warning)
    if not written.eval_id:
        messages.success(
            request, gettext("{job} is stored. Nothing launches it yet.").format(job=job.id)
        )
        return redirect(job_url(job.key))
    messages.success(
        request, gettext("{job} is registered. This is how it is decided.").format(job=job.id)
    )
    return redirect(f"/evaluations/{written.eval_id}/")


async def _refused(
    request: HttpRequest, viewer: Viewer, sheet: Sheet, draft: Draft, refused: OperationRefused
) -> HttpResponse:
    findings = (*refusal_findings(refused), *draft.findings)
    told = msgspec.structs.replace(draft, findings=findings)
    return await _page(request, viewer, sheet, draft=told, extra={"http_status": refused.status})


async def _moved_on(
    request: HttpRequest, viewer: Viewer, sheet: Sheet, draft: Draft, reviewed: int
) -> HttpResponse:
    """Nothing was run: say what the job has become since the plan."""
    job = draft.job
    assert job is not None, "only a text that was read can be run"
    key = job.key

    def changes(reader: RecordReader) -> dict[str, Any]:
        stored = reader.job(key)
        if stored is None:
            return {"moved": None, "moved_from": reviewed}
        before = next(
            (each for each in reader.job_versions(key) if each.job_modify_index == reviewed), None
        )
        lines = diff_lines(diff_jobs(before, stored)) if before is not None else ()
        return {"moved": stored, "moved_from": reviewed, "moved_lines": lines}

    told = await the_store().aread(changes)
    extra = {"was_refused": True, "http_status": 409, **told}
    return await _page(request, viewer, sheet, draft=draft, extra=extra)


async def judged(sheet: Sheet, viewer: Viewer) -> Draft:
    """Everything wrong with a text, for somebody who may use some namespaces."""
    draft, parsed = await asyncio.to_thread(read_text, sheet.text, sheet.variables)
    if draft.job is None:
        return draft
    may_use = viewer.sees(draft.job.namespace)
    return await the_store().aread(lambda reader: judge(reader, draft, parsed, may_use=may_use))


async def _page(
    request: HttpRequest,
    viewer: Viewer,
    sheet: Sheet,
    *,
    draft: Draft,
    extra: dict[str, Any] | None = None,
) -> HttpResponse:
    context = _context(sheet, draft) | (extra or {})
    return await shown(request, viewer, _TEMPLATE, lambda _reader, _viewer: context)


def _context(sheet: Sheet, draft: Draft) -> dict[str, Any]:
    steps = [("Jobs", "/jobs/"), ("New", "")]
    if sheet.key is not None:
        steps = [("Jobs", "/jobs/"), (sheet.key.job_id, job_url(sheet.key)), ("Edit", "")]
    return {
        "sheet": sheet,
        "draft": draft,
        "findings": msgspec.to_builtins(draft.findings),
        "review": None,
        "examples": EXAMPLES,
        # Nothing on the page moves, but it says whether the cluster is there.
        "live_topics": "nodes",
        "crumbs": crumbs(*steps),
    }


def sheet_of(request: HttpRequest, key: JobKey | None) -> Sheet:
    """The form as it was sent."""
    # Browsers send lines of forms with CRLF.
    return Sheet(
        text=request.POST.get("text", "").replace("\r\n", "\n"),
        variables=request.POST.get("variables", "").replace("\r\n", "\n"),
        base=request.POST.get("base", ""),
        key=key,
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else 0
