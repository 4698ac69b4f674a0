"""Host volumes and CSI volumes that a group mounts (placement.md 6.8, 6.9).

In: a FeasibilityAsk. Out: the rows that lack one. Only volumes that a node's configuration
declares exist here; volume objects kept by the cluster do not: asking for one refuses every node.
"""

from collections.abc import Iterator

import numpy as np

from scheduler.engine.feasibility.check import FeasibilityAsk, RefusedRows
from scheduler.state.node_table import Reader
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup, VolumeAsk

_READ_ONLY, _READ_WRITE, _DYNAMIC = "read-only", "read-write", "dynamic"


class HostVolumes:
    """Each host volume must be declared by the node, and writable when it is to be written."""

    name = "host volumes"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """All under one reason, whichever volume it is."""
        for volume in ask.group.volumes.values():
            if volume.type == "host":
                source = volume_source(volume, ask.alloc_name)
                column = ask.table.derived_column(f"host volume {source}", _volume_reader(source))
                yield RefusedRows(
                    ~column.where(_accepted(volume).__contains__),
                    "missing compatible host volumes",
                )


class CSIVolumes:
    """No CSI volume is ever registered, so that a group that wants one waits for it."""

    name = "CSI volumes"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """Every row, naming the volumes."""
        missing = csi_volume_ids(ask.group, ask.alloc_name)
        if missing:
            every_row = np.ones(ask.table.row_count, dtype=np.bool_)
            yield RefusedRows(every_row, f"missing CSI volume(s) {', '.join(missing)}")


def volume_source(volume: VolumeAsk, alloc_name: str) -> str:
    """The volume's name on the node; `[index]` of the allocation is added when it has its own."""
    if not volume.per_alloc:
        return volume.source
    return (
        volume.source + alloc_name[alloc_name.rfind("[") :] if "[" in alloc_name else volume.source
    )


def csi_volume_ids(group: TaskGroup, alloc_name: str) -> tuple[str, ...]:
    """The ids of the CSI volumes a group asks for, sorted."""
    volumes = (volume for volume in group.volumes.values() if volume.type == "csi")
    return tuple(sorted({volume_source(volume, alloc_name) for volume in volumes}))


def depends_on_alloc_name(group: TaskGroup) -> bool:
    """Whether the group's allocations mount different volumes."""
    return any(volume.per_alloc for volume in group.volumes.values())


def _accepted(volume: VolumeAsk) -> frozenset[str]:
    if volume.sticky:
        return frozenset()
    return frozenset({_READ_WRITE, _READ_ONLY} if volume.read_only else {_READ_WRITE})


def _volume_reader(source: str) -> Reader:
    def read(node: Node) -> str | None:
        volume = node.host_volumes.get(source)
        if volume is None:
            return None
        if volume.id:
            return _DYNAMIC
        return _READ_ONLY if volume.read_only else _READ_WRITE

    return read
