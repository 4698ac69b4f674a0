"""What the checks of a job's services found: a page, and the same panel within other pages.

Agents are asked before the record is read; `?part=1` asks for the panel.
"""

from functools import partial

from django.http import HttpRequest, HttpResponse

from cluster.operations.checks import MOST_ALLOCATIONS, JobChecks, job_checks
from cluster.operations.errors import NotAllowed
from cluster.store.access import the_store
from dashboard.page import key_in, page, shown
from dashboard.queries.job_checks import job_checks_page
from dashboard.viewer import Viewer


@page
async def of_job(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /jobs/checks/?namespace=&id=."""
    key = key_in(request, "", "")
    told = JobChecks()
    if viewer.sees(key.namespace):
        allocs = await the_store().aread(
            lambda reader: reader.open_allocations(key, MOST_ALLOCATIONS)
        )
        try:
            told = await job_checks(allocs, key.namespace, by=viewer.caller)
        except NotAllowed:
            # The page says that there is no such job, as it does of one that is none.
            told = JobChecks()
    part = request.GET.get("part") == "1"
    template = "partials/_job_checks.html" if part else "job_checks.html"
    query = partial(job_checks_page, key=key, told=told)
    answer = await shown(request, viewer, f"dashboard/{template}", query)
    answer["Cache-Control"] = "no-store"
    return answer
