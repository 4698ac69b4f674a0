"""Notifications in the own browser: what is chosen, and what holds of it.

A page asks, if its browser was told to show them; nothing is sent to anybody who has no page open.
"""

import msgspec
from asgiref.sync import sync_to_async
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.store.access import StoreAccess, the_store
from dashboard.acts import note_own_act
from dashboard.notices import (
    Notice,
    NoticeWish,
    SharedLook,
    choice_of,
    keep_choice,
    notices_for,
    read_choice,
)
from dashboard.page import action, page
from dashboard.viewer import Viewer
from dashboard.views.account import id_of
from dashboard.wording import count_of

_LOOK = SharedLook()


@page
async def notices(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /notices: what the person is to be told of now, and whether of anything at all."""
    choice = await sync_to_async(choice_of)(id_of(request))
    told: list[Notice] = []
    if choice.kinds:
        told = await the_store().aread_call(_told, request, viewer, choice)
    answer = HttpResponse(
        msgspec.json.encode({"wants": bool(choice.kinds), "notices": told}),
        content_type="application/json",
    )
    answer["Cache-Control"] = "no-store"
    return answer


@action
async def choose(request: HttpRequest, _viewer: Viewer) -> HttpResponseBase:
    """POST /account/notices/: of what the person wants to be told."""
    asked = request.POST
    choice, problem = read_choice(asked.getlist("kind"), asked.get("minutes", "").strip())
    if problem:
        messages.error(request, gettext("Nothing was changed. {problem}").format(problem=problem))
        return redirect("/account/#notices")
    await sync_to_async(keep_choice)(id_of(request), choice)
    note_own_act(request, "choose notifications")
    told = count_of(len(choice.kinds), "{count} kind of trouble", "{count} kinds of trouble")
    messages.success(
        request,
        gettext("You are told of {told}.").format(told=told)
        if choice.kinds
        else gettext("You are told of nothing."),
    )
    return redirect("/account/#notices")


def _told(
    store: StoreAccess, request: HttpRequest, viewer: Viewer, choice: NoticeWish
) -> list[Notice]:
    clock = request.clock  # type: ignore[attr-defined]  # set by request_context
    return notices_for(_LOOK.conditions(store, clock), choice, viewer, viewer.now)
