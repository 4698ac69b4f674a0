"""The page of one rollout, and how its canaries fare. Buttons are in `deployment_actions`."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from cluster.operations.comparing import EachTold, each_told
from cluster.operations.errors import NotAllowed
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from dashboard.asked_agents import panel_or_page
from dashboard.page import page, shown
from dashboard.queries.comparing import all_compared, cohorts_of, compared_page
from dashboard.queries.deployment import deployment_page
from dashboard.queries.job_checks import has_checks
from dashboard.viewer import Viewer
from scheduler.structs.allocation import Allocation


@page
async def deployment(request: HttpRequest, viewer: Viewer, deployment_id: str) -> HttpResponse:
    """GET /deployments/<id>/."""
    query = partial(deployment_page, deployment_id=deployment_id)
    return await shown(request, viewer, "dashboard/deployment.html", query)


@page
async def compared(request: HttpRequest, viewer: Viewer, deployment_id: str) -> HttpResponse:
    """GET /deployments/<id>/compared/: its canaries beside what runs of earlier versions."""

    def read(reader: RecordReader) -> tuple[str, list[Allocation], bool]:
        found = reader.deployment(deployment_id)
        if found is None or not viewer.sees(found.namespace):
            return "", [], False
        job = reader.job(found.job_key)
        allocs = all_compared(cohorts_of(reader, found))
        return found.namespace, allocs, job is not None and has_checks(job)

    namespace, allocs, with_checks = await the_store().aread(read)
    told = EachTold()
    if allocs:
        try:
            told = await each_told(allocs, namespace, with_checks=with_checks, by=viewer.caller)
        except NotAllowed:
            # The page says that there is no such rollout, as it does of one that is none.
            told = EachTold()
    query = partial(compared_page, deployment_id=deployment_id, told=told)
    return await panel_or_page(request, viewer, "compared", query)
