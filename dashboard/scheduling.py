"""How the scheduler keeps up, in words and numbers: queue, workers, plans, time per phase.

In: what the leader told last, steps of recent evaluations, settings. Out: sentences and rows. What
no leader told is never made up: without news only what the record says is said.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from django.utils.translation import gettext, gettext_noop, ngettext
from msgspec.structs import replace

from cluster.store.leader_news import LeaderNews
from dashboard.wording import age, count_of, number, one_of, span
from scheduler.structs.counted import HELD, PART, PLANS, WHOLE
from scheduler.structs.evaluation import Evaluation, LifecycleStep, Step
from scheduler.structs.scheduler_settings import SchedulerSettings

_SECOND = 1_000_000_000
#: News older than this are told with their age.
FRESH = 4 * _SECOND
#: An evaluation in one pair of hands for so long deserves a look, s.
LONG = 2.0
#: Jobs named of one kind of waiting evaluations.
_NAMED = 2
#: From which step to which a phase lasts: between them, the whole of a life that ends well.
_PHASES = (
    (gettext_noop("Waits to be queued"), "pending", Step.CREATED, Step.ENQUEUED),
    (gettext_noop("Waits for its time"), "delayed", Step.DELAYED, Step.ENQUEUED),
    (gettext_noop("Waits for room"), "blocked", Step.BLOCKED, Step.UNBLOCKED),
    (gettext_noop("Waits in the queue"), "pending", Step.ENQUEUED, Step.DEQUEUED),
    (gettext_noop("Thinks"), "scheduling", Step.DEQUEUED, Step.PLAN_SUBMITTED),
    (
        gettext_noop("Plan is checked and written"),
        "applying",
        Step.PLAN_SUBMITTED,
        Step.PLAN_ANSWERED,
    ),
    (gettext_noop("Ends"), "complete", Step.PLAN_ANSWERED, Step.COMPLETE),
    (gettext_noop("Finds nothing to plan"), "scheduling", Step.DEQUEUED, Step.COMPLETE),
)
#: Phases that last as long as the cluster or the clock wants: their bars would hide the others.
_LONG_WAITS = frozenset({"delayed", "blocked"})


class FlowCount(msgspec.Struct, frozen=True, kw_only=True):
    """One place on the way of evaluations; `count` is empty where nobody told it."""

    key: str
    word: str
    tone: str
    icon: str
    count: str
    what: str


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """How long one phase lasts, ns."""

    word: str
    tone: str
    runs: int
    median: int
    p95: int

    @property
    def is_long_wait(self) -> bool:
        """It waits for a time or for room, and not for the scheduler."""
        return self.tone in _LONG_WAITS

    @property
    def rest(self) -> int:
        """From the median to the 95th percentile."""
        return self.p95 - self.median


class WorkerLine(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process: what it does, and for which evaluation longest."""

    name: str
    process: str
    word: str
    tone: str
    icon: str
    held: int
    eval_id: str = ""
    evaluation: Evaluation | None = None
    since: str = ""
    #: Percent of the last minute in which it held work; None while that is too short to say.
    busy: int | None = None
    #: Submitted in the last minute.
    plans: int = 0
    is_long: bool = False
    #: What it holds besides.
    others: tuple["HeldLine", ...] = ()


class HeldLine(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation in the hands of a worker; `evaluation` only where one may see it."""

    eval_id: str
    evaluation: Evaluation | None
    since: str


class WaitingLine(msgspec.Struct, frozen=True, kw_only=True):
    """Evaluations that wait for a worker, of one trigger."""

    trigger: str
    count: int
    told: str
    jobs: str
    oldest: int


def places_of(news: LeaderNews | None) -> dict[str, int]:
    """How many are where in the leader's memory; empty where nobody told it."""
    if news is None:
        return {}
    broker = news.stats.broker
    return {
        "waiting": broker.total_pending, "ready": broker.total_ready,
        "delayed": broker.total_waiting, "hand": broker.total_unacked,
        "plans": news.stats.plan_queue_depth + news.stats.plans_taken,
    }  # fmt: skip


def flow_of(places: Mapping[str, int], stretch: str) -> tuple[FlowCount, ...]:
    """Places in the leader's memory, then what became of the plans of a stretch of time."""
    checked = gettext("plans that wait or are being checked")
    rows = (
        ("waiting", gettext("waiting"), "pending", gettext("for another evaluation of their job")),
        ("ready", gettext("ready"), "pending", gettext("for a worker")),
        ("delayed", gettext("delayed"), "delayed", gettext("for their time, or after a failure")),
        ("hand", gettext("in hand"), "scheduling", gettext("of workers")),
        ("plans", gettext("plan queue"), "applying", checked),
        ("applied", gettext("as planned"), "complete", gettext("plans of the {stretch}")),
        ("part", gettext("in part"), "exhausted", gettext("of which nodes refused something")),
    )
    return tuple(
        FlowCount(
            key=key, word=word, tone=tone, icon="blocked" if key == "part" else tone,
            what=what.format(stretch=stretch),
            count=number(places[key]) if key in places else "",
        )
        for key, word, tone, what in rows
    )  # fmt: skip


def phase_times(steps: Sequence[LifecycleStep]) -> tuple[PhaseTime, ...]:
    """Median and 95th percentile of each phase, by steps of whole lives in their order."""
    spans: dict[str, list[int]] = {word: [] for word, *_ in _PHASES}
    before: LifecycleStep | None = None
    for step in steps:
        if before is not None and before.eval_id == step.eval_id:
            for word, _, first, last in _PHASES:
                if (before.step, step.step) == (first, last):
                    spans[word].append(step.duration_ns)
        before = step
    return tuple(
        PhaseTime(
            word=gettext(word), tone=tone, runs=len(spans[word]),
            median=_rank(spans[word], 50), p95=_rank(spans[word], 95),
        )
        for word, tone, *_ in _PHASES
    )  # fmt: skip


def _rank(values: Sequence[int], percent: int) -> int:
    if not values:
        return 0
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)]


def worker_lines(
    news: LeaderNews | None,
    known: Mapping[str, Evaluation],
    newest: Mapping[str, LifecycleStep],
) -> tuple[WorkerLine, ...]:
    """Each worker; `known`: evaluations that may be named, by id."""
    if news is None:
        return ()
    lines = []
    for worker in news.stats.workers:
        lately = worker.lately
        share = lately.counts.get(HELD, 0.0) / lately.seconds if lately.seconds >= 1 else None
        line = WorkerLine(
            name=worker.process.rpartition("/")[2], process=worker.process, word=gettext("idle"),
            tone="canceled", icon="minus", held=len(worker.held),
            busy=None if share is None else min(round(100 * share), 100),
            plans=round(lately.counts.get(PLANS, 0)),
        )  # fmt: skip
        if worker.held:
            first = worker.held[0]
            word, tone, icon = _doing(newest.get(first.eval_id), first.seconds, begun=first.begun)
            line = replace(
                line, word=word, tone=tone, icon=icon, eval_id=first.eval_id,
                evaluation=known.get(first.eval_id), since=span(int(first.seconds * _SECOND)),
                is_long=tone == "blocked", others=tuple(
                    HeldLine(
                        eval_id=each.eval_id, evaluation=known.get(each.eval_id),
                        since=span(int(each.seconds * _SECOND)),
                    )
                    for each in worker.held[1:]
                ),
            )  # fmt: skip
        lines.append(line)
    return tuple(lines)


def _doing(step: LifecycleStep | None, seconds: float, *, begun: bool) -> tuple[str, str, str]:
    if step is not None and step.step is Step.PLAN_SUBMITTED:
        return gettext("waits for its plan"), "applying", "applying"
    if seconds >= LONG:
        return gettext("thinks for long"), "blocked", "blocked"
    return ("thinks", "scheduling", "scheduling") if begun else ("begins", "pending", "pending")


def waiting_lines(
    pending: Iterable[Evaluation], held: frozenset[str], namespaces: frozenset[str] | None
) -> tuple[WaitingLine, ...]:
    """Those that no worker holds, by trigger, the largest kind first; only seen jobs are named."""
    kinds: dict[str, list[Evaluation]] = {}
    for item in pending:
        if item.id not in held:
            kinds.setdefault(item.triggered_by, []).append(item)
    return tuple(
        _waiting_line(trigger, found, namespaces)
        for trigger, found in sorted(kinds.items(), key=lambda kind: (-len(kind[1]), kind[0]))
    )


def _waiting_line(
    trigger: str, found: Sequence[Evaluation], namespaces: frozenset[str] | None
) -> WaitingLine:
    low, high = min(item.priority for item in found), max(item.priority for item in found)
    priorities = str(low) if low == high else gettext("{low} to {high}").format(low=low, high=high)
    seen = [item.job_id for item in found if namespaces is None or item.namespace in namespaces]
    jobs = list(dict.fromkeys(seen))
    left = len({item.job_key for item in found}) - min(len(jobs), _NAMED)
    named = jobs[:_NAMED]
    more = (
        [
            count_of(left, "{count} more job", "{count} more jobs")
            if named
            else count_of(left, "{count} job", "{count} jobs")
        ]
        if left > 0
        else []
    )
    return WaitingLine(
        trigger=trigger,
        count=len(found),
        told=gettext("{evaluation}, priority {priorities}").format(
            evaluation=count_of(len(found), "{count} evaluation", "{count} evaluations"),
            priorities=priorities,
        ),
        jobs=one_of([*named, *more], "and"),
        oldest=min(item.create_time for item in found),
    )


def sentence_of_scheduler(
    news: LeaderNews | None, settings: SchedulerSettings, open_counts: Mapping[str, int], now: int
) -> tuple[str, str]:
    """Strong clause and rest."""
    pending = open_counts.get("pending", 0)
    wait = count_of(pending, "{count} evaluation waits", "{count} evaluations wait")
    blocked = open_counts.get("blocked", 0)
    short = ngettext(
        "{blocked} more waits for free capacity.",
        "{blocked} more wait for free capacity.",
        blocked,
    ).format(blocked=number(blocked))
    rest = short if blocked else ""
    if settings.pause_eval_broker:
        return gettext("Paused: no evaluation is taken."), gettext(
            "{wait} in the record. {rest}"
        ).format(wait=wait, rest=rest).strip()
    if news is None:
        return (
            gettext("No leader answers."),
            gettext("What its memory holds is not known; in the record {wait}. {rest}")
            .format(wait=wait, rest=rest)
            .strip(),
        )
    stats = news.stats
    workers = count_of(stats.worker_processes, "{count} worker", "{count} workers")
    at_work = stats.busy_worker_processes
    is_one = 1 in (at_work, stats.worker_processes)
    busy = (
        gettext("{at_work} of {workers} works.")
        if is_one
        else gettext("{at_work} of {workers} work.")
    ).format(at_work=number(at_work), workers=workers)
    stale = (
        gettext(" This is as of {at} ago.").format(at=age(news.at, now))
        if now - news.at > FRESH
        else ""
    )
    queued = stats.broker.total_ready + stats.broker.total_pending
    if not stats.worker_processes:
        # Who has nothing to do sleeps, and is not heard of until the leader calls.
        busy = (
            gettext("No worker has come for it yet.") if queued else gettext("The workers sleep.")
        )
    if not queued and not stats.broker.total_unacked:
        return gettext("Nothing waits in the queue."), f"{busy} {rest}".strip() + stale
    strong = gettext("{evaluations} in the queue.").format(
        evaluations=count_of(queued, "{count} evaluation waits", "{count} evaluations wait")
    )
    return strong, f"{busy} {rest}".strip() + stale


def work_told(workers: Sequence[WorkerLine], flows: Mapping[str, int], stretch: str) -> str:
    """Who thinks for long, and how many plans were refused in part."""
    parts = [
        gettext("{worker} has thought about {job} for {since}.").format(
            worker=line.name,
            job=line.evaluation.job_id if line.evaluation else gettext("one job"),
            since=line.since,
        )
        for line in workers
        if line.is_long
    ]
    whole, part = flows.get(WHOLE, 0), flows.get(PART, 0)
    if part:
        parts.append(
            ngettext(
                "{part} of {plans} in the {stretch} was refused in part.",
                "{part} of {plans} in the {stretch} were refused in part.",
                part,
            ).format(
                part=number(part),
                plans=count_of(whole + part, "{count} plan", "{count} plans"),
                stretch=stretch,
            )
        )
    return " ".join(parts)


def waits_told(news: LeaderNews | None) -> str:
    """How many are where among those that no worker holds; nothing without a leader."""
    if news is None:
        return ""
    broker = news.stats.broker
    return gettext(
        "{ready} ready, {waiting} behind another of their job, {delayed} delayed"
    ).format(
        ready=number(broker.total_ready),
        waiting=number(broker.total_pending),
        delayed=number(broker.total_waiting),
    )


def pause_told(news: LeaderNews | None, open_counts: Mapping[str, int]) -> str:
    """What pausing does."""
    pending = open_counts.get("pending", 0)
    wait = count_of(pending, "{count} open evaluation waits", "{count} open evaluations wait")
    held = news.stats.broker.total_unacked if news is not None else 0
    given_up = ngettext(
        " {held} in hand is given up and taken again.",
        " {held} in hand are given up and taken again.",
        held,
    ).format(held=number(held))
    return gettext(
        "{wait}, and so does everything submitted from now on, until it goes "
        "on.{given_up} Tasks that run are not touched; what is lost is not "
        "replaced."
    ).format(wait=wait, given_up=given_up if held else "")


def preemption_told(settings: SchedulerSettings) -> tuple[str, str]:
    """For which types of jobs lower priorities are moved aside, and for which not."""
    config = settings.preemption_config
    kinds = {
        "service": config.service_scheduler_enabled, "batch": config.batch_scheduler_enabled,
        "system": config.system_scheduler_enabled, "sysbatch": config.sys_batch_scheduler_enabled,
    }  # fmt: skip
    may = [kind for kind, allowed in kinds.items() if allowed]
    not_for = [kind for kind, allowed in kinds.items() if not allowed]
    return ", ".join(may) or "none", gettext("not {not_for}").format(
        not_for=one_of(not_for, "or")
    ) if not_for else gettext("for all types")
