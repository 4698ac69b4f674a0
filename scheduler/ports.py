"""What the outside supplies to the mind: state to read and write, time, identifiers, patterns.

`MemoryStateStore` and `cluster.store` implement the state ports alike; one suite runs on both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from scheduler.state.events import EventFrame, WriteKind
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings

Result = TypeVar("Result")


class StateReader(Protocol):
    """The cluster at one index. Values are immutable; an absent row is None."""

    @property
    def index(self) -> int:
        """The index of the newest write it contains."""

    def table_index(self, table: str) -> int:
        """Index of the last write to a table; 0 when never written.

        Tables: `jobs`, `job_summaries`, `nodes`, `allocations`, `evaluations`, `deployments`,
        `namespaces`, `quotas`, `node_pools`, `scheduler_settings`.
        """

    def job(self, key: JobKey) -> Job | None: ...
    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A stored version; `create_index` > 0 also asks for that incarnation of the job."""

    def job_of(self, alloc: Allocation) -> Job | None:
        """The job version an allocation was made from."""

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """All stored versions, newest first."""

    def jobs(self) -> Iterable[Job]: ...
    def jobs_of_type(self, job_type: str) -> Iterable[Job]: ...
    def job_summary(self, key: JobKey) -> JobSummary | None: ...
    def node(self, node_id: str) -> Node | None: ...
    def nodes(self) -> Iterable[Node]: ...
    def node_use(self, node_id: str) -> NodeUse: ...
    def allocation(self, alloc_id: str) -> Allocation | None: ...
    def allocations(self) -> Iterable[Allocation]:
        """All of them, in order of creation: for lists."""

    def allocations_by_job(self, key: JobKey) -> Sequence[Allocation]:
        """Every allocation of every incarnation, terminal ones included."""

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with, if there are any."""

    def allocations_by_node(self, node_id: str) -> Sequence[Allocation]: ...
    def allocations_by_eval(self, eval_id: str) -> Sequence[Allocation]: ...
    def allocations_by_deployment(self, deployment_id: str) -> Sequence[Allocation]: ...
    def evaluation(self, eval_id: str) -> Evaluation | None: ...
    def evaluation_stub(self, eval_id: str) -> Evaluation | None:
        """What is left of a collected evaluation."""

    def evaluations_by_job(self, key: JobKey) -> Sequence[Evaluation]:
        """In order of creation."""

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended, if there are any."""

    def evaluations(self) -> Iterable[Evaluation]:
        """All of them, in order of creation: for collecting the old ones."""

    def open_evaluations(self) -> Iterable[Evaluation]:
        """Pending and blocked ones, by CreateIndex: what a new leader restores."""

    def deployment(self, deployment_id: str) -> Deployment | None: ...
    def deployments(self) -> Iterable[Deployment]:
        """All of them, in order of creation."""

    def deployments_by_job(self, key: JobKey) -> Sequence[Deployment]:
        """In order of creation."""

    def lifecycle(self, eval_id: str) -> Sequence[LifecycleStep]:
        """The recorded steps, by number."""

    def newest_steps(self) -> Mapping[str, LifecycleStep]:
        """The newest recorded step of each open evaluation that has any."""
        # Who has everything at hand may ask one by one.
        lives = ((item.id, self.lifecycle(item.id)) for item in self.open_evaluations())
        return {eval_id: steps[-1] for eval_id, steps in lives if steps}

    def explanations(self, eval_id: str) -> Sequence[StoredExplanation]:
        """By name of the task group; none but for the newest runs of a job."""

    def explained_evaluations(self, key: JobKey) -> Sequence[str]:
        """The job's evaluations that have explanations, newest first."""

    def namespace(self, name: str) -> Namespace | None: ...
    def namespaces(self) -> Iterable[Namespace]: ...
    def namespace_use(self, namespace: str) -> QuotaAmounts:
        """What those of a namespace's allocations take that their nodes are not done with."""

    def quota(self, name: str) -> QuotaSpec | None: ...
    def quotas(self) -> Iterable[QuotaSpec]: ...
    def node_pool(self, name: str) -> NodePool | None: ...
    def node_pools(self) -> Iterable[NodePool]: ...
    def scheduler_settings(self) -> SchedulerSettings:
        """The stored settings, or the defaults."""

    def job_submission(self, key: JobKey, version: int) -> JobSubmission | None: ...
    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """A hint: these allocations and the use of these nodes will be asked for one by one."""


class Snapshot(StateReader, Protocol):
    """A reader that does not move, with the nodes as columns for vectorised work."""

    @property
    def node_table(self) -> NodeTable:
        """All nodes and what is held of them, at this snapshot's index. Treat as read-only."""


class MirroredSnapshot(Snapshot, Protocol):
    """A snapshot whose columns come from a mirror, and can be exchanged."""

    def with_node_table(self, table: NodeTable) -> Snapshot:
        """The same rows beside other columns of the same nodes."""


class Change(StateReader, Protocol):
    """One open transaction: reads see its own puts.

    Raw rows only: `scheduler.state.writes` holds the rules of what one write does to other
    tables. Puts stamp nothing: callers set the indexes.
    """

    @property
    def index(self) -> int:
        """The number this transaction takes, once anything is put."""

    @property
    def now(self) -> int:
        """The instant of the write, ns."""

    def put_job(self, job: Job) -> None:
        """Store the current version; also stores it among the versions."""

    def put_job_version(self, job: Job) -> None:
        """Rewrite a stored version that is not the current one (stable flag, tag)."""

    def delete_job_version(self, job: Job) -> None:
        """Take a version off `job_versions`. It stays for `job_of` while allocations name it."""

    def delete_job(self, key: JobKey) -> None:
        """Purge job, summary and submissions. Versions stay while allocations name them."""

    def put_job_summary(self, summary: JobSummary) -> None: ...
    def put_job_submission(self, submission: JobSubmission) -> None: ...
    def put_node(self, node: Node) -> None: ...
    def delete_node(self, node_id: str) -> None: ...
    def put_allocation(self, alloc: Allocation) -> None:
        """Store it and keep the node's `NodeUse` exact."""

    def delete_allocation(self, alloc_id: str) -> None: ...
    def put_evaluation(self, evaluation: Evaluation) -> None: ...
    def delete_evaluation(self, eval_id: str) -> None:
        """Collect it; a small stub stays, so that chains never lose their root."""

    def put_deployment(self, deployment: Deployment) -> None: ...
    def delete_deployment(self, deployment_id: str) -> None: ...
    def put_lifecycle_step(self, step: LifecycleStep) -> None: ...
    def put_explanation(self, explanation: StoredExplanation) -> None:
        """Store a group's explanation. It goes with its evaluation."""

    def delete_explanations(self, eval_id: str) -> None: ...
    def put_namespace(self, namespace: Namespace) -> None: ...
    def delete_namespace(self, name: str) -> None: ...
    def put_quota(self, quota: QuotaSpec) -> None: ...
    def delete_quota(self, name: str) -> None: ...
    def put_node_pool(self, pool: NodePool) -> None: ...
    def delete_node_pool(self, name: str) -> None: ...
    def put_scheduler_settings(self, settings: SchedulerSettings) -> None: ...


class Fence(Protocol):
    """A lease that a transaction requires to be still held (`name`, `epoch`)."""

    @property
    def name(self) -> str: ...
    @property
    def epoch(self) -> int: ...


class StateStore(Protocol):
    """The record: the only way to change it is `write`."""

    def write(
        self,
        kind: WriteKind,
        work: Callable[[Change], Result],
        *,
        now: int,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """Run `work` in one transaction; commit its rows, its event frame and its index together.

        Returns (index, result): the index of the write, or of the newest one before it when `work`
        put nothing. `work` may be run again after a conflict, so it must not keep anything.
        Raises Fenced when the lease has moved on; whatever `work` raises rolls everything back.
        """

    def read(self, work: Callable[[StateReader], Result]) -> Result:
        """Run `work` on a reader that sees one consistent index."""

    def frames_since(self, index: int, limit: int = 1000) -> Sequence[EventFrame]:
        """Frames with a larger index, in order. Raises StaleSnapshot when some were trimmed."""


class Clock(Protocol):
    """Time."""

    def now(self) -> int:
        """Wall clock, ns since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""


class IDSource(Protocol):
    """New identifiers."""

    def next_id(self) -> str:
        """A fresh UUID, lower case, 36 characters."""


class PatternMatcher(Protocol):
    """RE2 patterns: linear time, unanchored."""

    def search(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text; False for a pattern that does not compile."""
