"""What each of some running allocations used and failed lately, to compare versions by.

In: allocations, by whom. Out: figures by allocation; what could not be asked is counted, never
guessed. Raises NotAllowed.
"""

import asyncio
from collections.abc import Sequence

from cluster.operations.checks import Found
from cluster.operations.nodes_of_work import NodesTold, ask_nodes
from cluster.operations.rights import require
from cluster.operations.usage_rows import SumRows, Used
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation
from scheduler.structs.wire import Wire

#: What is beyond is told as left out.
MOST_ALLOCATIONS = 500
#: How far back is looked, s.
OVER_S = 600


class EachTold(Wire, frozen=True):
    """What the nodes of some running allocations told of each of them."""

    #: By allocation, those of which something was measured.
    used: dict[str, Used] = {}
    #: By allocation, what its checks found last.
    checks: Found = {}
    running: int = 0
    asked: int = 0
    #: On nodes that did not answer, and on nodes that measure nothing.
    away: int = 0
    away_nodes: tuple[str, ...] = ()
    unmeasured: int = 0


async def each_told(
    allocs: Sequence[Allocation], namespace: str, *, with_checks: bool, by: Caller
) -> EachTold:
    """What they used over the last ten minutes, and what their checks say now."""
    require(by, namespace, "read-job")
    usage, checks = await asyncio.gather(
        ask_nodes(
            allocs, "allocs.usage", SumRows, at_most=MOST_ALLOCATIONS,
            beside={"EachOver": OVER_S},
        ),
        _checks_of(allocs, with_checks=with_checks),
    )  # fmt: skip
    silent = [node_id for node_id, each in usage.answers.items() if not each.since]
    return EachTold(
        used={key: used for each in usage.answers.values() for key, used in each.each.items()},
        checks={key: found for each in checks.answers.values() for key, found in each.items()},
        running=usage.running,
        asked=usage.count_on(),
        away=usage.count_on(usage.away),
        away_nodes=usage.away,
        unmeasured=usage.count_on(silent),
    )


async def _checks_of(allocs: Sequence[Allocation], *, with_checks: bool) -> NodesTold[Found]:
    if not with_checks:
        return NodesTold({}, {}, 0)
    return await ask_nodes(allocs, "allocs.checks", Found, at_most=MOST_ALLOCATIONS)
