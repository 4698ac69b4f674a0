"""Rollouts: those under way, ranked; the rows of those that have ended.

In: a reader, namespaces. Out: contexts of `deployments.html`. Those under way are read whole to be
ranked, up to `MAX_ACTIVE`; the rest is counted.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import Listing, RecordReader
from dashboard.queries.list_wish import narrowed, space_of
from dashboard.queries.rollout_origins import Origin, origins_of
from dashboard.rollout_words import (
    ended_told,
    list_sentence,
    rank_of,
    standing_of,
    standing_word,
    where_told,
)
from dashboard.rollouts import RolloutProgress, progress_of
from dashboard.subscription import Subscription
from dashboard.viewer import Viewer
from dashboard.why_waiting import why_it_waits
from dashboard.wording import count_of
from scheduler.state import nouns
from scheduler.structs.deployment import DEPLOYMENT_ACTIVE, Deployment, DeploymentStatus
from scheduler.structs.evaluation import Evaluation

PAGE_SIZE = 25
#: Rollouts under way that are ranked, and those of them that are shown.
MAX_ACTIVE, MAX_SHOWN = 500, 50
ACTIVE = tuple(sorted(status.value for status in DEPLOYMENT_ACTIVE))
#: What the list of ended ones can be narrowed to, with the word for people.
ENDED = {"successful": "successful", "failed": "failed", "cancelled": "canceled"}
_ID = re.compile(r"[0-9a-f]{4}[0-9a-f-]{0,32}")
#: Ids are told by their first eight digits; fewer may well be the name of a job.
_SHORTEST_ID = 8


class RolloutLine(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout that is under way."""

    progress: RolloutProgress
    standing: str
    word: str
    told: str
    tone: str
    #: What its button says: look at what needs somebody, open what does not.
    action: str
    origin: Origin
    #: The evaluation that waits for room, where this is what holds it up.
    blocked: Evaluation | None = None


class EndedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout that has ended."""

    deployment: Deployment
    told: str
    took: int
    origin: Origin


class OfJobLine(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout of a job, under way or ended."""

    deployment: Deployment
    standing: str
    word: str
    told: str
    #: 0 while it lasts.
    took: int
    origin: Origin


def running_page(reader: RecordReader, viewer: Viewer, namespace: str) -> dict[str, Any]:
    """Of the page, what is under way in a namespace; "" for all that may be seen."""
    return _running(reader, narrowed(viewer.namespaces, namespace), viewer.now)


def running_panel(reader: RecordReader, subscription: Subscription, now: int) -> Mapping[str, Any]:
    """What is under way, ranked anew."""
    space = space_of(subscription.key)
    return _running(reader, narrowed(subscription.namespaces, space), now)


def active_rollouts(reader: RecordReader, namespaces: frozenset[str] | None) -> list[Deployment]:
    """The newest of those under way, one more than are ranked if there are more."""
    listing = Listing(
        namespaces=namespaces, among={"status": ACTIVE}, limit=MAX_ACTIVE, reverse=True
    )
    return reader.page(nouns.DEPLOYMENTS, listing)


def _running(reader: RecordReader, namespaces: frozenset[str] | None, now: int) -> dict[str, Any]:
    active = [progress_of(each) for each in active_rollouts(reader, namespaces)]
    has_more = len(active) > MAX_ACTIVE
    active = active[:MAX_ACTIVE]
    waiting = reader.blocked_among({item.deployment.job_key for item in active}) if active else {}
    standings = [
        (standing_of(item, now, is_blocked=item.deployment.job_key in waiting), item)
        for item in active
    ]
    standings.sort(key=lambda pair: rank_of(pair[0]))
    shown = standings[:MAX_SHOWN]
    origins = origins_of(reader, [item.deployment for _, item in shown])
    strong, rest = list_sentence(standings)
    return {
        "running": [
            _line(word, item, origins[item.deployment.id], waiting.get(item.deployment.job_key))
            for word, item in shown
        ],
        "running_count": len(standings),
        "has_more_running": has_more,
        "hidden_running": max(len(standings) - MAX_SHOWN, 0),
        "strong": gettext("More than {rollout} are under way").format(
            rollout=count_of(MAX_ACTIVE, "{count} rollout", "{count} rollouts")
        )
        if has_more
        else strong,
        "rest": gettext(". Of the newest, {strong}{strong2}{rest}").format(
            strong=strong[:1].lower(), strong2=strong[1:], rest=rest
        )
        if has_more
        else rest,
    }


def _line(
    standing: str, progress: RolloutProgress, origin: Origin, blocked: Evaluation | None
) -> RolloutLine:
    tones = {
        "stuck": "failed", "unhealthy": "failed", "canary": "canary", "paused": "paused",
        "waits": "blocked",
    }  # fmt: skip
    actions = {
        "canary": "Review",
        "stuck": "Look",
        "unhealthy": "Look",
        "waits": gettext("See why"),
    }
    return RolloutLine(
        progress=progress,
        standing=standing,
        word=standing_word(standing),
        told=where_told(progress, standing, why_it_waits(blocked) if blocked is not None else ""),
        blocked=blocked if standing == "waits" else None,
        tone=tones.get(standing, "running"),
        action=actions.get(standing, "Open"),
        origin=origin,
    )


def found_by(text: str) -> dict[str, Any]:
    """What of a Listing a text asks for: a job's whole id, or the beginning of a rollout's."""
    is_id = len(text) >= _SHORTEST_ID and _ID.fullmatch(text.lower())
    return {"prefix": text.lower()} if is_id else {"equals": {"job_id": text}}


def ended_lines(reader: RecordReader, found: Sequence[Deployment]) -> list[EndedLine]:
    """What the rows of those that have ended say."""
    origins = origins_of(reader, found)
    return [
        EndedLine(
            deployment=each,
            told=ended_told(progress_of(each)),
            took=max(each.modify_time - each.create_time, 0),
            origin=origins[each.id],
        )
        for each in found
    ]


def job_lines(reader: RecordReader, found: Sequence[Deployment]) -> list[OfJobLine]:
    """What the rows of a job's rollouts say; that one is stuck is said where its deadline is."""
    origins = origins_of(reader, found)
    return [_of_job_line(progress_of(each), origins[each.id]) for each in found]


def _of_job_line(progress: RolloutProgress, origin: Origin) -> OfJobLine:
    deployment = progress.deployment
    standing = standing_of(progress, 0)
    has_ended = deployment.status.value in ENDED
    return OfJobLine(
        deployment=deployment,
        standing=standing,
        word=standing_word(standing),
        told=ended_told(progress) if has_ended else where_told(progress, standing),
        took=max(deployment.modify_time - deployment.create_time, 0) if has_ended else 0,
        origin=origin,
    )


assert set(ENDED) == {status.value for status in DeploymentStatus} - set(ACTIVE)
