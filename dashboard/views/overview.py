"""The first page: what happens now."""

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.overview import overview_page
from dashboard.viewer import Viewer


@page
async def now(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """The whole cluster at a glance."""
    return await shown(request, viewer, "dashboard/overview.html", overview_page)
