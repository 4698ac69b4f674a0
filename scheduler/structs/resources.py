"""What tasks ask for, and what an allocation was given of a node's capacity."""

from scheduler.structs.device import DeviceGrant, RequestedDevice
from scheduler.structs.network import AllocatedPort, NetworkResource
from scheduler.structs.wire import Wire, wire_names


class NUMA(Wire, frozen=True):
    """Affinity to NUMA nodes. Kept and shown; placement does not look at it."""

    affinity: str = ""
    devices: tuple[str, ...] = ()


class Resources(Wire, frozen=True, rename=wire_names(iops="IOPS", numa="NUMA")):
    """A task's ask; also the legacy form in which allocations report what they were given."""

    #: MHz
    cpu: int = 0
    #: Whole cores instead of `cpu`.
    cores: int = 0
    memory_mb: int = 0
    #: 0 unset, -1 without limit; counts only where oversubscription is on.
    memory_max_mb: int = 0
    disk_mb: int = 0
    iops: int = 0
    networks: tuple[NetworkResource, ...] = ()
    devices: tuple[RequestedDevice, ...] = ()
    numa: NUMA | None = None
    secrets_mb: int = 0


class AllocatedCpu(Wire, frozen=True, rename=wire_names(cpu_shares="CpuShares")):
    """CPU given to a task: MHz, and the numbers of cores that are its alone."""

    cpu_shares: int = 0
    reserved_cores: tuple[int, ...] = ()


class AllocatedMemory(Wire, frozen=True):
    """Memory given to a task."""

    memory_mb: int = 0
    memory_max_mb: int = 0


class AllocatedTaskResources(Wire, frozen=True, rename=wire_names(cpu="Cpu")):
    """Everything given to one task."""

    cpu: AllocatedCpu = AllocatedCpu()
    memory: AllocatedMemory = AllocatedMemory()
    networks: tuple[NetworkResource, ...] = ()
    devices: tuple[DeviceGrant, ...] = ()


class TaskLifecycle(Wire, frozen=True):
    """When a task runs in its allocation's life. No lifecycle at all: a main task."""

    #: prestart, poststart or poststop
    hook: str = ""
    sidecar: bool = False


class AllocatedSharedResources(Wire, frozen=True):
    """What the tasks of an allocation share."""

    networks: tuple[NetworkResource, ...] = ()
    disk_mb: int = 0
    ports: tuple[AllocatedPort, ...] = ()


class AllocatedResources(Wire, frozen=True):
    """All an allocation was given; `task_lifecycles` says how tasks add up (placement.md 8.2)."""

    tasks: dict[str, AllocatedTaskResources] = {}
    task_lifecycles: dict[str, TaskLifecycle | None] = {}
    shared: AllocatedSharedResources = AllocatedSharedResources()
