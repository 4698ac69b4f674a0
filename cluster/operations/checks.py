"""What the checks of a job's services found last, asked of the agents of its allocations.

In: what is asked about, and by whom. Out: results by allocation; what could not be asked is
counted, never guessed. The record holds no result of a check. Raises NotAllowed.
"""

from collections.abc import Iterable

from cluster.operations.nodes_of_work import ask_nodes
from cluster.operations.rights import require
from scheduler.access.caller import Caller
from scheduler.structs.allocation import Allocation
from scheduler.structs.wire import Wire

#: Of one job; what is beyond is told as left out.
MOST_ALLOCATIONS = 2000
#: What each check of an allocation found, by allocation.
Found = dict[str, dict[str, object]]


class JobChecks(Wire, frozen=True):
    """The checks of those of a job's allocations that run."""

    #: By allocation, those that were asked and answered.
    found: Found = {}
    #: Allocations that run, and how many of them were asked.
    running: int = 0
    asked: int = 0
    #: Of those asked, how many are on nodes that did not answer, and these nodes.
    away: int = 0
    away_nodes: tuple[str, ...] = ()


async def job_checks(allocs: Iterable[Allocation], namespace: str, *, by: Caller) -> JobChecks:
    """What their checks found last; one call for each node."""
    require(by, namespace, "read-job")
    told = await ask_nodes(allocs, "allocs.checks", Found, at_most=MOST_ALLOCATIONS)
    away = told.away
    return JobChecks(
        found={key: found for each in told.answers.values() for key, found in each.items()},
        running=told.running,
        asked=told.count_on(),
        away=told.count_on(away),
        away_nodes=away,
    )
