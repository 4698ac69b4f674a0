"""Pauses that end at a cue."""

import asyncio

import pytest

from cluster.agent.cue import Cue
from tests.patience import PATIENCE_S

LONG_S = 60.0


async def test_a_cue_ends_every_pause_under_way():
    cue = Cue()
    pauses = [asyncio.create_task(cue.pause(LONG_S)) for _ in range(3)]
    await asyncio.sleep(0)
    cue.give()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*pauses)


async def test_a_cue_given_before_the_pause_is_forgotten():
    cue = Cue()
    cue.give()
    pause = asyncio.create_task(cue.pause(LONG_S))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not pause.done()
    pause.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pause


async def test_without_a_cue_the_pause_ends_by_itself():
    await Cue().pause(0.0)


async def test_a_cancellation_is_not_lost_beside_a_cue():
    cue = Cue()
    pause = asyncio.create_task(cue.pause(LONG_S))
    await asyncio.sleep(0)
    cue.give()
    pause.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pause
