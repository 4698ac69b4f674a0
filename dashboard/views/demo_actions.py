"""The buttons of the demo's scenarios."""

import asyncio

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from cluster.demo.asking import NoDemo, Wish, ask
from cluster.demo.scenarios import BY_NAME
from dashboard.page import action
from dashboard.viewer import Viewer


@action
async def begin(request: HttpRequest, viewer: Viewer, name: str) -> HttpResponse:
    """Let a scenario happen, and go where there is something to see."""
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    wish = Wish(id=ids.next_id(), name=name, by=viewer.caller.name)
    try:
        reply = await asyncio.to_thread(ask, settings.BIVOUAC_REDIS_URL, wish)
    except NoDemo as error:
        messages.error(request, str(error))
        return redirect("now")
    if not reply.has_begun:
        messages.error(request, reply.text)
        return redirect("now")
    messages.success(request, reply.text)
    return redirect(BY_NAME[name].path)
