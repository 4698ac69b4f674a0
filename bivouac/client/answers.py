"""What answers hold that the record has no struct for: stubs of lists, what writes tell."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bivouac.client.decode import decode
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import (
    Allocation,
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    TaskState,
)
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, JobSummary
from scheduler.structs.node import DriverInfo, Node, NodeEligibility, NodePool, NodeStatus
from scheduler.structs.plan_annotations import PlanAnnotations
from scheduler.structs.wire import Nanoseconds, Wire, wire_names

Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer(Generic[Result]):
    """What was asked for, with the index of what was read or written."""

    value: Result
    index: int
    #: Where the next page begins; "" on the last one, and of what has no pages.
    next_token: str = ""


class JobStub(Wire, frozen=True):
    """A job in a list."""

    id: str
    name: str
    namespace: str
    type: str
    priority: int
    status: str
    parent_id: str = ""
    datacenters: tuple[str, ...] = ()
    node_pool: str = ""
    stop: bool = False
    periodic: bool = False
    parameterized_job: bool = False
    status_description: str = ""
    job_summary: JobSummary = JobSummary()
    meta: dict[str, str] = {}
    create_index: int = 0
    modify_index: int = 0
    job_modify_index: int = 0
    submit_time: Nanoseconds = 0


class NodeStub(Wire, frozen=True):
    """A node in a list."""

    id: str
    name: str
    datacenter: str
    status: NodeStatus
    scheduling_eligibility: NodeEligibility
    node_pool: str = ""
    node_class: str = ""
    drain: bool = False
    status_description: str = ""
    address: str = ""
    version: str = ""
    drivers: dict[str, DriverInfo] = {}
    create_index: int = 0
    modify_index: int = 0


class AllocationStub(Wire, frozen=True):
    """An allocation in a list."""

    id: str
    eval_id: str
    name: str
    namespace: str
    node_id: str
    node_name: str
    job_id: str
    job_type: str
    job_version: int
    task_group: str
    desired_status: DesiredStatus
    client_status: ClientStatus
    desired_description: str = ""
    client_description: str = ""
    task_states: dict[str, TaskState] = {}
    deployment_status: DeploymentHealth | None = None
    followup_eval_id: str = ""
    next_allocation: str = ""
    create_index: int = 0
    modify_index: int = 0
    create_time: Nanoseconds = 0
    modify_time: Nanoseconds = 0


class JobWritten(Wire, frozen=True):
    """What became of a write of a job."""

    eval_id: str = ""
    eval_create_index: int = 0
    job_modify_index: int = 0
    warnings: str = ""


class JobDispatched(Wire, frozen=True, rename=wire_names(dispatched_job_id="DispatchedJobID")):
    """A child of a parameterized job."""

    dispatched_job_id: str
    eval_id: str = ""
    eval_create_index: int = 0
    job_create_index: int = 0


class JobPlan(Wire, frozen=True, rename=wire_names(failed_task_groups="FailedTGAllocs")):
    """What registering a job would do. `diff` is plain JSON."""

    annotations: PlanAnnotations | None = None
    failed_task_groups: dict[str, AllocMetric] = {}
    job_modify_index: int = 0
    created_evals: tuple[Evaluation, ...] = ()
    diff: dict[str, object] = {}
    warnings: str = ""


class JobValidated(Wire, frozen=True):
    """Whether a job could be registered."""

    validation_errors: tuple[str, ...] = ()
    error: str = ""
    warnings: str = ""


class EvalMade(Wire, frozen=True):
    """The evaluation that a write made; "" for none."""

    eval_id: str = ""


class DeploymentWritten(Wire, frozen=True):
    """What became of a deployment."""

    eval_id: str = ""
    deployment_modify_index: int = 0
    reverted_job_version: int | None = None


class NodeWritten(Wire, frozen=True, rename=wire_names(eval_ids="EvalIDs")):
    """What became of a node, and the evaluations of its jobs."""

    node_modify_index: int = 0
    eval_ids: tuple[str, ...] = ()
    eval_create_index: int = 0


class Variable(Wire, frozen=True):
    """A variable with its items in clear."""

    path: str
    namespace: str = "default"
    items: dict[str, str] = {}
    create_index: int = 0
    modify_index: int = 0
    create_time: Nanoseconds = 0
    modify_time: Nanoseconds = 0


class ServiceName(Wire, frozen=True):
    """A service and all its tags."""

    service_name: str
    tags: tuple[str, ...] = ()


class ServicesOfNamespace(Wire, frozen=True):
    """The services of a namespace."""

    namespace: str
    services: tuple[ServiceName, ...] = ()


_PAYLOADS: dict[str, Any] = {
    "Job": Job,
    "Evaluation": Evaluation,
    "Allocation": Allocation,
    "Deployment": Deployment,
    "Node": Node,
    "NodePool": NodePool,
}


class Event(Wire, frozen=True):
    """One thing that a committed write changed."""

    topic: str
    type: str
    key: str
    index: int
    namespace: str = ""
    filter_keys: tuple[str, ...] = ()
    payload: dict[str, object] = {}

    @property
    def value(self) -> Any:
        """The new value as its struct, where the record has one for the topic; else plain JSON."""
        return decode(self.payload.get(self.topic), _PAYLOADS.get(self.topic, Any))
