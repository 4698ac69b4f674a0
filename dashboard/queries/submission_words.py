"""What a plan comes to, in words.

In: a planned job and what it changes. Out: a strong clause and the rest.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.jobspec.diff_structs import DiffType
from cluster.operations.job_plan import PlannedJob
from dashboard.graphs.placement import PlacementView
from dashboard.wording import count_of, number
from scheduler.structs.job import Job

#: What the sentence says of each kind; "leave" is no change.
_DONE = {
    "place": gettext_noop("created"),
    "canary": gettext_noop("started as canaries beside the old version"),
    "in-place": gettext_noop("updated in place"),
    "replace": gettext_noop("replaced"),
    "stop": gettext_noop("stopped"),
    "migrate": gettext_noop("moved"),
    "preempt": gettext_noop("of other jobs stopped to make room"),
    "later": gettext_noop("replaced later"),
    "cut-off": gettext_noop("left on a disconnected node"),
    "back": gettext_noop("taken back from a node that returned"),
}


class GroupChange(msgspec.Struct, frozen=True, kw_only=True):
    """What would happen to one group."""

    name: str
    #: Kind of label and number, without zeroes.
    changes: tuple[tuple[str, int], ...]
    #: How many would find no place, and why.
    unplaced: int = 0
    why: PlacementView | None = None


def sentence(planned: PlannedJob, groups: Sequence[GroupChange], unplaced: int) -> tuple[str, str]:
    """What running it would do."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts.update(dict(group.changes))
    told = ", ".join(
        f"{number(counts[kind])} {gettext(done)}" for kind, done in _DONE.items() if counts[kind]
    )
    if unplaced:
        wanted = len(planned.placements) + unplaced
        fits = gettext("{placements} of {wanted} find a place.").format(
            placements=number(len(planned.placements)), wanted=number(wanted)
        )
        waits = gettext("{wait} until there is room; see why below.").format(
            wait=count_of(unplaced, "{count} waits", "{count} wait")
        )
        rest = f"{told[:1].upper()}{told[1:]}. {waits}" if told else waits
        return gettext("The plan does not fit: {fits}").format(fits=fits), rest
    if told:
        return gettext("The plan fits: {told}.").format(told=told), ""
    if planned.stops:
        # No group counts what goes with its node.
        ended = count_of(len(planned.stops), "{count} allocation", "{count} allocations")
        return gettext("{ended} would be given up with the node.").format(ended=ended), gettext(
            "Nothing would be started."
        )
    if planned.job_modify_index == 0:
        return gettext("Nothing would be started."), gettext("Running it only stores the job.")
    if planned.diff.type != DiffType.NONE:
        return gettext("No allocation would change."), gettext(
            "Running it stores a new version of the job."
        )
    return gettext("Nothing would change."), gettext(
        "Running it only has the job evaluated again."
    )


def sentence_of_child(job: Job, placed: int, unplaced: int) -> tuple[str, str]:
    """What a launch or dispatch would do now: the job itself runs nothing."""
    started = "dispatched" if job.is_parameterized else "launched"
    strong = gettext("Running it starts nothing until it is {started}.").format(started=started)
    wanted = placed + unplaced
    if unplaced:
        waits = gettext("{wait} until there is room; see why below.").format(
            wait=count_of(unplaced, "{count} waits", "{count} wait")
        )
        fits = gettext("{placed} of {wanted} find a place").format(
            placed=number(placed), wanted=number(wanted)
        )
        return strong, gettext("If it were {started} now, {fits}, and {waits}").format(
            started=started, fits=fits, waits=waits
        )
    return strong, gettext("If it were {started} now, {placed} would be placed.").format(
        started=started, placed=number(placed)
    )
