"""Pages of variables: one with its keys, its form; buttons to show a value, to delete.

In: who asks, a place, a form. Out: pages, or an operation on the record. Answers with items are
kept by no cache. A value is shown when it is asked for, which the audit keeps.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop

from cluster.operations.audit import note_done
from cluster.operations.errors import OperationRefused
from cluster.operations.variables import (
    Locked,
    NotAsExpected,
    OpenedVariable,
    delete_variable,
    put_variable,
    read_variable,
)
from cluster.store.access import the_store
from cluster.store.audit_entries import Act
from cluster.store.ports import RecordReader
from dashboard.acts import note_refusal, person_of
from dashboard.page import action, page, shown
from dashboard.queries.variables import form_page, url_of, variable_page
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.views.variable_form import EMPTY_ROWS, ItemRow, items_asked, rows_of, sent_rows
from scheduler.structs.variable import SealedVariable

_FORM = "dashboard/variable_form.html"
_LOCKED = gettext_noop("It is locked: until its holder lets go of it, only they change it.")


async def variable(request: HttpRequest, namespace: str, path: str) -> HttpResponseBase:
    """GET and POST /variables/<namespace>/<path>/; with `edit` its form."""
    view = _saved if request.method == "POST" else _opened
    return _uncached(await view(request, namespace, path))


async def new(request: HttpRequest) -> HttpResponseBase:
    """GET and POST /variables/new/."""
    view = _saved if request.method == "POST" else _new
    return _uncached(await view(request, "", ""))


@action
async def show(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /variables/show/: the page with the value of one key."""
    namespace, path = _place(request)
    key = request.POST.get("key", "")
    act = Act("show value of variable", "variable", f"{namespace}/{path}", namespace, key[:128])
    try:
        found = await the_store().aread(
            lambda reader: read_variable(reader, namespace, path, by=viewer.caller)
        )
    except OperationRefused as refused:
        note_refusal(request, viewer.caller, refused, act)
        messages.error(request, gettext("Nothing is shown: {refused}.").format(refused=refused))
        return redirect("/variables/")
    if found is None or key not in (found.items or {}):
        messages.error(request, gettext("Nothing is shown: there is no such value any more."))
        return redirect("/variables/" if found is None else url_of(namespace, path))
    note_done(the_store(), person_of(request, request.user), act, at=viewer.now)
    query = partial(variable_page, namespace=namespace, path=path, key=key)
    return _uncached(await shown(request, viewer, "dashboard/variable.html", query))


@action
async def delete(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /variables/delete/, with the path typed once more."""
    namespace, path = _place(request)
    if not path:
        return redirect("/variables/")
    here = url_of(namespace, path)
    if request.POST.get("typed", "").strip() != path:
        messages.error(
            request, gettext("Nothing was deleted: type {path} to confirm.").format(path=path)
        )
        return redirect(here)
    try:
        await the_store().awrite_call(
            delete_variable, namespace, path, cas=_seen(request), by=viewer.caller, now=viewer.now
        )
    except OperationRefused as refused:
        act = Act("delete variable", "variable", f"{namespace}/{path}", namespace)
        note_refusal(request, viewer.caller, refused, act)
        messages.error(request, gettext("Nothing was deleted. {told}").format(told=_told(refused)))
        return redirect(here)
    messages.success(
        request,
        gettext("The variable {path} is deleted. Nothing reads it any more.").format(path=path),
    )
    return redirect("/variables/")


@page
async def _opened(
    request: HttpRequest, viewer: Viewer, namespace: str, path: str
) -> HttpResponseBase:
    if "edit" not in request.GET:
        query = partial(variable_page, namespace=namespace, path=path)
        return await shown(request, viewer, "dashboard/variable.html", query)

    def form(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
        context = form_page(reader, viewer, namespace=namespace, path=path)
        if context["stored"] is None:
            raise Absent
        return _form_of(context, rows_of(context["keys"]))

    return await shown(request, viewer, _FORM, form)


@page
async def _new(request: HttpRequest, viewer: Viewer, _namespace: str, _path: str) -> HttpResponse:
    def form(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
        context = form_page(reader, viewer)
        wished = {"path": request.GET.get("path", "")}
        return _form_of({**context, **wished}, rows_of(()))

    return await shown(request, viewer, _FORM, form)


@action
async def _saved(
    request: HttpRequest, viewer: Viewer, namespace: str, path: str
) -> HttpResponseBase:
    place = (namespace, path) if path else _place(request)
    rows: list[ItemRow] = []
    try:
        rows = sent_rows(request.POST)
        if "more" in request.POST:
            return await _again(request, viewer, path, rows, [], status=200)
        items, problems = items_asked(
            rows, await _stored_items(viewer, place, rows, _seen(request))
        )
        if not problems:
            await _put(viewer, place, items, _seen(request))
    except OperationRefused as refused:
        act = Act("write variable", "variable", "/".join(place), place[0])
        note_refusal(request, viewer.caller, refused, act)
        is_new = isinstance(refused, NotAsExpected) and not path
        told = (
            gettext("There is a variable {place} already.").format(place=place[1])
            if is_new
            else _told(refused)
        )
        return await _again(request, viewer, path, rows, [told], status=refused.status)
    if problems:
        return await _again(request, viewer, path, rows, problems, status=400)
    messages.success(request, gettext("The variable {place} is saved.").format(place=place[1]))
    return redirect(url_of(*place) if _may_look(viewer, place) else "/variables/")


async def _stored_items(
    viewer: Viewer, place: tuple[str, str], rows: list[ItemRow], seen: int
) -> dict[str, str]:
    """What rows may keep, as it was when the form was made; raises NotAsExpected.

    Nothing is read for a form that began with nothing.
    """
    if not any(row.was for row in rows):
        return {}
    found = await the_store().aread(lambda reader: read_variable(reader, *place, by=viewer.caller))
    if found is None:
        raise NotAsExpected(
            OpenedVariable(variable=SealedVariable(namespace=place[0], path=place[1]))
        )
    if found.variable.modify_index != seen:
        raise NotAsExpected(found)
    return found.items or {}


async def _put(
    viewer: Viewer, place: tuple[str, str], items: Mapping[str, str], seen: int
) -> None:
    await the_store().awrite_call(
        put_variable, *place, items, cas=seen, by=viewer.caller, now=viewer.now
    )


async def _again(
    request: HttpRequest,
    viewer: Viewer,
    path: str,
    rows: list[ItemRow],
    problems: list[str],
    *,
    status: int,
) -> HttpResponse:
    """The form as it was sent, with what is wrong; nothing was stored."""
    sent = request.POST
    namespace = sent.get("namespace", "")

    def query(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
        if path:
            context = form_page(reader, viewer, namespace=_of_path(request), path=path)
        else:
            place = {"namespace": namespace, "path": sent.get("path", "")}
            context = {**form_page(reader, viewer), **place}
        told = {"problems": problems, "http_status": status, "seen": _seen(request)}
        more = EMPTY_ROWS if "more" in sent else 0
        return _form_of({**context, **told}, [*rows, *rows_of((), more)])

    return await shown(request, viewer, _FORM, query)


def _form_of(context: Mapping[str, Any], rows: list[ItemRow]) -> dict[str, Any]:
    stored = context["stored"]
    steps = [(stored.path, context["url"]), ("Edit", "")] if stored else [("New", "")]
    trail = crumbs(("Variables", "/variables/"), *steps)
    return {**context, "rows": rows, "crumbs": trail}


def _of_path(request: HttpRequest) -> str:
    match = request.resolver_match
    return str(match.kwargs.get("namespace", "")) if match is not None else ""


def _place(request: HttpRequest) -> tuple[str, str]:
    return request.POST.get("namespace", ""), request.POST.get("path", "").strip()


def _seen(request: HttpRequest) -> int:
    """The index that the form was made at; one that nothing has where it says none."""
    text = request.POST.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def _may_look(viewer: Viewer, place: tuple[str, str]) -> bool:
    return any(viewer.access.allows_variable(*place, each) for each in ("list", "read"))


def _told(refused: OperationRefused) -> str:
    """Why nothing was changed, in a sentence."""
    if isinstance(refused, Locked):
        return gettext(_LOCKED)
    if isinstance(refused, NotAsExpected):
        if not refused.found.variable.create_index:
            return gettext("It was deleted since you opened it.")
        at = refused.found.variable.modify_index
        return gettext(
            "Somebody changed it since you opened it, at index {at}. Open it again."
        ).format(at=at)
    text = str(refused)
    return f"{text[:1].upper()}{text[1:]}."


def _uncached(response: HttpResponseBase) -> HttpResponseBase:
    response["Cache-Control"] = "no-store"
    return response
