"""What the checks of a job's services found last, asked of the agents of its allocations.

In: what is asked about, and by whom. Out: results by allocation; what could not be asked is
counted, never guessed. The record holds no result of a check. Raises NotAllowed.
"""

import asyncio
from collections.abc import Iterable

import msgspec

from cluster.operations.agent_calls import AgentRefused, NoPathToNode, send_call, whole_answer
from cluster.operations.rights import require
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.wire import Wire

#: Of one job; what is beyond is told as left out.
MOST_ALLOCATIONS = 2000
MOST_NODES = 500
_AT_A_TIME = 32
#: How long one node is waited for, s.
PATIENCE_S = 3.0


class JobChecks(Wire, frozen=True):
    """The checks of those of a job's allocations that run."""

    #: By allocation, those that were asked and answered.
    found: dict[str, dict[str, object]] = {}
    #: Allocations that run, and how many of them were asked.
    running: int = 0
    asked: int = 0
    #: Of those asked, how many are on nodes that did not answer, and these nodes.
    away: int = 0
    away_nodes: tuple[str, ...] = ()


async def job_checks(allocs: Iterable[Allocation], namespace: str, *, by: Caller) -> JobChecks:
    """What their checks found last; one call for each node."""
    require(by, namespace, "read-job")
    running = [each for each in allocs if each.client_status == ClientStatus.RUNNING]
    on_nodes: dict[str, list[str]] = {}
    for alloc in running[:MOST_ALLOCATIONS]:
        on_nodes.setdefault(alloc.node_id, []).append(alloc.id)
    asked = dict(list(on_nodes.items())[:MOST_NODES])
    gate = asyncio.Semaphore(_AT_A_TIME)
    told = await asyncio.gather(*(_ask(gate, *each) for each in asked.items()))
    answers = dict(zip(asked, told, strict=True))
    away = [node_id for node_id, answer in answers.items() if answer is None]
    return JobChecks(
        found={key: found for answer in told if answer for key, found in answer.items()},
        running=len(running),
        asked=sum(map(len, asked.values())),
        away=sum(len(asked[node_id]) for node_id in away),
        away_nodes=tuple(sorted(away)),
    )


async def _ask(
    gate: asyncio.Semaphore, node_id: str, ids: list[str]
) -> dict[str, dict[str, object]] | None:
    """What one node tells; None when it does not answer in time."""
    async with gate:
        try:
            async with asyncio.timeout(PATIENCE_S):
                told = await whole_answer(send_call(node_id, "allocs.checks", {"AllocIDs": ids}))
                return msgspec.convert(told or {}, dict[str, dict[str, object]])
        except (NoPathToNode, AgentRefused, TimeoutError, msgspec.MsgspecError):
            return None
