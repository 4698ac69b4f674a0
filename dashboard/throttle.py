"""Slows down who guesses passwords: per address and name, and per address over all names.

In: failed sign-ins, from any form. Out: how long the next try has to wait. All web processes count
together (`cluster.failed_guesses`).
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from cluster.client_address import address_of
from cluster.failed_guesses import SharedGuesses
from cluster.request_rates import address_key

#: Failures that cost nothing, of one name and of all names; then each doubles the wait.
FREE_OF_NAME = 4
FREE_OF_ADDRESS = 40

GUESSES = SharedGuesses(settings.BIVOUAC_REDIS_URL)


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
    return GUESSES.wait_s(keys_of(address_of(request), name), _moment(request))


def note_failure(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: object
) -> None:
    """Receives Django's signal of a failed sign-in."""
    del sender
    if request is not None:
        name = str(credentials.get("username") or "")
        GUESSES.note(keys_of(address_of(request), name), _moment(request))


def note_success(sender: object, request: HttpRequest | None, user: Any, **_: object) -> None:
    """Receives Django's signal of a sign-in."""
    del sender
    # Tests and commands sign in without a request of the site.
    if request is not None and hasattr(request, "clock"):
        key = _of_name(address_of(request), user.get_username())
        GUESSES.forgive(key, _moment(request))


def _moment(request: HttpRequest) -> float:
    return float(request.clock.monotonic())  # type: ignore[attr-defined]  # set by request_context


def keys_of(address: str, name: str) -> dict[str, int]:
    """What a sign-in is counted under, with the failures of each that cost nothing."""
    return {_of_name(address, name): FREE_OF_NAME, address_key(address): FREE_OF_ADDRESS}


def _of_name(address: str, name: str) -> str:
    return f"{address_key(address)} name {name[:150].casefold()}"
