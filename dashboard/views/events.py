"""The page of the events."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from dashboard.page import page, shown
from dashboard.queries.events import EventsWish, events_page
from dashboard.viewer import Viewer


@page
async def events(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /events/: what happened, newest first, from an index down."""
    query = partial(events_page, wish=EventsWish.from_query(request.GET.dict()))
    return await shown(request, viewer, "dashboard/events.html", query)
