"""Numbers of the leader's memory, for pages and the metrics endpoint."""

from scheduler.broker.blocked_evals import BlockedStats
from scheduler.broker.places import BrokerStats
from scheduler.broker.worker_told import WorkerTold
from scheduler.structs.counted import CountedTime
from scheduler.structs.wire import Wire


class LeaderStats(Wire, frozen=True):
    """What waits where, at one moment."""

    #: The newest index the leader has seen.
    index: int = 0
    broker: BrokerStats = BrokerStats()
    blocked: BlockedStats = BlockedStats()
    plan_queue_depth: int = 0
    #: Plans in the hands of the applier.
    plans_taken: int = 0
    #: How often a node refused a plan since this leader began; by node, if they are few enough.
    plan_refusals: int = 0
    refusals_of_nodes: dict[str, int] = {}
    worker_processes: int = 0
    busy_worker_processes: int = 0
    #: By name.
    workers: tuple[WorkerTold, ...] = ()
    #: How many evaluations and plans went which way, by the words of `scheduler.structs.counted`.
    flows: tuple[CountedTime, ...] = ()
