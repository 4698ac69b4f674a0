"""The button that chooses the namespace of lists and counts."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from dashboard.chosen_namespace import FIELD, choose
from dashboard.page import action, page_of_button
from dashboard.viewer import Viewer


@action
async def choose_namespace(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /choose-namespace/: keep it for this session, and show the page one was on anew."""
    wanted = request.POST.get(FIELD, "")
    if wanted and not viewer.sees(wanted):
        messages.error(
            request,
            gettext("There is no namespace {wanted} that you may see.").format(wanted=wanted),
        )
        wanted = ""
    else:
        await choose(request, wanted)
    return redirect(_anew(page_of_button(request)))


def _anew(address: str) -> str:
    """Without the namespace and the place that belong to the list as it was."""
    parts = urlsplit(address)
    kept = [pair for pair in parse_qsl(parts.query) if pair[0] not in {FIELD, "after"}]
    return f"{parts.path}?{urlencode(kept)}" if kept else parts.path
