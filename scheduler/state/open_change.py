"""One open transaction over any reader: what it puts becomes the events of one write.

In: a base that does not move while the change is open. Out: the events of everything put, one per
row, and nothing else; who stores them is not known here. So every store has the same semantics.
"""

from collections.abc import Hashable

import msgspec

from scheduler.ports import Change, StateReader
from scheduler.state.events import StateEvent, Topic
from scheduler.state.node_use import changed_use
from scheduler.state.overlay import SETTINGS_KEY, Overlay
from scheduler.state.record import version_key
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.wire import Wire


class OpenChange(Overlay, Change):
    """A transaction in the making."""

    def __init__(self, base: StateReader, now: int) -> None:
        super().__init__(base, now)
        self._events: dict[tuple[Topic, Hashable], StateEvent] = {}
        self._unnamed: dict[JobKey, None] = {}

    @property
    def events(self) -> tuple[StateEvent, ...]:
        """One per changed row, in the order of the last put of each."""
        return tuple(self._events.values())

    @property
    def unnamed(self) -> tuple[JobKey, ...]:
        """Jobs some of whose versions nobody may name any more."""
        return tuple(self._unnamed)

    def put_job(self, job: Job) -> None:
        """Store the current version, also among the versions."""
        self._puts[Topic.JOB_VERSION][version_key(job)] = job
        self._events.pop((Topic.JOB_VERSION, version_key(job)), None)
        self._put(Topic.JOB, job.key, job, job.namespace)

    def put_job_version(self, job: Job) -> None:
        """Rewrite a stored version that is not the current one."""
        self._put(Topic.JOB_VERSION, version_key(job), job, job.namespace)

    def delete_job_version(self, job: Job) -> None:
        """Take a version off the list."""
        self._unnamed[job.key] = None
        self._delete(Topic.JOB_VERSION, version_key(job), job, job.namespace)

    def delete_job(self, key: JobKey) -> None:
        """Purge the job, its summary and submissions."""
        job = self.job(key)
        if job is None:
            return
        for topic in (Topic.JOB_VERSION, Topic.JOB_SUBMISSION):
            for name in [name for name in self._puts[topic] if _job_of_name(name) == key]:
                del self._puts[topic][name]
                self._events.pop((topic, name), None)
        summary = self.job_summary(key)
        if summary is not None:
            self._delete(Topic.JOB_SUMMARY, key, summary, key.namespace)
        self._unnamed[key] = None
        self._delete(Topic.JOB, key, job, key.namespace)

    def put_job_summary(self, summary: JobSummary) -> None:
        """Store the counts."""
        key = JobKey(summary.namespace, summary.job_id)
        self._put(Topic.JOB_SUMMARY, key, summary, summary.namespace)

    def put_job_submission(self, submission: JobSubmission) -> None:
        """Store the text."""
        key = (JobKey(submission.namespace, submission.job_id), submission.version)
        self._put(Topic.JOB_SUBMISSION, key, submission, submission.namespace)

    def put_node(self, node: Node) -> None:
        """Store a node."""
        self._put(Topic.NODE, node.id, node)

    def delete_node(self, node_id: str) -> None:
        """Forget a node; what its allocations take stays known."""
        node = self.node(node_id)
        if node is not None:
            self._delete(Topic.NODE, node_id, node)

    def put_allocation(self, alloc: Allocation) -> None:
        """Store an allocation and keep the sums of its node exact."""
        before = self.allocation(alloc.id)
        self._put(Topic.ALLOCATION, alloc.id, alloc, alloc.namespace)
        for place in (
            ("job", alloc.job_key),
            ("node", alloc.node_id),
            ("eval", alloc.eval_id),
            ("deployment", alloc.deployment_id),
        ):
            self._places.setdefault(place, {})[alloc.id] = None
        if before is not None and before.node_id != alloc.node_id:
            self._move_use(before.node_id, before, None)
            before = None
        self._move_use(alloc.node_id, before, alloc)

    def delete_allocation(self, alloc_id: str) -> None:
        """Collect an allocation."""
        alloc = self.allocation(alloc_id)
        if alloc is not None:
            self._delete(Topic.ALLOCATION, alloc_id, alloc, alloc.namespace)
            self._unnamed[alloc.job_key] = None
            self._move_use(alloc.node_id, alloc, None)

    def put_evaluation(self, evaluation: Evaluation) -> None:
        """Store an evaluation."""
        self._put(Topic.EVALUATION, evaluation.id, evaluation, evaluation.namespace)
        for place in (("eval of job", evaluation.job_key), ("open", False)):
            self._places.setdefault(place, {})[evaluation.id] = None

    def delete_evaluation(self, eval_id: str) -> None:
        """Collect an evaluation; its stub stays."""
        evaluation = self.evaluation(eval_id)
        if evaluation is not None:
            self._delete(Topic.EVALUATION, eval_id, evaluation, evaluation.namespace)

    def put_deployment(self, deployment: Deployment) -> None:
        """Store a deployment."""
        self._put(Topic.DEPLOYMENT, deployment.id, deployment, deployment.namespace)
        place = ("deployment of job", deployment.job_key)
        self._places.setdefault(place, {})[deployment.id] = None

    def delete_deployment(self, deployment_id: str) -> None:
        """Collect a deployment."""
        deployment = self.deployment(deployment_id)
        if deployment is not None:
            self._delete(Topic.DEPLOYMENT, deployment_id, deployment, deployment.namespace)

    def put_lifecycle_step(self, step: LifecycleStep) -> None:
        """Record a step."""
        self._put(Topic.LIFECYCLE, (step.eval_id, step.number), step)

    def put_explanation(self, explanation: StoredExplanation) -> None:
        """Store a group's explanation."""
        name = (explanation.eval_id, explanation.task_group)
        self._put(Topic.EXPLANATION, name, explanation, explanation.namespace)

    def delete_explanations(self, eval_id: str) -> None:
        """Forget those of an evaluation."""
        for item in self.explanations(eval_id):
            # What goes is named in the log, not said again.
            gone = msgspec.structs.replace(item, packed=b"")
            name = (eval_id, item.task_group)
            self._delete(Topic.EXPLANATION, name, gone, item.namespace)

    def put_namespace(self, namespace: Namespace) -> None:
        """Store a namespace."""
        self._put(Topic.NAMESPACE, namespace.name, namespace)

    def delete_namespace(self, name: str) -> None:
        """Remove a namespace."""
        namespace = self.namespace(name)
        if namespace is not None:
            self._delete(Topic.NAMESPACE, name, namespace)

    def put_quota(self, quota: QuotaSpec) -> None:
        """Store a quota."""
        self._put(Topic.QUOTA, quota.name, quota)

    def delete_quota(self, name: str) -> None:
        """Remove a quota."""
        quota = self.quota(name)
        if quota is not None:
            self._delete(Topic.QUOTA, name, quota)

    def put_node_pool(self, pool: NodePool) -> None:
        """Store a node pool."""
        self._put(Topic.NODE_POOL, pool.name, pool)

    def delete_node_pool(self, name: str) -> None:
        """Remove a node pool."""
        pool = self.node_pool(name)
        if pool is not None:
            self._delete(Topic.NODE_POOL, name, pool)

    def put_scheduler_settings(self, settings: SchedulerSettings) -> None:
        """Store the settings."""
        self._put(Topic.SCHEDULER_SETTINGS, SETTINGS_KEY, settings)

    def _move_use(self, node_id: str, before: Allocation | None, after: Allocation | None) -> None:
        use = self.node_use(node_id)
        moved = changed_use(use, before, after)
        if moved is not use:
            self._put(Topic.NODE_USE, node_id, moved)

    def _put(self, topic: Topic, name: Hashable, value: Wire, namespace: str = "") -> None:
        self._puts[topic][name] = value
        self._record(topic, name, value, namespace, deleted=False)

    def _delete(self, topic: Topic, name: Hashable, value: Wire, namespace: str = "") -> None:
        self._puts[topic][name] = None
        self._record(topic, name, value, namespace, deleted=True)

    def _record(
        self, topic: Topic, name: Hashable, value: Wire, namespace: str, *, deleted: bool
    ) -> None:
        self._events.pop((topic, name), None)
        self._events[topic, name] = StateEvent(
            topic=topic, key=_event_key(name), namespace=namespace, value=value, deleted=deleted
        )


def _event_key(name: Hashable) -> str:
    """The public key of a row: the last part of its name that a person would use."""
    if isinstance(name, JobKey):
        return name.job_id
    if not isinstance(name, tuple):
        return str(name)
    first = name[0].job_id if isinstance(name[0], JobKey) else name[0]
    return f"{first}/{name[-1]}"


def _job_of_name(name: Hashable) -> Hashable:
    return name[0] if isinstance(name, tuple) else None
