"""Does a device group of a node satisfy a request (placement.md 6.7)?

In: one group of devices, one request. Out: whether name and constraints match, and how well its
affinities do. Which instances are free is not looked at.
"""

from typing import NamedTuple

from scheduler.engine.measure.device_values import compare_values, parse_value
from scheduler.ports import PatternMatcher
from scheduler.structs.constraint import Affinity, Constraint
from scheduler.structs.device import DeviceAttribute, DeviceGroup, RequestedDevice

_IDS = "${device.ids}"
_ATTRIBUTE = "${device.attr."


class DeviceAffinity(NamedTuple):
    """How well a group suits: the weights that matched, of all weights without their sign."""

    matched: float
    total: float

    @property
    def score(self) -> float:
        """Between -1 and 1; 0 without affinities."""
        return self.matched / self.total if self.total else 0.0


def group_matches(group: DeviceGroup, request: RequestedDevice, matcher: PatternMatcher) -> bool:
    """Whether the group has the request's name and satisfies all its constraints."""
    return name_matches(group, request.name) and all(
        _holds(constraint, group, matcher) for constraint in request.constraints
    )


def name_matches(group: DeviceGroup, name: str) -> bool:
    """Whether `type`, `vendor/type` or `vendor/type/name` names the group."""
    parts = name.split("/", 2)
    if len(parts) == 1:
        return group.type == parts[0]
    given = (group.vendor, group.type, group.name)
    return list(given[: len(parts)]) == parts


def affinity_of(
    group: DeviceGroup, request: RequestedDevice, matcher: PatternMatcher
) -> DeviceAffinity:
    """The request's affinities on the group."""
    matched = sum(
        float(affinity.weight)
        for affinity in request.affinities
        if _holds(affinity, group, matcher)
    )
    total = sum(abs(float(affinity.weight)) for affinity in request.affinities)
    return DeviceAffinity(matched, total)


def instance_allowed(
    instance_id: str, group: DeviceGroup, request: RequestedDevice, matcher: PatternMatcher
) -> bool:
    """Whether one instance satisfies the constraints on `${device.ids}`, which it has to alone."""
    single = DeviceAttribute(string=instance_id)
    for constraint in request.constraints:
        if constraint.l_target == _IDS:
            other = resolve_device_target(constraint.r_target, group)
        elif constraint.r_target == _IDS:
            other = resolve_device_target(constraint.l_target, group)
        else:
            continue
        if not compare_values(constraint.operand, other, single, matcher):
            return False
    return True


def resolve_device_target(target: str, group: DeviceGroup) -> DeviceAttribute | None:
    """The typed value of a literal or a `${device...}` target; None when the group has none."""
    if not target.startswith("${"):
        return parse_value(target)
    if target.startswith(_ATTRIBUTE):
        return group.attributes.get(target[len(_ATTRIBUTE) :].removesuffix("}"))
    texts = {
        _IDS: ",".join(instance.id for instance in group.instances),
        "${device.model}": group.name,
        "${device.vendor}": group.vendor,
        "${device.type}": group.type,
    }
    return DeviceAttribute(string=texts[target]) if target in texts else None


def _holds(comparison: Constraint | Affinity, group: DeviceGroup, matcher: PatternMatcher) -> bool:
    return compare_values(
        comparison.operand,
        resolve_device_target(comparison.l_target, group),
        resolve_device_target(comparison.r_target, group),
        matcher,
    )
