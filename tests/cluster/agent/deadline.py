"""Waiting for what other processes do: until it is so, or the test fails by its deadline."""

import asyncio
import time

PATIENCE_S = 20.0


async def until(condition, what="the condition"):
    """The first true answer of `condition`, asked again and again."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if answer := condition():
            return answer
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what} did not come true within {PATIENCE_S} s")
