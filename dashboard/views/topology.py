"""The page of the topology."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.topology import topology_page
from dashboard.topology_view import TopologyView
from dashboard.viewer import Viewer


@page
async def topology(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /topology/: all nodes by place and rack, as the address asks for them."""
    query = partial(topology_page, wanted=TopologyView.from_query(request.GET.dict()))
    return await shown(request, viewer, "dashboard/topology.html", query)
