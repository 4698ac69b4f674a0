"""Setting when a disputed node is closed, in place of what the servers were started with."""

import pytest

from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.scheduler_settings import set_node_rejection, set_scheduler_settings
from scheduler.access.caller import ANONYMOUS
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.scheduler_settings import NodeRejection, SchedulerSettings
from tests.callers import MANAGER

NOW = 1_750_000_000_000_000_000
SECOND = 1_000_000_000


@pytest.fixture
def store():
    return MemoryStateStore()


def test_it_is_kept_beside_the_settings_which_programs_replace_whole(store):
    wanted = NodeRejection(refusals=15, window=90 * SECOND)
    assert set_node_rejection(store, wanted, by=MANAGER, now=NOW).updated
    others = SchedulerSettings(scheduler_algorithm="spread")
    assert set_scheduler_settings(store, others, by=MANAGER, now=NOW).updated
    stored = store.scheduler_settings()
    assert (stored.scheduler_algorithm, stored.node_rejection) == ("spread", wanted)
    assert set_node_rejection(store, None, by=MANAGER, now=NOW).updated
    stored = store.scheduler_settings()
    assert (stored.scheduler_algorithm, stored.node_rejection) == ("spread", None)


def test_it_is_compared_with_what_was_seen(store):
    seen = set_node_rejection(store, NodeRejection(), by=MANAGER, now=NOW).index
    set_node_rejection(store, NodeRejection(refusals=3), by=MANAGER, now=NOW)
    late = set_node_rejection(
        store, NodeRejection(refusals=4), by=MANAGER, expected_index=seen, now=NOW
    )
    assert not late.updated
    assert store.scheduler_settings().node_rejection == NodeRejection(refusals=3)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        pytest.param(
            NodeRejection(refusals=1, window=1),
            "refusals must be from 2 to 1000; window must be from 1 s to 24 h", id="too-small",
        ),
        pytest.param(
            NodeRejection(refusals=1001, window=86_401 * SECOND),
            "refusals must be from 2 to 1000; window must be from 1 s to 24 h", id="too-large",
        ),
    ],
)  # fmt: skip
def test_every_value_out_of_bounds_is_named_and_nothing_is_written(store, wrong, told):
    before = store.index
    with pytest.raises(OperationRefused) as refused:
        set_node_rejection(store, wrong, by=MANAGER, now=NOW)
    assert (str(refused.value), store.index) == (told, before)


def test_it_needs_the_right_to_write_as_operator(store):
    with pytest.raises(NotAllowed):
        set_node_rejection(store, NodeRejection(), by=ANONYMOUS, now=NOW)
