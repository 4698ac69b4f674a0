"""A job file of one's own, compared with the registered version and planned; nothing is stored.

In: the form of the page of versions. Out: that page with the difference and the plan, or with why
there is none.
"""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext
from msgspec.structs import replace

from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal
from dashboard.page import action, shown
from dashboard.queries.job import JobWish, job_page
from dashboard.queries.own_text import OwnText
from dashboard.queries.submission import Finding, refusal_findings, review
from dashboard.viewer import Viewer
from dashboard.views.job_forms import gone, job_of_form
from dashboard.views.submit import judged, sheet_of
from scheduler.structs.job import Job


@action
async def compare(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /jobs/compare/: `text` beside the registered version of the job it is a text of."""
    job = await job_of_form(request, viewer)
    if job is None:
        return gone(request)
    own = await _found(request, viewer, job)
    wish = JobWish(tab="versions", own_text=own)

    def query(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
        status = 400 if own.review is None else 200
        return {**job_page(reader, viewer, job.key, wish), "http_status": status}

    return await shown(request, viewer, "dashboard/job.html", query)


async def _found(request: HttpRequest, viewer: Viewer, job: Job) -> OwnText:
    sheet = sheet_of(request, job.key)
    draft = await judged(sheet, viewer)
    own = OwnText(text=sheet.text, variables=sheet.variables, findings=draft.findings)
    wanted = draft.job
    if wanted is not None and wanted.key != job.key:
        told = gettext("The text is of {other}, and this is the page of {job}.").format(
            other="/".join(wanted.key), job="/".join(job.key)
        )
        return replace(own, findings=(Finding(message=told, severity="error"), *own.findings))
    if wanted is None or draft.problems:
        return own
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        plan = await the_store().asnapshot_call(
            review, wanted, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        return replace(own, findings=(*refusal_findings(refusal), *own.findings))
    return replace(own, review=plan)
