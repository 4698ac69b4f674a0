"""The page of the scheduler: what the leader told last, beside what the record says.

In: a reader, and the leader's news from Redis. Out: the context of `scheduler.html`, in eight
reads whatever waits: at most `MAX_PENDING` evaluations are read to be grouped, the rest counted.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from cluster.jobspec.durations import duration_text
from cluster.store.leader_news import LeaderNews, read_news
from cluster.store.ports import Listing, RecordReader
from dashboard.queries.rejections import rejections
from dashboard.queries.scheduler_flow import STRETCHES, flow_parts
from dashboard.rights import scheduler_actions
from dashboard.scheduling import (
    FRESH,
    flow_of,
    pause_told,
    phase_times,
    preemption_told,
    sentence_of_scheduler,
    waiting_lines,
    waits_told,
    work_told,
    worker_lines,
)
from dashboard.subscription import Subscription
from dashboard.viewer import Viewer
from dashboard.wording import clock_time, span
from scheduler.state import nouns
from scheduler.structs.scheduler_settings import NodeRejection, SchedulerSettings
from scheduler.structs.story import Story, StoryKind, story_id

_SECOND = 1_000_000_000
#: Evaluations whose steps are looked at for times and plans.
RECENT = 300
MAX_PENDING = 500


def scheduler_page(reader: RecordReader, viewer: Viewer, *, window: str = "") -> dict[str, Any]:
    """The context of the page; `window`, a key of `STRETCHES`: over which time flows are told."""
    window = window if window in STRETCHES else ""
    return {
        **_parts(reader, viewer.namespaces, viewer.now, window),
        "may": scheduler_actions(viewer.access),
        "live_topics": f"scheduler:*/{window}" if window else "scheduler:*",
    }


def scheduler_panel(
    reader: RecordReader, subscription: Subscription, now: int
) -> Mapping[str, Any]:
    """Every part of it."""
    return {
        **_parts(reader, subscription.namespaces, now, subscription.key.partition("/")[2]),
        "may": subscription.may,
        "page_index": reader.index,
    }


def _parts(
    reader: RecordReader, namespaces: frozenset[str] | None, now: int, window: str
) -> dict[str, Any]:
    news = read_news(settings.BIVOUAC_REDIS_URL)
    return scheduler_parts(reader, news, namespaces, now, window)


def scheduler_parts(
    reader: RecordReader,
    news: LeaderNews | None,
    namespaces: frozenset[str] | None,
    now: int,
    window: str = "",
) -> dict[str, Any]:
    """The same from given news."""
    stored = reader.scheduler_settings()
    open_counts = reader.open_tally(None)
    pending = reader.page(
        nouns.EVALUATIONS, Listing(equals={"status": "pending"}, limit=MAX_PENDING)
    )[:MAX_PENDING]
    newest = reader.newest_steps_of([item.id for item in pending])
    steps = reader.recent_steps(RECENT)
    lives = len({step.eval_id for step in steps})
    phases = phase_times(steps)
    if stored.pause_eval_broker:
        # It has forgotten all: what was told before does not hold any more.
        news = None
    workers = news.stats.workers if news is not None else ()
    held = frozenset(each.eval_id for worker in workers for each in worker.held)
    seen = {
        item.id: item for item in pending if namespaces is None or item.namespace in namespaces
    }
    strong, rest = sentence_of_scheduler(news, stored, open_counts, now)
    flow = flow_parts(news, window)
    workers_told = worker_lines(news, seen, newest)
    also_told = work_told(workers_told, flow["went"], flow["stretch_told"])
    rejection = stored.node_rejection or started_rejection()
    delayed = min(news.stats.broker.delayed.values(), default=0) if news is not None else 0
    longest = max((each.seconds for worker in workers for each in worker.held), default=0.0)
    return {
        "strong": strong,
        "rest": " ".join(part for part in (rest, also_told) if part),
        "news": news,
        "is_stale": news is not None and now - news.at > FRESH,
        **flow,
        "flow_rows": flow_of(flow["places"], flow["stretch_told"]),
        "workers": workers_told,
        "oldest_held": span(int(longest * _SECOND)) if longest else "",
        "waits_told": waits_told(news),
        "next_delayed": delayed,
        "next_delayed_at": clock_time(delayed) if delayed else "",
        "waiting": waiting_lines(pending, held, namespaces),
        "pending_count": open_counts.get("pending", 0),
        "is_cut": open_counts.get("pending", 0) > MAX_PENDING,
        "max_pending": MAX_PENDING,
        "disputed": rejections(reader, steps, lives, rejection.window),
        "lives": lives,
        "lives_since": clock_time(min((step.at for step in steps), default=0)),
        "phases": phases,
        "slowest": max((phase.p95 for phase in phases if not phase.is_long_wait), default=0),
        "pause_told": pause_told(news, open_counts),
        **_settings_told(stored, rejection),
        "settings_story": _change_of(reader, stored),
    }


def _change_of(reader: RecordReader, stored: SchedulerSettings) -> Story | None:
    """The story of the newest change of the settings; None where none is kept."""
    if not stored.modify_index:
        return None
    changed = story_id(StoryKind.CONFIGURATION.value, stored.modify_index)
    return next(iter(reader.stories_among({changed})), None)


def _settings_told(stored: SchedulerSettings, rejection: NodeRejection) -> dict[str, Any]:
    """What stands beside the settings, and what their dialogs are filled with."""
    may_move, may_not_move = preemption_told(stored)
    return {
        "settings": stored,
        "may_move": may_move,
        "may_not_move": may_not_move,
        "other_algorithm": "binpack" if stored.scheduler_algorithm == "spread" else "spread",
        "rejection": rejection,
        "rejection_window": span(rejection.window),
        "rejection_window_text": _typed(rejection.window),
        "worker_count": settings.BIVOUAC_WORKERS,
    }


def started_rejection() -> NodeRejection:
    """When a disputed node is closed where nobody has set it: as this process was started."""
    return NodeRejection(
        enabled=settings.BIVOUAC_PLAN_REJECTION_TRACKER,
        refusals=settings.BIVOUAC_PLAN_REJECTION_THRESHOLD,
        window=round(settings.BIVOUAC_PLAN_REJECTION_WINDOW * _SECOND),
    )


def _typed(nanoseconds: int) -> str:
    """As people type it: `5m`, not `5m0s`."""
    text = duration_text(nanoseconds)
    text = text.removesuffix("0s") if text.endswith("m0s") else text
    return text.removesuffix("0m") if text.endswith("h0m") else text
