"""Compositions of *What if* under names: the list, and saving, renaming and deleting one."""

from collections.abc import Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.store.audit_entries import Act
from cluster.store.ports import RecordReader
from dashboard.acts import note_act, note_refusal
from dashboard.compositions import delete_composition, rename_composition, save_composition
from dashboard.page import action, page, shown
from dashboard.queries.composed import fields_of_rows, rows_of_fields
from dashboard.queries.saved_compositions import saved_page
from dashboard.viewer import Viewer

_KIND = "composition"


@page
async def saved(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /what-if/saved/: those that are kept; with rows in the address, a form to keep these."""
    rows, user = rows_of_fields(request.GET.dict()), request.user

    def query(_reader: RecordReader, seen_by: Viewer) -> dict[str, Any]:
        return saved_page(seen_by, user, rows)

    return await shown(request, viewer, "dashboard/saved_compositions.html", query)


@action
async def save(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /what-if/saved/save/: keep the rows that are sent under a name."""
    rows = rows_of_fields(request.POST.dict())
    name = request.POST.get("name", "")
    fields = fields_of_rows(rows)
    keep = partial(save_composition, viewer, request.user, name, fields)
    kept = await _done(request, viewer, keep, Act("save composition", _KIND, name[:80]))
    if kept is None:
        return redirect(reverse("what-if-saved", query=fields))
    messages.success(request, gettext("Saved as {name}.").format(name=kept.name))
    return redirect(reverse("what-if", query={"saved": str(kept.pk)}))


@action
async def rename(request: HttpRequest, viewer: Viewer, saved_id: str) -> HttpResponseBase:
    """POST /what-if/saved/<id>/rename/: its owner gives it another name."""
    name = request.POST.get("name", "")
    work = partial(rename_composition, viewer, request.user, saved_id, name)
    names = await _done(request, viewer, work, Act("rename composition", _KIND, name[:80]))
    if names is not None:
        told = gettext("{before} is called {after} now.").format(before=names[0], after=names[1])
        messages.success(request, told)
    return redirect("what-if-saved")


@action
async def delete(request: HttpRequest, viewer: Viewer, saved_id: str) -> HttpResponseBase:
    """POST /what-if/saved/<id>/delete/: its owner deletes it."""
    work = partial(delete_composition, viewer, request.user, saved_id)
    name = await _done(request, viewer, work, Act("delete composition", _KIND, saved_id[:80]))
    if name is not None:
        messages.success(request, gettext("{name} is deleted.").format(name=name))
    return redirect("what-if-saved")


async def _done(
    request: HttpRequest, viewer: Viewer, work: Callable[[], Any], act: Act
) -> Any | None:
    """What came of it; None where it was refused, which is told and noted."""
    try:
        found = await sync_to_async(work)()
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal, act)
        told = gettext("Nothing was changed: {refusal}.").format(refusal=refusal)
        messages.error(request, told)
        return None
    note_act(request, act.words, _KIND, act.target_id)
    return found
