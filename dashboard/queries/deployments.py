"""The list of rollouts: what is under way, ranked; below it what has ended, newest first, a page.

In: a reader and a RolloutFilter. Out: the context of `deployments.html`, in six reads whatever
their number. Those under way are read whole to be ranked, up to `MAX_ACTIVE`; the rest is counted.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from cluster.jobspec.names import LONGEST_NAME
from cluster.store.ports import Listing, RecordReader
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
from dashboard.wording import count_of
from scheduler.state import nouns
from scheduler.structs.deployment import DEPLOYMENT_ACTIVE, Deployment, DeploymentStatus

PAGE_SIZE = 25
#: Rollouts under way that are ranked, and those of them that are shown.
MAX_ACTIVE, MAX_SHOWN = 500, 50
ACTIVE = tuple(sorted(status.value for status in DEPLOYMENT_ACTIVE))
#: What the list of ended ones can be narrowed to, with the word for people.
ENDED = {"successful": "successful", "failed": "failed", "cancelled": "canceled"}
_ID = re.compile(r"[0-9a-f]{4}[0-9a-f-]{0,32}")


class RolloutFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; "" means any."""

    #: A job's whole id, or the beginning of a deployment's.
    q: str = ""
    status: str = ""
    namespace: str = ""
    #: `<create index>.<id>` of the first ended one.
    after: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "RolloutFilter":
        """From the address; a status that does not exist is as good as none."""
        status = query.get("status", "")
        return cls(
            q=query.get("q", "").strip()[:LONGEST_NAME],
            status=status if status in ENDED else "",
            namespace=query.get("namespace", "")[:200],
            after=query.get("after", "")[:80],
        )

    @property
    def narrows(self) -> bool:
        """Whether ended ones are left out."""
        return bool(self.q or self.status or self.namespace)

    def address(self, **changes: str) -> str:
        """The list's address with these fields changed, from its first page on."""
        fields = {**msgspec.structs.asdict(self), "after": "", **changes}
        asked = urlencode({key: value for key, value in fields.items() if value})
        return f"/deployments/?{asked}" if asked else "/deployments/"

    def cursor(self) -> tuple[int, str] | tuple[()]:
        """Where the page begins."""
        index, _, deployment_id = self.after.partition(".")
        return (int(index), deployment_id) if index.isdecimal() and len(index) < 19 else ()


class RolloutLine(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout that is under way."""

    progress: RolloutProgress
    standing: str
    word: str
    told: str
    tone: str
    #: What its button says: look at what needs somebody, open what does not.
    action: str


class EndedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout that has ended."""

    deployment: Deployment
    told: str
    took: int


def deployments_page(
    reader: RecordReader, viewer: Viewer, *, wanted: RolloutFilter
) -> dict[str, Any]:
    """The context of the page."""
    namespaces = _narrowed(viewer.namespaces, wanted.namespace)
    is_first = not (wanted.after or wanted.narrows)
    return {
        **_running(reader, namespaces, viewer.now),
        **_ended(reader, namespaces, wanted),
        # Rows of a later or narrowed page are not exchanged for the newest ones.
        "ended_id": "deployments-ended" if is_first else "deployments-found",
        "live_topics": f"deployments:{wanted.namespace or '*'}",
        "statuses": ENDED,
    }


def running_panel(reader: RecordReader, subscription: Subscription, now: int) -> Mapping[str, Any]:
    """What is under way, ranked anew."""
    return _running(reader, subscription.namespaces, now)


def ended_panel(reader: RecordReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """The newest of those that have ended."""
    ended = _ended(reader, subscription.namespaces, RolloutFilter())
    return {**ended, "id": "deployments-ended", "statuses": ENDED}


def _narrowed(namespaces: frozenset[str] | None, asked: str) -> frozenset[str] | None:
    if not asked:
        return namespaces
    return frozenset({asked}) if namespaces is None or asked in namespaces else frozenset()


def active_rollouts(reader: RecordReader, namespaces: frozenset[str] | None) -> list[Deployment]:
    """The newest of those under way, one more than are ranked if there are more."""
    listing = Listing(
        namespaces=namespaces, among={"status": ACTIVE}, limit=MAX_ACTIVE, reverse=True
    )
    return reader.page(nouns.DEPLOYMENTS, listing)


def _running(reader: RecordReader, namespaces: frozenset[str] | None, now: int) -> dict[str, Any]:
    active = [progress_of(each) for each in active_rollouts(reader, namespaces)]
    has_more = len(active) > MAX_ACTIVE
    standings = [(standing_of(item, now), item) for item in active[:MAX_ACTIVE]]
    standings.sort(key=lambda pair: rank_of(pair[0]))
    strong, rest = list_sentence(standings)
    return {
        "running": [_line(word, item) for word, item in standings[:MAX_SHOWN]],
        "running_count": len(standings),
        "has_more_running": has_more,
        "hidden_running": max(len(standings) - MAX_SHOWN, 0),
        "strong": f"More than {count_of(MAX_ACTIVE, 'rollout')} are under way"
        if has_more
        else strong,
        "rest": f". Of the newest, {strong[:1].lower()}{strong[1:]}{rest}" if has_more else rest,
    }


def _line(standing: str, progress: RolloutProgress) -> RolloutLine:
    tones = {"stuck": "failed", "unhealthy": "failed", "canary": "canary", "paused": "paused"}
    actions = {"canary": "Review", "stuck": "Look", "unhealthy": "Look"}
    return RolloutLine(
        progress=progress,
        standing=standing,
        word=standing_word(standing),
        told=where_told(progress, standing),
        tone=tones.get(standing, "running"),
        action=actions.get(standing, "Open"),
    )


def _ended(
    reader: RecordReader, namespaces: frozenset[str] | None, wanted: RolloutFilter
) -> dict[str, Any]:
    listing = _listing(namespaces, wanted)
    found = reader.page(nouns.DEPLOYMENTS, listing)
    if wanted.q and not found and _ID.fullmatch(wanted.q.lower()):
        by_id = msgspec.structs.replace(listing, equals={}, prefix=wanted.q.lower())
        found, listing = reader.page(nouns.DEPLOYMENTS, by_id), by_id
    more = found[PAGE_SIZE] if len(found) > PAGE_SIZE else None
    return {
        "wanted": wanted,
        "ended": [_ended_line(each) for each in found[:PAGE_SIZE]],
        "ended_count": reader.count(nouns.DEPLOYMENTS, listing),
        "next_url": wanted.address(after=f"{more.create_index}.{more.id}") if more else "",
        "first_url": wanted.address() if wanted.after else "",
    }


def _listing(namespaces: frozenset[str] | None, wanted: RolloutFilter) -> Listing:
    statuses = (wanted.status,) if wanted.status else tuple(ENDED)
    return Listing(
        namespaces=namespaces,
        among={"status": statuses},
        equals={"job_id": wanted.q} if wanted.q else {},
        after=wanted.cursor(),
        limit=PAGE_SIZE,
        reverse=True,
    )


def _ended_line(deployment: Deployment) -> EndedLine:
    return EndedLine(
        deployment=deployment,
        told=ended_told(progress_of(deployment)),
        took=max(deployment.modify_time - deployment.create_time, 0),
    )


assert set(ENDED) == {status.value for status in DeploymentStatus} - set(ACTIVE)
