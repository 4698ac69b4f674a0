"""What if: several changes rehearsed at once, and the page of one rehearsal, to be shared."""

import re
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal
from dashboard.compositions import compositions
from dashboard.page import action, document, page, shown
from dashboard.queries.composed import (
    FIRST,
    MOST_ROWS,
    AskedChange,
    documents_of,
    fields_of_rows,
    rows_of_fields,
)
from dashboard.queries.rehearsed_files import rehearsed_file
from dashboard.queries.rehearsed_story import rehearsed_story
from dashboard.queries.story_files import FORMS
from dashboard.queries.what_if import rehearsal_page, what_if_page
from dashboard.rehearsing import LOOK_AGAIN_S, ask_to_rehearse, end_open_rehearsal
from dashboard.viewer import Absent, Viewer

_LONGEST_FOLD = 500
#: Where a problem is, as programs are told it: `Changes[0].Scale.Count`.
_PLACE = re.compile(r"Changes\[(\d+)\](?:\.[A-Za-z]+((?:\.[A-Za-z]+)*))?")


@page
async def what_if(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /what-if/: the form, filled from the address, or with one that is saved."""
    given, user = request.GET.dict(), request.user
    rows, saved_id = rows_of_fields(given), given.get("saved", "")

    def query(reader: RecordReader, seen_by: Viewer) -> dict[str, Any]:
        kept = compositions(seen_by, user)
        opened = next((each for each in kept if str(each.id) == saved_id), None)
        if saved_id and opened is None:
            raise Absent
        shown_rows = rows or rows_of_fields(opened.fields if opened is not None else {})
        context = what_if_page(reader, seen_by, shown_rows)
        return context | {"kept": kept, "opened": opened}

    return await shown(request, viewer, "dashboard/what_if.html", query)


@page
async def rehearsal(request: HttpRequest, viewer: Viewer, rehearsal_id: str) -> HttpResponse:
    """GET /what-if/<id>/: how far it is, or what was found."""
    asked, user = request.GET.dict(), request.user
    rows = rows_of_fields(asked)

    def query(reader: RecordReader, seen_by: Viewer) -> dict[str, Any]:
        found = rehearsal_page(reader, seen_by, rehearsal_id, rows, asked)
        kept = compositions(seen_by, user) if "rows" in found else []
        again = {"look_again": request.get_full_path(), "look_again_s": LOOK_AGAIN_S}
        return found | again | {"kept": kept}

    return await shown(request, viewer, "dashboard/what_if.html", query)


@page
async def rehearsed_as_story(
    request: HttpRequest, viewer: Viewer, rehearsal_id: str
) -> HttpResponse:
    """GET /what-if/<id>/story/: what was found, told as a story."""
    opened = request.GET.get("open", "")[:_LONGEST_FOLD]

    def query(reader: RecordReader, seen_by: Viewer) -> dict[str, Any]:
        found = rehearsed_story(reader, rehearsal_id, seen_by.caller, seen_by.now, opened)
        if found is None:
            raise Absent
        return found

    return await shown(request, viewer, "dashboard/rehearsed_story.html", query)


@document
async def rehearsed_as_file(
    request: HttpRequest, viewer: Viewer, rehearsal_id: str, form: str
) -> HttpResponse:
    """GET /what-if/<id>/story.<mmd|svg|json|md>."""
    site = f"{request.scheme}://{request.get_host()}"
    found = await the_store().aread(
        lambda reader: rehearsed_file(reader, viewer, rehearsal_id, form, site)
    )
    if found is None:
        return HttpResponseNotFound(gettext("no such rehearsal"), content_type=FORMS["md"])
    return HttpResponse(found, content_type=FORMS[form])


@action
async def ask(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /what-if/ask/: rehearse what the form composes, or compose on."""
    form = request.POST.dict()
    rows = rows_of_fields(form)
    if form.get("step") == "save":
        return redirect(reverse("what-if-saved", query=fields_of_rows(rows)))
    changed = _composed_on(form, rows)
    if changed is not None:
        return redirect(_form_address(form, changed))
    try:
        asked = await the_store().awrite_call(
            ask_to_rehearse,
            await the_store().aread(lambda reader: documents_of(reader, rows)),
            by=viewer.caller,
            now=viewer.now,
            ids=request.ids,  # type: ignore[attr-defined]  # set by request_context
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        told = gettext("Not rehearsed: {refusal}").format(refusal=_by_row(refusal))
        messages.error(request, told)
        return redirect(_form_address(form, rows))
    return redirect("rehearsal", asked.id)


def _by_row(refusal: OperationRefused) -> str:
    """The problems, each with the number of its row and its field."""

    def told(found: re.Match[str]) -> str:
        name = (found[2] or "").rpartition(".")[2]
        number = int(found[1]) + 1
        if not name:
            return gettext("change {number}").format(number=number)
        return gettext("change {number}, {name}").format(number=number, name=name)

    return _PLACE.sub(told, str(refusal))


def _composed_on(form: dict[str, str], rows: list[AskedChange]) -> list[AskedChange] | None:
    """The rows with one more or one less; None where they are to be rehearsed."""
    if form.get("step") == "add":
        return [*rows, FIRST][:MOST_ROWS]
    removed = form.get("remove", "")
    if not removed:
        return None
    return [row for place, row in enumerate(rows, 1) if str(place) != removed]


def _form_address(form: dict[str, str], rows: list[AskedChange]) -> str:
    """The form with these rows, on the page of the rehearsal it stood beside."""
    beside = form.get("of", "")
    fields = fields_of_rows(rows)
    if beside:
        return reverse("rehearsal", args=[beside], query=fields)
    return reverse("what-if", query=fields)


@action
async def cancel(request: HttpRequest, viewer: Viewer, rehearsal_id: str) -> HttpResponse:
    """POST /what-if/<id>/cancel/: end one that waits or runs; back to where it was looked at."""
    try:
        await the_store().awrite_call(
            end_open_rehearsal, rehearsal_id, by=viewer.caller, now=viewer.now
        )
    except OperationRefused as refusal:
        act = Act("cancel rehearsal", "rehearsal", rehearsal_id)
        note_refusal(request, viewer.caller, refusal, act)
        messages.error(request, gettext("Not canceled: {refusal}.").format(refusal=refusal))
    else:
        messages.success(request, gettext("The rehearsal is canceled."))
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()})
    return redirect(back if is_ours else reverse("rehearsal", args=[rehearsal_id]))
