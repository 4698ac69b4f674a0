"""What a rollout's allocations have said of their health, kept as they say it.

In: every allocation of one deployment as it changes. Out: the newest good news, who lives and is
healthy, who is not. A rollout of thousands is looked at after each report, so a look must not
cost a reading of all of them; who acts on it is not known here.
"""

import msgspec

from scheduler.structs.allocation import Allocation


class DeploymentTally(msgspec.Struct):
    """The health of one deployment's allocations."""

    #: The newest index at which one of them became healthy; it is never taken back.
    newest_healthy_index: int = 0
    #: Unhealthy ones by id, whether they still run or not.
    unhealthy: dict[str, Allocation] = msgspec.field(default_factory=dict)
    #: Group to the ids of those that are healthy and not terminal.
    _living: dict[str, set[str]] = msgspec.field(default_factory=dict)

    def take(self, alloc: Allocation, *, deleted: bool = False) -> bool:
        """Take in an allocation as it stands now; whether it has to do with health at all."""
        living = self._living.setdefault(alloc.task_group, set())
        was_known = self.unhealthy.pop(alloc.id, None) is not None or alloc.id in living
        living.discard(alloc.id)
        health = alloc.deployment_status
        if deleted or health is None or health.healthy is None:
            return was_known
        if not health.healthy:
            self.unhealthy[alloc.id] = alloc
        else:
            self.newest_healthy_index = max(self.newest_healthy_index, health.modify_index)
            if not alloc.is_terminal:
                living.add(alloc.id)
        return True

    @property
    def has_judged(self) -> bool:
        """Whether any allocation has been healthy or is unhealthy."""
        return bool(self.newest_healthy_index or self.unhealthy)

    def healthy_count(self, group: str) -> int:
        """How many of a group are healthy and not terminal."""
        return len(self._living.get(group, ()))
