"""Struct to row and back: per noun its table, its key, the columns it is found by, and its body.

In: structs of `scheduler.structs`. Out: tuples for SQL, structs from bodies (msgpack with wire
names).
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from django.db.models import Model

from cluster import models
from scheduler.state.events import Topic
from scheduler.state.node_use import NodeUse
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import StoredExplanation
from scheduler.structs.job import Job, JobSubmission, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.wire import Wire

Value = TypeVar("Value", bound=Wire)

_ENCODER = msgspec.msgpack.Encoder()

SETTINGS_NAME = "scheduler"


class Noun(Generic[Value]):
    """How one kind of struct lies in its table: key columns first, `body` last."""

    def __init__(
        self,
        model: type[Model],
        struct: type[Value],
        key_length: int,
        columns: dict[str, Callable[[Value], object]],
    ) -> None:
        self.table: str = model._meta.db_table
        self.struct = struct
        self.columns = (*columns, "body")
        self.key = self.columns[:key_length]
        self._getters = tuple(columns.values())
        self._decoder = msgspec.msgpack.Decoder(struct)

    def row(self, value: Value, body: bytes | None = None) -> tuple[Any, ...]:
        """The row's values in the order of `columns`."""
        return (*(getter(value) for getter in self._getters), body or encode(value))

    def key_of(self, value: Value) -> tuple[Any, ...]:
        """The row's key in the order of `key`."""
        return tuple(getter(value) for getter in self._getters[: len(self.key)])

    def decode(self, body: bytes | memoryview) -> Value:
        """The struct of a body."""
        return self._decoder.decode(body)


def encode(value: Wire) -> bytes:
    """The body of a struct."""
    return _ENCODER.encode(value)


def _text(value: object) -> str:
    return str(value)


JOB = Noun(
    models.JobRow,
    Job,
    2,
    {
        "namespace": lambda job: job.namespace,
        "job_id": lambda job: job.id,
        "type": lambda job: job.type,
        "status": lambda job: job.status,
        "parent_id": lambda job: job.parent_id,
        "priority": lambda job: job.priority,
        "submit_time": lambda job: job.submit_time,
        "create_index": lambda job: job.create_index,
        "modify_index": lambda job: job.modify_index,
    },
)
JOB_VERSION = Noun(
    models.JobVersionRow,
    Job,
    4,
    {
        "namespace": lambda job: job.namespace,
        "job_id": lambda job: job.id,
        "create_index": lambda job: job.create_index,
        "version": lambda job: job.version,
        "is_listed": lambda _: True,
    },
)
JOB_SUMMARY = Noun(
    models.JobSummaryRow,
    JobSummary,
    2,
    {"namespace": lambda counts: counts.namespace, "job_id": lambda counts: counts.job_id},
)
JOB_SUBMISSION = Noun(
    models.JobSubmissionRow,
    JobSubmission,
    3,
    {
        "namespace": lambda text: text.namespace,
        "job_id": lambda text: text.job_id,
        "version": lambda text: text.version,
    },
)
NODE = Noun(
    models.NodeRow,
    Node,
    1,
    {
        "id": lambda node: node.id,
        "name": lambda node: node.name,
        "datacenter": lambda node: node.datacenter,
        "node_pool": lambda node: node.node_pool,
        "status": lambda node: node.status.value,
        "eligibility": lambda node: node.scheduling_eligibility.value,
        "is_draining": lambda node: node.drain_strategy is not None,
        "create_index": lambda node: node.create_index,
        "modify_index": lambda node: node.modify_index,
    },
)
NODE_USE = Noun(models.NodeUseRow, NodeUse, 1, {"node_id": lambda use: use.node_id})
ALLOCATION = Noun(
    models.AllocationRow,
    Allocation,
    1,
    {
        "id": lambda alloc: alloc.id,
        "namespace": lambda alloc: alloc.namespace,
        "job_id": lambda alloc: alloc.job_id,
        "job_create_index": lambda alloc: alloc.job_create_index,
        "job_version": lambda alloc: alloc.job_version,
        "task_group": lambda alloc: alloc.task_group,
        "node_id": lambda alloc: alloc.node_id,
        "eval_id": lambda alloc: alloc.eval_id,
        "deployment_id": lambda alloc: alloc.deployment_id,
        "desired_status": lambda alloc: alloc.desired_status.value,
        "client_status": lambda alloc: alloc.client_status.value,
        "create_index": lambda alloc: alloc.create_index,
        "modify_index": lambda alloc: alloc.modify_index,
    },
)
_EVALUATION_COLUMNS: dict[str, Callable[[Evaluation], object]] = {
    "id": lambda evaluation: evaluation.id,
    "namespace": lambda evaluation: evaluation.namespace,
    "job_id": lambda evaluation: evaluation.job_id,
    "type": lambda evaluation: evaluation.type,
    "triggered_by": lambda evaluation: _text(evaluation.triggered_by),
    "status": lambda evaluation: evaluation.status.value,
    "previous_eval": lambda evaluation: evaluation.previous_eval,
    "deployment_id": lambda evaluation: evaluation.deployment_id,
    "cause_kind": lambda evaluation: evaluation.cause.kind.value if evaluation.cause else "",
    "cause_id": lambda evaluation: evaluation.cause.id if evaluation.cause else "",
    "create_index": lambda evaluation: evaluation.create_index,
    "modify_index": lambda evaluation: evaluation.modify_index,
}
EVALUATION = Noun(models.EvaluationRow, Evaluation, 1, _EVALUATION_COLUMNS)
EVALUATION_STUB = Noun(models.EvaluationStubRow, Evaluation, 1, _EVALUATION_COLUMNS)
DEPLOYMENT = Noun(
    models.DeploymentRow,
    Deployment,
    1,
    {
        "id": lambda deployment: deployment.id,
        "namespace": lambda deployment: deployment.namespace,
        "job_id": lambda deployment: deployment.job_id,
        "status": lambda deployment: deployment.status.value,
        "create_index": lambda deployment: deployment.create_index,
        "modify_index": lambda deployment: deployment.modify_index,
    },
)
LIFECYCLE = Noun(
    models.LifecycleRow,
    LifecycleStep,
    2,
    {"eval_id": lambda step: step.eval_id, "number": lambda step: step.number},
)
EXPLANATION = Noun(
    models.ExplanationRow,
    StoredExplanation,
    2,
    {
        "eval_id": lambda item: item.eval_id,
        "task_group": lambda item: item.task_group,
        "namespace": lambda item: item.namespace,
        "job_id": lambda item: item.job_id,
        "stored_index": lambda item: item.index,
    },
)
NAMESPACE = Noun(models.NamespaceRow, Namespace, 1, {"name": lambda item: item.name})
QUOTA = Noun(models.QuotaRow, QuotaSpec, 1, {"name": lambda quota: quota.name})
NODE_POOL = Noun(models.NodePoolRow, NodePool, 1, {"name": lambda pool: pool.name})
SETTINGS = Noun(
    models.SchedulerSettingsRow, SchedulerSettings, 1, {"name": lambda _: SETTINGS_NAME}
)

NOUN_OF_TOPIC: dict[Topic, Noun[Any]] = {
    Topic.JOB: JOB,
    Topic.JOB_VERSION: JOB_VERSION,
    Topic.JOB_SUMMARY: JOB_SUMMARY,
    Topic.JOB_SUBMISSION: JOB_SUBMISSION,
    Topic.EVALUATION: EVALUATION,
    Topic.ALLOCATION: ALLOCATION,
    Topic.DEPLOYMENT: DEPLOYMENT,
    Topic.NODE: NODE,
    Topic.NODE_USE: NODE_USE,
    Topic.NODE_POOL: NODE_POOL,
    Topic.NAMESPACE: NAMESPACE,
    Topic.QUOTA: QUOTA,
    Topic.SCHEDULER_SETTINGS: SETTINGS,
    Topic.LIFECYCLE: LIFECYCLE,
    Topic.EXPLANATION: EXPLANATION,
}
