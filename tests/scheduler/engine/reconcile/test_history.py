"""What recorded states say: row F23 of the reconciler's scenarios, and the time helpers."""

import pytest

from scheduler.engine.reconcile.history import (
    client_stop_deadline,
    is_expired,
    last_event_time,
    last_start,
    last_unknown_time,
    needs_reconnect,
    ran_successfully,
)
from scheduler.structs.allocation import AllocState, TaskState
from scheduler.structs.policies import SECOND
from tests.scheduler.engine.reconcile.scene import (
    NOW,
    RUNNING,
    UNKNOWN,
    alloc,
    disconnect,
    group,
    job,
    was_unknown,
)

CURRENT = job(1)


def with_states(*values: str):
    states = tuple(AllocState(value=value, time=at + 1) for at, value in enumerate(values))
    return alloc(CURRENT, 0, alloc_states=states)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), (False, 0)),
        (("unknown",), (True, 1)),
        (("unknown", "running"), (False, 1)),
        (("unknown", "running", "unknown", "unknown"), (True, 3)),
        (("lost",), (False, 0)),
    ],
)
def test_the_newest_state_tells_whether_a_return_was_accepted(values, expected):
    one = with_states(*values)
    assert (needs_reconnect(one), last_unknown_time(one)) == expected


@pytest.mark.parametrize(
    ("status", "age", "origin", "expected"),
    [
        pytest.param(UNKNOWN, 10, group(disconnect=disconnect(5 * SECOND)), True, id="F23-over"),
        pytest.param(UNKNOWN, 3, group(disconnect=disconnect(5 * SECOND)), False, id="F23-early"),
        pytest.param(UNKNOWN, 5, group(disconnect=disconnect(5 * SECOND)), True, id="F23-exactly"),
        pytest.param(UNKNOWN, 1, group(), True, id="F23-no-block"),
        pytest.param(RUNNING, 10, group(disconnect=disconnect(5 * SECOND)), False, id="F23-runs"),
        pytest.param(UNKNOWN, 10, None, False, id="F23-no-job"),
    ],
)
def test_an_unknown_alloc_expires(status, age, origin, expected):
    one = alloc(CURRENT, 0, client_status=status, alloc_states=was_unknown(NOW - age * SECOND))
    assert is_expired(one, origin, NOW) is expected


def test_a_cut_off_node_has_its_own_time_and_the_kill_timeout():
    origin = group(disconnect=disconnect(0, stop_after=30 * SECOND))
    assert client_stop_deadline(alloc(CURRENT, 0), origin, NOW) == NOW + 35 * SECOND


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param({}, NOW, id="no-task-states"),
        pytest.param({"web": TaskState(finished_at=5)}, 5, id="finished"),
        pytest.param({"web": TaskState(started_at=5)}, NOW, id="still-running"),
    ],
)
def test_the_last_event_is_the_end_of_the_last_task(states, expected):
    assert last_event_time(alloc(CURRENT, 0, task_states=states, modify_time=NOW)) == expected


def test_a_restart_counts_as_a_start():
    assert last_start(TaskState(started_at=5, restarts=1, last_restart=9)) == 9
    assert last_start(TaskState(started_at=5)) == 5
    assert last_start(None) == 0


def test_only_tasks_that_ended_well_ran_successfully():
    assert not ran_successfully(alloc(CURRENT, 0))
    assert ran_successfully(alloc(CURRENT, 0, task_states={"web": TaskState(state="dead")}))
    assert not ran_successfully(
        alloc(CURRENT, 0, task_states={"web": TaskState(state="dead", failed=True)})
    )
