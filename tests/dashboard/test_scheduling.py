"""What is said of the scheduler, against the facts it is said of."""

import pytest

from cluster.store.leader_news import LeaderNews, decoded_news, encoded_news, read_news
from dashboard.scheduling import (
    flow_of,
    pause_told,
    phase_times,
    places_of,
    preemption_told,
    sentence_of_scheduler,
    waiting_lines,
    work_told,
    worker_lines,
)
from scheduler.broker.blocked_evals import BlockedStats
from scheduler.broker.places import BrokerStats
from scheduler.broker.worker_told import HeldFor, WorkerTold
from scheduler.leader_stats import LeaderStats
from scheduler.structs.counted import CountedTime
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from tests.builders import SOME_MOMENT, make_evaluation

S = 1_000_000_000
NOW = SOME_MOMENT
RUNNING = SchedulerSettings()
WORKERS = (
    WorkerTold(process="host/1/a", held=(HeldFor("e1", begun=True, seconds=0.5), HeldFor("e2"))),
    WorkerTold(process="host/2/b"),
)


def news(at=NOW, workers=2, busy=1, **counts):
    stats = LeaderStats(
        index=7, broker=BrokerStats(**counts), blocked=BlockedStats(), plan_queue_depth=2,
        plans_taken=1, worker_processes=workers, busy_worker_processes=busy, workers=WORKERS,
    )  # fmt: skip
    return LeaderNews(at=at, epoch=3, stats=stats)


def test_news_travel_whole_and_what_is_no_news_is_none():
    told = news(total_ready=4, delayed={"e": 5}, by_scheduler={"service": (1, 2)})
    assert decoded_news(encoded_news(told)) == told
    assert [decoded_news(body) for body in (None, b"", b"\xff", b"\x93\x01\x02\x03")] == [None] * 4


def test_without_redis_there_are_no_news():
    assert read_news("redis://127.0.0.1:1/0") is None


@pytest.mark.parametrize(
    ("told", "settings", "open_counts", "sentence"),
    [
        pytest.param(
            news(), RUNNING, {}, "Nothing waits in the queue. 1 of 2 workers works.", id="idle"
        ),
        pytest.param(
            news(busy=2, total_ready=3, total_pending=4), RUNNING, {"pending": 9, "blocked": 1},
            "7 evaluations wait in the queue. 2 of 2 workers work. 1 more waits for free"
            " capacity.",
            id="waits",
        ),
        pytest.param(
            news(workers=0, busy=0, total_ready=1), RUNNING, {"pending": 1},
            "1 evaluation waits in the queue. No worker has come for it yet.", id="no-worker",
        ),
        pytest.param(
            news(workers=0, busy=0), RUNNING, {},
            "Nothing waits in the queue. The workers sleep.", id="asleep",
        ),
        pytest.param(
            news(at=NOW - 9 * S), RUNNING, {},
            "Nothing waits in the queue. 1 of 2 workers works. This is as of 9.0 s ago.",
            id="stale",
        ),
        pytest.param(
            None, RUNNING, {"pending": 2, "blocked": 3},
            "No leader answers. What its memory holds is not known; in the record 2 evaluations"
            " wait. 3 more wait for free capacity.", id="no-leader",
        ),
        pytest.param(
            news(total_ready=5), SchedulerSettings(pause_eval_broker=True), {"pending": 5},
            "Paused: no evaluation is taken. 5 evaluations wait in the record.", id="paused",
        ),
    ],
)  # fmt: skip
def test_the_head_says_whether_it_keeps_up(told, settings, open_counts, sentence):
    assert " ".join(sentence_of_scheduler(told, settings, open_counts, NOW)).strip() == sentence


def test_the_way_to_the_record_counts_what_the_leader_told_and_nothing_else():
    told = news(
        total_ready=1, total_pending=2, total_waiting=3, total_unacked=4, total_cancelable=9
    )
    places = places_of(told) | {"applied": 5, "part": 2}
    assert [f"{each.word} {each.count}" for each in flow_of(places, "last minute")] == [
        "waiting 2", "ready 1", "delayed 3", "in hand 4", "plan queue 3", "as planned 5",
        "in part 2",
    ]  # fmt: skip
    assert {each.count for each in flow_of(places_of(None), "last minute")} == {""}


def life(eval_id, *steps, refused=()):
    """Steps with their instants in ms."""
    before, found = 0, []
    for number, (step, at) in enumerate(steps, 1):
        nodes = refused if step is Step.PLAN_ANSWERED else ()
        found.append(
            LifecycleStep(
                eval_id=eval_id, number=number, step=step, at=at * 1_000_000,
                duration_ns=(at - before) * 1_000_000, nodes=nodes,
            )
        )  # fmt: skip
        before = at
    return found


def whole(eval_id, wait, think, plan, end, **fields):
    ends = (0, wait, wait + think, wait + think + plan, wait + think + plan + end)
    steps = (
        Step.ENQUEUED, Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED, Step.COMPLETE,
    )  # fmt: skip
    return life(eval_id, *zip(steps, ends, strict=True), **fields)


def test_phases_have_a_median_and_a_95th_percentile():
    steps = [step for number in range(1, 101) for step in whole(str(number), number, 2, 3, 4)]
    found = {phase.word: phase for phase in phase_times(steps)}
    queue = found["Waits in the queue"]
    assert (queue.runs, queue.median, queue.p95) == (100, 50_000_000, 95_000_000)
    assert [phase.median // 1_000_000 for phase in found.values()] == [0, 0, 0, 50, 2, 3, 4, 0]


def test_every_step_of_a_life_that_ends_well_ends_a_phase():
    waited = (Step.CREATED, Step.BLOCKED, Step.UNBLOCKED)
    planned = (Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED, Step.COMPLETE)
    lives = (
        (Step.CREATED, Step.ENQUEUED, *planned),
        (Step.CREATED, Step.ENQUEUED, Step.DEQUEUED, Step.COMPLETE),
        (Step.CREATED, Step.DELAYED, Step.ENQUEUED, *planned),
    )
    for number, steps in enumerate(lives):
        told = phase_times(life(str(number), *((step, at) for at, step in enumerate(steps))))
        # What is made for a later time is delayed in the same commit.
        assert sum(phase.runs for phase in told) == len(steps) - 1 - (Step.DELAYED in steps)
    told = phase_times(life("w", *((step, 900 * at) for at, step in enumerate(waited))))
    assert {phase.word: phase.runs for phase in told if phase.runs} == {"Waits for room": 1}
    assert [phase.word for phase in told if phase.is_long_wait] == [
        "Waits for its time", "Waits for room",
    ]  # fmt: skip


def test_steps_of_different_lives_are_no_phase():
    steps = [*life("a", (Step.ENQUEUED, 1)), *life("b", (Step.DEQUEUED, 900))]
    assert [phase.runs for phase in phase_times(steps)] == [0] * 8


def test_a_worker_says_how_long_it_held_work_and_what_it_holds_besides():
    lately = CountedTime(stretch=60, seconds=40.0, counts={"held": 30.0, "plans": 7})
    young = CountedTime(stretch=60, seconds=0.2, counts={"held": 0.2})
    held = (HeldFor("e1", begun=True, seconds=3.0), HeldFor("e2", seconds=0.5))
    workers = (
        WorkerTold(process="h/1/a", held=held, lately=lately),
        WorkerTold(process="h/2/b", lately=young),
    )
    told = LeaderNews(at=NOW, epoch=1, stats=LeaderStats(workers=workers))
    lines = worker_lines(told, {}, {})
    assert [(line.busy, line.plans) for line in lines] == [(75, 7), (None, 0)]
    assert [(other.eval_id, other.since) for other in lines[0].others] == [("e2", "0.5 s")]
    assert work_told(lines, {"plans-whole": 498, "plans-part": 6}, "last minute") == (
        "a has thought about one job for 3.0 s. 6 of 504 plans in the last minute were refused"
        " in part."
    )
    assert work_told((), {}, "last minute") == ""


@pytest.mark.parametrize(
    ("step", "seconds", "begun", "word"),
    [
        pytest.param(None, 0.1, True, "thinks", id="thinks"),
        pytest.param(None, 0.1, False, "begins", id="begins"),
        pytest.param(None, 2.5, True, "thinks for long", id="for-long"),
        pytest.param(Step.PLAN_SUBMITTED, 2.5, True, "waits for its plan", id="plan"),
    ],
)
def test_a_worker_does_what_its_oldest_evaluation_is_at(step, seconds, begun, word):
    held = HeldFor("e1", begun=begun, seconds=seconds)
    stats = LeaderStats(workers=(WorkerTold(process="host/9/w", held=(held,)),))
    newest = {"e1": LifecycleStep(eval_id="e1", number=1, step=step, at=1)} if step else {}
    (line,) = worker_lines(LeaderNews(at=NOW, epoch=1, stats=stats), {}, newest)
    assert (line.name, line.word, line.held, line.evaluation) == ("w", word, 1, None)


def test_workers_that_hold_nothing_are_idle_and_none_are_made_up():
    assert [line.word for line in worker_lines(news(), {}, {})] == ["thinks", "idle"]
    assert worker_lines(None, {}, {}) == ()


def test_what_waits_is_grouped_and_names_only_jobs_one_may_see():
    pending = [
        make_evaluation(1, triggered_by="node-update", job_id="a", priority=50),
        make_evaluation(2, triggered_by="node-update", job_id="b", priority=70),
        make_evaluation(3, triggered_by="node-update", job_id="c", namespace="secret"),
        make_evaluation(4, triggered_by="job-register", job_id="d"),
        make_evaluation(5, triggered_by="job-register", job_id="e"),
    ]
    held = frozenset({pending[4].id})
    found = waiting_lines(pending, held, frozenset({"default"}))
    assert [(line.trigger, line.told, line.jobs) for line in found] == [
        ("node-update", "3 evaluations, priority 50 to 70", "a, b and 1 more job"),
        ("job-register", "1 evaluation, priority 50", "d"),
    ]
    (hidden,) = waiting_lines(pending[2:3], frozenset(), frozenset({"default"}))
    assert hidden.jobs == "1 job"


def test_pausing_says_what_it_gives_up():
    assert "2 in hand are given up and taken again." in pause_told(
        news(total_unacked=2), {"pending": 3}
    )
    assert "in hand" not in pause_told(None, {})


def test_who_may_move_others_aside_is_told_both_ways():
    every = PreemptionConfig(
        service_scheduler_enabled=True, batch_scheduler_enabled=True,
        sys_batch_scheduler_enabled=True,
    )  # fmt: skip
    assert preemption_told(RUNNING) == ("system", "not service, batch or sysbatch")
    assert preemption_told(SchedulerSettings(preemption_config=every)) == (
        "service, batch, system, sysbatch", "for all types",
    )  # fmt: skip
