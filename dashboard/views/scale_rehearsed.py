"""What scaling a group would do, asked and shown beside its number on the page of its job.

Both answers are the panel alone; the page of the rehearsal has the whole of it.
"""

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from dashboard.acts import note_refusal
from dashboard.page import page, shown
from dashboard.queries.scale_rehearsed import scale_rehearsed
from dashboard.rehearsed_acts import Change
from dashboard.rehearsing import ask_to_rehearse
from dashboard.viewer import Viewer

_PANEL = "dashboard/partials/_scale_rehearsed.html"
#: Where programs are told that a change is wrong; here there is one field.
_PLACE = re.compile(r"\bChanges\[\d+\][\w.]*: ")


@page
async def rehearsed_here(request: HttpRequest, viewer: Viewer, rehearsal_id: str) -> HttpResponse:
    """GET /jobs/rehearsed/<id>/: how far it is, or what was found."""
    answer = await shown(
        request,
        viewer,
        _PANEL,
        lambda reader, seen_by: scale_rehearsed(reader, seen_by, rehearsal_id),
    )
    answer["Cache-Control"] = "no-store"
    return answer


async def rehearse_here(
    request: HttpRequest, viewer: Viewer, group: str, change: Change, act: Act
) -> HttpResponse:
    """Ask for one, and on to how far it is; the right to the act was asked for before."""
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    try:
        asked = await the_store().awrite_call(
            ask_to_rehearse, [change], by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refusal:
        words = act._replace(words=f"rehearse: {act.words}")
        note_refusal(request, viewer.caller, refusal, words)
        return refused_here(request, group, str(refusal))
    return redirect("job-rehearsed", asked.id)


def refused_here(request: HttpRequest, group: str, reason: str) -> HttpResponse:
    """The panel with why nothing was rehearsed."""
    told = {"group": group, "refusal": _PLACE.sub("", reason).strip().rstrip(".")}
    return render(request, _PANEL, told, status=400)
