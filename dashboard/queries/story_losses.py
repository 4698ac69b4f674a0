"""The sums of a loss on its page: how many allocations were lost, replaced and wait, and how long.

In: a reader and the story. Out: the context of `_story_losses.html`, in six reads whatever its
size. Only allocations that are kept are counted, and the panel says so.
"""

from typing import Any

from django.utils.translation import gettext, gettext_noop, ngettext
from msgspec.structs import replace

from cluster.store.ports import RecordReader
from dashboard.outcomes import OutcomeSentence
from dashboard.stories.losses import Loss, LossSums, loss_of
from dashboard.stories.places import places_of
from dashboard.stories.told import outcome_of
from dashboard.stories.whole import Whole
from dashboard.wording import count_of, number, span
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from scheduler.structs.story import StoryKind

#: Jobs and places that are told one by one.
MOST = 12
_WORDS = {
    "rack": gettext_noop("Rack"),
    "class": gettext_noop("Class"),
    "datacenter": gettext_noop("Datacenter"),
}
_PER_NODE = (JobType.SYSTEM, JobType.SYSBATCH)


def losses_context(reader: RecordReader, whole: Whole) -> dict[str, Any]:
    """Nothing of stories that are no loss, or of which nothing is kept."""
    if whole.story.kind is not StoryKind.LOSS:
        return {}
    rows = reader.story_losses(whole.story.id, whole.gathered.namespaces)
    if not rows.lost:
        return {}
    past = whole.gathered.past
    keys = {
        JobKey(each.namespace, each.job_id) for each in rows.lost if each.job_type not in _PER_NODE
    }
    wanting = {job.key for job in reader.jobs_among(keys) if not job.stop}
    places = whole.places or places_of(reader, whole.story)
    loss = loss_of(rows, places, wanting, past.index if past is not None else None)
    return {
        "loss": loss,
        "outcome": _outcome(loss, whole, is_cut=rows.is_cut),
        "loss_is_cut": rows.is_cut,
        "loss_told": _told(loss, whole, is_cut=rows.is_cut),
        "loss_jobs": loss.jobs[:MOST],
        "loss_more_jobs": max(len(loss.jobs) - MOST, 0),
        "loss_places": loss.places[:MOST],
        "loss_more_places": max(len(loss.places) - MOST, 0),
        "loss_place_word": _WORDS[places.word],
    }


def _outcome(loss: Loss, whole: Whole, *, is_cut: bool) -> OutcomeSentence:
    """What of the lost allocations has a place; the rest is told as of any other story.

    How long that took is said once: until the last had its place, not until all had ended.
    """
    sums = loss.sums
    if not sums.wanted:
        return outcome_of(whole.facts)
    told = outcome_of(replace(whole.facts, ended=0))
    strong = (
        gettext("{replaced} of the {count} oldest lost allocations have a new place.")
        if is_cut
        else ngettext(
            "{replaced} of {count} lost allocation has a new place.",
            "{replaced} of {count} lost allocations have a new place.",
            sums.wanted,
        )
    ).format(replaced=number(sums.replaced), count=number(sums.wanted))
    waits = ngettext("{count} does not, yet.", "{count} do not, yet.", sums.missing).format(
        count=number(sums.missing)
    )
    took = _took(loss, whole)
    is_told = took and not is_cut
    last = [gettext("The last had it after {time}.").format(time=took)] if is_told else []
    rest = [*([waits] if sums.missing else last), told.rest]
    return OutcomeSentence(strong=strong, rest=" ".join(filter(None, rest)))


def _told(loss: Loss, whole: Whole, *, is_cut: bool) -> dict[str, str]:
    """The small line under each sum."""
    sums, story = loss.sums, whole.story
    nodes = count_of(
        max(story.node_count, len(story.node_ids)), "on {count} node", "on {count} nodes"
    )
    return {
        "lost": _and_none(nodes, sums, is_cut=is_cut),
        "replaced": gettext("of {wanted} that need a new place").format(
            wanted=number(sums.wanted)
        ),
        "missing": _missing(sums, whole),
        "took": _took(loss, whole),
    }


def _took(loss: Loss, whole: Whole) -> str:
    """Until the last had its place; empty while one has none."""
    lasted = loss.replaced_at - whole.story.create_time
    return span(lasted) if lasted > 0 else ""


def _and_none(nodes: str, sums: LossSums, *, is_cut: bool) -> str:
    parts = [nodes]
    if is_cut:
        parts.append(gettext("more than these: the oldest are counted"))
    if sums.need_none:
        parts.append(
            count_of(sums.need_none, "{count} needs no new place", "{count} need no new place")
        )
    if sums.unknown:
        parts.append(count_of(sums.unknown, "{count} may come back", "{count} may come back"))
    return "; ".join(parts)


def _missing(sums: LossSums, whole: Whole) -> str:
    if not sums.missing:
        return gettext("each that needs a place has one")
    facts = whole.facts
    if facts.waiting and facts.lacking:
        told = ngettext("{count} waits for {what}", "{count} wait for {what}", facts.waiting)
        return told.format(count=number(facts.waiting), what=facts.lacking)
    if facts.blocked:
        return gettext("they wait for room, told below")
    if facts.running:
        return gettext("evaluations are on the way")
    return gettext("no evaluation waits with them")
