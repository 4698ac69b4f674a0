"""The state ports read from the database, inside a transaction that someone else opened.

In: a connection whose reads see one index. Out: structs. Single rows are decoded once per reader;
lists are read again on every call, and put in order here where a collation could differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import codec, statements
from cluster.store.codec import Noun
from scheduler.ports import StateReader
from scheduler.state.node_use import NodeUse, shared
from scheduler.state.quota_use import sum_held
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.wire import Wire

Value = TypeVar("Value", bound=Wire)

_BY_CREATION = "create_index, id"
_IS_OPEN = "status IN ('pending', 'blocked')"
_IS_BLOCKED = "status = 'blocked'"
_IS_NEWEST_OF_OPEN = (
    "(eval_id, number) IN (SELECT eval_id, MAX(number) FROM lifecycle"  # noqa: S608 - our own text
    f" WHERE eval_id IN (SELECT id FROM evaluation WHERE {_IS_OPEN}) GROUP BY eval_id)"
)
#: The second half lets the planner see that the partial index will do.
_OF_DEPLOYMENT = "deployment_id = %s AND NOT (deployment_id = '')"
_OF_JOB = "namespace = %s AND job_id = %s"
_HELD = "namespace = %s AND client_status NOT IN ('complete', 'failed', 'lost')"
#: SQLite takes at least 999 parameters in one statement.
_AT_ONCE = 500


class DjangoStateReader(StateReader):
    """The record at `index`, as one transaction sees it."""

    def __init__(self, connection: BaseDatabaseWrapper, index: int) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self._is_sqlite = connection.vendor == "sqlite"
        self._index = index
        self._seen: dict[tuple[str, tuple[Any, ...]], Wire | None] = {}
        self._namespace_uses: dict[str, QuotaAmounts] = {}

    @property
    def index(self) -> int:
        """Of the newest write it sees."""
        return self._index

    def table_index(self, table: str) -> int:
        """Of the last write to a table; 0 when never written."""
        self._cursor.execute(statements.READ_TABLE_INDEX, (table,))
        row = self._cursor.fetchone()
        return int(row[0]) if row else 0

    def preload(self, *, allocs: Iterable[str] = (), nodes: Iterable[str] = ()) -> None:
        """Read these rows in a few queries; those that are missing are remembered as missing."""
        self._load_many(codec.ALLOCATION, allocs)
        wanted = list(nodes)
        self._load_many(codec.NODE, wanted)
        self._load_many(codec.NODE_USE, wanted)

    def job(self, key: JobKey) -> Job | None:
        """The current version."""
        return self._row(codec.JOB, *key)

    def job_version(self, key: JobKey, version: int, create_index: int = 0) -> Job | None:
        """A version; those kept for allocations only are found by their incarnation."""
        if create_index:
            return self._row(codec.JOB_VERSION, *key, create_index, version)
        found = self.select(
            codec.JOB_VERSION,
            f"{_OF_JOB} AND version = %s AND is_listed",
            (*key, version),
            "create_index DESC",
        )
        return found[0] if found else None

    def job_of(self, alloc: Allocation) -> Job | None:
        """The version an allocation was made from."""
        return self.job_version(alloc.job_key, alloc.job_version, alloc.job_create_index)

    def job_versions(self, key: JobKey) -> Sequence[Job]:
        """The listed versions, newest first."""
        return self.select(
            codec.JOB_VERSION, f"{_OF_JOB} AND is_listed", key, "create_index DESC, version DESC"
        )

    def jobs(self) -> Iterable[Job]:
        """By namespace and id."""
        return sorted(self.select(codec.JOB), key=lambda job: job.key)

    def jobs_of_type(self, job_type: str) -> Iterable[Job]:
        """By namespace and id."""
        found = self.select(codec.JOB, "type = %s", (job_type,))
        return sorted(found, key=lambda job: job.key)

    def job_summary(self, key: JobKey) -> JobSummary | None:
        """The counts beside a job."""
        return self._row(codec.JOB_SUMMARY, *key)

    def job_submission(self, key: JobKey, version: int) -> JobSubmission | None:
        """The text a version was submitted as."""
        return self._row(codec.JOB_SUBMISSION, *key, version)

    def node(self, node_id: str) -> Node | None:
        """A node."""
        return self._row(codec.NODE, node_id)

    def nodes(self) -> Iterable[Node]:
        """By id."""
        return sorted(self.select(codec.NODE), key=lambda node: node.id)

    def node_use(self, node_id: str) -> NodeUse:
        """What is taken of a node."""
        return self._row(codec.NODE_USE, node_id) or NodeUse(node_id=node_id)

    def node_uses(self) -> Iterable[NodeUse]:
        """Of all nodes that ever held something."""
        self._cursor.execute(statements.select(codec.NODE_USE))
        # Row by row, so that a mirror of many ports never holds them twice.
        return [shared(codec.NODE_USE.decode(row[0])) for row in self._cursor.fetchall()]

    def allocation(self, alloc_id: str) -> Allocation | None:
        """An allocation."""
        return self._row(codec.ALLOCATION, alloc_id)

    def allocations(self) -> Iterable[Allocation]:
        """All, in order of creation."""
        return self.select(codec.ALLOCATION, order=_BY_CREATION)

    def allocations_by_job(self, key: JobKey) -> Sequence[Allocation]:
        """Of every incarnation, in order of creation."""
        return self.select(codec.ALLOCATION, _OF_JOB, key, _BY_CREATION)

    def live_allocation_ids(self, key: JobKey, at_most: int) -> Sequence[str]:
        """Some of the job's allocations that neither side is done with."""
        return self._ids(statements.LIVE_ALLOCATIONS, *key, at_most)

    def allocations_by_node(self, node_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return self.select(codec.ALLOCATION, "node_id = %s", (node_id,), _BY_CREATION)

    def allocations_by_eval(self, eval_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return self.select(codec.ALLOCATION, "eval_id = %s", (eval_id,), _BY_CREATION)

    def allocations_by_deployment(self, deployment_id: str) -> Sequence[Allocation]:
        """In order of creation."""
        return self.select(codec.ALLOCATION, _OF_DEPLOYMENT, (deployment_id,), _BY_CREATION)

    def evaluation(self, eval_id: str) -> Evaluation | None:
        """An evaluation that was not collected."""
        return self._row(codec.EVALUATION, eval_id)

    def evaluation_stub(self, eval_id: str) -> Evaluation | None:
        """What is left of a collected one."""
        return self._row(codec.EVALUATION_STUB, eval_id)

    def evaluations(self) -> Iterable[Evaluation]:
        """All, in order of creation."""
        return self.select(codec.EVALUATION, order=_BY_CREATION)

    def evaluations_by_job(self, key: JobKey) -> Sequence[Evaluation]:
        """In order of creation."""
        return self.select(codec.EVALUATION, _OF_JOB, key, _BY_CREATION)

    def blocked_evaluations(self, key: JobKey) -> Sequence[Evaluation]:
        """Those of the job that wait for room, in order of creation."""
        return self.select(codec.EVALUATION, f"{_OF_JOB} AND {_IS_BLOCKED}", key, _BY_CREATION)

    def evaluation_ids(self, key: JobKey, at_most: int, *, only_open: bool) -> Sequence[str]:
        """Some of the job's evaluations, or of those that have not ended."""
        statement = statements.OPEN_EVALUATIONS if only_open else statements.EVALUATIONS
        return self._ids(statement, *key, at_most)

    def open_evaluations(self) -> Iterable[Evaluation]:
        """Pending and blocked ones, in order of creation."""
        return self.select(codec.EVALUATION, _IS_OPEN, (), _BY_CREATION)

    def deployment(self, deployment_id: str) -> Deployment | None:
        """A deployment."""
        return self._row(codec.DEPLOYMENT, deployment_id)

    def deployments(self) -> Iterable[Deployment]:
        """All, in order of creation."""
        return self.select(codec.DEPLOYMENT, order=_BY_CREATION)

    def deployments_by_job(self, key: JobKey) -> Sequence[Deployment]:
        """In order of creation."""
        return self.select(codec.DEPLOYMENT, _OF_JOB, key, _BY_CREATION)

    def lifecycle(self, eval_id: str) -> Sequence[LifecycleStep]:
        """The recorded steps, by number."""
        return self.select(codec.LIFECYCLE, "eval_id = %s", (eval_id,), "number")

    def newest_steps(self) -> Mapping[str, LifecycleStep]:
        """Of each open evaluation that has any."""
        return {step.eval_id: step for step in self.select(codec.LIFECYCLE, _IS_NEWEST_OF_OPEN)}

    def explanations(self, eval_id: str) -> Sequence[StoredExplanation]:
        """By name of the task group."""
        found = self.select(codec.EXPLANATION, "eval_id = %s", (eval_id,))
        return sorted(found, key=lambda item: item.task_group)

    def explained_evaluations(self, key: JobKey) -> Sequence[str]:
        """Newest first."""
        return self._ids(statements.EXPLAINED_EVALUATIONS, *key)

    def namespace(self, name: str) -> Namespace | None:
        """A namespace."""
        return self._row(codec.NAMESPACE, name)

    def namespaces(self) -> Iterable[Namespace]:
        """By name."""
        return sorted(self.select(codec.NAMESPACE), key=lambda namespace: namespace.name)

    def namespace_use(self, namespace: str) -> QuotaAmounts:
        """What a namespace holds; summed once per reader."""
        if namespace not in self._namespace_uses:
            self._cursor.execute(statements.select(codec.ALLOCATION, _HELD), (namespace,))
            # Row by row: a large namespace is never held whole.
            held = (codec.ALLOCATION.decode(body) for (body,) in self._cursor)
            self._namespace_uses[namespace] = sum_held(held)
        return self._namespace_uses[namespace]

    def quota(self, name: str) -> QuotaSpec | None:
        """A quota."""
        return self._row(codec.QUOTA, name)

    def quotas(self) -> Iterable[QuotaSpec]:
        """By name."""
        return sorted(self.select(codec.QUOTA), key=lambda quota: quota.name)

    def node_pool(self, name: str) -> NodePool | None:
        """A node pool."""
        return self._row(codec.NODE_POOL, name)

    def node_pools(self) -> Iterable[NodePool]:
        """By name."""
        return sorted(self.select(codec.NODE_POOL), key=lambda pool: pool.name)

    def scheduler_settings(self) -> SchedulerSettings:
        """The stored settings, or the defaults."""
        return self._row(codec.SETTINGS, codec.SETTINGS_NAME) or SchedulerSettings()

    def select(
        self,
        noun: Noun[Value],
        where: str = "",
        parameters: Iterable[Any] = (),
        order: str = "",
    ) -> list[Value]:
        """The rows of a noun that match, for lists of our own making."""
        return self._read(noun, statements.select(noun, where, order), tuple(parameters))

    def rows(self, statement: str, parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
        """The plain rows of a statement of ours, for counts."""
        self._cursor.execute(statement, tuple(parameters))
        return list(self._cursor.fetchall())

    def prefix_condition(self, column: str) -> str:
        """SQL that a column begins with a text, given as each of its parameters."""
        if self._is_sqlite:
            return f"{column} >= %s AND {column} < %s || char(1114111)"
        return f"starts_with({column}, %s)"

    def hidden(self, column: str) -> str:
        """SQL of a column that no index of it is used for, where indexes are chosen blindly.

        PostgreSQL chooses by what it knows of the values; hiding would take that away.
        """
        return f"+{column}" if self._is_sqlite else column

    def _row(self, noun: Noun[Value], *key: Any) -> Value | None:
        name = (noun.table, key)
        if name in self._seen:
            seen = self._seen[name]
            assert seen is None or isinstance(seen, noun.struct)
            return seen
        self._cursor.execute(statements.select_by_key(noun), key)
        row = self._cursor.fetchone()
        value = noun.decode(row[0]) if row else None
        self._seen[name] = value
        return value

    def _read(self, noun: Noun[Value], statement: str, parameters: tuple[Any, ...]) -> list[Value]:
        self._cursor.execute(statement, parameters)
        return [noun.decode(row[0]) for row in self._cursor.fetchall()]

    def _ids(self, statement: str, *parameters: Any) -> list[str]:
        self._cursor.execute(statement, parameters)
        return [str(row[0]) for row in self._cursor.fetchall()]

    def _load_many(self, noun: Noun[Value], wanted: Iterable[str]) -> None:
        missing = [item for item in wanted if (noun.table, (item,)) not in self._seen]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            where = f"{noun.key[0]} IN ({statements.placeholders(len(some))})"
            self._seen.update(((noun.table, (item,)), None) for item in some)
            for value in self.select(noun, where, some):
                self._seen[noun.table, noun.key_of(value)] = value
