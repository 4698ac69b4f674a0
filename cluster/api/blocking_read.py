"""Answer a read, now or when its result has moved past a known index (http-api.md 1.7).

In: a call and a piece of reading work. Out: the response. While it waits nothing is held but one
small waiter: no thread, no transaction.
"""

from collections.abc import Callable

from django.http import HttpResponse

from cluster.api.parameters import read_index, read_wait
from cluster.api.request import Call
from cluster.api.respond import Found, answer_found
from cluster.store.blocking import Watch, Woken, wait_for
from cluster.store.ports import RecordReader

LONGEST_WAIT_NS = 300 * 1_000_000_000
#: The waits of many readers are spread by up to this share of the wait.
_JITTER = 16
_SECOND = 1_000_000_000


async def answer_read(
    call: Call, work: Callable[[RecordReader], Found], *watches: Watch, short: bool = False
) -> HttpResponse:
    """Run `work`; with `index` in the query again and again until its index is greater.

    Or until frames are missing: after a restore what was found may have a smaller index for ever.
    `short`: it reads a few rows by key.
    """
    after = read_index(call.query)
    wait = read_wait(call.query)
    if not after:
        return answer_found(call.request, await call.read(work, short=short))
    clock = call.request.clock  # type: ignore[attr-defined] # set by the middleware
    deadline = call.answers_by(clock.monotonic() + _seconds(call, wait))
    has_waited = False
    woken = Woken.NOT
    while True:
        seen, found = await call.read(lambda reader: (reader.index, work(reader)), short=short)
        left = deadline - clock.monotonic()
        if found.index > after or left <= 0 or woken is Woken.LOST:
            if has_waited:
                await call.require_same_rights()
            return answer_found(call.request, found)
        woken = await wait_for((*watches, *found.watches), after=seen, timeout=left)
        has_waited = True


def _seconds(call: Call, wait: int | None) -> float:
    asked = LONGEST_WAIT_NS if wait is None or wait <= 0 else min(wait, LONGEST_WAIT_NS)
    chance = call.request.chance()  # type: ignore[attr-defined] # set by the middleware
    return asked / _SECOND * (1 + float(chance) / _JITTER)
