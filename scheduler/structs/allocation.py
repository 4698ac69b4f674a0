"""An allocation: one instance of a task group on one node, as wanted and as reported."""

from enum import StrEnum

import msgspec

from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.network import DNSConfig
from scheduler.structs.resources import AllocatedResources
from scheduler.structs.wire import Duration, Instant, Nanoseconds, Wire, wire_names


class DesiredStatus(StrEnum):
    """What the server wants of an allocation."""

    RUN = "run"
    STOP = "stop"
    EVICT = "evict"


class ClientStatus(StrEnum):
    """What has become of it on its node; the server sets only `lost` and `unknown`."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    LOST = "lost"
    UNKNOWN = "unknown"


CLIENT_TERMINAL = frozenset({ClientStatus.COMPLETE, ClientStatus.FAILED, ClientStatus.LOST})


class TaskEvent(Wire, frozen=True):
    """One line of a task's history, oldest first, the newest ten kept (node-agent.md 6.1)."""

    type: str = ""
    time: Nanoseconds = 0
    message: str = ""
    display_message: str = ""
    details: dict[str, str] = {}


class TaskState(Wire, frozen=True):
    """Where one task stands: `pending`, `running` or `dead`."""

    state: str = "pending"
    failed: bool = False
    restarts: int = 0
    last_restart: Instant = 0
    started_at: Instant = 0
    finished_at: Instant = 0
    events: tuple[TaskEvent, ...] = ()


class AllocState(Wire, frozen=True):
    """A recorded change of a status; `field` 0 is the client status."""

    field: int = 0
    value: str = ""
    time: Instant = 0


class DeploymentHealth(Wire, frozen=True):
    """An allocation's part in a deployment. The wire calls it DeploymentStatus."""

    #: None: not yet judged.
    healthy: bool | None = None
    timestamp: Instant = 0
    canary: bool = False
    modify_index: int = 0


class RescheduleEvent(Wire, frozen=True):
    """One replacement in an allocation's ancestry."""

    reschedule_time: Nanoseconds = 0
    prev_alloc_id: str = ""
    prev_node_id: str = ""
    delay: Duration = 0


class RescheduleTracker(Wire, frozen=True):
    """The replacements so far; `last_reschedule` is "", `ok` or `no placement`."""

    events: tuple[RescheduleEvent, ...] = ()
    last_reschedule: str = ""


class DesiredTransition(Wire, frozen=True):
    """What the server wants the scheduler to do with an allocation. None: nothing said."""

    migrate: bool | None = None
    reschedule: bool | None = None
    force_reschedule: bool | None = None
    no_shutdown_delay: bool | None = None
    migrate_disable_placement: bool | None = None


class NetworkStatus(Wire, frozen=True, rename=wire_names(address_ipv6="AddressIPv6")):
    """Where an allocation can be reached inside its network namespace."""

    interface_name: str = ""
    address: str = ""
    address_ipv6: str = ""
    dns: DNSConfig | None = None


class Allocation(Wire, frozen=True, rename=wire_names(metrics="Metrics")):
    """One instance of a group on one node.

    The job version it was made from is named by `job_version` and `job_create_index` (the job's
    incarnation), not embedded: ask the reader's `job_of`. The public API embeds it.
    """

    id: str = ""
    namespace: str = DEFAULT_NAMESPACE
    eval_id: str = ""
    #: `job.group[index]`
    name: str = ""
    node_id: str = ""
    node_name: str = ""
    job_id: str = ""
    job_version: int = 0
    job_create_index: int = 0
    #: Of the job version, for telling allocations of different types apart without the job.
    job_type: str = ""
    #: The job's priority, for preemption.
    job_priority: int = 50
    task_group: str = ""
    allocated_resources: AllocatedResources = AllocatedResources()
    metrics: AllocMetric = AllocMetric()
    desired_status: DesiredStatus = DesiredStatus.RUN
    desired_description: str = ""
    desired_transition: DesiredTransition = DesiredTransition()
    client_status: ClientStatus = ClientStatus.PENDING
    client_description: str = ""
    task_states: dict[str, TaskState] = {}
    alloc_states: tuple[AllocState, ...] = ()
    previous_allocation: str = ""
    next_allocation: str = ""
    deployment_id: str = ""
    deployment_status: DeploymentHealth | None = None
    reschedule_tracker: RescheduleTracker | None = None
    network_status: NetworkStatus | None = None
    followup_eval_id: str = ""
    preempted_allocations: tuple[str, ...] = ()
    preempted_by_allocation: str = ""
    create_index: int = 0
    modify_index: int = 0
    #: Moves with the server's changes only, never with the node's reports (node-agent.md 4.1).
    alloc_modify_index: int = 0
    create_time: Nanoseconds = 0
    modify_time: Nanoseconds = 0

    @property
    def job_key(self) -> JobKey:
        """Namespace and id of its job."""
        return JobKey(self.namespace, self.job_id)

    @property
    def is_client_terminal(self) -> bool:
        """Its node is done with it, or lost."""
        return self.client_status in CLIENT_TERMINAL

    @property
    def is_server_terminal(self) -> bool:
        """The server wants it gone."""
        return self.desired_status is not DesiredStatus.RUN

    @property
    def is_terminal(self) -> bool:
        """Either side is done with it."""
        return self.is_server_terminal or self.is_client_terminal

    def changed(self, **fields: object) -> "Allocation":
        """A copy with these fields replaced."""
        return msgspec.structs.replace(self, **fields)
