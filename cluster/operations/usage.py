"""What allocations, machines and jobs have used over the past hour, asked of their agents.

In: what is asked about, and by whom. Out: rows as agents keep them, those of a job added up over
its nodes; what could not be asked is counted, never guessed. Raises NotAllowed, NoPathToNode.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TypeVar

import msgspec

from cluster.operations.agent_calls import AgentRefused, NoPathToNode, call_agent, send_call
from cluster.operations.rights import require, require_reads
from cluster.operations.usage_rows import AllocationRows, NodeRows, SumRows, Sums, added_up
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.wire import Nanoseconds, Wire

#: Of one job; what is beyond is told as left out.
MOST_ALLOCATIONS = 10_000
MOST_NODES = 500
_AT_A_TIME = 32
#: How long one node is waited for, s.
PATIENCE_S = 3.0

Told = TypeVar("Told")


class JobUsage(Wire, frozen=True):
    """The running allocations of a job together."""

    sums: Sums = Sums()
    #: Nothing is known before, by whichever agent remembers least; 0: nobody measures anything.
    since: Nanoseconds = 0
    #: Allocations that run, and of how many the rows are at most.
    running: int = 0
    asked: int = 0
    #: On nodes that measure nothing, and on nodes that did not answer.
    unmeasured: int = 0
    away: int = 0
    away_nodes: tuple[str, ...] = ()
    unmeasured_nodes: tuple[str, ...] = ()


async def allocation_usage(alloc: Allocation, *, by: Caller) -> AllocationRows:
    """The past hour of an allocation, task by task."""
    frames = call_agent(alloc, "alloc.usage", {"AllocID": alloc.id}, by=by)
    return await _decoded(frames, AllocationRows)


async def node_usage(node_id: str, *, by: Caller) -> NodeRows:
    """The past hour of a machine."""
    require_reads(by, "node")
    return await _decoded(send_call(node_id, "host.usage", {}), NodeRows)


async def job_usage(allocs: Iterable[Allocation], namespace: str, *, by: Caller) -> JobUsage:
    """The past hour of those of a job's allocations that run; one call for each node."""
    require(by, namespace, "read-job")
    running = [each for each in allocs if each.client_status == ClientStatus.RUNNING]
    on_nodes: dict[str, list[str]] = {}
    for alloc in running[:MOST_ALLOCATIONS]:
        on_nodes.setdefault(alloc.node_id, []).append(alloc.id)
    asked = dict(list(on_nodes.items())[:MOST_NODES])
    gate = asyncio.Semaphore(_AT_A_TIME)
    told = await asyncio.gather(*(_ask(gate, *each) for each in asked.items()))
    return _joined(asked, dict(zip(asked, told, strict=True)), len(running))


async def _ask(gate: asyncio.Semaphore, node_id: str, ids: list[str]) -> SumRows | None:
    """What one node tells; None when it does not answer in time."""
    async with gate:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await _decoded(
                    send_call(node_id, "allocs.usage", {"AllocIDs": ids}), SumRows
                )
        except (NoPathToNode, AgentRefused, TimeoutError, msgspec.MsgspecError):
            return None


def _joined(
    asked: Mapping[str, list[str]], told: Mapping[str, SumRows | None], running: int
) -> JobUsage:
    rows = {node_id: each for node_id, each in told.items() if each is not None and each.since}
    away = [node_id for node_id, each in told.items() if each is None]
    silent = [node_id for node_id, each in told.items() if each is not None and not each.since]
    return JobUsage(
        sums=added_up(each.sums for each in rows.values()),
        since=max((each.since for each in rows.values()), default=0),
        running=running,
        asked=sum(map(len, asked.values())),
        unmeasured=sum(len(asked[node_id]) for node_id in silent),
        away=sum(len(asked[node_id]) for node_id in away),
        away_nodes=tuple(sorted(away)),
        unmeasured_nodes=tuple(sorted(silent)),
    )


async def _decoded(frames: AsyncIterator[bytes], kind: type[Told]) -> Told:
    return msgspec.json.decode(b"".join([frame async for frame in frames]), type=kind)
