"""The whole record in memory: one table per noun, read by the state ports, moved by events.

In: the events of committed writes. Out: every lookup of `StateReader`. Knows no rules: what one
write does to other tables was decided before its events were made.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from scheduler.ports import StateReader
from scheduler.state.events import StateEvent, Topic
from scheduler.state.node_use import NodeUse
from scheduler.state.quota_use import sum_held
from scheduler.state.stub import evaluation_stub
from scheduler.state.table import Key, Table, Value
from scheduler.state.topics import TABLE_OF_TOPIC
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation, newest_explained
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings

#: A stored version: job, incarnation (its CreateIndex), version.
VersionKey = tuple[JobKey, int, int]


def created(value: Allocation | Evaluation | Deployment) -> tuple[int, str]:
    """Sort key: in order of creation, ties by id."""
    return value.create_index, value.id


class Record(StateReader):
    """All tables at one index."""

    def __init__(self) -> None:
        self._index = 0
        self._table_indexes: dict[str, int] = {}
        self._jobs: Table[JobKey, Job] = Table()
        self._versions: Table[VersionKey, Job] = Table({"job": lambda job: job.key})
        #: Versions that only allocations still name.
        self._hidden: Table[VersionKey, bool] = Table()
        self._summaries: Table[JobKey, JobSummary] = Table()
        self._submissions: Table[tuple[JobKey, int], JobSubmission] = Table(
            {"job": lambda text: JobKey(text.namespace, text.job_id)}
        )
        self._nodes: Table[str, Node] = Table()
        self._uses: Table[str, NodeUse] = Table()
        self._allocations: Table[str, Allocation] = Table(
            {
                "job": lambda alloc: alloc.job_key,
                "node": lambda alloc: alloc.node_id,
                "eval": lambda alloc: alloc.eval_id,
                "deployment": lambda alloc: alloc.deployment_id,
            }
        )
        self._evaluations: Table[str, Evaluation] = Table(
            {
                "job": lambda evaluation: evaluation.job_key,
                "open": lambda evaluation: not evaluation.is_terminal,
            }
        )
        self._stubs: Table[str, Evaluation] = Table()
        self._deployments: Table[str, Deployment] = Table(
            {"job": lambda deployment: deployment.job_key}
        )
        self._lifecycle: Table[tuple[str, int], LifecycleStep] = Table(
            {"eval": lambda step: step.eval_id}
        )
        self._explanations: Table[tuple[str, str], StoredExplanation] = Table(
            {"eval": lambda item: item.eval_id, "job": lambda item: item.job_key}
        )
        self._namespaces: Table[str, Namespace] = Table()
        self._quotas: Table[str, QuotaSpec] = Table()
        self._node_pools: Table[str, NodePool] = Table()
        self._settings = SchedulerSettings()

    def frozen(self) -> "Record":
        """The record as it is now; later writes do not reach it."""
        twin = Record()
        for name, value in vars(self).items():
            setattr(twin, name, value.frozen() if isinstance(value, Table) else value)
        twin._table_indexes = self._table_indexes.copy()
        return twin

    def apply(self, index: int, events: Iterable[StateEvent], unnamed: Iterable[JobKey]) -> None:
        """Move to `index`. Of the jobs in `unnamed`, versions that nobody names any more go."""
        # A row has one event only; what a deletion takes along must not take what was put anew.
        for event in sorted(events, key=lambda event: not event.deleted):
            _APPLY[event.topic](self, event)
            table = TABLE_OF_TOPIC.get(event.topic)
            if table is not None:
                self._table_indexes[table] = index
        for key in unnamed:
            self._drop_unnamed_versions(key)
        self._index = index

    @property
    def index(self) -> int:
        """Of the newest write."""
        return self._index

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Everything is at hand already."""

    def table_index(self, table: str) -> int:
        """Of the last write to a table; 0 when never written."""
        return self._table_indexes.get(table, 0)

    def job(self, key: JobKey) -> Job | None:
        """The current version."""
        return self._jobs.get(key)

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if create_index:
            return self._versions.get((key, create_index, version))
        return next((job for job in self.job_versions(key) if job.version == version), None)

    def job_of(self, alloc: Allocation) -> Job | None:
        """The version an allocation was made from."""
        return self.job_version(alloc.job_key, alloc.job_version, alloc.job_create_index)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        listed = [
            job
            for job in self._versions.bucket("job", key)
            if self._hidden.get(version_key(job)) is None
        ]
        return sorted(listed, key=lambda job: (job.create_index, job.version), reverse=True)

    def jobs(self) -> Iterable[Job]:
        """By namespace and id."""
        return sorted(self._jobs.values(), key=lambda job: job.key)

    def jobs_of_type(self, job_type: str) -> Iterable[Job]:
        """By namespace and id."""
        return [job for job in self.jobs() if job.type == job_type]

    def job_summary(self, key: JobKey) -> JobSummary | None:
        """The counts beside a job."""
        return self._summaries.get(key)

    def node(self, node_id: str) -> Node | None:
        """A node."""
        return self._nodes.get(node_id)

    def nodes(self) -> Iterable[Node]:
        """By id."""
        return sorted(self._nodes.values(), key=lambda node: node.id)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node."""
        return self._uses.get(node_id) or NodeUse(node_id=node_id)

    def node_uses(self) -> Iterable[NodeUse]:
        """Of all nodes that ever held something."""
        return self._uses.values()

    def allocation(self, alloc_id: str) -> Allocation | None:
        """An allocation."""
        return self._allocations.get(alloc_id)

    def allocations(self) -> Iterable[Allocation]:
        """All, in order of creation."""
        return sorted(self._allocations.values(), key=created)

    def allocations_by_job(self, key: JobKey) -> Sequence[Allocation]:
        """Of every incarnation, in order of creation."""
        return sorted(self._allocations.bucket("job", key), key=created)

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        bucket = self._allocations.bucket("job", key)
        live = (alloc.id for alloc in bucket if not alloc.is_terminal)
        return list(islice(live, at_most))

    def allocations_by_node(self, node_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return sorted(self._allocations.bucket("node", node_id), key=created)

    def allocations_by_eval(self, eval_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return sorted(self._allocations.bucket("eval", eval_id), key=created)

    def allocations_by_deployment(self, deployment_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return sorted(self._allocations.bucket("deployment", deployment_id), key=created)

    def evaluation(self, eval_id: str) -> Evaluation | None:
        """An evaluation that was not collected."""
        return self._evaluations.get(eval_id)

    def evaluation_stub(self, eval_id: str) -> Evaluation | None:
        """What is left of a collected one."""
        return self._stubs.get(eval_id)

    def evaluations(self) -> Iterable[Evaluation]:
        """All, in order of creation."""
        return sorted(self._evaluations.values(), key=created)

    def evaluations_by_job(self, key: JobKey) -> Sequence[Evaluation]:
        """In order of creation."""
        return sorted(self._evaluations.bucket("job", key), key=created)

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""
        of_job = self.evaluations_by_job(key)
        return [row for row in of_job if row.status is EvalStatus.BLOCKED]

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        bucket = self._evaluations.bucket("job", key)
        found = (row.id for row in bucket if not (only_open and row.is_terminal))
        return list(islice(found, at_most))

    def open_evaluations(self) -> Iterable[Evaluation]:
        """Pending and blocked ones, in order of creation."""
        return sorted(self._evaluations.bucket("open", place=True), key=created)

    def deployment(self, deployment_id: str) -> Deployment | None:
        """A deployment."""
        return self._deployments.get(deployment_id)

    def deployments(self) -> Iterable[Deployment]:
        """All, in order of creation."""
        return sorted(self._deployments.values(), key=created)

    def deployments_by_job(self, key: JobKey) -> Sequence[Deployment]:
        """In order of creation."""
        return sorted(self._deployments.bucket("job", key), key=created)

    def lifecycle(self, eval_id: str) -> Sequence[LifecycleStep]:
        """The recorded steps, by number."""
        return sorted(self._lifecycle.bucket("eval", eval_id), key=lambda step: step.number)

    def explanations(self, eval_id: str) -> Sequence[StoredExplanation]:
        """By name of the task group."""
        found = self._explanations.bucket("eval", eval_id)
        return sorted(found, key=lambda item: item.task_group)

    def explained_evaluations(self, key: JobKey) -> Sequence[str]:
        """Newest first."""
        return newest_explained(self._explanations.bucket("job", key))

    def namespace(self, name: str) -> Namespace | None:
        """A namespace."""
        return self._namespaces.get(name)

    def namespaces(self) -> Iterable[Namespace]:
        """By name."""
        return sorted(self._namespaces.values(), key=lambda namespace: namespace.name)

    def namespace_use(self, namespace: str) -> QuotaAmounts:
        """What a namespace holds."""
        every = self._allocations.values()
        return sum_held(alloc for alloc in every if alloc.namespace == namespace)

    def quota(self, name: str) -> QuotaSpec | None:
        """A quota."""
        return self._quotas.get(name)

    def quotas(self) -> Iterable[QuotaSpec]:
        """By name."""
        return sorted(self._quotas.values(), key=lambda quota: quota.name)

    def node_pool(self, name: str) -> NodePool | None:
        """A node pool."""
        return self._node_pools.get(name)

    def node_pools(self) -> Iterable[NodePool]:
        """By name."""
        return sorted(self._node_pools.values(), key=lambda pool: pool.name)

    def scheduler_settings(self) -> SchedulerSettings:
        """The stored settings, or the defaults."""
        return self._settings

    def job_submission(self, key: JobKey, version: int) -> JobSubmission | None:
        """The text a version was submitted as."""
        return self._submissions.get((key, version))

    def _drop_unnamed_versions(self, key: JobKey) -> None:
        named = {
            (alloc.job_create_index, alloc.job_version)
            for alloc in self._allocations.bucket("job", key)
        }
        for job in self._versions.bucket("job", key):
            name = version_key(job)
            if self._hidden.get(name) and name[1:] not in named:
                self._versions.remove(name)
                self._hidden.remove(name)

    def _apply_job(self, event: StateEvent) -> None:
        job = event.value
        assert isinstance(job, Job)
        if not event.deleted:
            self._jobs.put(job.key, job)
            self._versions.put(version_key(job), job)
            self._hidden.remove(version_key(job))
            return
        self._jobs.remove(job.key)
        for version in self._versions.bucket("job", job.key):
            self._hidden.put(version_key(version), value=True)
        for text in self._submissions.bucket("job", job.key):
            self._submissions.remove((job.key, text.version))

    def _apply_job_version(self, event: StateEvent) -> None:
        job = event.value
        assert isinstance(job, Job)
        self._versions.put(version_key(job), job)
        if event.deleted:
            self._hidden.put(version_key(job), value=True)

    def _apply_evaluation(self, event: StateEvent) -> None:
        evaluation = event.value
        assert isinstance(evaluation, Evaluation)
        _put_or_remove(self._evaluations, evaluation.id, evaluation, event)
        if event.deleted:
            self._stubs.put(evaluation.id, evaluation_stub(evaluation))
            for step in self._lifecycle.bucket("eval", evaluation.id):
                self._lifecycle.remove((step.eval_id, step.number))
            for item in self._explanations.bucket("eval", evaluation.id):
                self._explanations.remove((item.eval_id, item.task_group))

    def _apply_settings(self, event: StateEvent) -> None:
        settings = event.value
        assert isinstance(settings, SchedulerSettings)
        self._settings = settings


def version_key(job: Job) -> VersionKey:
    """What names a stored version."""
    return job.key, job.create_index, job.version


def summary_key(summary: JobSummary) -> JobKey:
    """The job a summary belongs to."""
    return JobKey(summary.namespace, summary.job_id)


def _put_or_remove(table: Table[Key, Value], key: Key, value: Value, event: StateEvent) -> None:
    if event.deleted:
        table.remove(key)
    else:
        table.put(key, value)


def _rows(
    table: str, kind: type[Value], key_of: Callable[[Value], Key]
) -> Callable[[Record, StateEvent], None]:
    """How a record follows rows that take nothing else along."""

    def apply(record: Record, event: StateEvent) -> None:
        value = event.value
        assert isinstance(value, kind)
        _put_or_remove(getattr(record, table), key_of(value), value, event)

    return apply


def _submission_key(text: JobSubmission) -> tuple[JobKey, int]:
    return JobKey(text.namespace, text.job_id), text.version


_APPLY: dict[Topic, Callable[[Record, StateEvent], None]] = {
    Topic.JOB: Record._apply_job,
    Topic.JOB_VERSION: Record._apply_job_version,
    Topic.JOB_SUMMARY: _rows("_summaries", JobSummary, summary_key),
    Topic.JOB_SUBMISSION: _rows("_submissions", JobSubmission, _submission_key),
    Topic.EVALUATION: Record._apply_evaluation,
    Topic.ALLOCATION: _rows("_allocations", Allocation, lambda alloc: alloc.id),
    Topic.DEPLOYMENT: _rows("_deployments", Deployment, lambda deployment: deployment.id),
    Topic.NODE: _rows("_nodes", Node, lambda node: node.id),
    Topic.NODE_USE: _rows("_uses", NodeUse, lambda use: use.node_id),
    Topic.NODE_POOL: _rows("_node_pools", NodePool, lambda pool: pool.name),
    Topic.NAMESPACE: _rows("_namespaces", Namespace, lambda namespace: namespace.name),
    Topic.QUOTA: _rows("_quotas", QuotaSpec, lambda quota: quota.name),
    Topic.SCHEDULER_SETTINGS: Record._apply_settings,
    Topic.LIFECYCLE: _rows("_lifecycle", LifecycleStep, lambda step: (step.eval_id, step.number)),
    Topic.EXPLANATION: _rows(
        "_explanations", StoredExplanation, lambda item: (item.eval_id, item.task_group)
    ),
}
