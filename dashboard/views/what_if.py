"""What if: several changes rehearsed at once, and the page of one rehearsal, to be shared."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal
from dashboard.page import action, page, shown
from dashboard.queries.rehearsals import rehearsal_context
from dashboard.queries.rehearsed_story import rehearsed_story
from dashboard.rehearsing import LOOK_AGAIN_S, ask_to_rehearse, end_open_rehearsal
from dashboard.viewer import Absent, Viewer

FIELDS = (
    "lose", "share", "like", "add", "algorithm", "namespace", "job", "group", "count",
    "stop_namespace", "stop", "quota", "cpu", "memory",
)  # fmt: skip
_MOST_DIGITS = 12
_LONGEST_FOLD = 500


@page
async def what_if(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /what-if/: the form, filled from the address."""

    def query(_reader: RecordReader, _viewer: Viewer) -> dict[str, Any]:
        return _form_of(request)

    return await shown(request, viewer, "dashboard/what_if.html", query)


@page
async def rehearsal(request: HttpRequest, viewer: Viewer, rehearsal_id: str) -> HttpResponse:
    """GET /what-if/<id>/: how far it is, or what was found."""

    def query(reader: RecordReader, seen_by: Viewer) -> dict[str, Any]:
        found = rehearsal_context(reader, rehearsal_id, seen_by.caller, seen_by.now)
        if found is None:
            raise Absent
        return _form_of(request) | {"rehearsal": found, "look_again": request.get_full_path()}

    answer = await shown(request, viewer, "dashboard/what_if.html", query)
    if b"data-rehearsal-open" in answer.content:
        answer.headers["Refresh"] = LOOK_AGAIN_S
    return answer


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


@action
async def ask(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """POST /what-if/ask/: rehearse what the form names."""
    given = {name: request.POST.get(name, "").strip() for name in FIELDS}
    kept = {name: value for name, value in given.items() if value}
    try:
        changes = await the_store().aread(lambda reader: changes_of(reader, given))
        asked = await the_store().awrite_call(
            ask_to_rehearse,
            changes,
            by=viewer.caller,
            now=viewer.now,
            ids=request.ids,  # type: ignore[attr-defined]  # set by request_context
        )
    except OperationRefused as refusal:
        note_refusal(request, viewer.caller, refusal)
        messages.error(request, gettext("Not rehearsed: {refusal}").format(refusal=refusal))
        return redirect(reverse("what-if", query=kept))
    return redirect(reverse("rehearsal", args=[asked.id], query=kept))


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


def _form_of(request: HttpRequest) -> dict[str, Any]:
    """The form as the address fills it; of a rehearsal asked for elsewhere it stays empty."""
    given = {name: request.GET.get(name, "") for name in FIELDS}
    return {"given": given, "is_given": any(given.values())}


def changes_of(reader: RecordReader, given: dict[str, str]) -> list[dict[str, Any]]:
    """The changes that the form names, in the form that programs send."""
    changes: list[dict[str, Any]] = []
    if given["lose"]:
        share = {"Share": _number(given["share"])} if given["share"] else {}
        changes.append({"Lose": {"Filter": given["lose"], **share}})
    if given["like"] or given["add"]:
        named = (node.id for node in reader.nodes() if node.name == given["like"])
        like = next(named, given["like"])
        changes.append({"Add": {"Like": like, "Count": _number(given["add"])}})
    if given["algorithm"]:
        changes.append({"Settings": {"SchedulerAlgorithm": given["algorithm"]}})
    if given["quota"]:
        limits = {"CPU": given["cpu"], "MemoryMB": given["memory"]}
        told = {name: _number(value) for name, value in limits.items() if value}
        changes.append({"Quota": {"Name": given["quota"], "Limits": told}})
    if given["job"]:
        key = {"JobID": given["job"], "Namespace": given["namespace"], "Group": given["group"]}
        changes.append({"Scale": {**key, "Count": _number(given["count"])}})
    if given["stop"]:
        key = {"JobID": given["stop"], "Namespace": given["stop_namespace"]}
        changes.append({"Stop": key})
    return changes


def _number(text: str) -> int | str | None:
    """A whole number; what is none is complained about with its place."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else text or None
