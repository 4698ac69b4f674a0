"""The first page: what happens now."""

import asyncio
from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from cluster.demo.asking import presence
from dashboard.page import page, shown
from dashboard.queries.demo import demo_panel
from dashboard.queries.overview import overview_page
from dashboard.viewer import Viewer


@page
async def now(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """The whole cluster at a glance."""
    demo = None
    if settings.BIVOUAC_DEMO and viewer.access.is_management:
        demo = demo_panel(await asyncio.to_thread(presence, settings.BIVOUAC_REDIS_URL))
    query = partial(overview_page, demo=demo, window=request.GET.get("moved", ""))
    return await shown(request, viewer, "dashboard/overview.html", query)
