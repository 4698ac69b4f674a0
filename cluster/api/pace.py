"""Whether a caller of `/v1` may send one more request now, and what it is told when not.

In: a request and its caller. Out: nothing, or `TooMany`. Tokens are counted by their accessor,
whoever shows none, or a bad one, by address; so nobody's guesses slow down another's good token.
"""

from django.http import HttpRequest

from cluster.client_address import address_of
from cluster.operations.errors import OperationRefused
from cluster.request_rates import RATES, Rate, address_key, rate_of, told_to_wait
from scheduler.access.caller import ANONYMOUS, Caller


class TooMany(OperationRefused):
    """The caller sends more than it may; `wait_s` is for how long nothing more is taken."""

    status = 429

    def __init__(self, rate: Rate, wait_s: float, by: Caller | None) -> None:
        self.by = by
        self.retry_after = told_to_wait(wait_s)
        super().__init__(
            f"Too many requests: {rate.per_s:g} a second are allowed, {rate.burst:g} at once;"
            f" try again in {self.retry_after} s"
        )


async def require_pace(request: HttpRequest, caller: Caller | None) -> None:
    """Count a request; `caller` is None where a token was bad. Raises TooMany."""
    rate = rate_of(is_management=caller is not None and caller.access.is_management)
    if rate is None:
        return
    now = request.clock.monotonic()  # type: ignore[attr-defined] # set by the middleware
    wait_s = await RATES.wait_s(_key(request, caller), rate, now)
    if wait_s:
        raise TooMany(rate, wait_s, caller)


def _key(request: HttpRequest, caller: Caller | None) -> str:
    if caller is None or caller.id == ANONYMOUS.id:
        return address_key(address_of(request))
    return f"token {caller.id}"
