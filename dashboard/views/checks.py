"""What the checks of a job's services found: a page, and the same panel within other pages.

Agents are asked before the record is read; `?part=1` asks for the panel.
"""

from functools import partial

from django.http import HttpRequest, HttpResponse

from cluster.operations.checks import MOST_ALLOCATIONS, JobChecks, job_checks
from dashboard.asked_agents import of_job_as_told, panel_or_page
from dashboard.page import key_in, page
from dashboard.queries.job_checks import job_checks_page
from dashboard.viewer import Viewer


@page
async def of_job(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /jobs/checks/?namespace=&id=."""
    key = key_in(request, "", "")
    told = await of_job_as_told(viewer, key, job_checks, JobChecks(), MOST_ALLOCATIONS)
    query = partial(job_checks_page, key=key, told=told)
    return await panel_or_page(request, viewer, "job_checks", query)
