"""Waiting for what other processes do: until it is so, or the test fails by its deadline."""

import asyncio

from tests.patience import PATIENCE_S


async def until(condition, what="the condition"):
    """The first true answer of `condition`, asked again and again."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not (answer := condition()):
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"{what} did not come true within {PATIENCE_S} s") from None
    return answer
