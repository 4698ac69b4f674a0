"""Where an account is signed in: its sessions, by address and browser, to look at and to end.

In: Django's sessions. Out: those of one account; ending some. What a session says of itself was
noted when it began; those that began earlier say nothing. No key of a session leaves this module.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.http import HttpRequest

from cluster.client_address import address_of

#: In the session: what was noted when it began.
_NOTED = "signed_in"
_BY_LINK = "login link"
_BY_PROVIDER = "provider"
_BY_PASSWORD = "password"  # noqa: S105 - a word
_LONGEST = 200
#: In this order: browsers name the ones they claim to be like as well.
_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"),
    ("Safari", "Safari"), ("curl", "curl"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an account."""

    #: Names it in a form; a hash of its key.
    id: str
    browser: str
    address: str
    how: str
    #: 0: not noted.
    at: int
    is_this: bool


def note_sign_in(sender: object, request: HttpRequest | None, **_: object) -> None:
    """Receives Django's signal of a sign-in; keeps where it came from in the session."""
    del sender
    clock = getattr(request, "clock", None)
    if request is None or clock is None:
        return
    agent = str(request.META.get("HTTP_USER_AGENT", ""))
    request.session[_NOTED] = {
        "at": clock.now(),
        "address": address_of(request),
        "browser": browser_named(agent[:_LONGEST]),
        "how": _way_in(request.path),
    }


def _way_in(path: str) -> str:
    if path.startswith("/login/once/"):
        return _BY_LINK
    return _BY_PROVIDER if path.startswith("/login/provider/") else _BY_PASSWORD


def sign_ins_of(user_id: int, this_key: str) -> list[OpenSession]:
    """The account's sessions that are not over; this one first, then the newest."""
    found = [_told(session, this_key) for session in _sessions_of(user_id)]
    return sorted(found, key=lambda each: (not each.is_this, -each.at, each.id))


def end_sign_in(user_id: int, sign_in_id: str) -> bool:
    """End one session of the account; False when there is none of this id."""
    for session in _sessions_of(user_id):
        if _id_of(session.session_key) == sign_in_id:
            session.delete()
            return True
    return False


def end_others(user_id: int, this_key: str) -> int:
    """End every session of the account but this one; how many there were."""
    others = [each for each in _sessions_of(user_id) if each.session_key != this_key]
    for session in others:
        session.delete()
    return len(others)


def browser_named(agent: str) -> str:
    """What a browser calls itself, in two words: `Firefox on Linux`."""
    browser = next((word for mark, word in _BROWSERS if mark in agent), "")
    system = next((word for mark, word in _SYSTEMS if mark in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "an unknown browser"


def _sessions_of(user_id: int) -> Iterator[Session]:
    for session in Session.objects.filter(expire_date__gt=Now()):
        if session.get_decoded().get(SESSION_KEY) == str(user_id):
            yield session


def _told(session: Session, this_key: str) -> OpenSession:
    noted: dict[str, Any] = session.get_decoded().get(_NOTED) or {}
    return OpenSession(
        id=_id_of(session.session_key),
        browser=noted.get("browser", "a browser"),
        address=noted.get("address", ""),
        how=noted.get("how", ""),
        at=noted.get("at", 0),
        is_this=session.session_key == this_key,
    )


def _id_of(key: str) -> str:
    return hashlib.sha256(f"sign-in {key}".encode()).hexdigest()[:16]
