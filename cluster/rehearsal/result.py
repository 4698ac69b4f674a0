"""What a rehearsal found: values with wire names, the same for programs, pages and the command.

Times are spans since the beginning of the rehearsal, in virtual ns, unless they say otherwise.
"""

from enum import StrEnum

from cluster.operations.unblock_changes import UnblockChange
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import AskedAmounts
from scheduler.structs.wire import Duration, Instant, Wire


class RehearsedOutcome(StrEnum):
    """What became of an allocation."""

    #: It runs on another node, or began to.
    PLACED = "placed"
    #: It needs a place and finds none.
    WAITS = "waits"
    #: It is to leave its node and was not let go: its turn did not come.
    HELD = "held"
    #: Batch work on a draining node: left to finish.
    FINISHES = "finishes"
    #: It ended, and nothing was to take its place.
    STOPPED = "stopped"
    #: It runs on where it is, changed.
    UPDATED = "updated"


class RehearsalEnd(StrEnum):
    """Why a rehearsal ended."""

    #: Nothing moves any more.
    QUIET = "quiet"
    #: Something would still happen, but later than anybody looks.
    HORIZON = "horizon"
    #: It took too long.
    TIME = "time"
    #: It made more evaluations than it may.
    EVALUATIONS = "evaluations"


class Assumption(StrEnum):
    """What a rehearsal takes for granted, where that mattered."""

    #: Batch work that has begun runs on.
    BATCH_RUNS_ON = "batch-runs-on"
    #: Tasks start at once and become healthy.
    TASKS_START = "tasks-start"
    #: The scheduler is paused; it was rehearsed as if it were not.
    NOT_PAUSED = "not-paused"
    #: A rollout waits for a person to promote it.
    NOT_PROMOTED = "not-promoted"


class RehearsedNode(Wire, frozen=True):
    """A node that something was done to, or whose use changed."""

    id: str = ""
    name: str = ""
    #: drained, lost, added, closed, opened, purged; empty: only its use changed.
    fate: str = ""
    cpu_mhz: int = 0
    memory_mb: int = 0
    #: What allocations hold of it, before and in the end.
    cpu_before: int = 0
    cpu_after: int = 0
    memory_before: int = 0
    memory_after: int = 0


class WaitReason(Wire, frozen=True):
    """Why something finds no place: the newest decision about its group."""

    eval_id: str = ""
    #: The nearest miss in one line, as explanations have it.
    text: str = ""
    #: What lacks on most nodes: a dimension, a constraint, `quota ...`.
    reason: str = ""
    #: The node that lacks least, and by how many MHz or MiB; empty and 0 where that is no amount.
    node_id: str = ""
    node_name: str = ""
    missing: int = 0
    metric: AllocMetric = AllocMetric()

    @property
    def is_of_quota(self) -> bool:
        """A quota refuses it, whatever the node."""
        return self.reason.startswith("quota ")


class RehearsedAllocation(Wire, frozen=True):
    """One allocation: where it is, what becomes of it, and when."""

    #: As it is in the record; empty for one that there is not yet.
    id: str = ""
    name: str = ""
    namespace: str = ""
    job_id: str = ""
    task_group: str = ""
    job_type: str = ""
    priority: int = 0
    outcome: RehearsedOutcome = RehearsedOutcome.PLACED
    from_node_id: str = ""
    from_node_name: str = ""
    to_node_id: str = ""
    to_node_name: str = ""
    #: Normalised score of its new node; None where no decision was scored.
    score: float | None = None
    next_node_id: str = ""
    next_node_name: str = ""
    next_score: float | None = None
    waiting: WaitReason | None = None
    #: Asked to go; negative: never.
    asked_at: Duration = -1
    #: The one in its place runs, and counts as healthy.
    started_at: Duration = -1
    healthy_at: Duration = -1
    #: The replaced one has ended.
    stopped_at: Duration = -1
    #: By which allocation's job it was pushed out; empty: it was not.
    preempted_by: str = ""


class RehearsedGroup(Wire, frozen=True):
    """One group of a job, from before to the end."""

    namespace: str = ""
    job_id: str = ""
    task_group: str = ""
    job_type: str = ""
    priority: int = 0
    #: How many are wanted in the end.
    count: int = 0
    #: How many run and are healthy: before, at the worst moment, in the end.
    before: int = 0
    lowest: int = 0
    lowest_at: Duration = 0
    after: int = 0
    #: How long fewer ran than were wanted.
    below_for: Duration = 0
    max_parallel: int = 0
    placed: int = 0
    waits: int = 0
    held: int = 0
    waiting: WaitReason | None = None
    #: Status of the rollout that the rehearsal began or went on with; empty: there is none.
    rollout: str = ""
    rollout_description: str = ""
    #: When the last of it moved.
    done_at: Duration = 0


class RehearsalTotals(Wire, frozen=True):
    """The rehearsal in numbers."""

    #: Allocations that need a place: those that are placed, that wait and that are held.
    need_place: int = 0
    placed: int = 0
    waits: int = 0
    held: int = 0
    finishes: int = 0
    stopped: int = 0
    updated: int = 0
    #: Nodes that take something in.
    destinations: int = 0
    evaluations: int = 0
    jobs: int = 0
    #: Groups that end, and groups that were at some time, with fewer than they want.
    end_below: int = 0
    fall_below: int = 0
    #: Allocations whose replacement had to go as well.
    moved_again: int = 0


class RehearsedPace(Wire, frozen=True):
    """The same drain with so many nodes at a time."""

    #: 0: all together.
    at_once: int = 0
    ending: RehearsalEnd = RehearsalEnd.QUIET
    #: How long it takes in the cluster, and took to rehearse.
    lasts: Duration = 0
    took: Duration = 0
    need_place: int = 0
    placed: int = 0
    waits: int = 0
    held: int = 0
    moved_again: int = 0
    fall_below: int = 0
    end_below: int = 0
    #: The group that fell furthest below what it had and wants; None: none fell.
    lowest: RehearsedGroup | None = None


class RehearsedHelp(Wire, frozen=True, kw_only=True):
    """One more change that was rehearsed with all others, on the same record, and helped."""

    #: The group for which it was looked for.
    namespace: str = ""
    job_id: str = ""
    task_group: str = ""
    #: Of new nodes, `count` is how many.
    change: UnblockChange
    #: Of the group: how many find a place by it, of how many that wait without.
    fits: int = 0
    waiting: int = 0
    #: The same of everything that waits.
    fits_in_all: int = 0
    waiting_in_all: int = 0
    #: Limits of the quota that is raised, where they are.
    limit: AskedAmounts = AskedAmounts()
    #: Where the allocation is that the change names; empty: it names none.
    alloc_namespace: str = ""


class RolledOut(Wire, frozen=True):
    """An allocation of a rehearsed rollout: when it was placed, and became healthy."""

    id: str = ""
    name: str = ""
    task_group: str = ""
    eval_id: str = ""
    create_index: int = 0
    create_time: Instant = 0
    #: 0: it did not.
    healthy_at: Instant = 0


class RehearsedRollout(Wire, frozen=True):
    """The deployment that the one changed job got, as it stood in the end."""

    deployment: Deployment
    #: In order of creation.
    allocations: tuple[RolledOut, ...] = ()
    #: How many are replaced at a time; 0: all.
    at_once: int = 0


class Rehearsed(Wire, frozen=True):
    """What a rehearsal found, as far as it came."""

    #: Of the record it began with, and when that was read.
    index: int = 0
    read_at: Instant = 0
    #: How long it takes in the cluster until nothing moves, and took to rehearse.
    lasts: Duration = 0
    took: Duration = 0
    ending: RehearsalEnd = RehearsalEnd.QUIET
    assumptions: tuple[Assumption, ...] = ()
    totals: RehearsalTotals = RehearsalTotals()
    #: Worst first.
    groups: tuple[RehearsedGroup, ...] = ()
    #: Those that wait first, then by priority.
    allocations: tuple[RehearsedAllocation, ...] = ()
    nodes: tuple[RehearsedNode, ...] = ()
    #: In order of creation, as they stood in the end.
    evaluations: tuple[Evaluation, ...] = ()
    #: Where the scenario is one changed job with a rollout, and all of it is told.
    rollout: RehearsedRollout | None = None
    #: Of a drain that named paces: what becomes of each, its own among them; all at once first,
    #: then by ever fewer nodes at a time.
    paces: tuple[RehearsedPace, ...] = ()
    #: What would help those that wait, the best first: single changes, each rehearsed.
    helps: tuple[RehearsedHelp, ...] = ()
    #: Groups that wait for which none was looked for: there were too many, or time was over.
    groups_unhelped: int = 0
    #: How many of each list are left out.
    groups_left_out: int = 0
    allocations_left_out: int = 0
    nodes_left_out: int = 0
    evaluations_left_out: int = 0


class RehearsalProgress(Wire, frozen=True):
    """How far a rehearsal is."""

    evaluations: int = 0
    placed: int = 0
    waiting: int = 0
    #: Virtual and real time that have passed.
    lasts: Duration = 0
    took: Duration = 0
