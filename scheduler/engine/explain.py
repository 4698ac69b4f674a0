"""The last word of a run on each group it tried to place: who could not take it, and what is near.

In: the newest attempt that asked for the group, and its stack. Out: a GroupExplanation. Asked once
per group when the run ends, never between two placements.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from scheduler.engine.attempt import Attempt
from scheduler.structs.explanation import GroupExplanation, RefusedNodes, Shortfall
from scheduler.structs.job import Job

_AMOUNTS = {"cpu": "{} MHz of CPU", "memory": "{} MiB of memory", "disk": "{} MiB of disk"}
#: As the pages group digits: a narrow no-break space.
_GROUPING = "\N{NARROW NO-BREAK SPACE}"


class Explainer(Protocol):
    """A stack that was asked for groups."""

    def explain(self, group_name: str) -> GroupExplanation:
        """What refuses the group on each candidate as the plan stands."""


class Asked(NamedTuple):
    """An attempt that asked its stack for a group."""

    attempt: Attempt
    stack: Explainer


def explained(group_name: str, asked: Asked) -> GroupExplanation:
    """The stack's findings, with the newest decision's scores and what the attempt left open."""
    attempt, found = asked.attempt, asked.stack.explain(group_name)
    failure = attempt.failed.get(group_name)
    return replace(
        found,
        best=attempt.decisions[group_name].score_meta_data,
        failed=0 if failure is None else 1 + failure.coalesced_failures,
        nearest_miss="" if failure is None else nearest_miss(found, attempt.job),
    )


def nearest_miss(found: GroupExplanation, job: Job | None) -> str:
    """What failed nodes lack, or else the quota, as a sentence without a full stop."""
    if found.quota_exhausted:
        return f"quota: {'; '.join(found.quota_exhausted)}"
    if not found.candidates and job is not None:
        where = "" if "*" in job.datacenters else f" in {', '.join(job.datacenters)}"
        return f"no node of pool {job.node_pool} is ready{where}"
    return "; ".join([*map(_lack, _nearest_first(found.exhausted)), *map(_refusal, found.refused)])


def _nearest_first(shortfalls: Sequence[Shortfall]) -> list[Shortfall]:
    return sorted(shortfalls, key=lambda item: (item.least_missing == 0, -item.count))


def _lack(shortfall: Shortfall) -> str:
    verb = "lacks" if shortfall.count == 1 else "lack"
    if shortfall.dimension not in _AMOUNTS or not shortfall.missing:
        return f"{_nodes(shortfall.count)} {verb} room: {shortfall.dimension}"
    amount = _AMOUNTS[shortfall.dimension].format(_number(shortfall.least_missing))
    is_same = len(shortfall.missing) == shortfall.count and len(set(shortfall.missing)) == 1
    return f"{_nodes(shortfall.count)} {verb} {amount}{'' if is_same else ' or more'}"


def _refusal(refused: RefusedNodes) -> str:
    if not refused.reason.startswith("${"):
        return f"{_nodes(refused.count)}: {refused.reason}"
    verb = "fails" if refused.count == 1 else "fail"
    return f"{_nodes(refused.count)} {verb} {refused.reason.rstrip()}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{_number(count)} nodes"


def _number(value: int) -> str:
    return f"{value:,}".replace(",", _GROUPING)
