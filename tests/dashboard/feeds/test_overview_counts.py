"""What *Now* counts of evaluations follows the record."""

import pytest

from dashboard.feeds.overview import OverviewFeed
from dashboard.feeds.pieces import Html
from dashboard.hinted_steps import HINTS_HOLD
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from tests.builders import SOME_MOMENT

PENDING, COMPLETE = EvalStatus.PENDING, EvalStatus.COMPLETE


@pytest.fixture
def put(sqlite_store):
    """Write one evaluation, with a step of its life if one is named."""
    created = {}

    def put(status, *, key="e", namespace="default", step=None, number=1):
        def write(change):
            index = created.setdefault(key, change.index)
            put_found(
                change,
                Evaluation(
                    id=key, job_id="web", namespace=namespace, status=status, create_index=index
                ),
            )
            if step:
                change.put(
                    LIFECYCLE_STEPS,
                    LifecycleStep(eval_id=key, number=number, step=step, at=SOME_MOMENT),
                )

        sqlite_store.write(WriteKind.EVALUATION_UPDATED, write, now=SOME_MOMENT)

    return put


def test_what_was_committed_while_a_feed_was_loaded_is_not_counted_twice(sqlite_store, put):
    put(PENDING)
    put(COMPLETE)
    feed = OverviewFeed(Subscription("overview", "*", None))
    sqlite_store.read(feed.load)
    before = feed.standing(SOME_MOMENT)
    for frame in sqlite_store.frames_since(0):
        feed.observe(frame)
    feed.flush(None, SOME_MOMENT)
    assert feed.standing(SOME_MOMENT) == before


def test_hints_of_a_leader_that_died_are_looked_up_and_what_stands_instead_is_told(
    sqlite_store, put
):
    put(EvalStatus.BLOCKED)
    feed = OverviewFeed(Subscription("overview", "*", None))
    sqlite_store.read(feed.load)
    (blocked,) = states(feed.standing(SOME_MOMENT))
    assert feed.observe_step(
        LifecycleStep(eval_id="e", number=3, step=Step.DEQUEUED, at=SOME_MOMENT)
    )
    (hinted,) = states(feed.flush(None, SOME_MOMENT))
    assert hinted != blocked
    later = SOME_MOMENT + HINTS_HOLD + 1
    assert feed.is_due(later)
    assert feed.needs_reader
    (told,) = states(sqlite_store.read(lambda reader: feed.flush(reader, later)))
    assert told == blocked


def states(pieces):
    return [
        piece.html for piece in pieces if isinstance(piece, Html) and piece.target == "map-list"
    ]
