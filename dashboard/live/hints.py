"""The door for step hints: whoever receives them in this process publishes them here.

Hints may come from any thread; they may be lost without harm, the record follows within a second.
"""

import asyncio
from collections.abc import Sequence

from dashboard.live.hub import HUB
from scheduler.structs.evaluation import LifecycleStep


def publish(steps: Sequence[LifecycleStep]) -> None:
    """Show these steps at once to whoever looks. Call on the event loop of the web process."""
    HUB.publish(steps)


def publish_threadsafe(steps: Sequence[LifecycleStep], loop: asyncio.AbstractEventLoop) -> None:
    """The same from another thread."""
    loop.call_soon_threadsafe(HUB.publish, steps)
