"""What fails again and again is said once, with what to do, and then counted.

In: failures of calls to a server, by whom ever in this process. Out: few log lines. A fleet of
thousands that knocks at a closed door has one thing to say.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

#: Seconds between two lines about the same failure.
COUNTED_EVERY_S = 60.0
#: Different failures that are remembered.
_MOST = 200


@dataclass
class _Repeated:
    count: int
    told_at: float


class Complaints:
    """Failures of one process, by what is wrong."""

    def __init__(self, write: Callable[[str], None] = logger.warning) -> None:
        self._write = write
        self._seen: dict[tuple[str, str], _Repeated] = {}

    def unreachable(self, server: str, reason: str, monotonic: float) -> None:
        """The server did not answer at all."""
        self._note(
            (server, ""),
            f"{server} does not answer ({reason}). Is the server running there? Another address is"
            " named with --addr or BIVOUAC_ADDR. Trying on.",
            f"{server} does not answer",
            monotonic,
        )

    def failed(self, server: str, what: str, monotonic: float) -> None:
        """The server answered, and the call failed; `what` says which and why."""
        self._note((server, what), f"{server}: {what}", f"{server}: {what}", monotonic)

    def over(self, server: str) -> None:
        """The server was reached again."""
        away = self._seen.pop((server, ""), None)
        if away is not None:
            tries = "1 try" if away.count == 1 else f"{away.count} tries"
            self._write(f"{server} answers, after {tries} in vain")

    def _note(self, key: tuple[str, str], first: str, again: str, monotonic: float) -> None:
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= _MOST:
                self._seen.clear()
            self._seen[key] = _Repeated(1, monotonic)
            self._write(first)
            return
        seen.count += 1
        if monotonic - seen.told_at >= COUNTED_EVERY_S:
            seen.told_at = monotonic
            self._write(f"{again}: {seen.count} times by now")


COMPLAINTS = Complaints()
