"""Whether the people behind open sockets may still look: one question for all sockets together.

In: who opened a socket, and with what rights. Out: the sockets whose person signed out, changed
the password, or has other rights by now, and which of these it was. Knows nothing of topics.
"""

import asyncio
import contextlib
import logging
from collections.abc import Collection
from enum import Enum
from typing import Any, NamedTuple, Protocol

from channels.db import database_sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.db.models.functions import Now

from dashboard.people import Person, people_of

log = logging.getLogger(__name__)

#: Seconds between two looks. Three queries each time, however many sockets are open.
RECHECK_S = 4.0


class Entitlement(NamedTuple):
    """What a socket was opened on."""

    #: Empty where no session stands behind the socket.
    session_key: str
    user_id: int
    #: Changes with the password.
    auth_hash: str
    person: Person


class SocketEnd(Enum):
    """Why a socket ends."""

    SIGNED_OUT = "the session is over, or the account or its password changed"
    RIGHTS_CHANGED = "the same person has other rights: the page is loaded again"


class Socket(Protocol):
    """What can be closed."""

    async def end(self, ending: SocketEnd) -> None:
        """End the connection and say why."""


def entitlement_of(user: Any, session: Any, person: Person) -> Entitlement:
    """What the socket of a signed-in user is opened on."""
    key = (session.session_key if session is not None else "") or ""
    return Entitlement(key, user.pk, user.get_session_auth_hash(), person)


def ended(opened: Collection[Entitlement]) -> dict[Entitlement, SocketEnd]:
    """Those that a new socket would not be given today, with the reason. Reads the database."""
    keys = {each.session_key for each in opened if each.session_key}
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=Now())
    sessions = {"", *alive.values_list("session_key", flat=True)}
    users = get_user_model().objects.filter(pk__in={each.user_id for each in opened})
    active = list(users.filter(is_active=True))
    hashes = {user.pk: user.get_session_auth_hash() for user in active}
    people = people_of(active)
    endings = {}
    for each in opened:
        if each.session_key not in sessions or hashes.get(each.user_id) != each.auth_hash:
            endings[each] = SocketEnd.SIGNED_OUT
        elif people.get(each.user_id) != each.person:
            endings[each] = SocketEnd.RIGHTS_CHANGED
    return endings


class Doorkeeper:
    """Sees to it that sockets end soon after what they were opened on."""

    def __init__(self) -> None:
        self._sockets: dict[Socket, Entitlement] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, socket: Socket, entitlement: Entitlement) -> None:
        """Look after a socket until `forget`."""
        self._sockets[socket] = entitlement
        if self._task is None:
            self._task = asyncio.create_task(self._look(), name="doorkeeper")

    def forget(self, socket: Socket) -> None:
        """The socket is closed."""
        self._sockets.pop(socket, None)
        if not self._sockets and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_S)
            opened = dict(self._sockets)
            try:
                endings = await database_sync_to_async(ended)(set(opened.values()))
            except DatabaseError:
                log.warning("action=recheck the database did not answer")
                continue
            for socket, entitlement in opened.items():
                if entitlement in endings:
                    with contextlib.suppress(Exception):
                        await socket.end(endings[entitlement])


DOORKEEPER = Doorkeeper()
