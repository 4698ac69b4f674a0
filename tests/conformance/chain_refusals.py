"""An applier's store that refuses placements on nodes whose single-writer volume is held twice.

The recorded scheduler refuses them by a rule that this project does not copy; here the node looks
closed to whoever judges the plan, and only to them.
"""

from collections import Counter

from msgspec.structs import replace

from scheduler.structs.node import NodeEligibility


class RefusingStore:
    """Writes go to the store behind it."""

    def __init__(self, store) -> None:
        self._store = store

    def write(self, kind, work, *, now, fence=None):
        def refusing(change):
            return work(_RefusingChange(change))

        return self._store.write(kind, refusing, now=now, fence=fence)


class _RefusingChange:
    def __init__(self, change) -> None:
        self._change = change

    def __getattr__(self, name):
        return getattr(self._change, name)

    def node(self, node_id: str):
        node = self._change.node(node_id)
        if node is None or not node.host_volumes or not self._is_held_twice(node_id):
            return node
        return replace(node, scheduling_eligibility=NodeEligibility.INELIGIBLE)

    def _is_held_twice(self, node_id: str) -> bool:
        holders = Counter(
            volume.source
            for alloc in self._change.allocations_by_node(node_id)
            if not alloc.is_terminal
            for volume in self._volumes(alloc)
        )
        return any(count > 1 for count in holders.values())

    def _volumes(self, alloc):
        job = self._change.job_of(alloc)
        group = job and job.task_group(alloc.task_group)
        return group.volumes.values() if group else ()
