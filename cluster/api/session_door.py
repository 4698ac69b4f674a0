"""The websockets of `/v1`: `client/allocation/<id>/exec` and `job/<id>/action` (doors.md 12).

In: an upgrade of a program with a token in a header, or in its first message. Out: a session
inside a task. Everything that is wrong is said after the upgrade, as the reason of the close.
"""

import asyncio
import re
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import msgspec
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, QueryDict

from cluster.api.callers import TOKEN_FIELD, caller_of
from cluster.api.pace import require_pace
from cluster.api.parameters import read_flag
from cluster.api.request import Call
from cluster.client_address import address_of
from cluster.operations import audit
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.session_socket import HungUp, NotUnderstood, SessionSocket
from cluster.operations.task_sessions import SessionWish, act_of, require_session, session_order
from cluster.store.access import the_store
from cluster.store.audit_entries import Actor, actor_of
from scheduler.access.caller import Caller
from scheduler.ports import Clock
from scheduler.structs.identity import DEFAULT_NAMESPACE

_EXEC = re.compile(r"/v1/client/allocation/(?P<alloc_id>[^/]+)/exec")
_ACTION = re.compile(r"/v1/job/(?P<job_id>.+)/action")
_HANDSHAKE_S = 10.0
_NO_UPGRADE = "websocket connection not found in context"


class _Handshake(msgspec.Struct, frozen=True):
    """The first message of a browser, which can set no header."""

    version: int
    auth_token: str = ""


class SessionDoor:
    """Serves the two websockets; what else is asked for is denied."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        if not _is_a_session(scope["path"]) or not _comes_from_here(scope):
            await WebsocketDenier.as_asgi()(scope, receive, send)
            return
        if (await receive())["type"] != "websocket.connect":
            return
        await send({"type": "websocket.accept"})
        socket = SessionSocket(receive, send)
        request = _request_of(scope, self._clock)
        try:
            await self._serve(socket, request)
        except HungUp:
            return
        except (OperationRefused, TimeoutError) as problem:
            await socket.close(problem)
        else:
            await socket.close()

    async def _serve(self, socket: SessionSocket, request: HttpRequest) -> None:
        caller, wish = None, SessionWish("", "")
        try:
            wish = wish_of(request)
            if _flag(request.GET, "ws_handshake"):
                await _take_token(socket, request)
            caller = await _caller_of(request)
            found = caller
            order = await the_store().aread(lambda reader: session_order(reader, wish, found))
        except OperationRefused as refused:
            self._note(request, caller, wish, refused)
            raise

        async def recheck() -> None:
            now = await caller_of(request)
            await the_store().aread(lambda reader: session_order(reader, wish, now))

        await socket.serve(order, by=caller, now=self._clock.now, recheck=recheck)

    def _note(
        self, request: HttpRequest, caller: Caller | None, wish: SessionWish, problem: Exception
    ) -> None:
        who = Actor(address=address_of(request)) if caller is None else actor_of(caller)
        act = act_of(wish)
        audit.note_not_done(the_store(), who, act, problem, at=self._clock.now())


async def not_upgraded(call: Call, alloc_id: str = "", job_id: str = "") -> HttpResponse:
    """GET of either address without an upgrade."""
    del alloc_id, job_id
    require_session(call.caller, call.namespace)
    raise OperationRefused(_NO_UPGRADE)


def wish_of(request: HttpRequest) -> SessionWish:
    """What the address asks for. Raises NotUnderstood."""
    query, path = request.GET, request.path
    tty = _flag(query, "tty")
    command = _command_of(query)
    if found := _EXEC.fullmatch(path):
        return SessionWish(found["alloc_id"], query.get("task", ""), command, tty)
    found = _ACTION.fullmatch(path)
    assert found is not None, "the door let nothing else in"
    # Without an action there is nothing to run: a command is the business of the other address.
    return SessionWish(
        query.get("allocID", ""),
        query.get("task", ""),
        (),
        tty,
        query.get("action", ""),
        unquote(found["job_id"]),
        query.get("namespace") or DEFAULT_NAMESPACE,
    )


def _flag(query: QueryDict, name: str) -> bool:
    try:
        return bool(read_flag(query, name))
    except OperationRefused as problem:
        why = str(problem).partition("strconv")[2]
        raise NotUnderstood(f"{name} value is not a boolean: strconv{why}") from problem


def _command_of(query: QueryDict) -> tuple[str, ...]:
    text = query.get("command", "")
    if not text:
        return ()
    try:
        return msgspec.json.decode(text, type=tuple[str, ...])
    except msgspec.MsgspecError as problem:
        raise NotUnderstood(f"failed to marshal command into json: {problem}") from problem


async def _take_token(socket: SessionSocket, request: HttpRequest) -> None:
    """The token of the first message, in the place of whatever the headers say."""
    async with asyncio.timeout(_HANDSHAKE_S):
        text = await socket.next_text()
    try:
        shown = msgspec.json.decode(text, type=_Handshake)
    except msgspec.MsgspecError as problem:
        raise OperationRefused(f"unexpected handshake: {problem}") from problem
    if shown.version != 1:
        raise OperationRefused(f"unexpected handshake value: {shown.version}")
    request.META[TOKEN_FIELD] = shown.auth_token
    request.META.pop("HTTP_AUTHORIZATION", None)
    request.__dict__.pop("headers", None)


async def _caller_of(request: HttpRequest) -> Caller:
    """Who asks, if they may ask once more. Raises NotAllowed, TooMany."""
    try:
        caller = await caller_of(request)
    except NotAllowed:
        await require_pace(request, None)
        raise
    await require_pace(request, caller)
    return caller


def _is_a_session(path: str) -> bool:
    return bool(_EXEC.fullmatch(path) or _ACTION.fullmatch(path))


def _comes_from_here(scope: Any) -> bool:
    """Programs say no origin; a page of somebody else gets no socket, whatever it knows."""
    given = {value for name, value in scope["headers"] if name == b"origin"}
    return given <= {origin.encode("ascii") for origin in settings.CSRF_TRUSTED_ORIGINS}


def _request_of(scope: Any, clock: Clock) -> HttpRequest:
    request = ASGIRequest({**scope, "method": "GET"}, BytesIO())
    request.clock = clock  # type: ignore[attr-defined] # what middleware sets elsewhere
    return request
