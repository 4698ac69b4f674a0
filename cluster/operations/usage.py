"""What allocations, machines and jobs have used over the past hour, asked of their agents.

In: what is asked about, and by whom. Out: rows as agents keep them, those of a job added up over
its nodes; what could not be asked is counted, never guessed. Raises NotAllowed, NoPathToNode.
"""

from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from cluster.operations.agent_calls import call_agent, send_call
from cluster.operations.nodes_of_work import NodesTold, ask_nodes, decoded
from cluster.operations.rights import require, require_reads
from cluster.operations.usage_rows import AllocationRows, NodeRows, SumRows, Sums, added_up
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation
from scheduler.structs.wire import Nanoseconds, Wire

#: Of one job; what is beyond is told as left out.
MOST_ALLOCATIONS = 10_000

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
    told = await ask_nodes(allocs, "allocs.usage", SumRows, at_most=MOST_ALLOCATIONS)
    return _joined(told)


def _joined(told: NodesTold[SumRows]) -> JobUsage:
    rows = [each for each in told.answers.values() if each.since]
    silent = tuple(sorted(node_id for node_id, each in told.answers.items() if not each.since))
    away = told.away
    return JobUsage(
        sums=added_up(each.sums for each in rows),
        since=max((each.since for each in rows), default=0),
        running=told.running,
        asked=told.count_on(),
        unmeasured=told.count_on(silent),
        away=told.count_on(away),
        away_nodes=away,
        unmeasured_nodes=silent,
    )


async def _decoded(frames: AsyncIterator[bytes], kind: type[Told]) -> Told:
    return decoded(b"".join([frame async for frame in frames]), kind)
