"""Host volumes that only one may write, and those that a group sticks to (placement.md 6.8).

In: the group, the context's changes. Out: rows that are taken, or that hold none of the volumes
the group must get again. Looked at anew for every placement, because the plan takes part in it.
"""

from collections.abc import Iterator

import numpy as np

from scheduler.engine.context import EvalContext
from scheduler.engine.feasibility.check import RefusedRows
from scheduler.engine.feasibility.volumes import MISSING, volume_source
from scheduler.state.node_table import Bools
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.structs.allocation import Allocation
from scheduler.structs.host_volume import AccessMode, VolumeClaim
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup, VolumeAsk


class VolumeClaims:
    """Rows that a group may not have because of who uses which volume."""

    def __init__(
        self, context: EvalContext, job: Job, group: TaskGroup, alloc_name: str = ""
    ) -> None:
        asks = [ask for ask in group.volumes.values() if ask.type == "host"]
        self._context = context
        self._job = job
        self._group = group
        self._single = [
            volume_source(ask, alloc_name)
            for ask in asks
            if ask.access_mode == AccessMode.SINGLE_WRITER
        ]
        self._sticky = [volume_source(ask, alloc_name) for ask in asks if ask.sticky]
        #: Whether the group asks for anything of the kind.
        self.is_active = bool(self._single or self._sticky)

    def refusals(self) -> Iterator[RefusedRows]:
        """All under the reason that a lacking volume has."""
        for source in self._single:
            yield RefusedRows(self._written(source), MISSING)
        for source in self._sticky:
            yield RefusedRows(self._not_claimed(source), MISSING)

    def _written(self, source: str) -> Bools:
        """Rows where an allocation that is proposed writes the volume of that name."""
        rows = np.zeros(self._context.table.row_count, dtype=np.bool_)
        for row, volume_id in self._holders(source):
            node_id = self._context.table.node_at(row).id
            rows[row] = bool(volume_id) and any(
                self._writes(alloc, source) for alloc in self._context.proposed_allocs(node_id)
            )
        return rows

    def _writes(self, alloc: Allocation, source: str) -> bool:
        job = self._context.snapshot.job_of(alloc)
        if job is None and alloc.job_key == self._job.key:
            job = self._job
        group = job.task_group(alloc.task_group) if job else None
        # Of whom nothing is known it must be feared.
        return group is None or any(
            _is_written(ask) and volume_source(ask, alloc.name) == source
            for ask in group.volumes.values()
        )

    def _not_claimed(self, source: str) -> Bools:
        """Rows without one of the volumes that wait for the group; none while none waits."""
        rows = np.zeros(self._context.table.row_count, dtype=np.bool_)
        waiting = {claim.volume_id for claim in self._unmet()}
        if waiting:
            rows[:] = True
            for row, volume_id in self._holders(source):
                rows[row] = volume_id not in waiting
        return rows

    def _unmet(self) -> Iterator[VolumeClaim]:
        snapshot, key = self._context.snapshot, self._job.key
        for claim in snapshot.list_by(VOLUME_CLAIMS, "job", (key.namespace, key.job_id)):
            volume = snapshot.get(HOST_VOLUMES, claim.volume_id)
            claimed = snapshot.allocation(claim.alloc_id)
            if volume is None or claimed is None or claim.task_group_name != self._group.name:
                continue
            if not any(
                self._meets(alloc, claim, claimed)
                for alloc in self._context.proposed_allocs(volume.node_id)
            ):
                yield claim

    def _meets(self, alloc: Allocation, claim: VolumeClaim, claimed: Allocation) -> bool:
        if alloc.is_terminal:
            return False
        is_sibling = (alloc.job_key, alloc.task_group) == (self._job.key, claim.task_group_name)
        return alloc.id == claim.alloc_id or (is_sibling and alloc.node_id == claimed.node_id)

    def _holders(self, source: str) -> Iterator[tuple[int, str]]:
        """Rows of nodes that have a volume of that name, with its id; "" for a static one."""
        for row, node in enumerate(self._context.table.nodes):
            volume = node.host_volumes.get(source) if node is not None else None
            if volume is not None:
                yield row, volume.id


def _is_written(ask: VolumeAsk) -> bool:
    return ask.type == "host" and not ask.read_only
