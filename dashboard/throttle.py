"""Slows down who guesses passwords: per address and name, and per address over all names.

In: failed sign-ins, from any form. Out: how long the next try has to wait. Kept in this process
only: a restart forgives, a further web process counts for itself.
"""

from collections import OrderedDict
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

#: Failures that cost nothing, of one name and of all names; then each doubles the wait.
FREE_OF_NAME = 4
FREE_OF_ADDRESS = 40
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 300.0
#: Failures are forgotten after this long without a further one.
FORGET_S = 900.0
#: Addresses and names remembered; the oldest go first.
MOST_KEYS = 20_000

Key = tuple[str, str]


class Failures:
    """Failed sign-ins by key; `now` is seconds on a clock that never jumps."""

    def __init__(self) -> None:
        self._noted: OrderedDict[Key, tuple[int, float]] = OrderedDict()

    def wait_s(self, address: str, name: str, now: float) -> float:
        """Seconds until a try is looked at; 0 when at once."""
        return max(
            self._wait((address, _short(name)), FREE_OF_NAME, now),
            self._wait((address, ""), FREE_OF_ADDRESS, now),
        )

    def note(self, address: str, name: str, now: float) -> None:
        """A try failed. One that was not looked at does not count."""
        if self.wait_s(address, name, now):
            return
        for key in ((address, _short(name)), (address, "")):
            count, at = self._noted.pop(key, (0, now))
            self._noted[key] = (count + 1 if now - at < FORGET_S else 1, now)
        while len(self._noted) > MOST_KEYS:
            self._noted.popitem(last=False)

    def forgive(self, address: str, name: str) -> None:
        """The right password came."""
        self._noted.pop((address, _short(name)), None)

    def clear(self) -> None:
        """Forget everything."""
        self._noted.clear()

    def _wait(self, key: Key, free: int, now: float) -> float:
        count, at = self._noted.get(key, (0, now))
        if count <= free or now - at >= FORGET_S:
            return 0.0
        wait = min(FIRST_WAIT_S * 2.0 ** min(count - free - 1, 20), LONGEST_WAIT_S)
        return max(0.0, at + wait - now)


FAILURES = Failures()


class Throttle:
    """Stands before the backend that knows passwords, so that none is looked at too soon.

    Less than a backend on purpose: without `get_user` nothing takes it for one that knows users.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **_credentials: Any
    ) -> None:
        """Nobody; raises PermissionDenied to end the search among the backends."""
        if request is not None and wait_of(request, username or ""):
            raise PermissionDenied

    async def aauthenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        """The same for asynchronous callers."""
        self.authenticate(request, **credentials)


def wait_of(request: HttpRequest, name: str) -> float:
    """Seconds a sign-in under this name has to wait."""
    return FAILURES.wait_s(address_of(request), name, _moment(request))


def note_failure(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: object
) -> None:
    """Receives Django's signal of a failed sign-in."""
    del sender
    if request is not None:
        name = str(credentials.get("username") or "")
        FAILURES.note(address_of(request), name, _moment(request))


def note_success(sender: object, request: HttpRequest | None, user: Any, **_: object) -> None:
    """Receives Django's signal of a sign-in."""
    del sender
    if request is not None:
        FAILURES.forgive(address_of(request), user.get_username())


def address_of(request: HttpRequest) -> str:
    """Where the request comes from; a proxy is asked only if the settings name one."""
    if settings.SECURE_PROXY_SSL_HEADER is not None:
        forwarded = request.headers.get("X-Forwarded-For", "")
        # The last one was added by the proxy itself, the others by anybody.
        if last := forwarded.rpartition(",")[2].strip():
            return last[:64]
    return str(request.META.get("REMOTE_ADDR", ""))


def _moment(request: HttpRequest) -> float:
    return float(request.clock.monotonic())  # type: ignore[attr-defined]  # set by request_context


def _short(name: str) -> str:
    # Never the key of the address alone.
    return f"name {name[:150].casefold()}"
