"""Whether a node has the devices a group asks for at all (placement.md 6.7).

In: a FeasibilityAsk. Out: the rows without them. Instances in use count as there; a request may be
met from several groups here, though granting needs a single one.
"""

from collections.abc import Iterator

import numpy as np

from scheduler.engine.feasibility.check import FeasibilityAsk, RefusedRows
from scheduler.engine.measure.device_match import group_matches
from scheduler.ports import PatternMatcher
from scheduler.structs.device import RequestedDevice
from scheduler.structs.node import Node


class Devices:
    """The healthy instances of a node must cover every request, first come, first served."""

    name = "devices"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """All under one reason."""
        requests = [device for task in ask.group.tasks for device in task.resources.devices]
        if not requests:
            return
        lacking = np.ones(ask.table.row_count, dtype=np.bool_)
        for row, node in enumerate(ask.table.nodes):
            if node is not None and node.node_resources.devices:
                lacking[row] = not _can_cover(node, requests, ask.matcher)
        yield RefusedRows(lacking, "missing devices")


def _can_cover(node: Node, requests: list[RequestedDevice], matcher: PatternMatcher) -> bool:
    available = [
        (group, sum(instance.healthy for instance in group.instances))
        for group in node.node_resources.devices
    ]
    for request in requests:
        wanted = request.count
        for position, (group, count) in enumerate(available):
            if wanted and count and group_matches(group, request, matcher):
                taken = min(wanted, count)
                wanted -= taken
                available[position] = (group, count - taken)
        if wanted:
            return False
    return True
