"""What every page goes through: a person who may see it, one read of the record, one rendering.

In: a request and a query (reader and viewer to context). Out: the page, at the index it was read
at, or a page that says which right is missing and whom to ask. Reading and rendering happen
together on a reader thread, off the event loop.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_noop, override
from django.views.decorators.http import require_POST, require_safe

from cluster.client_address import address_of
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.store.access import StoreAccess, the_store
from cluster.store.ports import RecordReader
from dashboard.acts import note_denied, note_refusal
from dashboard.chosen_namespace import chosen_namespace, spaces_of
from dashboard.kept import Interrupted, asks_for_data, kept_page, told_as_data
from dashboard.languages import language_of
from dashboard.people import SUPERUSER, caller_of, groups_with, person_of, whom_to_ask
from dashboard.queries.navigation import navigation
from dashboard.rights import ROUTES, Right
from dashboard.subscription import topic_text
from dashboard.trouble import trouble_now
from dashboard.viewer import Absent, Query, Viewer, visible_namespaces
from dashboard.wording import one_of
from scheduler.access.caller import Caller
from scheduler.errors import IllegalTransition
from scheduler.structs.identity import JobKey

Parameters = ParamSpec("Parameters")


PageView = Callable[
    Concatenate[HttpRequest, Viewer, Parameters], Coroutine[Any, Any, HttpResponseBase]
]
View = Callable[Concatenate[HttpRequest, Parameters], Coroutine[Any, Any, HttpResponseBase]]


_TEXT = "text/plain; charset=utf-8"
_ABSENT = "404.html"
#: What is offered to the search of an address that nothing has, in characters.
_LONGEST_WORD = 80
_SIGNED_OUT = Interrupted(
    gettext_noop("You are signed out"),
    gettext_noop("Your session has ended."),
    gettext_noop("Nothing was changed. What you wrote is here."),
    401,
    is_signed_out=True,
)


def page(view: PageView[Parameters]) -> View[Parameters]:
    """A view of a page: signed in, reading only; it is given the viewer."""
    return require_safe(_signed_in(view))


def document(view: PageView[Parameters]) -> View[Parameters]:
    """A view of a page's text for programs: it also takes an API token, as `/v1` does."""
    guarded = _signed_in(view)

    @wraps(view)
    async def admitted(
        request: HttpRequest, /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> HttpResponseBase:
        bearer = request.bearer  # type: ignore[attr-defined]  # set by bearer_context
        if bearer is None:
            return await guarded(request, *args, **kwargs)
        try:
            viewer = await _viewer_with(request, await bearer())
        except OperationRefused as refused:
            return HttpResponse(str(refused), status=refused.status, content_type=_TEXT)
        right = _right_of(request)
        if right is None or not right.holds(viewer.access):
            return HttpResponse(str(NotAllowed()), status=403, content_type=_TEXT)
        return await view(request, viewer, *args, **kwargs)

    return require_safe(admitted)


def action(view: PageView[Parameters]) -> View[Parameters]:
    """A view of a button: signed in, POST with a CSRF token; it is given the viewer."""

    @wraps(view)
    async def lawful(
        request: HttpRequest,
        viewer: Viewer,
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> HttpResponseBase:
        try:
            return await view(request, viewer, *args, **kwargs)
        except IllegalTransition as error:
            note_refusal(request, viewer.caller, error)
            messages.error(request, gettext("Nothing was changed: {error}.").format(error=error))
            return redirect(page_of_button(request))

    return require_POST(_signed_in(lawful))


def key_in(request: HttpRequest, namespace: str, job_id: str) -> JobKey:
    """The job an address names: in its path, else in its query."""
    if job_id:
        return JobKey(namespace, job_id)
    return JobKey(request.GET.get("namespace", ""), request.GET.get("id", ""))


def page_of_button(request: HttpRequest) -> str:
    """The page of ours that a button stood on; the front page for any other."""
    page = request.headers.get("referer", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()})
    return page if is_ours else "/"


def _signed_in(view: PageView[Parameters]) -> View[Parameters]:
    @wraps(view)
    async def guarded(
        request: HttpRequest, /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> HttpResponseBase:
        viewer = await _viewer_of(request)
        if viewer is None and (request.method == "POST" or asks_for_data(request)):
            return kept_page(request, _SIGNED_OUT.told())
        if viewer is None:
            return redirect_to_login(request.get_full_path())
        right = _right_of(request)
        if right is None or not right.holds(viewer.access):
            return await _denied(request, viewer, right)
        return await view(request, viewer, *args, **kwargs)

    return guarded


async def _viewer_of(request: HttpRequest) -> Viewer | None:
    user = await request.auser()
    if not user.is_authenticated:
        return None
    # Templates ask the synchronous way; it must find the user loaded.
    request.user = user
    now = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
    address = address_of(request)
    wished = await chosen_namespace(request)
    if user.is_superuser and user.is_active:
        caller = caller_of(user, SUPERUSER, address)
        return Viewer(name=caller.name, now=now, caller=caller, namespaces=None, chosen=wished)

    def viewer_at(reader: RecordReader) -> Viewer:
        person = person_of(user)
        caller = caller_of(user, person, address)
        namespaces = visible_namespaces(reader, caller.access)
        return Viewer(
            name=caller.name,
            now=now,
            caller=caller,
            namespaces=namespaces,
            chosen=wished if namespaces is None or wished in namespaces else "",
            has_a_group=person.has_a_group,
        )

    return await the_store().aread(viewer_at)


async def _viewer_with(request: HttpRequest, caller: Caller) -> Viewer:
    """The bearer of a token as a viewer."""
    now = request.clock.now()  # type: ignore[attr-defined]  # set by request_context

    def viewer_at(reader: RecordReader) -> Viewer:
        namespaces = visible_namespaces(reader, caller.access)
        return Viewer(name=caller.name, now=now, caller=caller, namespaces=namespaces)

    return await the_store().aread(viewer_at)


def _right_of(request: HttpRequest) -> Right | None:
    """What the address asks for; None for one that the table of rights does not know."""
    match = request.resolver_match
    return ROUTES.get(match.url_name or "") if match is not None else None


async def _denied(request: HttpRequest, viewer: Viewer, right: Right | None) -> HttpResponse:
    """403: the missing right, the groups that have it, and whom to ask."""
    note_denied(request, right)
    if asks_for_data(request):
        needed = (
            gettext(": {word} is needed").format(word=right.word)
            if right is not None and right.word
            else ""
        )
        return told_as_data(gettext("You may not do this{needed}.").format(needed=needed), 403)

    def who_helps(_reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
        groups = groups_with(right.holds) if right is not None else []
        return {
            "right": right,
            "groups_told": _groups_told(groups),
            "ask": whom_to_ask(),
            "http_status": 403,
        }

    return await shown(request, viewer, "dashboard/denied.html", who_helps)


def _groups_told(groups: Sequence[str]) -> str:
    if not groups:
        return gettext("No group has this right yet.")
    if len(groups) == 1:
        return gettext("The group {groups} has this right.").format(groups=groups[0])
    return gettext("The groups {groups} have this right.").format(groups=one_of(groups, "and"))


async def shown(request: HttpRequest, viewer: Viewer, template: str, query: Query) -> HttpResponse:
    """The page of a query; `http_status` in its context is the answer's, 200 otherwise."""

    def make(store: StoreAccess) -> HttpResponse:
        # A reader's thread has no language of its own.
        with override(language_of(request)):
            try:
                context = store.read(lambda reader: _read(reader, viewer, query))
            except Absent:
                context = store.read(lambda reader: _read(reader, viewer, _nothing))
                return render(request, _ABSENT, {**context, **_sought(request)}, status=404)
            return render(request, template, context, status=context.get("http_status", 200))

    return await the_store().aread_call(make)


async def unknown_address(request: HttpRequest) -> HttpResponse:
    """404 of an address that no page has: what was asked for, in the frame of all pages.

    Who is not signed in is told that, and nothing of what there is.
    """
    if asks_for_data(request):
        return told_as_data(gettext("Nothing has this address."), 404)
    viewer = await _viewer_of(request)
    if viewer is None:
        return render(request, "404_signed_out.html", _sought(request), status=404)

    def sought(_reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
        return {**_sought(request), "http_status": 404}

    return await shown(request, viewer, _ABSENT, sought)


async def refused_page(request: HttpRequest, why: Interrupted) -> HttpResponse:
    """Why an address answers nothing, in the frame of all pages; alone for the signed-out."""
    viewer = await _viewer_of(request)
    if viewer is None:
        return kept_page(request, why)

    def told(_reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
        return {"why": why, "http_status": why.status}

    return await shown(request, viewer, "refused.html", told)


def _sought(request: HttpRequest) -> dict[str, str]:
    """The address as it was typed, and its last word, which a search may find."""
    words = [word for word in request.path.split("/") if word]
    return {"sought": request.path, "sought_word": words[-1][:_LONGEST_WORD] if words else ""}


async def read(viewer: Viewer, query: Query) -> Mapping[str, Any] | None:
    """The context of a query alone, for answers that are no pages; None when absent."""

    def ask(store: StoreAccess) -> Mapping[str, Any] | None:
        try:
            return store.read(lambda reader: query(reader, viewer))
        except Absent:
            return None

    return await the_store().aread_call(ask)


def _read(reader: RecordReader, viewer: Viewer, query: Query) -> dict[str, Any]:
    common = {
        "page_index": reader.index,
        "now": viewer.now,
        "viewer": viewer,
        "trouble": trouble_now(viewer.now),
        "opens": viewer.opens,
        "spaces": spaces_of(reader, viewer),
        "nav_topic": topic_text("navigation", viewer.chosen or "*"),
        "nav_counts": navigation(reader, viewer.looks_at, sees_nodes=viewer.access.reads("node")),
    }
    return {**common, **query(reader, viewer)}


def _nothing(_reader: RecordReader, _viewer: Viewer) -> Mapping[str, Any]:
    return {}
