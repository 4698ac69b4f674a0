"""One job's page: how it stands, its groups, allocations, evaluations, versions and its text.

In: a reader and the job. Out: the context of `job.html`, in a number of reads that does not grow
with the job. Head and groups are read again for live frames; rows come from changed values.
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.operations.story_rights import levels_of
from cluster.page_addresses import job_url, job_usage_url
from cluster.store.ports import RecordReader
from dashboard.launches import dispatched_told, launch_lines, launches_told, next_told
from dashboard.queries.dispatch import Typed, dispatch_context
from dashboard.queries.job_checks import checks_url
from dashboard.queries.job_groups import VIEWS, groups_context, view_of
from dashboard.queries.job_lists import JOB_LISTS
from dashboard.queries.job_source import source_of
from dashboard.queries.job_tabs import TABS, job_tabs, list_of_job, tab_counts
from dashboard.queries.jobs import Counts, group_counts, standing_of, total
from dashboard.queries.launching import (
    children_counts,
    launch_fates,
    launches_of,
    launching_context,
    launching_topics,
)
from dashboard.queries.listings import newest_of_job
from dashboard.queries.own_text import OwnText
from dashboard.queries.rollout import acts_of, rollout_of
from dashboard.queries.scale import ScaleTyped, scale_context
from dashboard.queries.stories import seen_stories, strip_of
from dashboard.queries.terminal import task_actions
from dashboard.queries.usage import MANY
from dashboard.queries.version_authors import authors_of
from dashboard.queries.versions import versions_context
from dashboard.rights import NODE_READ
from dashboard.rollouts import of_wanted
from dashboard.subscription import Subscription, topic_text
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.why_waiting import why_it_waits
from dashboard.wording import count_of, number, one_of
from scheduler.state import nouns
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType

#: The newest, among which an allocation is looked for that runs an action.
MAX_ALLOCATIONS = 25
#: What each part of the page follows.
_TOPICS = {
    "versions": ("job", "versions"),
}


class JobWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the address of the page asks for."""

    tab: str = ""
    #: All that the address says: order, facets and expression of a part that is a list.
    query: Mapping[str, str] = {}
    #: The versions to compare, as typed.
    compared: tuple[str, str] = ("", "")
    #: As what they are shown: a word of `version_texts.VIEWS`.
    shown_as: str = ""
    #: What a form of it is told apart by, so that one that is sent twice counts once.
    token: str = ""
    #: Forms of the page as they were sent, where they were refused.
    tag_form: Mapping[str, str] | None = None
    dispatch: Typed | None = None
    scale: ScaleTyped | None = None
    #: A text to compare with the registered version; None where none is asked for.
    own_text: OwnText | None = None


def job_page(reader: RecordReader, viewer: Viewer, key: JobKey, wish: JobWish) -> dict[str, Any]:
    """The context of the page. Raises Absent."""
    job = reader.job(key) if viewer.sees(key.namespace) else None
    if job is None:
        raise Absent
    chosen = wish.tab if wish.tab in TABS else "overview"
    levels = levels_of(viewer.access)
    standing = _standing(reader, job, viewer.now)
    context = {
        "tab": chosen,
        "tabs": job_tabs(tab_counts(reader, key, levels), key, chosen),
        "crumbs": crumbs(("Jobs", "/jobs/"), (job.id, "")),
        "namespace": key.namespace,
        "usage_url": job_usage_url(key),
        "checks_url": checks_url(job),
        # So many are asked about when somebody wants to know.
        "usage_waits": standing["counts"].running > MANY,
        "may": viewer.may_in(key.namespace) | viewer.may_with_nodes & {NODE_READ},
        **standing,
        **(acts_of(reader, standing["rollout"]) if chosen == "overview" else {}),
        **(_stories(reader, key, levels) if chosen == "overview" else {}),
        **(
            list_of_job(reader, viewer, key, chosen, wish.query)
            if chosen in JOB_LISTS
            else _READ[chosen](reader, job, viewer.now, wish)
        ),
    }
    followed_kinds = _topics(chosen, job, wish.query)
    topics = [topic_text(kind, f"{key.namespace}/{key.job_id}") for kind in followed_kinds]
    followed = ",".join([*topics, *([context["list_topic"]] if chosen in JOB_LISTS else [])])
    return context | {"now": viewer.now, "live_topics": followed}


def _topics(tab: str, job: Job, query: Mapping[str, str]) -> tuple[str, ...]:
    if tab != "overview":
        return _TOPICS.get(tab, ("job",))
    groups, _ = VIEWS[view_of(query.get("groups", ""))]
    return ("job", groups, *launching_topics(job, query))


def stories_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """What was set going by it or had part in it."""
    key = _key(subscription)
    return _stories(reader, key, subscription.may)


def _stories(reader: RecordReader, key: JobKey, levels: Collection[str]) -> dict[str, Any]:
    return strip_of(reader, seen_stories(frozenset({key.namespace}), levels), job=key)


def standing_panel(
    reader: RecordReader, subscription: Subscription, now: int
) -> Mapping[str, Any]:
    """How it stands; `job` is None once it is purged."""
    job = reader.job(_key(subscription))
    return {"job": None} if job is None else _standing(reader, job, now)


def actions_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """The job itself, for its buttons; None once it is purged."""
    job = reader.job(_key(subscription))
    return {"job": job, "may": subscription.may}


def _standing(reader: RecordReader, job: Job, now: int) -> dict[str, Any]:
    counts = total(group_counts(job, reader.get(JOB_SUMMARIES, job.key)).values())
    waiting = reader.page(nouns.EVALUATIONS, newest_of_job(job.key, 1, status="blocked"))
    rollout = rollout_of(reader, job)
    next_at = 0
    if (job.is_periodic or job.is_parameterized) and not job.stop:
        strong, rest, next_at = _launching_sentence(reader, job, now)
    else:
        strong, rest = _sentence(job, counts, waiting[0] if waiting else None)
    if rollout is not None and rollout.sentence and not job.stop:
        rest = f"{rest} {rollout.sentence}".strip()
    return {
        "job": job,
        "standing": standing_of(job, counts),
        "counts": counts,
        "strong": strong,
        "rest": rest,
        "next_at": next_at,
        "parent_url": job_url(JobKey(job.namespace, job.parent_id)) if job.parent_id else "",
        "waiting": waiting[0] if waiting else None,
        "rollout": rollout,
        "author": authors_of(reader, (job,))[job.version],
        "versions_url": job_url(job.key, tab="versions"),
    }


def rollout_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """Its newest deployment; `rollout` is None where none is worth telling."""
    job = reader.job(_key(subscription))
    rollout = None if job is None else rollout_of(reader, job)
    return {
        "rollout": rollout,
        **acts_of(reader, rollout),
        "namespace": subscription.key.partition("/")[0],
        "may": subscription.may,
    }


def _launching_sentence(reader: RecordReader, job: Job, now: int) -> tuple[str, str, int]:
    """Strong clause and rest, and the instant whose distance the clause ends with, 0 for none."""
    if job.is_parameterized:
        return (*dispatched_told(children_counts(reader, job)), 0)
    kept, view = launches_of(reader, job, now)
    strong = next_told(job, view, kept.decided_to)
    rest = launches_told(launch_lines(view, launch_fates(reader, job, view)))
    return strong, rest, (view.next_due or 0)


def _sentence(job: Job, counts: Counts, waiting: Evaluation | None) -> tuple[str, str]:
    if job.stop:
        left = counts.running + counts.starting
        return (
            "Stopped.",
            gettext("{allocation} still ending.").format(
                allocation=count_of(left, "{count} allocation", "{count} allocations")
            )
            if left
            else "",
        )
    parts = []
    if job.type == JobType.SERVICE.value and counts.running > counts.wanted:
        parts.append(
            gettext("{running} more while its version changes").format(
                running=number(counts.running - counts.wanted)
            )
        )
    if counts.starting:
        parts.append(gettext("{starting} starting").format(starting=number(counts.starting)))
    if counts.failed:
        parts.append(gettext("{failed} failed so far").format(failed=number(counts.failed)))
    # What waits comes last, for its reason belongs to it alone.
    if counts.queued and waiting is not None:
        reason = why_it_waits(waiting)
        parts.append(
            gettext("{queued} waiting").format(queued=number(counts.queued))
            + (f": {reason}" if reason else "")
        )
    elif counts.queued:
        parts.append(gettext("{queued} waiting").format(queued=number(counts.queued)))
    rest = one_of(parts, "and") if parts else ""
    if job.type == JobType.BATCH.value and counts.complete:
        # Those of earlier versions are counted too.
        told = of_wanted(counts.complete, counts.wanted, "completed")
        strong = f"{told}{(gettext(' complete') if counts.complete <= counts.wanted else '')}."
    elif job.type in {JobType.SYSTEM.value, JobType.SYSBATCH.value}:
        strong = gettext("Running on {node}.").format(
            node=count_of(counts.running, "{count} node", "{count} nodes")
        )
    else:
        strong = gettext("{running} of {wanted} running.").format(
            running=number(min(counts.running, counts.wanted)), wanted=number(counts.wanted)
        )
    return strong, (rest[:1].upper() + rest[1:] + "." if rest else "")


def _overview(reader: RecordReader, job: Job, now: int, wish: JobWish) -> dict[str, Any]:
    offers = any(task.actions for group in job.task_groups for task in group.tasks)
    newest = newest_of_job(job.key, MAX_ALLOCATIONS)
    return {
        **groups_context(reader, job, view_of(wish.query.get("groups", ""))),
        **launching_context(reader, job, now, wish.query),
        **scale_context(reader, job, wish.scale),
        **dispatch_context(job, wish.dispatch),
        "dispatch_token": wish.token,
        "task_actions": task_actions(job, reader.page(nouns.ALLOCATIONS, newest))
        if offers
        else (),
    }


def _versions(reader: RecordReader, job: Job, _now: int, wish: JobWish) -> dict[str, Any]:
    return {
        **versions_context(reader, job, wish.compared, wish.shown_as),
        "tag_form": wish.tag_form,
        "own_text": wish.own_text,
    }


def _definition(reader: RecordReader, job: Job, _now: int, _wish: JobWish) -> dict[str, Any]:
    text, language, is_source = source_of(reader, job)
    return {
        "source": text,
        "source_lines": text.splitlines(),
        "language": language,
        "is_source": is_source,
    }


_READ = {"overview": _overview, "versions": _versions, "definition": _definition}


def _key(subscription: Subscription) -> JobKey:
    namespace, _, job_id = subscription.key.partition("/")
    return JobKey(namespace, job_id)
