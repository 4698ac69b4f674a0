"""What the outside supplies to the mind: state to read and write, time, identifiers, patterns.

`MemoryStateStore` and `cluster.store` implement the state ports alike; one suite runs on both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from scheduler.access.caller import CLUSTER, Caller
from scheduler.state.collection_noun import COLLECTION_OVERRIDES
from scheduler.state.events import EventFrame
from scheduler.state.explanation_noun import EXPLANATIONS
from scheduler.state.foresight import Foresight
from scheduler.state.node_table import NodeTable
from scheduler.state.node_use import NodeUse
from scheduler.state.noun import AnyKey, Key, Noun, Value, key_cells
from scheduler.state.nouns import (
    ALLOCATIONS,
    DEPLOYMENTS,
    EVALUATION_STUBS,
    EVALUATIONS,
    JOBS,
    LIFECYCLE_STEPS,
    NAMESPACE_USES,
    NODE_USES,
    NODES,
    SCHEDULER_SETTINGS,
    SETTINGS_KEY,
)
from scheduler.state.story_nouns import STORIES
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.collection import OVERRIDES_KEY, CollectionOverrides
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep
from scheduler.structs.explanation import ExplainedRun, StoredExplanation, explained_runs
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.moment import Moment
from scheduler.structs.node import Node
from scheduler.structs.quota import QuotaAmounts
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.story import Story

Result = TypeVar("Result")


class StateReader(Protocol):
    """The cluster at one index. Values are immutable; an absent row is None."""

    @property
    def index(self) -> int:
        """The index of the newest write it contains."""

    def table_index(self, table: str) -> int:
        """Index of the last write to a table; 0 when never written.

        A table is named by the `table_index` of the nouns that move it.
        """

    def get(self, noun: Noun[Key, Value], key: Key) -> Value | None:
        """The row of a key."""

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows: in order of creation where the noun has one, by key otherwise."""

    def list_by(self, noun: Noun[Key, Value], index: str, place: AnyKey) -> Sequence[Value]:
        """The rows in one place of an index of the noun, in the same order."""

    def job(self, key: JobKey) -> Job | None:
        """The current version."""
        return self.get(JOBS, key)

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A stored version; `create_index` > 0 also asks for that incarnation of the job.

        Those kept for allocations only are found by their incarnation.
        """

    def job_of(self, alloc: Allocation) -> Job | None:
        """The job version an allocation was made from."""
        return self.job_version(alloc.job_key, alloc.job_version, alloc.job_create_index)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """All listed versions, newest first."""

    def jobs(self) -> Sequence[Job]:
        """By namespace and id."""
        return self.list_all(JOBS)

    def jobs_of_type(self, job_type: str) -> Sequence[Job]:
        """By namespace and id."""
        return self.list_by(JOBS, "type", job_type)

    def node(self, node_id: str) -> Node | None:
        return self.get(NODES, node_id)

    def nodes(self) -> Sequence[Node]:
        """All of them, in order of id."""
        return self.list_all(NODES)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node, also of one that is gone."""
        return self.get(NODE_USES, node_id) or NodeUse(node_id=node_id)

    def allocation(self, alloc_id: str) -> Allocation | None:
        return self.get(ALLOCATIONS, alloc_id)

    def allocations(self) -> Sequence[Allocation]:
        """All of them, in order of creation: for lists."""
        return self.list_all(ALLOCATIONS)

    def allocations_by_job(self, key: JobKey) -> Sequence[Allocation]:
        """Every allocation of every incarnation, terminal ones included, in order of creation."""
        return self.list_by(ALLOCATIONS, "job", key)

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with, if there are any."""

    def allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations, if there are any."""
        return [alloc.id for alloc in self.allocations_by_job(key)[:at_most]]

    def allocations_by_node(self, node_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return self.list_by(ALLOCATIONS, "node", node_id)

    def allocations_by_eval(self, eval_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return self.list_by(ALLOCATIONS, "eval", eval_id)

    def allocations_by_deployment(self, deployment_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return self.list_by(ALLOCATIONS, "deployment", deployment_id)

    def evaluation(self, eval_id: str) -> Evaluation | None:
        """An evaluation that was not collected."""
        return self.get(EVALUATIONS, eval_id)

    def evaluation_stub(self, eval_id: str) -> Evaluation | None:
        """What is left of a collected evaluation."""
        return self.get(EVALUATION_STUBS, eval_id)

    def evaluations_by_job(self, key: JobKey) -> Sequence[Evaluation]:
        """In order of creation."""
        return self.list_by(EVALUATIONS, "job", key)

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""
        of_job = self.evaluations_by_job(key)
        return [row for row in of_job if row.status is EvalStatus.BLOCKED]

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended, if there are any."""

    def evaluations(self) -> Sequence[Evaluation]:
        """All of them, in order of creation: for collecting the old ones."""
        return self.list_all(EVALUATIONS)

    def old_rows(
        self, noun: Noun[Key, Value], instant: str, until: int, *, after: Key | None, at_most: int
    ) -> Sequence[Value]:
        """Some rows whose instant of that name is set and not later than `until`.

        In order of key, from the one behind `after` on.
        """
        when = noun.instants[instant]
        behind = () if after is None else key_cells(after)
        old = [row for row in self.list_all(noun) if 0 < when(row) <= until]
        old.sort(key=lambda row: key_cells(noun.key(row)))
        return [row for row in old if key_cells(noun.key(row)) > behind][:at_most]

    def is_stirring(self, key: JobKey, since: int) -> bool:
        """Whether anything of a job is open, alive, or was written after an instant."""
        return any(
            not alloc.is_terminal
            or alloc.client_status is ClientStatus.RUNNING
            or alloc.modify_time > since
            for alloc in self.allocations_by_job(key)
        ) or any(
            not evaluation.is_terminal or evaluation.modify_time > since
            for evaluation in self.evaluations_by_job(key)
        )

    def open_evaluations(self) -> Sequence[Evaluation]:
        """Pending and blocked ones, by CreateIndex: what a new leader restores."""
        return self.list_by(EVALUATIONS, "open", ())

    def story(self, story_id: str) -> Story | None:
        return self.get(STORIES, story_id)

    def deployment(self, deployment_id: str) -> Deployment | None:
        return self.get(DEPLOYMENTS, deployment_id)

    def deployments(self) -> Sequence[Deployment]:
        """All of them, in order of creation."""
        return self.list_all(DEPLOYMENTS)

    def deployments_by_job(self, key: JobKey) -> Sequence[Deployment]:
        """In order of creation."""
        return self.list_by(DEPLOYMENTS, "job", key)

    def lifecycle(self, eval_id: str) -> Sequence[LifecycleStep]:
        """The recorded steps, by number."""
        return self.list_by(LIFECYCLE_STEPS, "eval", eval_id)

    def newest_steps(self) -> Mapping[str, LifecycleStep]:
        """The newest recorded step of each open evaluation that has any."""
        # Who has everything at hand may ask one by one.
        lives = ((item.id, self.lifecycle(item.id)) for item in self.open_evaluations())
        return {eval_id: steps[-1] for eval_id, steps in lives if steps}

    def explanations(self, eval_id: str) -> Sequence[StoredExplanation]:
        """By name of the task group; none but for those runs of a job that are worth it."""
        return self.list_by(EXPLANATIONS, "eval", eval_id)

    def explained_runs(self, key: JobKey) -> Sequence[ExplainedRun]:
        """The job's evaluations that have explanations, newest first."""
        return explained_runs(self.list_by(EXPLANATIONS, "job", key))

    def namespace_use(self, namespace: str) -> QuotaAmounts:
        """What those of a namespace's allocations take that their nodes are not done with."""
        use = self.get(NAMESPACE_USES, namespace)
        return use.used if use is not None else QuotaAmounts()

    def scheduler_settings(self) -> SchedulerSettings:
        """The stored settings, or the defaults."""
        return self.get(SCHEDULER_SETTINGS, SETTINGS_KEY) or SchedulerSettings()

    def collection_overrides(self) -> CollectionOverrides:
        """What managers have set about collection; nothing until somebody does."""
        return self.get(COLLECTION_OVERRIDES, OVERRIDES_KEY) or CollectionOverrides()

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """A hint: these allocations and the use of these nodes will be asked for one by one."""

    def foresee(self, *acts: Foresight) -> None:
        """A hint: what these acts look at will be asked for one by one."""
        # Who has everything at hand needs none.
        return


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

    @property
    def by(self) -> Caller:
        """Who asked for the write."""

    def put(self, noun: Noun[Key, Value], value: Value) -> None:
        """Store a row of a plain noun, one without a method of its own below."""

    def delete(self, noun: Noun[Key, Value], key: Key) -> None:
        """Take a row of a plain noun out, if it is there, and the rows that it owns."""

    def put_secret(self, noun: Noun[Key, Value], key: Key, secret_hash: str) -> None:
        """Let a row put in this change be found by the hash of a secret, in a database.

        It stands beside the row and in no event, so stores in memory forget it.
        """

    def put_job(self, job: Job) -> None:
        """Store the current version; also stores it among the versions."""

    def put_job_version(self, job: Job) -> None:
        """Rewrite a stored version that is not the current one (stable flag, tag)."""

    def delete_job_version(self, job: Job) -> None:
        """Take a version off `job_versions`. It stays for `job_of` while allocations name it."""

    def delete_job(self, key: JobKey) -> None:
        """Purge job, summary and submissions. Versions stay while allocations name them."""

    def put_node(self, node: Node) -> None: ...
    def delete_node(self, node_id: str) -> None:
        """Forget a node; what its allocations take stays known."""

    def put_allocation(self, alloc: Allocation) -> None:
        """Store it and keep the node's `NodeUse` exact."""

    def delete_allocation(self, alloc_id: str) -> None: ...
    def put_evaluation(self, evaluation: Evaluation) -> None: ...
    def delete_evaluation(self, eval_id: str) -> None:
        """Collect it; a small stub stays, so that chains never lose their root."""

    def put_deployment(self, deployment: Deployment) -> None: ...
    def delete_deployment(self, deployment_id: str) -> None: ...
    def delete_explanations(self, eval_id: str) -> None:
        """Forget those of an evaluation before it is collected."""


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
        kind: str,
        work: Callable[[Change], Result],
        *,
        now: int,
        by: Caller = CLUSTER,
        fence: Fence | None = None,
    ) -> tuple[int, Result]:
        """Run `work` in one transaction; commit its rows, its event frame and its index together.

        `kind` names the write in its frame: a `WriteKind`, or `upserted` or `deleted` of a noun.
        `by` is who asked for it, which the open change tells; operations name theirs, and what
        the cluster does by itself is its own.
        Returns (index, result): the index of the write, or of the newest one before it when `work`
        put nothing. `work` may be run again after a conflict, so it must not keep anything.
        Raises Fenced when the lease has moved on; whatever `work` raises rolls everything back.
        """

    def read(self, work: Callable[[StateReader], Result]) -> Result:
        """Run `work` on a reader that sees one consistent index."""

    def frames_since(self, index: int, limit: int = 1000) -> Sequence[EventFrame]:
        """Frames with a larger index, in order. Raises StaleSnapshot when some were trimmed."""


class Clock(Protocol):
    """Where time comes from: nobody else reads a clock."""

    def now(self) -> int:
        """Wall clock, ns since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""

    def moment(self) -> Moment:
        """Both at once."""


class IDSource(Protocol):
    """Where new identifiers come from: nobody else draws one."""

    def next_id(self) -> str:
        """A fresh UUID, lower case, 36 characters."""


class PatternMatcher(Protocol):
    """RE2 patterns: linear time, unanchored."""

    def search(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text; False for a pattern that does not compile."""
