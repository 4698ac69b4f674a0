"""Why an evaluation waits, in words.

In: an evaluation and where it stands. Out: a row of the waiting room, and
equal rows as one.
"""

from collections.abc import Iterable

import msgspec
from django.utils.translation import gettext

from dashboard.why_waiting import why_it_waits
from dashboard.wording import clock_time, count_of, short_id
from dashboard.work_words import trigger_told
from scheduler.structs.evaluation import Evaluation

_LEAST_FOLDED = 3


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation in the waiting room, with its reason in words."""

    evaluation: Evaluation
    state: str
    strong: str
    reason: str
    #: Others that wait the same way, told in the same line.
    others: tuple["Waiting", ...] = ()

    @property
    def together(self) -> tuple["Waiting", ...]:
        """All of its line."""
        return (self, *self.others)

    @property
    def at(self) -> int:
        """Since when it waits, or until when where that is known."""
        return self.evaluation.wait_until or self.evaluation.create_time


def folded(waiting: Iterable[Waiting]) -> list[Waiting]:
    """Those that wait in the same words in one line, at the place of the first of them.

    Fewer than three keep a line each.
    """
    alike: dict[tuple[str, str, str], list[Waiting]] = {}
    for item in waiting:
        alike.setdefault((item.state, item.strong, item.reason), []).append(item)
    lines = []
    for first, *others in alike.values():
        if len(others) + 1 < _LEAST_FOLDED:
            lines += [first, *others]
        else:
            lines.append(msgspec.structs.replace(first, others=tuple(others)))
    return sorted(lines, key=lambda item: (item.evaluation.create_time, item.evaluation.id))


def waiting_of(item: Evaluation, known: str, other: str) -> Waiting:
    """`known`: the state of its newest step; `other`: the one of its job that is at work."""
    state = known or item.status.value
    if item.should_block:
        reason = why_it_waits(item)
        missing = sum(metric.coalesced_failures + 1 for metric in item.failed_task_groups.values())
        strong = count_of(missing, "{count} allocation waits", "{count} allocations wait")
        return Waiting(evaluation=item, state="blocked", strong=strong, reason=reason)
    strong = trigger_told(item.triggered_by) or item.triggered_by
    if item.wait_until or state == "delayed":
        until = gettext("delayed")
        if item.wait_until:
            until = gettext("waits until {time}").format(time=clock_time(item.wait_until))
        return Waiting(evaluation=item, state="delayed", strong=until, reason=strong)
    if other:
        told = gettext("waits for its own job: {other} is at work")
        reason = told.format(other=short_id(other))
    else:
        reason = gettext("queued at priority {priority}").format(priority=item.priority)
    return Waiting(evaluation=item, state=state, strong=strong, reason=reason)
