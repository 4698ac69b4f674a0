"""Host volumes that are made on demand on one node, and the claims of groups that stick to theirs.

They are objects of the record, beside what a node says it has (`node.HostVolume`): that has the
id of the object where it stands for one.
"""

from enum import StrEnum

from scheduler.structs.constraint import Constraint
from scheduler.structs.wire import Nanoseconds, Wire


class VolumeState(StrEnum):
    """Whether the node has the volume."""

    #: Its node has not told of it yet.
    PENDING = "pending"
    READY = "ready"
    #: Its node is down or gone, or no longer tells of it.
    UNAVAILABLE = "unavailable"


class AccessMode(StrEnum):
    """Who may use a host volume at a time, all on its one node."""

    READER_ONLY = "single-node-reader-only"
    WRITER = "single-node-writer"
    SINGLE_WRITER = "single-node-single-writer"
    MULTI_WRITER = "single-node-multi-writer"


class AttachmentMode(StrEnum):
    """As what a task sees a host volume."""

    FILE_SYSTEM = "file-system"
    BLOCK_DEVICE = "block-device"


class VolumeCapability(Wire, frozen=True):
    """One way in which a volume may be asked for."""

    attachment_mode: str = ""
    access_mode: str = ""


class DynamicVolume(Wire, frozen=True):
    """A directory that an agent made, or was told of, for groups of one namespace."""

    id: str = ""
    namespace: str = ""
    name: str = ""
    #: Who makes it on the node; "" for one that was there before and is only registered.
    plugin_id: str = ""
    node_pool: str = ""
    node_id: str = ""
    constraints: tuple[Constraint, ...] = ()
    #: Bytes; 0: no limit was asked for.
    requested_capacity_min_bytes: int = 0
    requested_capacity_max_bytes: int = 0
    #: What the plugin says it is; 0: it does not say.
    capacity_bytes: int = 0
    requested_capabilities: tuple[VolumeCapability, ...] = ()
    #: For the plugin.
    parameters: dict[str, str] = {}
    #: On the node; "" until its agent has told it.
    host_path: str = ""
    state: VolumeState = VolumeState.PENDING
    create_index: int = 0
    create_time: Nanoseconds = 0
    modify_index: int = 0
    modify_time: Nanoseconds = 0


class VolumeClaim(Wire, frozen=True):
    """A group of a job sticks to a volume: its later allocations must get that one again."""

    id: str = ""
    namespace: str = ""
    job_id: str = ""
    task_group_name: str = ""
    #: The newest allocation that was placed with it.
    alloc_id: str = ""
    volume_id: str = ""
    volume_name: str = ""
    create_index: int = 0
    modify_index: int = 0
