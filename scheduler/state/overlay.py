"""Reading through an open transaction: its puts lie over a base, reads see both.

In: a base that does not move meanwhile, and the rows put so far. Out: every lookup of the state
port. Who puts, and what becomes of the puts, is `open_change`'s business.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from scheduler.ports import StateReader
from scheduler.state.events import Topic
from scheduler.state.node_use import NodeUse
from scheduler.state.quota_use import replaced
from scheduler.state.record import created, version_key
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation, newest_explained
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.wire import Wire

Value = TypeVar("Value", bound=Wire)
Creation = TypeVar("Creation", Allocation, Evaluation, Deployment)

SETTINGS_KEY = "scheduler"

_TOPIC_OF: dict[type[Wire], Topic] = {
    Job: Topic.JOB,
    JobSummary: Topic.JOB_SUMMARY,
    JobSubmission: Topic.JOB_SUBMISSION,
    Node: Topic.NODE,
    NodeUse: Topic.NODE_USE,
    Allocation: Topic.ALLOCATION,
    Evaluation: Topic.EVALUATION,
    Deployment: Topic.DEPLOYMENT,
    Namespace: Topic.NAMESPACE,
    QuotaSpec: Topic.QUOTA,
    NodePool: Topic.NODE_POOL,
    SchedulerSettings: Topic.SCHEDULER_SETTINGS,
}


class Overlay(StateReader):
    """The base with puts over it. Rows of the base are asked for again on every read."""

    def __init__(self, base: StateReader, now: int) -> None:
        self._base = base
        self._now = now
        #: Topic -> row key -> its newest value, or None when deleted.
        self._puts: dict[Topic, dict[Hashable, Wire | None]] = {topic: {} for topic in Topic}
        #: Index name and place -> ids of rows put into it; they may have left again.
        self._places: dict[tuple[str, Hashable], dict[str, None]] = {}

    @property
    def index(self) -> int:
        """The number this transaction takes."""
        return self._base.index + 1

    @property
    def now(self) -> int:
        """The instant of the write, ns."""
        return self._now

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """A hint, for the base."""
        self._base.preload(allocs=allocs, nodes=nodes)

    def table_index(self, table: str) -> int:
        """Of the last committed write."""
        return self._base.table_index(table)

    def job(self, key: JobKey) -> Job | None:
        """The current version."""
        return self._row(Job, key, lambda: self._base.job(key))

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if not create_index:
            found = (job for job in self.job_versions(key) if job.version == version)
            return next(found, None)
        name = (key, create_index, version)
        put = self._puts[Topic.JOB_VERSION].get(name)
        if isinstance(put, Job):
            return put
        return self._base.job_version(key, version, create_index)

    def job_of(self, alloc: Allocation) -> Job | None:
        """The version an allocation was made from."""
        return self.job_version(alloc.job_key, alloc.job_version, alloc.job_create_index)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        purged = self._puts[Topic.JOB].get(key, key) is None
        base = () if purged else self._base.job_versions(key)
        versions = {version_key(job): job for job in base}
        for name, put in self._puts[Topic.JOB_VERSION].items():
            assert isinstance(name, tuple)
            if name[0] == key:
                versions.pop(name, None)
                if isinstance(put, Job):
                    versions[name] = put
        return sorted(
            versions.values(), key=lambda job: (job.create_index, job.version), reverse=True
        )

    def jobs(self) -> Iterable[Job]:
        """By namespace and id."""
        return self._all(Job, self._base.jobs(), lambda job: job.key)

    def jobs_of_type(self, job_type: str) -> Iterable[Job]:
        """By namespace and id."""
        base = self._base.jobs_of_type(job_type)
        both = self._all(Job, base, lambda job: job.key)
        return [job for job in both if job.type == job_type]

    def job_summary(self, key: JobKey) -> JobSummary | None:
        """The counts beside a job."""
        return self._row(JobSummary, key, lambda: self._base.job_summary(key))

    def job_submission(self, key: JobKey, version: int) -> JobSubmission | None:
        """The text a version was submitted as."""
        return self._row(
            JobSubmission, (key, version), lambda: self._base.job_submission(key, version)
        )

    def node(self, node_id: str) -> Node | None:
        """A node."""
        return self._row(Node, node_id, lambda: self._base.node(node_id))

    def nodes(self) -> Iterable[Node]:
        """By id."""
        return self._all(Node, self._base.nodes(), lambda node: node.id)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node."""
        use = self._row(NodeUse, node_id, lambda: self._base.node_use(node_id))
        return use or NodeUse(node_id=node_id)

    def allocation(self, alloc_id: str) -> Allocation | None:
        """An allocation."""
        return self._row(Allocation, alloc_id, lambda: self._base.allocation(alloc_id))

    def allocations(self) -> Iterable[Allocation]:
        """All, in order of creation."""
        every = self._all(Allocation, self._base.allocations(), lambda alloc: alloc.id)
        return sorted(every, key=created)

    def allocations_by_job(self, key: JobKey) -> Sequence[Allocation]:
        """Of every incarnation, in order of creation."""
        base = self._base.allocations_by_job(key)
        return self._bucket(Allocation, base, ("job", key), lambda alloc: alloc.job_key)

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        puts = self._puts[Topic.ALLOCATION]
        found = [
            alloc.id
            for alloc in puts.values()
            if isinstance(alloc, Allocation) and alloc.job_key == key and not alloc.is_terminal
        ][:at_most]
        if len(found) < at_most:
            base = self._base.live_allocation_ids(key, at_most + len(puts))
            found += [alloc_id for alloc_id in base if alloc_id not in puts]
        return found[:at_most]

    def allocations_by_node(self, node_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        base = self._base.allocations_by_node(node_id)
        return self._bucket(Allocation, base, ("node", node_id), lambda alloc: alloc.node_id)

    def allocations_by_eval(self, eval_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        base = self._base.allocations_by_eval(eval_id)
        return self._bucket(Allocation, base, ("eval", eval_id), lambda alloc: alloc.eval_id)

    def allocations_by_deployment(self, deployment_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        base = self._base.allocations_by_deployment(deployment_id)
        place = ("deployment", deployment_id)
        return self._bucket(Allocation, base, place, lambda alloc: alloc.deployment_id)

    def evaluation(self, eval_id: str) -> Evaluation | None:
        """An evaluation that was not collected."""
        return self._row(Evaluation, eval_id, lambda: self._base.evaluation(eval_id))

    def evaluation_stub(self, eval_id: str) -> Evaluation | None:
        """What was left of a collected one before the change."""
        return self._base.evaluation_stub(eval_id)

    def evaluations_by_job(self, key: JobKey) -> Sequence[Evaluation]:
        """In order of creation."""
        base = self._base.evaluations_by_job(key)
        place = ("eval of job", key)
        return self._bucket(Evaluation, base, place, lambda evaluation: evaluation.job_key)

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""
        base = self._base.blocked_evaluations(key)
        place = ("eval of job", key)
        rows = self._bucket(Evaluation, base, place, lambda evaluation: evaluation.job_key)
        return [row for row in rows if row.status is EvalStatus.BLOCKED]

    def evaluations(self) -> Iterable[Evaluation]:
        """All, in order of creation."""
        every = self._all(Evaluation, self._base.evaluations(), lambda evaluation: evaluation.id)
        return sorted(every, key=created)

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        puts = self._puts[Topic.EVALUATION]
        found = [
            row.id
            for row in puts.values()
            if isinstance(row, Evaluation)
            and row.job_key == key
            and not (only_open and row.is_terminal)
        ][:at_most]
        if len(found) < at_most:
            base = self._base.evaluation_ids(key, at_most + len(puts), only_open=only_open)
            found += [eval_id for eval_id in base if eval_id not in puts]
        return found[:at_most]

    def open_evaluations(self) -> Iterable[Evaluation]:
        """Pending and blocked ones, in order of creation."""
        base = self._base.open_evaluations()
        return self._bucket(
            Evaluation, base, ("open", False), lambda evaluation: evaluation.is_terminal
        )

    def deployment(self, deployment_id: str) -> Deployment | None:
        """A deployment."""
        return self._row(Deployment, deployment_id, lambda: self._base.deployment(deployment_id))

    def deployments(self) -> Iterable[Deployment]:
        """All, in order of creation."""
        every = self._all(Deployment, self._base.deployments(), lambda deployment: deployment.id)
        return sorted(every, key=created)

    def deployments_by_job(self, key: JobKey) -> Sequence[Deployment]:
        """In order of creation."""
        base = self._base.deployments_by_job(key)
        place = ("deployment of job", key)
        return self._bucket(Deployment, base, place, lambda deployment: deployment.job_key)

    def lifecycle(self, eval_id: str) -> Sequence[LifecycleStep]:
        """The recorded steps, by number."""
        collected = self._puts[Topic.EVALUATION].get(eval_id, eval_id) is None
        steps = {} if collected else {step.number: step for step in self._base.lifecycle(eval_id)}
        for step in self._puts[Topic.LIFECYCLE].values():
            if isinstance(step, LifecycleStep) and step.eval_id == eval_id:
                steps[step.number] = step
        return [steps[number] for number in sorted(steps)]

    def explanations(self, eval_id: str) -> Sequence[StoredExplanation]:
        """By name of the task group."""
        collected = self._puts[Topic.EVALUATION].get(eval_id, eval_id) is None
        base = () if collected else self._base.explanations(eval_id)
        return sorted(
            self._with_puts(base, lambda item: item.eval_id == eval_id),
            key=lambda item: item.task_group,
        )

    def explained_evaluations(self, key: JobKey) -> Sequence[str]:
        """Newest first."""
        base = self._base.explained_evaluations(key)
        put = self._with_puts((), lambda item: item.job_key == key)
        new = newest_explained(put)
        return [
            *new,
            *(eval_id for eval_id in base if eval_id not in new and self.explanations(eval_id)),
        ]

    def _with_puts(
        self,
        base: Iterable[StoredExplanation],
        is_wanted: Callable[[StoredExplanation], bool],
    ) -> list[StoredExplanation]:
        rows: dict[Hashable, Wire | None] = {
            (item.eval_id, item.task_group): item for item in base
        }
        rows |= self._puts[Topic.EXPLANATION]
        return [
            item
            for item in rows.values()
            if isinstance(item, StoredExplanation) and is_wanted(item)
        ]

    def namespace(self, name: str) -> Namespace | None:
        """A namespace."""
        return self._row(Namespace, name, lambda: self._base.namespace(name))

    def namespaces(self) -> Iterable[Namespace]:
        """By name."""
        return self._all(Namespace, self._base.namespaces(), lambda item: item.name)

    def namespace_use(self, namespace: str) -> QuotaAmounts:
        """What a namespace holds: what the base says, moved by what was put."""
        use = self._base.namespace_use(namespace)
        for name, put in self._puts[Topic.ALLOCATION].items():
            assert isinstance(name, str)
            assert put is None or isinstance(put, Allocation)
            before = self._base.allocation(name)
            if namespace in {alloc.namespace for alloc in (before, put) if alloc is not None}:
                use = replaced(use, before, put)
        return use

    def quota(self, name: str) -> QuotaSpec | None:
        """A quota."""
        return self._row(QuotaSpec, name, lambda: self._base.quota(name))

    def quotas(self) -> Iterable[QuotaSpec]:
        """By name."""
        return self._all(QuotaSpec, self._base.quotas(), lambda quota: quota.name)

    def node_pool(self, name: str) -> NodePool | None:
        """A node pool."""
        return self._row(NodePool, name, lambda: self._base.node_pool(name))

    def node_pools(self) -> Iterable[NodePool]:
        """By name."""
        return self._all(NodePool, self._base.node_pools(), lambda pool: pool.name)

    def scheduler_settings(self) -> SchedulerSettings:
        """The settings, or the defaults."""
        put = self._row(SchedulerSettings, SETTINGS_KEY, self._base.scheduler_settings)
        assert put is not None, "settings are never deleted"
        return put

    def _row(
        self, kind: type[Value], name: Hashable, read_base: Callable[[], Value | None]
    ) -> Value | None:
        puts = self._puts[_TOPIC_OF[kind]]
        if name not in puts:
            return read_base()
        put = puts[name]
        assert put is None or isinstance(put, kind)
        return put

    def _all(
        self, kind: type[Value], base: Iterable[Value], name_of: Callable[[Value], JobKey | str]
    ) -> list[Value]:
        rows = {name_of(value): value for value in base}
        for name, put in self._puts[_TOPIC_OF[kind]].items():
            assert isinstance(name, str | JobKey)
            if isinstance(put, kind):
                rows[name] = put
            else:
                rows.pop(name, None)
        return [rows[name] for name in sorted(rows, key=_sortable)]

    def _bucket(
        self,
        kind: type[Creation],
        base: Iterable[Creation],
        place: tuple[str, Hashable],
        place_of: Callable[[Creation], Hashable],
    ) -> list[Creation]:
        puts = self._puts[_TOPIC_OF[kind]]
        if not puts:
            return list(base)
        rows = {row.id: row for row in base}
        candidates: list[str] = [name for name in rows if name in puts]
        for name in (*candidates, *self._places.get(place, ())):
            put = puts[name]
            if isinstance(put, kind) and place_of(put) == place[1]:
                rows[name] = put
            else:
                rows.pop(name, None)
        return sorted(rows.values(), key=created)


def _sortable(name: JobKey | str) -> tuple[str, ...]:
    return (name,) if isinstance(name, str) else tuple(name)
