"""Something that was waited for may be possible now: whoever waits tries at once."""

import asyncio
import contextlib


class Cue:
    """A pause that may be cut short. A cue that nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._given = asyncio.Event()

    def give(self) -> None:
        """End the pauses under way."""
        self._given.set()
        self._given = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        """Return at the next cue, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._given.wait()
