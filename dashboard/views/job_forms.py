"""What the forms of a job's page share: the job they name, and the page again when refused.

In: a request and its viewer. Out: the job, or the page with what was typed and why it was refused.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.page_addresses import job_url
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal
from dashboard.page import shown
from dashboard.queries.job import JobWish, job_page
from dashboard.viewer import Viewer
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

#: Digits of the largest number that a form may hold.
_DIGITS = 15


async def job_of_form(request: HttpRequest, viewer: Viewer) -> Job | None:
    """The job that a form names by `namespace` and `job`; None for one not there to be seen."""
    key = JobKey(request.POST.get("namespace", ""), request.POST.get("job", ""))
    if not viewer.sees(key.namespace):
        return None
    return await the_store().aread(lambda reader: reader.job(key))


def gone(request: HttpRequest) -> HttpResponse:
    """To the list, with word that nothing was changed."""
    messages.error(request, gettext("Nothing was changed: it is not there any more."))
    return redirect("/jobs/")


def number_in(text: str) -> int | None:
    """A whole number as people type it; None for anything else."""
    text = text.strip()
    digits = text[1:] if text[:1] == "-" else text
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS
    return int(text) if is_number else None


def refused(
    request: HttpRequest, viewer: Viewer, job: Job, refusal: OperationRefused, *, tab: str = ""
) -> HttpResponse:
    """To the page of the job, with the reason; for buttons with nothing to type."""
    note_refusal(request, viewer.caller, refusal)
    messages.error(
        request, gettext("Nothing was changed: {reason_of}.").format(reason_of=reason_of(refusal))
    )
    return redirect(job_url(job.key, tab=tab))


async def typed_again(
    request: HttpRequest, viewer: Viewer, job: Job, wish: JobWish
) -> HttpResponse:
    """The page of the job as the answer to a form: 400, what was typed, and what is wrong."""

    def query(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
        return {**job_page(reader, viewer, job.key, wish), "http_status": 400}

    return await shown(request, viewer, "dashboard/job.html", query)


def reason_of(refusal: OperationRefused) -> str:
    """The words of a refusal, to end with a full stop of ours."""
    return str(refusal).strip().rstrip(".")
