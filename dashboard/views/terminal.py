"""The page that opens terminals inside the tasks of an allocation."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.terminal import terminal_page
from dashboard.viewer import Viewer


@page
async def terminal(request: HttpRequest, viewer: Viewer, alloc_id: str) -> HttpResponse:
    """GET /allocations/<id>/terminal/?task=&command=&action=. It opens nothing by itself."""
    query = partial(terminal_page, alloc_id=alloc_id, asked=request.GET.dict())
    return await shown(request, viewer, "dashboard/terminal.html", query)
