import pytest
from msgspec.structs import replace

from dashboard.feeds.evaluation import EvaluationFeed
from dashboard.feeds.feed import NEW_ROWS, Feed, Panel, Parts, RowList
from dashboard.feeds.pieces import Html
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.story import Story
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node


def facts(value, now, newest):
    return {"facts": [{"word": "id", "value": value.id}]}


def feed_of_rows(context=facts):
    """A feed of one list, whose rows show only the id."""
    rows = RowList(Topic.EVALUATION, "rows", "dashboard/partials/_facts.html", context)
    return Feed(Subscription("evaluations", "*", None), Parts(lists=(rows,)))


def frame(index, *values, topic=Topic.EVALUATION, deleted=False):
    return EventFrame(
        index=index,
        kind=WriteKind.EVALUATION_UPDATED,
        at=0,
        events=tuple(
            StateEvent(
                topic=topic, key=value.id, namespace=getattr(value, "namespace", ""), value=value,
                deleted=deleted,
            )
            for value in values
        ),
    )  # fmt: skip


def modes(pieces):
    return [(piece.target, piece.mode) for piece in pieces]


def test_a_new_row_goes_on_top_and_a_changed_one_where_it_is_shown():
    feed = feed_of_rows()
    new, old = make_evaluation(1, create_index=7), make_evaluation(2, create_index=3)
    feed.observe(frame(7, new, old))
    assert modes(feed.flush(None, 0)) == [
        (f"rows-{old.id}", "replace"),
        (f"rows-{new.id}", "upsert"),
    ]


def test_new_rows_of_one_write_go_on_top_in_the_order_of_a_page():
    feed = feed_of_rows()
    one, two, three = (make_evaluation(number, create_index=7) for number in (1, 2, 3))
    feed.observe(frame(7, two, three, one))
    assert [piece.target for piece in feed.flush(None, 0)] == [
        f"rows-{item.id}" for item in (one, two, three)
    ]


def test_a_row_made_and_changed_between_two_flushes_is_still_new():
    feed = feed_of_rows()
    made = make_evaluation(1, create_index=7)
    feed.observe(frame(7, made))
    feed.observe(frame(8, made))
    assert modes(feed.flush(None, 0)) == [(f"rows-{made.id}", "upsert")]
    assert feed.flush(None, 0) == ()


def test_a_row_is_told_of_the_step_that_came_with_it():
    told = []
    feed = feed_of_rows(lambda value, now, newest: told.append(newest) or facts(value, now, 0))
    ended = make_evaluation(1, create_index=3)
    step = LifecycleStep(eval_id=ended.id, number=6, step=Step.COMPLETE, at=SOME_MOMENT)
    event = StateEvent(topic=Topic.LIFECYCLE, key=f"{ended.id}/6", value=step)
    changed = frame(7, ended)
    feed.observe(replace(changed, events=(*changed.events, event)))
    feed.flush(None, 0)
    feed.observe(frame(8, ended))
    feed.flush(None, 0)
    assert told == [step, None]


def test_a_deleted_row_is_taken_away():
    feed = feed_of_rows()
    feed.observe(frame(9, make_evaluation(1, create_index=7), deleted=True))
    assert feed.flush(None, 0) == (Html(target=f"rows-{make_evaluation(1).id}", mode="remove"),)


def test_a_storm_sends_no_more_new_rows_than_a_list_keeps():
    feed = feed_of_rows()
    storm = [make_evaluation(number, create_index=7) for number in range(500)]
    feed.observe(frame(7, *storm))
    assert feed.needs_reader
    sent = feed.flush(None, 0)
    assert [piece.target for piece in sent] == [f"rows-{item.id}" for item in storm[-NEW_ROWS:]]


NODE = make_node(1)
ON_NODE = make_allocation(node_id=NODE.id)
JOB = make_job()
CHILDS = Story(id="s", namespace="default", job_id="web/dispatch-1", parent_job_id="web")


@pytest.mark.parametrize(
    ("kind", "key", "value", "topic", "expected"),
    [
        pytest.param("node", NODE.id, NODE, Topic.NODE, True, id="the-node"),
        pytest.param("node", NODE.id, ON_NODE, Topic.ALLOCATION, True, id="what-runs-on-it"),
        pytest.param("node", "other", ON_NODE, Topic.ALLOCATION, False, id="not-on-others"),
        pytest.param("allocation", ON_NODE.id, ON_NODE, Topic.ALLOCATION, True, id="itself"),
        pytest.param("allocation", "other", ON_NODE, Topic.ALLOCATION, False, id="no-other"),
        pytest.param("job", f"default/{JOB.id}", JOB, Topic.JOB, True, id="the-job"),
        pytest.param(
            "job", f"default/{ON_NODE.job_id}", ON_NODE, Topic.ALLOCATION, True, id="its-parts"
        ),
        pytest.param("job", "team/other", ON_NODE, Topic.ALLOCATION, False, id="no-other-job"),
        pytest.param("job", "default/web", CHILDS, Topic.STORY, True, id="what-a-child-set-going"),
        pytest.param("job", "default/api", CHILDS, Topic.STORY, False, id="of-no-other-parent"),
        pytest.param("nodes", "", NODE, Topic.NODE, True, id="lists-take-all"),
    ],
)  # fmt: skip
def test_a_feed_concerns_itself_with_its_own_subject(kind, key, value, topic, expected):
    feed = feed_for(Subscription(kind, key, None))
    (event,) = frame(1, value, topic=topic).events
    assert feed.concerns(event) == expected


@pytest.fixture
def asked():
    """Feed with two panels of one query, which tells what is in `asked.words`."""

    class Asked:
        def __init__(self):
            self.words, self.count = "first", 0
            template = "dashboard/partials/_facts.html"
            panels = tuple(
                Panel(target, template, self.query, frozenset({Topic.NODE}))
                for target in ("head", "body")
            )
            self.feed = Feed(Subscription("node", NODE.id, None), Parts(panels))

        def query(self, _reader, _subscription, _now):
            self.count += 1
            return {"facts": [{"word": "told", "value": self.words}]}

        def flush(self, words):
            self.words = words
            self.feed.observe(frame(1, NODE, topic=Topic.NODE))
            return [piece.target for piece in self.feed.flush(MemoryStateStore(), 0)]

    return Asked()


def test_panels_of_one_query_share_its_answer(asked):
    assert (asked.flush("first"), asked.count) == (["head", "body"], 1)


def test_a_panel_that_stays_as_it_was_is_not_told_again(asked):
    told = [asked.flush(words) for words in ("first", "first", "second", "first")]
    assert told == [["head", "body"], [], ["head", "body"], ["head", "body"]]
    everything = asked.feed.everything(MemoryStateStore(), 0)
    assert [piece.target for piece in everything] == ["head", "body"]


def test_a_page_read_ahead_of_the_feed_is_told_although_nothing_changed_here(asked):
    asked.flush("first")
    asked.feed.forget_told()
    assert asked.flush("first") == ["head", "body"]


@pytest.mark.parametrize(
    ("status", "job_id", "expected"),
    [
        pytest.param(EvalStatus.BLOCKED, "web", True, id="waits-and-its-job-was-looked-at"),
        pytest.param(EvalStatus.BLOCKED, "other", False, id="waits-of-another-job"),
        pytest.param(EvalStatus.COMPLETE, "web", False, id="has-ended"),
    ],
)
def test_what_waits_follows_what_its_job_finds(status, job_id, expected):
    store = MemoryStateStore()
    waits = make_evaluation(1, status=status)
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: put_found(change, waits), now=SOME_MOMENT
    )
    feed = EvaluationFeed(Subscription("evaluation", waits.id, None))
    feed.load(store)
    newer = frame(9, make_evaluation(2, job_id=job_id, status=EvalStatus.COMPLETE))
    assert feed.concerns(newer.events[0]) == expected
    feed.observe(newer)
    # What it made has not changed.
    assert feed.flush(None, SOME_MOMENT) == ()
