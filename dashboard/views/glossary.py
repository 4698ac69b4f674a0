"""Pages that explain: every state and trigger, with the mark it has everywhere."""

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.states import states_page
from dashboard.viewer import Viewer


@page
async def states(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /help/states/: every state and trigger."""
    return await shown(request, viewer, "dashboard/states.html", states_page)
