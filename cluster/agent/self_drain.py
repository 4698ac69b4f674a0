"""An agent that is told to end drains its node first where its owner says so.

The reference's way of it: node-agent-2.md 15.4.
In: a plan, the server, the allocations here. Returns when the drain is over, the server says so or
not, or its time is. The agent goes on with its work meanwhile.
"""

import asyncio
import logging

from cluster.agent.alloc_host import AllocHost
from cluster.agent.config_values import DrainOnShutdown
from cluster.agent.server_link import CallFailed, ServerLink
from scheduler.ports import Clock

logger = logging.getLogger(__name__)

LOOK_S = 1.0
#: On top of the deadline, for the server to end it.
MARGIN_S = 5.0
_SECOND = 1_000_000_000
_SYSTEM = ("system", "sysbatch")


async def drain_itself(
    plan: DrainOnShutdown, link: ServerLink, host: AllocHost, clock: Clock
) -> None:
    """Move what runs here elsewhere, or see it end, within the plan's time (0: without limit)."""
    logger.info("draining this node before the agent ends")
    ends = clock.monotonic() + plan.deadline / _SECOND + MARGIN_S
    is_begun = False
    while plan.deadline <= 0 or clock.monotonic() < ends:
        try:
            if not is_begun:
                await link.drain_me(plan.deadline, ignore_system_jobs=plan.ignore_system_jobs)
                is_begun = True
            elif not await link.is_draining():
                logger.info("this node is drained")
                return
        except CallFailed as failed:
            logger.warning("the drain cannot be asked for: %s", failed)
            if not _runs_anything(plan, host):
                return
        await asyncio.sleep(LOOK_S)
    logger.warning("self-drain exceeded deadline")


def _runs_anything(plan: DrainOnShutdown, host: AllocHost) -> bool:
    return any(
        not entry.runner.is_terminal
        for entry in host.entries.values()
        if not (plan.ignore_system_jobs and entry.runner.job.type in _SYSTEM)
    )
