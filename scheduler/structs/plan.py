"""A plan: the changes one attempt of an evaluation wants; and what the applier made of it."""

from msgspec.structs import replace

from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment, DeploymentStatusUpdate
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey
from scheduler.structs.plan_annotations import PlanAnnotations
from scheduler.structs.wire import Wire

#: Node id to allocations.
ByNode = dict[str, tuple[Allocation, ...]]


class RunEnding(Wire, frozen=True):
    """What a run leaves to be written once its plan is committed whole: then it is over."""

    #: What it created, and at last the evaluation with its final status.
    evaluations: tuple[Evaluation, ...] = ()
    #: Why nodes were not chosen, one per task group; their index is still to be set.
    explanations: tuple[StoredExplanation, ...] = ()


class Plan(Wire, frozen=True):
    """What a scheduler wants done. Stops and evictions are whole copies with the change made."""

    #: Names this submission in lifecycle steps and answers.
    id: str = ""
    eval_id: str = ""
    eval_token: str = ""
    priority: int = 50
    all_at_once: bool = False
    namespace: str = ""
    job_id: str = ""
    #: The version the plan was made for; None when the job was gone (then it may only stop).
    job_version: int | None = None
    #: Allocations to stop.
    node_update: ByNode = {}
    #: Allocations to place or update.
    node_allocation: ByNode = {}
    #: Allocations to evict for the placements.
    node_preemptions: ByNode = {}
    deployment: Deployment | None = None
    deployment_updates: tuple[DeploymentStatusUpdate, ...] = ()
    annotations: PlanAnnotations | None = None
    #: Index of the snapshot the evaluation started with, never a refreshed one.
    snapshot_index: int = 0
    #: To be committed in the same write if all of the plan is; None: the run goes on then.
    ending: RunEnding | None = None

    @property
    def job_key(self) -> JobKey:
        """Namespace and id of its job."""
        return JobKey(self.namespace, self.job_id)

    @property
    def size(self) -> int:
        """How many allocations it changes."""
        return (
            _count(self.node_update) + _count(self.node_allocation) + _count(self.node_preemptions)
        )

    @property
    def outline(self) -> "Plan":
        """Whose plan it is and how urgent, without what it changes."""
        return replace(
            self,
            node_update={},
            node_allocation={},
            node_preemptions={},
            deployment=None,
            deployment_updates=(),
            annotations=None,
            ending=None,
        )

    @property
    def is_no_op(self) -> bool:
        """It changes nothing; preemptions do not count (evaluations.md 7.3)."""
        return not (
            self.node_update or self.node_allocation or self.deployment or self.deployment_updates
        )


class PlanResult(Wire, frozen=True):
    """What of a plan was committed. `refresh_index` > 0 asks the worker for a newer snapshot."""

    node_update: ByNode = {}
    node_allocation: ByNode = {}
    node_preemptions: ByNode = {}
    deployment: Deployment | None = None
    deployment_updates: tuple[DeploymentStatusUpdate, ...] = ()
    rejected_nodes: tuple[str, ...] = ()
    #: Why each rejected node refused, by node id.
    rejections: dict[str, str] = {}
    ineligible_nodes: tuple[str, ...] = ()
    refresh_index: int = 0
    alloc_index: int = 0

    @property
    def is_no_op(self) -> bool:
        """Nothing to commit (evaluations.md 9.1)."""
        return not (
            self.ineligible_nodes
            or self.node_update
            or self.node_allocation
            or self.deployment
            or self.deployment_updates
        )

    @classmethod
    def whole(cls, plan: Plan) -> "PlanResult":
        """All of a plan, committed as it stands; the index is still to be set."""
        return cls(
            node_update=plan.node_update,
            node_allocation=plan.node_allocation,
            node_preemptions=plan.node_preemptions,
            deployment=plan.deployment,
            deployment_updates=plan.deployment_updates,
        )

    def is_full_commit_of(self, plan: Plan) -> bool:
        """Whether all planned placements were committed, by count; stops are not compared."""
        return _count(self.node_allocation) == _count(plan.node_allocation)


def _count(by_node: ByNode) -> int:
    return sum(len(allocs) for allocs in by_node.values())
