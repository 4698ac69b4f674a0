"""The counts of the list of evaluations follow the record; a page says the same."""

import pytest

from dashboard.feeds.evaluations import EvaluationsFeed
from dashboard.feeds.overview import OverviewFeed
from dashboard.feeds.pieces import Facts
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from tests.builders import SOME_MOMENT

PENDING, BLOCKED, COMPLETE = EvalStatus.PENDING, EvalStatus.BLOCKED, EvalStatus.COMPLETE


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


@pytest.fixture
def follow(sqlite_store):
    """A loaded feed; calling it feeds what was written since and gives the counts it tells."""

    def follow(namespaces=None):
        feed = EvaluationsFeed(Subscription("evaluations", "*", namespaces))
        sqlite_store.read(feed.load)
        seen = sqlite_store.index

        def told():
            nonlocal seen
            for frame in sqlite_store.frames_since(seen):
                feed.observe(frame)
            seen = sqlite_store.index
            return counts_in(feed.flush(None, SOME_MOMENT))

        return told

    return follow


def counts_in(pieces):
    """What is not empty, by state; None where no count is told."""
    (facts,) = [piece for piece in pieces if isinstance(piece, Facts)] or [None]
    if facts is None:
        return None
    named = {name.removeprefix("evaluations-"): text for name, text in facts.values.items()}
    return {name: text for name, text in named.items() if text}


def test_an_evaluation_is_counted_in_the_state_it_has(sqlite_store, put, follow):
    told = follow()
    put(PENDING)
    assert told() == {"all": "1 evaluation", "pending": "1"}
    put(COMPLETE)
    assert told() == {"all": "1 evaluation", "complete": "1"}
    put(BLOCKED, key="b")
    assert told() == {"all": "2 evaluations", "complete": "1", "blocked": "1"}
    put(COMPLETE, key="b")
    assert told() == {"all": "2 evaluations", "complete": "2"}
    sqlite_store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: change.delete_evaluation("e"), now=SOME_MOMENT
    )
    assert told()["all"] == "1 evaluation"


def test_one_that_passes_a_quasi_status_counts_there_too(put, follow):
    told = follow()
    put(PENDING, step=Step.DEQUEUED)
    assert told() == {"all": "1 evaluation", "pending": "1", "scheduling": "1"}
    assert follow()() is None
    put(PENDING, step=Step.NACKED, number=2)
    assert told() == {"all": "1 evaluation", "pending": "1"}
    put(PENDING, step=Step.PLAN_SUBMITTED, number=3)
    assert told() == {"all": "1 evaluation", "pending": "1", "applying": "1"}
    put(COMPLETE, step=Step.COMPLETE, number=4)
    assert told() == {"all": "1 evaluation", "complete": "1"}


def test_nothing_is_said_while_the_counts_stay(put, follow):
    put(BLOCKED)
    told = follow()
    put(BLOCKED)
    assert told() is None


def test_other_namespaces_do_not_count(put, follow):
    told = follow(frozenset({"team"}))
    put(BLOCKED)
    assert told() is None
    put(BLOCKED, key="f", namespace="team")
    assert told() == {"all": "1 evaluation", "blocked": "1"}


@pytest.mark.parametrize(
    ("feed_type", "kind"),
    [pytest.param(EvaluationsFeed, "evaluations"), pytest.param(OverviewFeed, "overview")],
)
def test_what_was_committed_while_a_feed_was_loaded_is_not_counted_twice(
    sqlite_store, put, feed_type, kind
):
    put(PENDING)
    put(COMPLETE)
    feed = feed_type(Subscription(kind, "*", None))
    sqlite_store.read(feed.load)
    before = feed.standing(SOME_MOMENT)
    for frame in sqlite_store.frames_since(0):
        feed.observe(frame)
    feed.flush(None, SOME_MOMENT)
    assert feed.standing(SOME_MOMENT) == before
