"""Evict for device instances (placement.md 10.4).

In: a request, the node's device groups with their free instances, who is on the node. Out: the
victims, all users of one group, or None.
"""

from collections.abc import Sequence
from typing import NamedTuple

from scheduler.engine.measure.device_match import group_matches
from scheduler.engine.measure.devices_in_use import DevicesInUse
from scheduler.engine.rank.victim import Candidate, by_priority
from scheduler.ports import PatternMatcher
from scheduler.structs.device import DeviceGroup, RequestedDevice


class _User(NamedTuple):
    """A candidate and how many instances of the group it holds, over all its tasks."""

    candidate: Candidate
    held: int


def evict_for_device(
    request: RequestedDevice,
    groups: Sequence[DeviceGroup],
    in_use: DevicesInUse,
    candidates: Sequence[Candidate],
    matcher: PatternMatcher,
) -> list[Candidate] | None:
    """The users whose distinct priorities add up to least; of equal groups the first listed."""
    best: tuple[int, list[Candidate]] | None = None
    for group in groups:
        if not group_matches(group, request, matcher):
            continue
        option = _option(
            request.count, len(in_use.free_instances(group)), _users(group, candidates)
        )
        if option is None:
            continue
        taken = _largest_first(request.count, option)
        rating = sum({candidate.alloc.job_priority for candidate in taken})
        if best is None or rating < best[0]:
            best = (rating, taken)
    return best[1] if best else None


def _users(group: DeviceGroup, candidates: Sequence[Candidate]) -> dict[str, _User]:
    name = (group.vendor, group.type, group.name)
    users = {}
    for candidate in candidates:
        held = [use for use in candidate.use.devices if (use.vendor, use.type, use.name) == name]
        if held:
            users[candidate.alloc.id] = _User(candidate, len(held))
    return users


def _option(wanted: int, free: int, users: dict[str, _User]) -> list[_User] | None:
    """Users by priority, as many as it takes with what is free; None when all are too few."""
    taken: list[_User] = []
    for group in by_priority(user.candidate for user in users.values()):
        for candidate in group:
            taken.append(users[candidate.alloc.id])
            if free + sum(user.held for user in taken) >= wanted:
                return taken
    return None


def _largest_first(wanted: int, users: list[_User]) -> list[Candidate]:
    """Free instances are not credited here, so that this may be all of them."""
    taken: list[Candidate] = []
    count = 0
    for user in sorted(users, key=lambda user: user.held, reverse=True):
        if count >= wanted:
            break
        taken.append(user.candidate)
        count += user.held
    return taken
