"""One open transaction over any reader: what it puts becomes the events of one write.

In: a base that does not move while the change is open. Out: the events of everything put, one per
row, and nothing else; who stores them is not known here. So every store has the same semantics.
"""

from collections.abc import Mapping

import msgspec

from scheduler.access.caller import CLUSTER, Caller
from scheduler.ports import Change, StateReader
from scheduler.state.events import StateEvent
from scheduler.state.explanation_noun import EXPLANATIONS
from scheduler.state.node_use import changed_use
from scheduler.state.noun import AnyKey, Key, Noun, Value, event_key
from scheduler.state.nouns import (
    ALLOCATIONS,
    DEPLOYMENTS,
    EVALUATIONS,
    JOB_SUBMISSIONS,
    JOB_SUMMARIES,
    JOB_VERSIONS,
    JOBS,
    NAMESPACE_USES,
    NODE_USES,
    NODES,
)
from scheduler.state.overlay import Overlay
from scheduler.state.quota_use import replaced
from scheduler.state.record import version_key
from scheduler.state.service_noun import SERVICES
from scheduler.structs import transitions
from scheduler.structs.allocation import Allocation
from scheduler.structs.collection import CORE_TYPE
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.quota import NamespaceUse

#: A put or a deletion of these changes other rows too: they have methods of their own.
_WITH_RULES = frozenset[object](
    {
        JOBS,
        JOB_VERSIONS,
        NODES,
        NODE_USES,
        NAMESPACE_USES,
        ALLOCATIONS,
        EVALUATIONS,
        DEPLOYMENTS,
    }
)


class OpenChange(Overlay, Change):
    """A transaction in the making."""

    def __init__(self, base: StateReader, now: int, by: Caller = CLUSTER) -> None:
        super().__init__(base, now)
        self._by = by
        self._events: dict[tuple[object, AnyKey], StateEvent] = {}
        self._unnamed: dict[JobKey, None] = {}
        self._secrets: dict[tuple[str, AnyKey], str] = {}
        self._has_services: bool | None = None

    @property
    def by(self) -> Caller:
        """Who asked for the write."""
        return self._by

    @property
    def events(self) -> tuple[StateEvent, ...]:
        """One per changed row, in the order of the last put of each."""
        return tuple(self._events.values())

    @property
    def unnamed(self) -> tuple[JobKey, ...]:
        """Jobs some of whose versions nobody may name any more."""
        return tuple(self._unnamed)

    @property
    def secrets(self) -> Mapping[tuple[str, AnyKey], str]:
        """Hashes that rows shall be found by, by topic and key."""
        return self._secrets

    def put_secret(self, noun: Noun[Key, Value], key: Key, secret_hash: str) -> None:
        """Let a row that was put be found by a secret."""
        assert noun.secret_column, f"{noun.topic} has no secrets"
        assert self._puts[noun].get(key) is not None, "only what is put has a secret"
        self._secrets[noun.topic, key] = secret_hash

    def put(self, noun: Noun[Key, Value], value: Value) -> None:
        """Store a row of a plain noun."""
        assert noun not in _WITH_RULES, f"{noun.topic} has a method of its own"
        self._put(noun, value)

    def delete(self, noun: Noun[Key, Value], key: Key) -> None:
        """Take a row of a plain noun out, if it is there."""
        assert noun not in _WITH_RULES, f"{noun.topic} has a method of its own"
        value = self.get(noun, key)
        if value is not None:
            self._delete(noun, value)

    def put_job(self, job: Job) -> None:
        """Store the current version, also among the versions."""
        earlier = self._puts[JOBS].get(job.key)
        if isinstance(earlier, Job) and version_key(earlier) != version_key(job):
            # Its own event gives way to this one's.
            self._record(JOB_VERSIONS, version_key(earlier), earlier, deleted=False)
        self._puts[JOB_VERSIONS][version_key(job)] = job
        self._events.pop((JOB_VERSIONS, version_key(job)), None)
        self._put(JOBS, job)

    def put_job_version(self, job: Job) -> None:
        """Rewrite a stored version that is not the current one."""
        self._put(JOB_VERSIONS, job)

    def delete_job_version(self, job: Job) -> None:
        """Take a version off the list."""
        self._unnamed[job.key] = None
        self._delete(JOB_VERSIONS, job)

    def delete_job(self, key: JobKey) -> None:
        """Purge the job, its summary and submissions."""
        job = self.job(key)
        if job is None:
            return
        for noun in (JOB_VERSIONS, JOB_SUBMISSIONS):
            puts = self._puts[noun]
            for name in [name for name in puts if name[0] == key]:
                del puts[name]
                self._events.pop((noun, name), None)
        self.delete(JOB_SUMMARIES, key)
        self._unnamed[key] = None
        self._delete(JOBS, job)

    def put_node(self, node: Node) -> None:
        """Store a node. Raises IllegalTransition, as the puts of other statuses do."""
        transitions.NODE.require(self.node(node.id), node)
        self._put(NODES, node)
        if node.status is NodeStatus.DOWN:
            self._end_services("node", node.id)

    def delete_node(self, node_id: str) -> None:
        """Forget a node; what its allocations take stays known."""
        node = self.node(node_id)
        if node is not None:
            self._delete(NODES, node)
            self._end_services("node", node_id)

    def put_allocation(self, alloc: Allocation) -> None:
        """Store an allocation and keep the sums of its node and its namespace exact."""
        before = self.allocation(alloc.id)
        transitions.DESIRED.require(before, alloc)
        transitions.CLIENT.require(before, alloc)
        self._put(ALLOCATIONS, alloc)
        self._move_namespace_use(before, alloc)
        if alloc.is_client_terminal:
            self._end_services("alloc", alloc.id)
        if before is not None and before.node_id != alloc.node_id:
            self._move_use(before.node_id, before, None)
            before = None
        self._move_use(alloc.node_id, before, alloc)

    def delete_allocation(self, alloc_id: str) -> None:
        """Collect an allocation."""
        alloc = self.allocation(alloc_id)
        if alloc is not None:
            self._delete(ALLOCATIONS, alloc)
            self._end_services("alloc", alloc_id)
            self._unnamed[alloc.job_key] = None
            self._move_use(alloc.node_id, alloc, None)
            self._move_namespace_use(alloc, None)

    def put_evaluation(self, evaluation: Evaluation) -> None:
        """Store an evaluation."""
        assert evaluation.type != CORE_TYPE, "core evaluations are in the broker only"
        transitions.EVALUATION.require(self.evaluation(evaluation.id), evaluation)
        self._put(EVALUATIONS, evaluation)

    def delete_evaluation(self, eval_id: str) -> None:
        """Collect an evaluation; its stub stays."""
        evaluation = self.evaluation(eval_id)
        if evaluation is not None:
            self._delete(EVALUATIONS, evaluation)

    def put_deployment(self, deployment: Deployment) -> None:
        """Store a deployment."""
        transitions.DEPLOYMENT.require(self.deployment(deployment.id), deployment)
        self._put(DEPLOYMENTS, deployment)

    def delete_deployment(self, deployment_id: str) -> None:
        """Collect a deployment."""
        deployment = self.deployment(deployment_id)
        if deployment is not None:
            self._delete(DEPLOYMENTS, deployment)

    def delete_explanations(self, eval_id: str) -> None:
        """Forget those of an evaluation."""
        for item in self.explanations(eval_id):
            # What goes is named in the log, not said again.
            self._delete(EXPLANATIONS, msgspec.structs.replace(item, packed=b""))

    def _end_services(self, index: str, of: str) -> None:
        """Nobody finds what is over: registrations go with their allocation and their node."""
        if self._has_services is None:
            # Most clusters never had any: they pay for one look in each transaction.
            self._has_services = bool(self.table_index(SERVICES.table_index)) or bool(
                self._puts[SERVICES]
            )
        if self._has_services:
            for service in self.list_by(SERVICES, index, of):
                self._delete(SERVICES, service)

    def _move_use(self, node_id: str, before: Allocation | None, after: Allocation | None) -> None:
        use = self.node_use(node_id)
        moved = changed_use(use, before, after)
        if moved is not use:
            self._put(NODE_USES, moved)

    def _move_namespace_use(self, before: Allocation | None, after: Allocation | None) -> None:
        alloc = after or before
        assert alloc is not None, "an allocation comes, changes or goes"
        used = self.namespace_use(alloc.namespace)
        moved = replaced(used, before, after)
        if moved != used:
            self._put(NAMESPACE_USES, NamespaceUse(namespace=alloc.namespace, used=moved))

    def _put(self, noun: Noun[Key, Value], value: Value) -> None:
        key = noun.key(value)
        self._puts[noun][key] = value
        for index in noun.indexes.values():
            place = index.place(value)
            if place is not None:
                self._places.setdefault((index, place), {})[key] = None
        self._record(noun, key, value, deleted=False)

    def _delete(self, noun: Noun[Key, Value], value: Value) -> None:
        key = noun.key(value)
        self._puts[noun][key] = None
        self._record(noun, key, value, deleted=True)

    def _record(self, noun: Noun[Key, Value], key: Key, value: Value, *, deleted: bool) -> None:
        self._events.pop((noun, key), None)
        self._events[noun, key] = StateEvent(
            topic=noun.topic,
            key=event_key(key),
            namespace="" if noun.namespace is None else noun.namespace(value),
            value=value,
            deleted=deleted,
        )
