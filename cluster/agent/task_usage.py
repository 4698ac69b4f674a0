"""What a task or a machine uses: shares between two looks, memory by kind.

In: counters at two moments. Out: a TaskUsage or MachineUsage. Pure; who looks is `usage_sampler`.
"""

from collections.abc import Mapping, Sequence

import msgspec

from cluster.agent.drivers.driver import CgroupReading, ProcessReading, TaskReading

_PERCENT = 100.0


class CpuUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of one core, percent: 200 is two cores."""

    user: float = 0.0
    system: float = 0.0

    @property
    def percent(self) -> float:
        return self.user + self.system


class ProcessUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What one process uses."""

    cpu: CpuUsage
    rss: int = 0
    swap: int = 0


class TaskUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What one task uses, and when that was seen (ns)."""

    at: int
    cpu: CpuUsage
    rss: int = 0
    swap: int = 0
    #: None where no control group holds the task alone.
    cgroup: CgroupReading | None = None
    processes: dict[int, ProcessUsage] = {}


class CoreTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that one core has spent since the machine began."""

    user: float
    system: float
    idle: float
    every: float


def share_between(
    before: tuple[float, float], after: tuple[float, float], seconds: float
) -> CpuUsage:
    """User and system seconds at two moments as shares; what seems to run backwards is none."""
    if seconds <= 0:
        return CpuUsage()
    user, system = (
        max(0.0, later - earlier) / seconds * _PERCENT
        for earlier, later in zip(before, after, strict=True)
    )
    return CpuUsage(user=user, system=system)


def times_of(reading: TaskReading) -> tuple[float, float]:
    """User and system seconds of a whole task, by whoever counts best."""
    counted = reading.cgroup or reading
    return counted.user_s, counted.system_s


def usage_between(
    before: TaskReading | None, after: TaskReading, *, seconds: float, at: int
) -> TaskUsage:
    """The usage at the later of two readings, `seconds` apart; without one before, no shares."""
    if before is None or (before.cgroup is None) != (after.cgroup is None):
        before, seconds = after, 0.0
    group = after.cgroup
    every = after.processes.values()
    return TaskUsage(
        at=at,
        cpu=share_between(times_of(before), times_of(after), seconds),
        rss=group.rss if group else sum(each.rss for each in every),
        swap=group.swap if group else sum(each.swap for each in every),
        cgroup=group,
        processes=_processes(before.processes, after.processes, seconds),
    )


def _processes(
    before: Mapping[int, ProcessReading], after: Mapping[int, ProcessReading], seconds: float
) -> dict[int, ProcessUsage]:
    nothing = ProcessReading()
    used = {}
    for pid, now in after.items():
        then = before.get(pid, nothing)
        cpu = share_between((then.user_s, then.system_s), (now.user_s, now.system_s), seconds)
        used[pid] = ProcessUsage(cpu=cpu, rss=now.rss, swap=now.swap)
    return used


def throttled_share(before: TaskReading | None, after: TaskReading) -> float | None:
    """Percent of the periods between two readings in which the task was held back.

    None where nothing limits it, or nothing tells.
    """
    if before is None or before.cgroup is None or after.cgroup is None or not after.cgroup.periods:
        return None
    periods = after.cgroup.periods - before.cgroup.periods
    held = after.cgroup.throttled_periods - before.cgroup.throttled_periods
    return max(0.0, held / periods * _PERCENT) if periods > 0 else 0.0


def core_shares(
    before: Sequence[CoreTimes], after: Sequence[CoreTimes]
) -> list[tuple[float, float, float]]:
    """Of each core percent of user, system and idle time between two moments."""
    if len(before) != len(after):
        before = after
    shares = []
    for then, now in zip(before, after, strict=True):
        span = now.every - then.every
        shares.append(
            (
                max(0.0, now.user - then.user) / span * _PERCENT,
                max(0.0, now.system - then.system) / span * _PERCENT,
                min(_PERCENT, max(0.0, now.idle - then.idle) / span * _PERCENT),
            )
            if span > 0
            else (0.0, 0.0, _PERCENT)
        )
    return shares
