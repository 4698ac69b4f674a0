"""Why work found no place, as a clause: a quota, what the nearest node lacks, what nodes refuse.

In: an evaluation, or what its run measured by group. Out: words without their end.
"""

from collections import Counter
from collections.abc import Iterable

from django.utils.translation import gettext, ngettext

from dashboard.wording import (
    amount,
    count_of,
    dimension_word,
    filter_word,
    is_by_neighbours,
    is_constraint,
    number,
    obstacle_word,
    one_of,
)
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import AskedAmounts, NearestNode


def why_it_waits(evaluation: Evaluation) -> str:
    """Why it found no place: by a limit, by what the nearest node lacks, else by what most do."""
    metrics = evaluation.failed_task_groups.values()
    if evaluation.nearest and not any(metric.quota_exhausted for metric in metrics):
        return _nearest_told(min(evaluation.nearest.items(), key=_by_what_it_lacks)[1])
    return why_waiting(metrics)


def _by_what_it_lacks(item: tuple[str, NearestNode]) -> tuple[int, str]:
    name, found = item
    return len(_amounts(found.lacks)), name


def _amounts(lacks: AskedAmounts) -> list[str]:
    return [
        template.format(amount=amount(value, unit))
        for value, unit, template in (
            (lacks.memory_mb, "MiB", gettext("{amount} of memory")),
            (lacks.cpu, "MHz", gettext("{amount} of CPU")),
            (lacks.disk_mb, "MiB", gettext("{amount} of disk")),
        )
        if value
    ]


def _nearest_told(found: NearestNode) -> str:
    """`the nearest of 9 nodes lacks 312 MiB of memory and 100 MHz of CPU`."""
    lacks = one_of(_amounts(found.lacks), "and")
    if found.count == 1:
        return gettext("the nearest node lacks {lacks}").format(lacks=lacks)
    return gettext("the nearest of {nodes} lacks {lacks}").format(
        nodes=count_of(found.count, "{count} node", "{count} nodes"), lacks=lacks
    )


def _with_neighbours(filtered: Counter[str]) -> list[str]:
    """What comes nearest to room: nodes that only others of the same job keep it from.

    They are taken out of `filtered`, whose nodes could never run it.
    """
    count = sum(filtered.pop(name) for name in [*filtered] if is_by_neighbours(name))
    if not count:
        return []
    told = ngettext(
        "{count} node already runs one of it", "{count} nodes already run one of it", count
    )
    return [told.format(count=number(count))]


def _filtered_told(name: str, count: int) -> str:
    if is_constraint(name):
        told = ngettext(
            "{count} node is filtered, for {asked}",
            "{count} nodes are filtered, for {asked}",
            count,
        )
        return told.format(count=number(count), asked=obstacle_word(name))
    told = ngettext(
        "{count} node is filtered by {check}", "{count} nodes are filtered by {check}", count
    )
    return told.format(count=number(count), check=filter_word(name))


def why_waiting(metrics: Iterable[AllocMetric]) -> str:
    """Why groups found no place: `memory is exhausted on 9 nodes and 3 nodes are filtered ...`."""
    exhausted: Counter[str] = Counter()
    filtered: Counter[str] = Counter()
    over: dict[str, None] = {}
    evaluated: int | None = None
    for metric in metrics:
        exhausted.update(metric.dimension_exhausted)
        filtered.update(metric.constraint_filtered)
        evaluated = (evaluated or 0) + metric.nodes_evaluated
        over |= dict.fromkeys(metric.quota_exhausted)
    parts = [gettext("the quota is reached: {quota}").format(quota=text) for text in over]
    if exhausted:
        name, count = exhausted.most_common(1)[0]
        told = ngettext(
            "{dimension} is exhausted on {count} node",
            "{dimension} is exhausted on {count} nodes",
            count,
        )
        parts.append(told.format(dimension=dimension_word(name), count=number(count)))
    parts += _with_neighbours(filtered)
    if filtered:
        parts.append(_filtered_told(*filtered.most_common(1)[0]))
    if not parts and evaluated == 0:
        return gettext("no node is ready for it")
    return one_of(parts, "and") if parts else ""
