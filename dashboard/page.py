"""What every page goes through: a person who may see it, one read of the record, one rendering.

In: a request and a query (reader and viewer to context). Out: the page, at the index it was read
at. Reading and rendering happen together on a reader thread, off the event loop.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from cluster.store.access import StoreAccess, the_store
from dashboard.live.subscriptions import readable_namespaces
from dashboard.queries.navigation import navigation
from dashboard.viewer import Absent, Query, Viewer, own
from scheduler.ports import StateReader

Parameters = ParamSpec("Parameters")


PageView = Callable[
    Concatenate[HttpRequest, Viewer, Parameters], Coroutine[Any, Any, HttpResponseBase]
]
View = Callable[Concatenate[HttpRequest, Parameters], Coroutine[Any, Any, HttpResponseBase]]


def page(view: PageView[Parameters]) -> View[Parameters]:
    """A view of a page: signed in, reading only; it is given the viewer."""
    return require_safe(_signed_in(view))


def action(view: PageView[Parameters]) -> View[Parameters]:
    """A view of a button: signed in, POST with a CSRF token; it is given the viewer."""
    return require_POST(_signed_in(view))


def _signed_in(view: PageView[Parameters]) -> View[Parameters]:
    @wraps(view)
    async def guarded(
        request: HttpRequest, /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> HttpResponseBase:
        viewer = await _viewer_of(request)
        if viewer is None:
            return redirect_to_login(request.get_full_path())
        return await view(request, viewer, *args, **kwargs)

    return guarded


async def _viewer_of(request: HttpRequest) -> Viewer | None:
    user = await request.auser()
    if not user.is_authenticated:
        return None
    # Templates ask the synchronous way; it must find the user loaded.
    request.user = user
    return Viewer(
        name=user.get_username(),
        is_staff=user.is_staff,
        now=request.clock.now(),  # type: ignore[attr-defined]  # set by request_context
        namespaces=await sync_to_async(readable_namespaces)(user),
    )


async def shown(request: HttpRequest, viewer: Viewer, template: str, query: Query) -> HttpResponse:
    """The page of a query; `http_status` in its context is the answer's, 200 otherwise."""

    def make(store: StoreAccess) -> HttpResponse:
        try:
            context = store.read(lambda reader: _read(reader, viewer, query))
        except Absent:
            context = store.read(lambda reader: _read(reader, viewer, _nothing))
            return render(request, "404.html", context, status=404)
        return render(request, template, context, status=context.get("http_status", 200))

    return await the_store().aread_call(make)


async def read(viewer: Viewer, query: Query) -> Mapping[str, Any] | None:
    """The context of a query alone, for answers that are no pages; None when absent."""

    def ask(store: StoreAccess) -> Mapping[str, Any] | None:
        try:
            return store.read(lambda reader: query(own(reader), viewer))
        except Absent:
            return None

    return await the_store().aread_call(ask)


def _read(reader: StateReader, viewer: Viewer, query: Query) -> dict[str, Any]:
    record = own(reader)
    common = {
        "page_index": record.index,
        "now": viewer.now,
        "viewer": viewer,
        "nav_counts": navigation(record, viewer.namespaces),
    }
    return {**common, **query(record, viewer)}


def _nothing(_reader: StateReader, _viewer: Viewer) -> Mapping[str, Any]:
    return {}
