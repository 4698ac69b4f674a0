"""The moment at which this process begins to serve."""

import asyncio
from collections.abc import Callable


class _Moment:
    """What waits for it; nothing does where no server is loading us."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] | None = None


_MOMENT = _Moment()


def expect_server() -> None:
    """A server is about to load the application; to be said before."""
    _MOMENT.waiting = []


def once_serving(begin: Callable[[], object]) -> None:
    """Call `begin` once the server listens, on its loop; where no server is loading us, never."""
    if _MOMENT.waiting is not None:
        _MOMENT.waiting.append(begin)


def tell_serving() -> None:
    """The server listens, on the running loop."""
    waiting, _MOMENT.waiting = _MOMENT.waiting or [], None
    for begin in waiting:
        asyncio.get_running_loop().call_soon(begin)
