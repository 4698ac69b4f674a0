"""The page of the scheduler: what the leader told last, beside what the record says.

In: a reader, and the leader's news from Redis. Out: the context of `scheduler.html`, in seven
reads whatever waits: at most `MAX_PENDING` evaluations are read to be grouped, the rest counted.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from cluster.store.leader_news import LeaderNews, read_news
from cluster.store.ports import Listing, RecordReader
from dashboard.queries.rejections import rejections
from dashboard.rights import scheduler_actions
from dashboard.scheduling import (
    FRESH,
    flow_of,
    pause_told,
    phase_times,
    plans_of,
    preemption_told,
    sentence_of_scheduler,
    waiting_lines,
    worker_lines,
)
from dashboard.subscription import Subscription
from dashboard.viewer import Viewer
from scheduler.state import nouns

#: Evaluations whose steps are looked at for times and plans.
RECENT = 300
MAX_PENDING = 500


def scheduler_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the page."""
    return {
        **_parts(reader, viewer.namespaces, viewer.now),
        "may": scheduler_actions(viewer.access),
        "live_topics": "scheduler:*",
    }


def scheduler_panel(
    reader: RecordReader, subscription: Subscription, now: int
) -> Mapping[str, Any]:
    """Every part of it."""
    return {
        **_parts(reader, subscription.namespaces, now),
        "may": subscription.may,
        "page_index": reader.index,
    }


def _parts(reader: RecordReader, namespaces: frozenset[str] | None, now: int) -> dict[str, Any]:
    return scheduler_parts(reader, read_news(settings.BIVOUAC_REDIS_URL), namespaces, now)


def scheduler_parts(
    reader: RecordReader,
    news: LeaderNews | None,
    namespaces: frozenset[str] | None,
    now: int,
) -> dict[str, Any]:
    """The same from given news."""
    stored = reader.scheduler_settings()
    open_counts = reader.open_tally(None)
    pending = reader.page(
        nouns.EVALUATIONS, Listing(equals={"status": "pending"}, limit=MAX_PENDING)
    )[:MAX_PENDING]
    newest = reader.newest_steps_of([item.id for item in pending])
    steps = reader.recent_steps(RECENT)
    if stored.pause_eval_broker:
        # It has forgotten all: what was told before does not hold any more.
        news = None
    workers = news.stats.workers if news is not None else ()
    held = frozenset(each.eval_id for worker in workers for each in worker.held)
    seen = {
        item.id: item for item in pending if namespaces is None or item.namespace in namespaces
    }
    strong, rest = sentence_of_scheduler(news, stored, open_counts, now)
    plans = plans_of(steps)
    may_move, may_not_move = preemption_told(stored)
    return {
        "strong": strong,
        "rest": rest,
        "news": news,
        "is_stale": news is not None and now - news.at > FRESH,
        "settings": stored,
        "flow": {each.key: each for each in flow_of(news, plans)},
        "flow_rows": flow_of(news, plans),
        "plans": plans.total(),
        "workers": worker_lines(news, seen, newest),
        "waiting": waiting_lines(pending, held, namespaces),
        "pending_count": open_counts.get("pending", 0),
        "is_cut": open_counts.get("pending", 0) > MAX_PENDING,
        "max_pending": MAX_PENDING,
        "disputed": rejections(reader, steps, RECENT),
        "phases": phase_times(steps),
        "slowest": max((phase.p95 for phase in phase_times(steps)), default=0),
        "may_move": may_move,
        "may_not_move": may_not_move,
        "pause_told": pause_told(news, open_counts),
        "other_algorithm": "binpack" if stored.scheduler_algorithm == "spread" else "spread",
        "threshold": settings.BIVOUAC_PLAN_REJECTION_THRESHOLD,
        "window_s": round(settings.BIVOUAC_PLAN_REJECTION_WINDOW),
        "tracks": settings.BIVOUAC_PLAN_REJECTION_TRACKER,
        "worker_count": settings.BIVOUAC_WORKERS,
    }
