"""Whether the canaries of a rollout are as good as what runs beside them.

In: the record, what agents told of each allocation. Out: the context of `compared.html` and of the
panel within the rollout's page: a row for each group and measure; what is not known is said.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import msgspec
from django.utils.translation import gettext, ngettext

from cluster.operations.comparing import EachTold
from cluster.store.ports import RecordReader
from dashboard.queries.checks import answered_checks
from dashboard.queries.left_out import missing_told
from dashboard.queries.usage_figures import bytes_told, mhz_told
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import number
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import Deployment

#: Of the job, read to find those that are compared.
MOST_OPEN = 2000
_MIB = 1 << 20
#: Less than this share apart is told as the same.
_SAME = 0.01


class Cohort(NamedTuple):
    """The allocations of one group that are compared, all of which run."""

    group: str
    old: Sequence[Allocation]
    canaries: Sequence[Allocation]


class ComparedMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One measure in one group."""

    group: str
    name: str
    old: str
    new: str
    told: str
    #: A key of tones where somebody should look.
    tone: str = ""


class _Figures(NamedTuple):
    """One measure of two sides; None where it is not known."""

    old: float | None
    new: float | None


def compared_url(deployment: Deployment | None) -> str:
    """Where its canaries are compared; empty where there are none to judge."""
    if deployment is None or not deployment.is_active or not _unpromoted(deployment):
        return ""
    return f"/deployments/{deployment.id}/compared/"


def compared_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """Whether there is anything to compare."""
    return {"compared_url": compared_url(reader.deployment(subscription.key))}


def _unpromoted(deployment: Deployment) -> dict[str, Collection[str]]:
    """By group, the canaries that nobody has promoted."""
    return {
        name: state.placed_canaries
        for name, state in deployment.task_groups.items()
        if state.desired_canaries and not state.promoted and state.placed_canaries
    }


def cohorts_of(reader: RecordReader, deployment: Deployment) -> list[Cohort]:
    """Of each group with canaries to judge, these and what runs of earlier versions."""
    wanted = _unpromoted(deployment)
    if not wanted or not deployment.is_active:
        return []
    runs = [
        alloc
        for alloc in reader.open_allocations(deployment.job_key, MOST_OPEN)
        if alloc.client_status is ClientStatus.RUNNING and not alloc.is_server_terminal
    ]
    return [
        Cohort(
            group=name,
            old=[
                alloc
                for alloc in runs
                if alloc.task_group == name and alloc.deployment_id != deployment.id
            ],
            canaries=[alloc for alloc in runs if alloc.id in ids],
        )
        for name, ids in sorted(wanted.items())
    ]


def all_compared(cohorts: Sequence[Cohort]) -> list[Allocation]:
    """All of them, canaries first: they are never left out."""
    canaries = [alloc for cohort in cohorts for alloc in cohort.canaries]
    return canaries + [alloc for cohort in cohorts for alloc in cohort.old]


def compared_page(
    reader: RecordReader, viewer: Viewer, deployment_id: str, told: EachTold
) -> dict[str, Any]:
    """The page of the comparison. Raises Absent."""
    deployment = reader.deployment(deployment_id)
    if deployment is None or not viewer.sees(deployment.namespace):
        raise Absent
    cohorts = cohorts_of(reader, deployment)
    name = f"{deployment.job_id} v{deployment.job_version}"
    lines = [line for cohort in cohorts for line in _lines(cohort, told)]
    address = f"/deployments/{deployment.id}/"
    old = [alloc for cohort in cohorts for alloc in cohort.old]
    canaries = [alloc for cohort in cohorts for alloc in cohort.canaries]
    why_none = _why_none(old, canaries)
    return {
        "title": gettext("Canaries of {rollout}").format(rollout=name),
        "crumbs": crumbs(("Deployments", "/deployments/"), (name, address), ("canaries", "")),
        "namespace": deployment.namespace,
        "address": f"{address}compared/",
        "lines": () if why_none else lines,
        "why_none": why_none,
        "old_told": _side(old, gettext("earlier versions")),
        "new_told": _side(canaries, f"v{deployment.job_version}"),
        "told": "" if why_none else _sentence(cohorts, told),
        "warnings": missing_told(reader, told, told.unmeasured),
        "has_groups": len(cohorts) > 1,
    }


def _side(allocs: Sequence[Allocation], otherwise: str) -> str:
    """`v41, 100`: which version, and how many of it run."""
    versions = {alloc.job_version for alloc in allocs}
    name = f"v{next(iter(versions))}" if len(versions) == 1 else otherwise
    return f"{name}, {number(len(allocs))}"


def _why_none(old: Sequence[Allocation], canaries: Sequence[Allocation]) -> str:
    if not canaries:
        return gettext("No canary runs that is not promoted: there is nothing to compare.")
    if not old:
        return gettext("Nothing of an earlier version runs to compare them with.")
    return ""


def _lines(cohort: Cohort, told: EachTold) -> list[ComparedMeasure]:
    if not cohort.old or not cohort.canaries:
        return []
    return [*_failing(cohort, told), _restarts(cohort), _cpu(cohort, told), _memory(cohort, told)]


def _failing(cohort: Cohort, told: EachTold) -> list[ComparedMeasure]:
    """Checks, not allocations: each may ask for several. No line where none was begun."""
    found = _both(cohort, lambda alloc: _failing_of(alloc, told), sum)
    if found.old is None and found.new is None:
        return []
    if found.old is None or found.new is None:
        difference = gettext("not known")
    elif not found.new:
        difference = gettext("none on a canary") if found.old else gettext("none")
    else:
        difference = gettext("on both") if found.old else gettext("on canaries alone")
    line = ComparedMeasure(
        group=cohort.group, name=gettext("Checks that fail now"), old=_count(found.old),
        new=_count(found.new), told=difference, tone="failed" if found.new else "",
    )  # fmt: skip
    return [line]


def _failing_of(alloc: Allocation, told: EachTold) -> float | None:
    """How many fail in it; None where none was begun, or its node did not tell."""
    lines = answered_checks(told.checks.get(alloc.id))
    return sum(line.status == "failure" for line in lines) if lines else None


def _restarts(cohort: Cohort) -> ComparedMeasure:
    old, new = (sum(map(_restarts_of, side)) for side in (cohort.old, cohort.canaries))
    before, now = old / len(cohort.old), new / len(cohort.canaries)
    if not new:
        difference = gettext("none of a canary") if old else gettext("none")
    elif now == before:
        difference = gettext("as many for each")
    else:
        difference = gettext("more for each") if now > before else gettext("fewer for each")
    return ComparedMeasure(
        group=cohort.group, name=gettext("Restarts"),
        old=_of(old, cohort.old), new=_of(new, cohort.canaries), told=difference,
        tone="failed" if now > before else "",
    )  # fmt: skip


def _restarts_of(alloc: Allocation) -> int:
    return sum(state.restarts for state in alloc.task_states.values())


def _of(count: int, allocs: Sequence[Allocation]) -> str:
    return gettext("{count} in {allocs}").format(count=number(count), allocs=number(len(allocs)))


def _cpu(cohort: Cohort, told: EachTold) -> ComparedMeasure:
    def of(alloc: Allocation) -> float | None:
        used = told.used.get(alloc.id)
        return used.cpu_ticks if used is not None else None

    found = _both(cohort, of, median)
    return ComparedMeasure(
        group=cohort.group, name=gettext("CPU, median"), old=_known(found.old, mhz_told),
        new=_known(found.new, mhz_told), told=_apart(found),
    )  # fmt: skip


def _memory(cohort: Cohort, told: EachTold) -> ComparedMeasure:
    found = _memory_of(cohort, told)
    most = min(map(_most_memory, cohort.canaries))
    parts = [_apart(found)]
    if most and found.new is not None:
        parts.append(gettext("at most {size} allowed").format(size=bytes_told(most)))
    return ComparedMeasure(
        group=cohort.group, name=gettext("Memory, highest"), old=_known(found.old, bytes_told),
        new=_known(found.new, bytes_told), told="; ".join(parts),
        tone="failed" if most and found.new is not None and found.new > 0.95 * most else "",
    )  # fmt: skip


def _memory_of(cohort: Cohort, told: EachTold) -> _Figures:
    def of(alloc: Allocation) -> float | None:
        used = told.used.get(alloc.id)
        return float(used.memory_bytes) if used is not None else None

    return _both(cohort, of, max)


def _both(
    cohort: Cohort,
    of: Callable[[Allocation], float | None],
    joined: Callable[[list[float]], float],
) -> _Figures:
    """One measure of both sides, of those of which it is known."""
    sides = (
        [value for alloc in side if (value := of(alloc)) is not None]
        for side in (cohort.old, cohort.canaries)
    )
    return _Figures(*(joined(side) if side else None for side in sides))


def _most_memory(alloc: Allocation) -> int:
    """Bytes that its tasks together may take."""
    held = alloc.allocated_resources.tasks.values()
    return sum(max(each.memory.memory_mb, each.memory.memory_max_mb) for each in held) * _MIB


def _apart(found: _Figures) -> str:
    if found.old is None or found.new is None:
        return gettext("not known")
    if not found.old:
        return gettext("the same") if not found.new else gettext("more")
    share = found.new / found.old - 1
    if abs(share) < _SAME:
        return gettext("the same")
    told = gettext("{percent} % more") if share > 0 else gettext("{percent} % less")
    return told.format(percent=number(round(abs(share) * 100)))


def _known(value: float | None, told: Callable[[float], str]) -> str:
    return gettext("not known") if value is None else told(value)


def _count(value: float | None) -> str:
    return _known(value, lambda count: number(int(count)))


def _sentence(cohorts: Sequence[Cohort], told: EachTold) -> str:
    """`no check fails on a canary; 11 % more memory, 65 MiB below what is allowed`."""
    parts = [_checks_told(cohorts, told)] if told.checks else []
    memory = [(cohort, _memory_of(cohort, told)) for cohort in cohorts if cohort.old]
    known = [(cohort, found) for cohort, found in memory if found.new and found.old]
    if not known:
        return "; ".join([*parts, gettext("what they use is not known")])
    # The group whose canaries came nearest to their limit stands for all.
    cohort, found = max(known, key=lambda pair: _share_of_limit(*pair))
    apart = _apart(found)
    memory_told = gettext("{apart} memory").format(apart=apart)
    most = min(map(_most_memory, cohort.canaries))
    if most and found.new is not None:
        near = gettext("{size} above what is allowed")
        if found.new <= most:
            near = gettext("{size} below what is allowed")
        memory_told = f"{memory_told}, {near.format(size=bytes_told(abs(most - found.new)))}"
    if len(cohorts) > 1:
        memory_told = gettext("{group}: {told}").format(group=cohort.group, told=memory_told)
    return "; ".join([*parts, memory_told])


def _share_of_limit(cohort: Cohort, found: _Figures) -> float:
    most = min(map(_most_memory, cohort.canaries), default=0)
    return (found.new or 0.0) / most if most else 0.0


def _checks_told(cohorts: Sequence[Cohort], told: EachTold) -> str:
    canaries = [alloc for cohort in cohorts for alloc in cohort.canaries]
    known = [count for alloc in canaries if (count := _failing_of(alloc, told)) is not None]
    if not known:
        return gettext("what their checks found is not known")
    failing = round(sum(known))
    if not failing:
        return gettext("no check fails on a canary")
    return ngettext(
        "{count} check fails on a canary", "{count} checks fail on canaries", failing
    ).format(count=number(failing))
