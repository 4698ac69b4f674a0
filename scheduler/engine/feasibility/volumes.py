"""Host volumes and CSI volumes that a group mounts (placement.md 6.8, 6.9).

In: a FeasibilityAsk. Out: the rows that lack one. What depends on who uses a volume meanwhile is
in `volume_claims`.
"""

from collections.abc import Iterator

import numpy as np

from scheduler.engine.feasibility.check import FeasibilityAsk, RefusedRows
from scheduler.ports import StateReader
from scheduler.state.node_table import Reader
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.host_volume import AccessMode, AttachmentMode, VolumeState
from scheduler.structs.node import Node
from scheduler.structs.task_group import TaskGroup, VolumeAsk

#: What is said of a node, whichever volume it lacks.
MISSING = "missing compatible host volumes"
_READ_ONLY, _READ_WRITE, _DYNAMIC = "read-only", "read-write", "dynamic "


class HostVolumes:
    """Each host volume must be there, and usable in the way that is asked for."""

    name = "host volumes"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """All under one reason, whichever volume it is."""
        for volume in ask.group.volumes.values():
            if volume.type == "host":
                source = volume_source(volume, ask.alloc_name)
                column = ask.table.derived_column(f"host volume {source}", _volume_reader(source))
                fits = _Fits(volume, ask.job.namespace, ask.reader)
                yield RefusedRows(~column.where(fits), MISSING)


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


class _Fits:
    """Whether what a node has under the name of a volume serves the one that asks."""

    def __init__(self, ask: VolumeAsk, namespace: str, reader: StateReader | None) -> None:
        self._ask = ask
        self._namespace = namespace
        self._reader = reader

    def __call__(self, what: str) -> bool:
        if what.startswith(_DYNAMIC):
            return self._fits_dynamic(what.removeprefix(_DYNAMIC))
        if self._ask.sticky:
            return False
        return self._ask.read_only or what == _READ_WRITE

    def _fits_dynamic(self, volume_id: str) -> bool:
        volume = self._reader.get(HOST_VOLUMES, volume_id) if self._reader else None
        if volume is None or volume.namespace != self._namespace:
            return False
        if volume.state is not VolumeState.READY:
            return False
        default = AccessMode.READER_ONLY if self._ask.read_only else AccessMode.WRITER
        access = self._ask.access_mode or default
        attachment = self._ask.attachment_mode or AttachmentMode.FILE_SYSTEM
        if not any(
            (each.access_mode, each.attachment_mode) == (access, attachment)
            for each in volume.requested_capabilities
        ):
            return False
        if access == AccessMode.READER_ONLY:
            return self._ask.read_only
        return access != AccessMode.WRITER or not self._ask.read_only


def _volume_reader(source: str) -> Reader:
    def read(node: Node) -> str | None:
        volume = node.host_volumes.get(source)
        if volume is None:
            return None
        if volume.id:
            return f"{_DYNAMIC}{volume.id}"
        return _READ_ONLY if volume.read_only else _READ_WRITE

    return read
