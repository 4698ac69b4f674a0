"""What happens between a task's directories and its start: its artifacts are fetched, once each.

In: the orders of a start, and what was fetched for the task before. Out: the keys of all that is
in place now, or the error that the restart policy decides about.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.agent.artifacts.fetcher import ArtifactFetcher
from cluster.agent.artifacts.order import FetchOrder
from cluster.agent.drivers.driver import StartError, TaskDirectories
from cluster.agent.restarts import Ending

#: Called with bytes received and bytes expected; (0, 0) at the beginning.
Told = Callable[[int, int], None]
#: Seconds between two lines about how far it is.
TELL_EVERY_S = 5.0


class DownloadFailed(StartError):
    """Artifacts are missing: any such error may pass, so the restart policy decides."""

    def as_ending(self) -> Ending:
        return Ending(start_error=str(self), recoverable=True, failed_download=True)


async def fetch_artifacts(
    orders: Sequence[FetchOrder], directories: TaskDirectories, kept: set[str], told: Told
) -> None:
    """Fetch what is not in `kept`, and add it there. Raises DownloadFailed.

    What lay among the secrets is fetched again where a boot of the machine has taken it.
    """
    missing = [
        order for order in orders if order.key not in kept or _is_gone(order, directories.secrets)
    ]
    if not missing:
        return
    told(0, 0)
    loop = asyncio.get_running_loop()
    next_line = loop.time() + TELL_EVERY_S

    def progress(received: int, expected: int) -> None:
        nonlocal next_line
        if loop.time() >= next_line:
            next_line = loop.time() + TELL_EVERY_S
            told(received, expected)

    fetched = await ArtifactFetcher().fetch(missing, directories.private, progress)
    kept |= fetched.keys
    if fetched.problem:
        raise DownloadFailed(fetched.problem)


def _is_gone(order: FetchOrder, secrets: Path) -> bool:
    place = Path(order.destination)
    return place.is_relative_to(secrets) and not place.exists()
