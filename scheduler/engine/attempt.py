"""One attempt of an evaluation: the plan it builds and the world that plan would make, in step.

In: changes, one by one. Out: a plan to submit, and a context in which each change already counts.
Decides nothing.
"""

import msgspec

from scheduler.engine.context import EvalContext
from scheduler.engine.plan.builder import PlanBuilder
from scheduler.ports import IDSource, PatternMatcher, Snapshot
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeStatus


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What a run takes from outside: identifiers, the time, patterns, chance."""

    ids: IDSource
    now: int
    matcher: PatternMatcher
    seed: int


class Attempt:
    """The plan and the context of one attempt. Start a new one with every snapshot."""

    def __init__(
        self, snapshot: Snapshot, evaluation: Evaluation, tools: Tools, *, snapshot_index: int
    ) -> None:
        self.snapshot = snapshot
        self.evaluation = evaluation
        self.tools = tools
        self.job: Job | None = snapshot.job(evaluation.job_key)
        self.plan = PlanBuilder(
            evaluation, self.job, plan_id=tools.ids.next_id(), snapshot_index=snapshot_index
        )
        self.context = EvalContext(
            snapshot,
            evaluation.job_key,
            matcher=tools.matcher,
            seed=tools.seed,
            now=tools.now,
        )
        #: Groups that could not be placed, with the metric of their first failure.
        self.failed: dict[str, AllocMetric] = {}
        #: Still to be placed, by group.
        self.queued: dict[str, int] = {}
        #: By group, the metric of its newest decision.
        self.decisions: dict[str, AllocMetric] = {}

    @property
    def is_stopped(self) -> bool:
        """Nothing of the job may run."""
        return self.job is None or self.job.stop

    def newest_deployment(self) -> Deployment | None:
        """The newest deployment of the job, of any incarnation and in any status."""
        deployments = self.snapshot.deployments_by_job(self.evaluation.job_key)
        return max(deployments, key=lambda deployment: deployment.create_index, default=None)

    def stop(
        self,
        alloc: Allocation,
        reason: str,
        *,
        client_status: ClientStatus | None = None,
        followup_eval_id: str = "",
    ) -> None:
        """Stop an allocation; its room is free from now on."""
        if self.plan.is_stopped(alloc):
            return
        self.plan.add_stop(
            alloc,
            reason,
            client_status=client_status,
            followup_eval_id=followup_eval_id,
            now=self.tools.now,
        )
        self.context.add_stop(self._stored(alloc))

    def unstop(self, alloc: Allocation) -> None:
        """Take a stop back."""
        if self.plan.remove_stop(alloc):
            self.context.remove_stop(self._stored(alloc))

    def update(self, alloc: Allocation, *, keeps_version: bool = False) -> None:
        """Write a changed allocation that stays on its node.

        It takes on the current job version, unless it has ended or `keeps_version`.
        """
        if keeps_version:
            self.plan.add_placement(alloc)
        else:
            self.plan.add_update(alloc)
        self.context.add_placement(alloc, self._stored(alloc))

    def place(self, alloc: Allocation) -> None:
        """Place a new allocation."""
        self.plan.add_placement(alloc)
        self.context.add_placement(alloc)

    def unplace(self, alloc: Allocation) -> None:
        """Take a placement back."""
        self.plan.remove_placement(alloc)
        self.context.remove_placement(alloc)

    def preempt(self, alloc: Allocation, by_alloc_id: str) -> None:
        """Evict an allocation of another job."""
        self.plan.add_preemption(alloc, by_alloc_id)
        self.context.add_preemption(alloc)

    def _stored(self, alloc: Allocation) -> Allocation:
        return self.snapshot.allocation(alloc.id) or alloc


def tainted_nodes(snapshot: Snapshot, allocs: tuple[Allocation, ...]) -> dict[str, Node | None]:
    """The nodes of these allocations that are down, draining or disconnected; None: gone."""
    tainted: dict[str, Node | None] = {}
    for node_id in sorted({alloc.node_id for alloc in allocs}):
        node = snapshot.node(node_id)
        if (
            node is None
            or node.drain_strategy is not None
            or node.status in (NodeStatus.DOWN, NodeStatus.DISCONNECTED)
        ):
            tainted[node_id] = node
    return tainted


def stopped_on_lost_nodes(
    allocs: tuple[Allocation, ...], tainted: dict[str, Node | None]
) -> list[Allocation]:
    """Allocations told to stop whose node can no longer say that they did."""
    return [
        alloc
        for alloc in allocs
        if alloc.is_server_terminal
        and alloc.client_status in (ClientStatus.RUNNING, ClientStatus.PENDING)
        and alloc.node_id in tainted
        and _is_lost(tainted[alloc.node_id])
    ]


def _is_lost(node: Node | None) -> bool:
    return node is None or node.status is NodeStatus.DOWN
