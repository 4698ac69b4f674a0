"""Make the changes of a scenario in the branch, each by the operation that makes it in earnest.

In: a branch, changes. Out: which nodes were touched and how, or `ScenarioProblems` for what the
record does not know or an operation refuses.
"""

from functools import singledispatchmethod

from msgspec.structs import replace

from cluster.jobspec.problems import Problem
from cluster.operations.errors import OperationRefused
from cluster.operations.job_dispatch import dispatch_job
from cluster.operations.job_versions import revert_job
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    mark_node_unresponsive,
    purge_node,
    register_node,
    set_node_eligibility,
    update_status,
)
from cluster.operations.quotas import put_quota
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.operations.staged_drains import start_staged_drain
from cluster.rehearsal.scenario import (
    AddNodes,
    ChangeQuota,
    ChangeSettings,
    DispatchJob,
    DrainNodes,
    EndDrain,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    PurgeNodes,
    RevertJob,
    RoomOnNode,
    RunJob,
    ScaleJob,
    Scenario,
    ScenarioChange,
    ScenarioProblems,
    StopJob,
)
from cluster.rehearsal.scenario_problems import filtered_nodes, problems_of, staged_request
from scheduler.access.caller import CLUSTER
from scheduler.errors import SchedulerError
from scheduler.ports import Clock, IDSource
from scheduler.state.branch_store import BranchStore
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import QUOTAS
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.structs.identity import JobKey
from scheduler.structs.node import DrainStrategy, Node, NodeEligibility, NodeStatus
from scheduler.structs.staged_drain import StagedDrainStatus

#: A node of a rehearsal has no agent whose secret it could be.
_NO_SECRET = "rehearsed"  # noqa: S105 - of nobody


class ScenarioStage:
    """The changes of one rehearsal."""

    def __init__(self, store: BranchStore, clock: Clock, ids: IDSource) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        #: What was done to nodes: drained, lost, added, closed, opened, purged.
        self.fates: dict[str, str] = {}
        #: By the id of a node that is added, the one it is like.
        self.models: dict[str, str] = {}
        #: Where it is one changed job, that job.
        self.rolls_out: JobKey | None = None

    def set_up(self, scenario: Scenario) -> None:
        """Make every change, in order. Raises ScenarioProblems; then nothing may be rehearsed."""
        problems: list[Problem] = []
        only = scenario.changes[0] if len(scenario.changes) == 1 else None
        if isinstance(only, RunJob):
            self.rolls_out = only.job.key
        elif isinstance(only, RevertJob):
            self.rolls_out = only.key
        for number, change in enumerate(scenario.changes):
            path = f"Changes[{number}]"
            found = list(problems_of(self._store, change, path))
            if not found:
                try:
                    self._make(change)
                except (OperationRefused, SchedulerError) as error:
                    found = [Problem(path, str(error))]
            problems += found
        if problems:
            raise ScenarioProblems(problems)

    @property
    def waiting_nodes(self) -> frozenset[str]:
        """Nodes whose turn to drain has not come."""
        running = self._store.list_by(STAGED_DRAINS, "status", StagedDrainStatus.RUNNING.value)
        return frozenset(node_id for drain in running for node_id in drain.waiting)

    @property
    def _now(self) -> int:
        return self._clock.now()

    def _chosen(self, choice: NodeChoice, fate: str) -> list[str]:
        node_ids = list(choice.node_ids) or [
            node.id for node in filtered_nodes(self._store, choice)
        ]
        self.fates.update(dict.fromkeys(node_ids, fate))
        return node_ids

    @singledispatchmethod
    def _make(self, change: ScenarioChange) -> None:
        raise AssertionError(f"nobody makes {type(change).__name__}")

    @_make.register
    def _(self, change: DrainNodes) -> None:
        node_ids = self._chosen(change.nodes, "drained")
        if change.at_once:
            staged = staged_request(change, node_ids)
            start_staged_drain(self._store, staged, by=CLUSTER, now=self._now, ids=self._ids)
            return
        strategy = DrainStrategy(
            deadline=change.deadline, ignore_system_jobs=change.ignore_system_jobs
        )
        for node_id in node_ids:
            request = DrainRequest(strategy=strategy)
            drain_node(self._store, node_id, request, by=CLUSTER, now=self._now, ids=self._ids)

    @_make.register
    def _(self, change: LoseNodes) -> None:
        for node_id in self._chosen(change.nodes, "lost"):
            mark_node_unresponsive(self._store, node_id, by=CLUSTER, now=self._now, ids=self._ids)

    @_make.register
    def _(self, change: PurgeNodes) -> None:
        for node_id in self._chosen(change.nodes, "purged"):
            purge_node(self._store, node_id, by=CLUSTER, now=self._now, ids=self._ids)

    @_make.register
    def _(self, change: MarkNodes) -> None:
        fate = "opened" if change.eligibility is NodeEligibility.ELIGIBLE else "closed"
        for node_id in self._chosen(change.nodes, fate):
            set_node_eligibility(
                self._store, node_id, change.eligibility, by=CLUSTER, now=self._now, ids=self._ids
            )

    @_make.register
    def _(self, change: AddNodes) -> None:
        model = self._store.node(change.like)
        assert model is not None, "asked before"
        for number in range(1, change.count + 1):
            node = _like(model, self._ids.next_id(), number)
            register_node(
                self._store,
                node,
                by=CLUSTER,
                secret=_NO_SECRET,
                may_join=True,
                now=self._now,
                ids=self._ids,
            )
            update_status(
                self._store, node.id, NodeStatus.READY, by=CLUSTER, now=self._now, ids=self._ids
            )
            self.fates[node.id] = "added"
            self.models[node.id] = model.id

    @_make.register
    def _(self, change: RunJob) -> None:
        registration = JobRegistration(job=change.job)
        register_job(self._store, registration, by=CLUSTER, now=self._now, ids=self._ids)

    @_make.register
    def _(self, change: StopJob) -> None:
        deregister_job(
            self._store,
            change.key,
            by=CLUSTER,
            purge=change.purge,
            now=self._now,
            ids=self._ids,
        )

    @_make.register
    def _(self, change: ScaleJob) -> None:
        job = self._store.job(change.key)
        assert job is not None, "asked before"
        group = change.group or job.task_groups[0].name
        request = ScalingRequest(task_group=group, count=change.count)
        scale_job(self._store, change.key, request, by=CLUSTER, now=self._now, ids=self._ids)

    @_make.register
    def _(self, change: DispatchJob) -> None:
        dispatch_job(
            self._store, change.key, change.asked, by=CLUSTER, now=self._now, ids=self._ids
        )

    @_make.register
    def _(self, change: RevertJob) -> None:
        revert_job(
            self._store,
            change.key,
            change.version,
            enforce_prior_version=change.prior,
            keeps_counts=change.keeps_counts,
            by=CLUSTER,
            now=self._now,
            ids=self._ids,
        )

    @_make.register
    def _(self, change: ChangeSettings) -> None:
        stored = self._store.scheduler_settings()
        before = stored.preemption_config
        preemption = replace(
            before,
            service_scheduler_enabled=_or(
                change.service_preempts, before.service_scheduler_enabled
            ),
            batch_scheduler_enabled=_or(change.batch_preempts, before.batch_scheduler_enabled),
        )
        wanted = replace(
            stored,
            scheduler_algorithm=change.algorithm or stored.scheduler_algorithm,
            preemption_config=preemption,
            memory_oversubscription_enabled=_or(
                change.memory_oversubscription, stored.memory_oversubscription_enabled
            ),
        )
        set_scheduler_settings(self._store, wanted, by=CLUSTER, now=self._now)

    @_make.register
    def _(self, change: ChangeQuota) -> None:
        quota = self._store.get(QUOTAS, change.name)
        assert quota is not None, "asked before"
        limits = replace(quota.limits, **change.limits)
        put_quota(self._store, replace(quota, limits=limits), by=CLUSTER, now=self._now)

    @_make.register
    def _(self, change: RoomOnNode) -> None:
        self._store.write(
            WriteKind.NODE_REGISTRATION,
            lambda opened: put_found(opened, change.node),
            now=self._now,
        )

    @_make.register
    def _(self, change: EndDrain) -> None:
        request = DrainRequest(mark_eligible=True)
        drain_node(self._store, change.node_id, request, by=CLUSTER, now=self._now, ids=self._ids)


def _like(model: Node, node_id: str, number: int) -> Node:
    return replace(
        model,
        id=node_id,
        name=f"{model.name}-like-{number}",
        status=NodeStatus.INITIALIZING,
        status_description="",
        drain_strategy=None,
        last_drain=None,
        scheduling_eligibility=NodeEligibility.ELIGIBLE,
        events=(),
        create_index=0,
        modify_index=0,
    )


def _or(wanted: bool | None, otherwise: bool) -> bool:  # noqa: FBT001 - two flags are what it is about
    return otherwise if wanted is None else wanted
