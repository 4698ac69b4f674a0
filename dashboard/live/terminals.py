"""The websocket of a terminal in a browser: a session inside a task, for a signed-in person.

In: `?task=&command=&action=` and the session of the browser. Out: the frames of the public API's
sessions (doors.md 12), always with a terminal; first an empty one, once the command runs. The
Origin check stands before this.
"""

import shlex
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

from channels.db import database_sync_to_async
from django.core.handlers.asgi import ASGIRequest

from cluster.client_address import address_of
from cluster.operations.audit import note_not_done
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.session_socket import HungUp, NotUnderstood, SessionSocket
from cluster.operations.task_sessions import SessionWish, act_of, session_order
from cluster.store.access import the_store
from cluster.store.audit_entries import actor_of
from dashboard.live.entitlement import Entitlement, ended, entitlement_of
from dashboard.live.hub import HUB
from dashboard.people import caller_of, person_of
from scheduler.access.caller import Caller

SIGNED_OUT = 4401


async def serve_terminal(scope: Any, receive: Any, send: Any) -> None:
    """Serve one connection; what is wrong is the reason of its close."""
    if (await receive())["type"] != "websocket.connect":
        return
    await send({"type": "websocket.accept"})
    user = scope["user"]
    if not user.is_authenticated or not user.is_active:
        await send({"type": "websocket.close", "code": SIGNED_OUT})
        return
    person = await database_sync_to_async(person_of)(user)
    by = caller_of(user, person, address_of(_request_of(scope)))
    socket = SessionSocket(receive, send)
    try:
        await _serve(socket, scope, by, entitlement_of(user, scope.get("session"), person))
    except HungUp:
        return
    except OperationRefused as problem:
        await socket.close(problem)
    else:
        await socket.close()


async def _serve(socket: SessionSocket, scope: Any, by: Caller, opened: Entitlement) -> None:
    query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
    wish = SessionWish(
        scope["url_route"]["kwargs"]["alloc_id"],
        query.get("task", ""),
        tty=True,
        action=query.get("action", ""),
    )
    try:
        if not wish.action:
            wish = wish._replace(command=_words(query.get("command", "")))
        order = await the_store().aread(lambda reader: session_order(reader, wish, by))
    except OperationRefused as refused:
        note_not_done(the_store(), actor_of(by), act_of(wish), refused, at=HUB.now())
        raise

    async def recheck() -> None:
        ending = (await database_sync_to_async(ended)({opened})).get(opened)
        if ending is not None:
            raise NotAllowed(ending.value)

    # A page says "open" once there is something to type into.
    await socket.serve(order._replace(tells_begin=True), by=by, now=HUB.now, recheck=recheck)


def _words(command: str) -> tuple[str, ...]:
    """A command as it is typed, in words. Raises NotUnderstood."""
    try:
        return tuple(shlex.split(command))
    except ValueError as problem:
        raise NotUnderstood(f"not a command: {problem}") from problem


def _request_of(scope: Any) -> ASGIRequest:
    return ASGIRequest({**scope, "method": "GET"}, BytesIO())


#: For routes, which take anything that is called so.
terminal_socket: Any = serve_terminal
