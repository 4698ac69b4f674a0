"""The free device instances of one node, and the granting of them (placement.md 8.6).

In: a node, the devices its allocations hold, requests one by one. Out: a grant with its affinity,
or the text of what is missing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from scheduler.engine.measure.device_match import (
    DeviceAffinity,
    affinity_of,
    group_matches,
    instance_allowed,
)
from scheduler.ports import PatternMatcher
from scheduler.state.node_use import DeviceUse
from scheduler.structs.device import DeviceGrant, DeviceGroup, RequestedDevice
from scheduler.structs.node import Node


class DeviceOffer(NamedTuple):
    """Instances that would serve a request, and how well their group suits it."""

    grant: DeviceGrant
    affinity: DeviceAffinity


class DevicesInUse:
    """Which device instances of one node are free."""

    def __init__(self, node: Node, uses: Iterable[DeviceUse] = ()) -> None:
        self._groups = node.node_resources.devices
        self._taken = {(use.vendor, use.type, use.name, use.instance_id) for use in uses}

    def grant(self, request: RequestedDevice, matcher: PatternMatcher) -> DeviceOffer | str:
        """Take instances for a request from the group that suits best, or say why none can serve.

        All instances come from one group; of equals the first listed wins.
        """
        if not self._groups:
            return "no devices available"
        if request.count == 0:
            return "invalid request of zero devices"
        best: DeviceOffer | None = None
        for group in self._groups:
            offer = self._offer(group, request, matcher)
            if offer and (best is None or offer.affinity.score > best.affinity.score):
                best = offer
        if best is None:
            return "no devices match request"
        self.take(best.grant)
        return best

    def take(self, grant: DeviceGrant) -> None:
        """Mark granted instances as taken."""
        self._taken.update(
            (grant.vendor, grant.type, grant.name, instance) for instance in grant.device_ids
        )

    def free_instances(self, group: DeviceGroup) -> tuple[str, ...]:
        """The healthy instances of a group that nobody holds, in the order listed."""
        name = (group.vendor, group.type, group.name)
        return tuple(
            instance.id
            for instance in group.instances
            if instance.healthy and (*name, instance.id) not in self._taken
        )

    def _offer(
        self, group: DeviceGroup, request: RequestedDevice, matcher: PatternMatcher
    ) -> DeviceOffer | None:
        if not group_matches(group, request, matcher):
            return None
        allowed = [
            instance_id
            for instance_id in self.free_instances(group)
            if instance_allowed(instance_id, group, request, matcher)
        ]
        if len(allowed) < request.count:
            return None
        grant = DeviceGrant(
            vendor=group.vendor,
            type=group.type,
            name=group.name,
            device_ids=tuple(allowed[: request.count]),
        )
        return DeviceOffer(grant, affinity_of(group, request, matcher))
