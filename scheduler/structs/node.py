"""A node: a machine that runs allocations, as its agent describes it and as operators treat it."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec.structs import replace

from scheduler.structs.device import DeviceGroup
from scheduler.structs.identity import DEFAULT_NODE_POOL
from scheduler.structs.network import HostNetwork, NetworkResource, NodeNetwork
from scheduler.structs.wire import Duration, Instant, Wire, wire_names

#: The attribute by which a node says that it only pretends to run what it is given.
SIMULATED = "bivouac.simulated"


class NodeStatus(StrEnum):
    """Whether a node answers."""

    INITIALIZING = "initializing"
    READY = "ready"
    DOWN = "down"
    DISCONNECTED = "disconnected"


#: Of nodes whose allocations are given up. One that is silent without being lost is disconnected:
#: its allocations may still come back.
LOST = frozenset({NodeStatus.DOWN})


class NodeEligibility(StrEnum):
    """Whether new allocations may be placed on a node."""

    ELIGIBLE = "eligible"
    INELIGIBLE = "ineligible"


class DriverInfo(Wire, frozen=True):
    """What a node says of one task driver."""

    attributes: dict[str, str] = {}
    detected: bool = False
    healthy: bool = False
    health_description: str = ""
    update_time: Instant = 0


def same_since(
    before: Mapping[str, DriverInfo], after: Mapping[str, DriverInfo]
) -> dict[str, DriverInfo]:
    """`after`, where a driver that is as it was keeps the time since which it is so."""
    kept = {}
    for name, info in after.items():
        old = before.get(name)
        is_same = old is not None and replace(info, update_time=old.update_time) == old
        kept[name] = old if old is not None and is_same else info
    return kept


class HostVolume(Wire, frozen=True):
    """A directory of the node offered to tasks."""

    name: str = ""
    path: str = ""
    read_only: bool = False
    id: str = ""


class NodeCpu(
    Wire,
    frozen=True,
    rename=wire_names(
        cpu_shares="CpuShares",
        total_cpu_cores="TotalCpuCores",
        reservable_cpu_cores="ReservableCpuCores",
    ),
):
    """CPU of a node in MHz, and the cores that can be given away whole."""

    cpu_shares: int = 0
    total_cpu_cores: int = 0
    reservable_cpu_cores: tuple[int, ...] = ()


class NodeMemory(Wire, frozen=True):
    """Memory of a node."""

    memory_mb: int = 0


class NodeDisk(Wire, frozen=True):
    """Disk of a node."""

    disk_mb: int = 0


class NodeResources(Wire, frozen=True, rename=wire_names(cpu="Cpu")):
    """Everything a node has."""

    cpu: NodeCpu = NodeCpu()
    memory: NodeMemory = NodeMemory()
    disk: NodeDisk = NodeDisk()
    networks: tuple[NetworkResource, ...] = ()
    node_networks: tuple[NodeNetwork, ...] = ()
    devices: tuple[DeviceGroup, ...] = ()
    min_dynamic_port: int = 0
    max_dynamic_port: int = 0


class ReservedCpu(
    Wire,
    frozen=True,
    rename=wire_names(cpu_shares="CpuShares", reserved_cpu_cores="ReservedCpuCores"),
):
    """CPU kept for the node's own use."""

    cpu_shares: int = 0
    reserved_cpu_cores: tuple[int, ...] = ()


class ReservedNetworks(Wire, frozen=True):
    """Ports kept for the node's own use, as `22,80,8000-8010`."""

    reserved_host_ports: str = ""


class ReservedResources(Wire, frozen=True, rename=wire_names(cpu="Cpu")):
    """What the node keeps for itself; subtracted when fitting."""

    cpu: ReservedCpu = ReservedCpu()
    memory: NodeMemory = NodeMemory()
    disk: NodeDisk = NodeDisk()
    networks: ReservedNetworks = ReservedNetworks()


class DrainStrategy(Wire, frozen=True):
    """A drain under way. `deadline` < 0 forces at once, 0 waits without limit."""

    deadline: Duration = 0
    ignore_system_jobs: bool = False
    force_deadline: Instant = 0
    started_at: Instant = 0


class LastDrain(Wire, frozen=True):
    """The newest drain: `draining`, `complete` or `canceled`; by whom, and why (`meta`)."""

    started_at: Instant = 0
    updated_at: Instant = 0
    status: str = ""
    accessor_id: str = ""
    meta: dict[str, str] = {}


#: In the details of a line about a node's clock: by how many ms it is ahead of the server's.
CLOCK_OFF_BY = "clock_off_by_ms"


class NodeEvent(Wire, frozen=True):
    """One line of a node's history; the newest ten are kept, oldest first."""

    message: str = ""
    #: Drain, Driver, Heartbeat, Cluster, Scheduler or Storage
    subsystem: str = ""
    details: dict[str, str] = {}
    timestamp: Instant = 0
    create_index: int = 0


class Node(
    Wire,
    frozen=True,
    rename=wire_names(
        node_max_allocs="NodeMaxAllocs",
        tls_enabled="TLSEnabled",
        host_networks="HostNetworks",
        gc_volumes_on_node_gc="GCVolumesOnNodeGC",
    ),
):
    """A machine of the fleet."""

    id: str = ""
    #: The agent's secret, hashed in the record. Never leaves the server.
    secret_id: str = ""
    #: The root key of its newest identity; "": it has none.
    identity_signing_key_id: str = ""
    datacenter: str = "dc1"
    name: str = ""
    cgroup_parent: str = ""
    http_addr: str = ""
    tls_enabled: bool = False
    attributes: dict[str, str] = {}
    node_resources: NodeResources = NodeResources()
    reserved_resources: ReservedResources = ReservedResources()
    links: dict[str, str] = {}
    meta: dict[str, str] = {}
    node_class: str = ""
    node_pool: str = DEFAULT_NODE_POOL
    #: `v1:<number>`, see `computed_class`; derived when the node is stored.
    computed_class: str = ""
    drain_strategy: DrainStrategy | None = None
    scheduling_eligibility: NodeEligibility = NodeEligibility.ELIGIBLE
    status: NodeStatus = NodeStatus.INITIALIZING
    status_description: str = ""
    #: Unix seconds.
    status_updated_at: int = 0
    events: tuple[NodeEvent, ...] = ()
    drivers: dict[str, DriverInfo] = {}
    csi_controller_plugins: dict[str, object] = {}
    csi_node_plugins: dict[str, object] = {}
    host_volumes: dict[str, HostVolume] = {}
    host_networks: dict[str, HostNetwork] = {}
    last_drain: LastDrain | None = None
    #: 0: no limit.
    node_max_allocs: int = 0
    last_missed_heartbeat_index: int = 0
    last_alloc_update_index: int = 0
    create_index: int = 0
    modify_index: int = 0

    @property
    def clock_off_by_ms(self) -> int:
        """By how much its clock was ahead of the server's when last told; below 0: behind."""
        told = [
            event.details[CLOCK_OFF_BY] for event in self.events if CLOCK_OFF_BY in event.details
        ]
        return int(told[-1]) if told and told[-1].lstrip("-").isdecimal() else 0

    @property
    def is_simulated(self) -> bool:
        """Whether it pretends: nothing runs there, so nothing can be missing either."""
        return self.attributes.get(SIMULATED) == "true"

    @property
    def is_ready(self) -> bool:
        """Whether new allocations may be placed on it (placement.md 3)."""
        return (
            self.status is NodeStatus.READY
            and self.drain_strategy is None
            and self.scheduling_eligibility is NodeEligibility.ELIGIBLE
        )


class NodePoolSchedulerConfiguration(Wire, frozen=True):
    """Scheduler settings that hold for one pool."""

    scheduler_algorithm: str = ""
    memory_oversubscription_enabled: bool | None = None


#: How long the identity of a pool's node holds where the pool does not say.
DEFAULT_IDENTITY_TTL = 86_400_000_000_000


class NodePool(Wire, frozen=True):
    """A named set of nodes that jobs can choose."""

    name: str = ""
    description: str = ""
    meta: dict[str, str] = {}
    #: Of this, what is set beats the cluster's settings for jobs of the pool.
    scheduler_configuration: NodePoolSchedulerConfiguration | None = None
    node_identity_ttl: Duration = DEFAULT_IDENTITY_TTL
    create_index: int = 0
    modify_index: int = 0
