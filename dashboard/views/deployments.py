"""The page of one rollout. Their buttons are in `deployment_actions`."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.deployment import deployment_page
from dashboard.viewer import Viewer


@page
async def deployment(request: HttpRequest, viewer: Viewer, deployment_id: str) -> HttpResponse:
    """GET /deployments/<id>/."""
    query = partial(deployment_page, deployment_id=deployment_id)
    return await shown(request, viewer, "dashboard/deployment.html", query)
