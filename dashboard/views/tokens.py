"""Making tokens and taking them back: one's own, everybody's, roles, join tokens.

In: forms. Out: operations on the record. A secret leaves with the answer that made it, once.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from cluster.agent.joining import join_command
from cluster.operations.acl_roles import delete_role, put_role
from cluster.operations.acl_tokens import create_token, delete_tokens
from cluster.operations.errors import OperationRefused
from cluster.store.access import the_store
from cluster.store.join_tokens import (
    UNLIMITED,
    add_join_token,
    new_join_token,
    revoke_join_token,
)
from cluster.store.ports import RecordReader
from dashboard.acts import note_act
from dashboard.own_tokens import make_own_token, revoke_own_token
from dashboard.page import action, page, shown
from dashboard.queries.tokens import joins_page, roles_page, tokens_page
from dashboard.queries.would_change import would_change
from dashboard.viewer import Query, Viewer
from dashboard.views.account import shown_account
from scheduler.structs.acl_token import AclRole, AclToken, PolicyLink, RoleLink, TokenType

_SECOND = 1_000_000_000
_EVERYTHING = "*"
_LONGEST_NAME = 256
_MOST_USES = 1_000_000


@action
async def make_own(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /account/tokens/make/: the page again, with the secret."""
    asked, user = _asked(request), request.user

    make = partial(
        make_own_token,
        by=viewer.caller,
        now=viewer.now,
        ids=request.ids,  # type: ignore[attr-defined]  # set by request_context
    )
    try:
        made = await the_store().awrite_call(make, user, asked)
    except OperationRefused as refused:
        problem = _told(refused)
        return await shown_account(
            request, viewer, token_problem=problem, typed=asked, http_status=400
        )
    return await shown_account(request, viewer, made=made)


@action
async def revoke_own(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /account/tokens/revoke/."""
    accessor = request.POST.get("token", "")
    take_back = partial(revoke_own_token, by=viewer.caller, now=viewer.now)
    return await _done(request, take_back, request.user, accessor, back="/account/")


@page
async def tokens(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /access/tokens/."""
    return await shown(request, viewer, "dashboard/tokens.html", tokens_page)


@action
async def make(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /access/make-token/: the list again, with the secret."""
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    asked = _asked(request)
    try:
        made = await the_store().awrite_call(
            create_token, asked, by=viewer.caller, now=viewer.now, ids=ids
        )
    except OperationRefused as refused:
        more = {"token_problem": _told(refused), "typed": asked, "http_status": 400}
        return await _again(request, viewer, "dashboard/tokens.html", tokens_page, more)
    return await _again(request, viewer, "dashboard/tokens.html", tokens_page, {"made": made})


@action
async def revoke(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /access/revoke-token/."""
    accessor = request.POST.get("token", "")
    take_back = partial(delete_tokens, by=viewer.caller, now=viewer.now)
    return await _done(request, take_back, [accessor], back="/access/tokens/")


@page
async def roles(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /access/roles/, and ?change=<id> with one of them in the form."""
    query = partial(roles_page, role_id=request.GET.get("change", ""))
    return await shown(request, viewer, "dashboard/roles.html", query)


@action
async def save_role(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /access/save-role/: a new one, or the one of the id that is sent."""
    ids = request.ids  # type: ignore[attr-defined]  # set by request_context
    role = AclRole(
        id=request.POST.get("id", ""),
        name=request.POST.get("name", "").strip(),
        description=request.POST.get("description", "").strip(),
        policies=tuple(PolicyLink(name=name) for name in request.POST.getlist("policies")),
    )
    if role.id and request.POST.get("look"):

        def looked(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
            return {**roles_page(reader, viewer), **would_change(reader, viewer.now, role=role)}

        return await _again(request, viewer, "dashboard/roles.html", looked, {"typed": role})
    try:
        await the_store().awrite_call(put_role, role, by=viewer.caller, now=viewer.now, ids=ids)
    except OperationRefused as refused:
        more = {"problem": _told(refused), "typed": role, "http_status": 400}
        return await _again(request, viewer, "dashboard/roles.html", roles_page, more)
    messages.success(
        request, gettext("The role {role} is saved. It counts from now on.").format(role=role.name)
    )
    return redirect("/access/roles/")


@action
async def remove_role(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /access/delete-role/."""
    role_id = request.POST.get("id", "")
    delete = partial(delete_role, by=viewer.caller, now=viewer.now)
    return await _done(
        request, delete, role_id, back="/access/roles/", told=gettext("The role is deleted.")
    )


@page
async def joins(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """GET /access/join-tokens/."""
    return await shown(request, viewer, "dashboard/join_tokens.html", joins_page)


@action
async def make_join(request: HttpRequest, viewer: Viewer) -> HttpResponseBase:
    """POST /access/make-join-token/: the list again, with the secret."""
    name = request.POST.get("name", "").strip()[:_LONGEST_NAME]
    uses, seconds = request.POST.get("uses", "").strip(), _number(request.POST.get("ends", ""))
    if not name or (uses and not 0 < _number(uses) <= _MOST_USES):
        told = gettext("Say what it is for, and a number of uses above 0 or none.")
        more = {"problem": told, "typed": request.POST, "http_status": 400}
        return await _again(request, viewer, "dashboard/join_tokens.html", joins_page, more)
    secret = new_join_token()
    add = partial(
        add_join_token,
        secret,
        name=name,
        now=viewer.now,
        expires=viewer.now + seconds * _SECOND if seconds else 0,
        uses=_number(uses) if uses else UNLIMITED,
    )
    token = await the_store().acall(add)
    note_act(request, "make join token", "join token", token.id)
    # The server asks its own address what it shows: a new node pins that.
    command = await asyncio.to_thread(join_command, settings.BIVOUAC_PUBLIC_URL, secret)
    more = {"made": token, "secret": secret, "command": command}
    return await _again(request, viewer, "dashboard/join_tokens.html", joins_page, more)


@action
async def revoke_join(request: HttpRequest, _viewer: Viewer) -> HttpResponseBase:
    """POST /access/revoke-join-token/: nodes that joined by it stay."""
    token_id = request.POST.get("token", "")
    if await the_store().acall(partial(revoke_join_token, token_id)):
        note_act(request, "revoke join token", "join token", token_id)
        messages.success(request, gettext("The join token is taken back. Nodes that joined stay."))
    else:
        messages.error(request, gettext("Nothing was changed: there is no such join token."))
    return redirect("/access/join-tokens/")


async def _done(
    request: HttpRequest, operation: Any, *args: Any, back: str, told: str = ""
) -> HttpResponse:
    try:
        await the_store().awrite_call(operation, *args)
    except OperationRefused as refused:
        messages.error(request, gettext("Nothing was changed: {told}").format(told=_told(refused)))
    else:
        messages.success(
            request, told or gettext("The token is taken back. It opens nothing any more.")
        )
    return redirect(back)


async def _again(
    request: HttpRequest, viewer: Viewer, template: str, query: Query, more: Mapping[str, Any]
) -> HttpResponse:
    """The list with what came of a form; a secret stands in this answer and nowhere else."""

    def both(reader: RecordReader, viewer: Viewer) -> Mapping[str, Any]:
        return {**query(reader, viewer), **more}

    return await shown(request, viewer, template, both)


def _asked(request: HttpRequest) -> AclToken:
    chosen = request.POST.getlist("policies")
    is_everything = _EVERYTHING in chosen
    return AclToken(
        name=request.POST.get("name", "").strip(),
        type=TokenType.MANAGEMENT if is_everything else TokenType.CLIENT,
        policies=() if is_everything else tuple(chosen),
        roles=tuple(RoleLink(id=each) for each in request.POST.getlist("roles")),
        expiration_ttl=_number(request.POST.get("ends", "")) * _SECOND,
    )


def _told(refused: OperationRefused) -> str:
    """A refusal as a sentence: the lines of several problems behind each other."""
    _, *items = str(refused).split("\n\t* ")
    text = "; ".join(item.strip() for item in items) or str(refused).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 12 else 0
