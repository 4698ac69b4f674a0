"""Pages of rollouts: the list, and one of them. Their buttons are in `deployment_actions`."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.deployment import deployment_page
from dashboard.queries.deployments import RolloutFilter, deployments_page
from dashboard.viewer import Viewer


@page
async def deployments(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /deployments/: what is under way, and what has ended, narrowed by the address."""
    query = partial(deployments_page, wanted=RolloutFilter.from_query(request.GET))
    return await shown(request, viewer, "dashboard/deployments.html", query)


@page
async def deployment(request: HttpRequest, viewer: Viewer, deployment_id: str) -> HttpResponse:
    """GET /deployments/<id>/."""
    query = partial(deployment_page, deployment_id=deployment_id)
    return await shown(request, viewer, "dashboard/deployment.html", query)
