"""Delays, attempts and slots of failed allocations: rows F01 to F12 of the scenarios."""

import msgspec
import pytest

from scheduler.engine.reconcile.alloc_set import AllocSet
from scheduler.engine.reconcile.reschedule import (
    carried_tracker,
    next_delay,
    next_reschedule_time,
    split_by_reschedule,
)
from scheduler.structs.allocation import RescheduleEvent, RescheduleTracker, TaskState
from scheduler.structs.policies import HOUR, MINUTE, SECOND, ReschedulePolicy
from scheduler.structs.wire import without_nulls
from tests.scheduler.engine.reconcile.scene import (
    COMPLETE,
    EVICT,
    FAILED,
    LOST,
    NOW,
    RUNNING,
    STOP,
    UNKNOWN,
    alloc,
    job,
    situation,
)

CURRENT = job(1)
CAP = 90 * SECOND


def policy(function: str, cap: int = CAP, **fields: object) -> ReschedulePolicy:
    defaults: dict[str, object] = {"delay": 5 * SECOND, "max_delay": cap, "unlimited": True}
    return ReschedulePolicy(delay_function=function, **{**defaults, **fields})


def failed(*delays: int, ago: int = 0, since: int = 0, **fields: object):
    """An alloc that failed `ago`, replaced before with these delays (s), last `since` ago."""
    events = tuple(
        RescheduleEvent(reschedule_time=NOW - since, delay=delay * SECOND) for delay in delays
    )
    tracker = RescheduleTracker(events=events) if delays else None
    return alloc(
        CURRENT,
        0,
        client_status=FAILED,
        modify_time=NOW - ago,
        reschedule_tracker=tracker,
        **fields,
    )


@pytest.mark.parametrize(
    ("one", "rules", "expected"),
    [
        pytest.param(failed(), policy("constant"), 5, id="no-history"),
        pytest.param(failed(5, 5), policy("constant"), 5, id="constant"),
        pytest.param(failed(5, 10, 20), policy("exponential"), 40, id="F05-exponential"),
        pytest.param(
            failed(5, 10, 20, 40, 80, ago=15 * SECOND, since=40 * SECOND),
            policy("exponential"),
            90,
            id="F06-capped",
        ),
        pytest.param(
            failed(80, 90, 90, ago=15 * MINUTE, since=HOUR),
            policy("exponential"),
            5,
            id="F07-reset-after-a-calm-time",
        ),
        pytest.param(failed(5), policy("fibonacci"), 5, id="fibonacci-with-one-event"),
        pytest.param(failed(5, 5), policy("fibonacci"), 10, id="F08-fibonacci"),
        pytest.param(failed(5, 5, 10, 15, 25), policy("fibonacci"), 40, id="F08-and-further"),
        pytest.param(
            failed(5, 5, 10, 15, 25, 40),
            policy("fibonacci", 50 * SECOND),
            50,
            id="F09-capped",
        ),
        pytest.param(
            failed(5, 5, 10, 15, 25, 40, since=HOUR),
            policy("fibonacci", 50 * SECOND),
            5,
            id="F09-reset-after-a-calm-time",
        ),
        pytest.param(
            failed(40, 50, 5), policy("fibonacci", 50 * SECOND), 5, id="F10-a-series-restarted"
        ),
        pytest.param(failed(), None, 0, id="no-policy"),
    ],
)
def test_the_next_delay_follows_its_function(one, rules, expected):
    assert next_delay(one, rules) == expected * SECOND


LIMITED = policy("constant", unlimited=False, attempts=2, interval=10 * MINUTE)


@pytest.mark.parametrize(
    ("one", "rules", "expected"),
    [
        pytest.param(
            failed(ago=2 * SECOND), policy("constant"), NOW + 3 * SECOND, id="F03-unlimited"
        ),
        pytest.param(failed(5, since=2 * MINUTE), LIMITED, NOW + 5 * SECOND, id="F04-one-left"),
        pytest.param(failed(5, 5, since=2 * MINUTE), LIMITED, None, id="F04-none-left"),
        pytest.param(failed(5, 5, since=HOUR), LIMITED, NOW + 5 * SECOND, id="long-forgotten"),
        pytest.param(
            failed(5),
            policy("constant", unlimited=False, attempts=2, delay=MINUTE, interval=MINUTE),
            None,
            id="a-delay-as-long-as-the-interval",
        ),
        pytest.param(failed(desired_status=STOP), LIMITED, None, id="told-to-stop"),
        pytest.param(
            failed(5, desired_status=STOP).changed(
                reschedule_tracker=RescheduleTracker(last_reschedule="no placement")
            ),
            LIMITED,
            NOW + 5 * SECOND,
            id="F11-empty-list",
        ),
        pytest.param(failed(), ReschedulePolicy(), None, id="disabled"),
        pytest.param(failed(), None, None, id="no-policy"),
        pytest.param(
            failed().changed(client_status=LOST), LIMITED, NOW + 5 * SECOND, id="F12-lost"
        ),
        pytest.param(failed().changed(client_status=RUNNING), LIMITED, None, id="F12-running"),
        pytest.param(failed().changed(client_status=COMPLETE), LIMITED, None, id="F12-complete"),
        pytest.param(failed().changed(client_status=UNKNOWN), LIMITED, None, id="F12-unknown"),
    ],
)
def test_a_failed_alloc_is_due_after_its_delay_or_never(one, rules, expected):
    assert next_reschedule_time(one, rules, CURRENT) == expected


def test_f11_a_history_that_is_null_is_read_as_an_empty_one():
    read = msgspec.convert(without_nulls({"Events": None}), RescheduleTracker)
    assert read == RescheduleTracker()


DONE = {"web": TaskState(state="dead")}
BROKEN = {"web": TaskState(state="dead", failed=True)}


@pytest.mark.parametrize(
    ("job_type", "fields", "holds_slot", "goes_on"),
    [
        pytest.param("batch", {}, True, False, id="F01-running"),
        pytest.param(
            "batch", {"desired_status": STOP, "task_states": DONE}, True, False, id="F01-done"
        ),
        pytest.param(
            "batch", {"desired_status": STOP, "task_states": BROKEN}, False, False, id="F01-broken"
        ),
        pytest.param("batch", {"desired_status": EVICT}, False, False, id="F01-evicted"),
        pytest.param("batch", {"client_status": FAILED}, False, True, id="F01-failed"),
        pytest.param(
            "batch",
            {"desired_status": STOP, "client_status": LOST, "task_states": DONE},
            True,
            False,
            id="F01-lost-but-done",
        ),
        pytest.param("service", {}, True, False, id="F02-running"),
        pytest.param("service", {"next_allocation": "x"}, True, False, id="came-back-running"),
        pytest.param("service", {"desired_status": STOP}, False, False, id="F02-stopped"),
        pytest.param("service", {"desired_status": EVICT}, False, False, id="F02-evicted"),
        pytest.param("service", {"client_status": COMPLETE}, False, False, id="F02-complete"),
        pytest.param("service", {"client_status": FAILED}, False, True, id="F02-failed"),
        pytest.param(
            "service",
            {
                "desired_status": STOP,
                "client_status": FAILED,
                "reschedule_tracker": RescheduleTracker(last_reschedule="no placement"),
            },
            False,
            True,
            id="F02-not-placed-before",
        ),
    ],
)
def test_an_alloc_holds_its_slot_gives_it_up_or_is_replaced(job_type, fields, holds_slot, goes_on):
    current = job(1, type=job_type)
    one = alloc(current, 0, **fields)
    split = split_by_reschedule(AllocSet([one]), situation(current, [one]), None)
    assert list(split.untainted) == (["0"] if holds_slot else [])
    assert list(split.now) == (["0"] if goes_on else [])


@pytest.mark.parametrize(
    ("rules", "ages", "kept"),
    [
        pytest.param(LIMITED, (MINUTE, HOUR), (MINUTE,), id="within-the-interval"),
        pytest.param(
            policy("constant"),
            tuple(range(7)),
            tuple(range(2, 7)),
            id="the-newest-five-without-limit",
        ),
    ],
)
def test_a_replacement_carries_the_history_that_counts(rules, ages, kept):
    one = failed().changed(
        reschedule_tracker=RescheduleTracker(
            events=tuple(RescheduleEvent(reschedule_time=NOW - age) for age in ages)
        )
    )
    assert carried_tracker(one, rules, NOW) == RescheduleTracker(
        events=(
            *(RescheduleEvent(reschedule_time=NOW - age) for age in kept),
            RescheduleEvent(
                reschedule_time=NOW, prev_alloc_id="0", prev_node_id="ready", delay=5 * SECOND
            ),
        ),
        last_reschedule="ok",
    )
