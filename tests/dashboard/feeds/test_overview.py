"""The map on the page Now: whoever looks, since whenever, has the same in the end."""

import pytest

from dashboard.feeds.overview import OverviewFeed
from dashboard.feeds.pieces import Drawing, Html, Moved, Redrawing
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.lifecycle_map import lifecycle_map
from dashboard.overview import WINDOW
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from tests.builders import SOME_MOMENT
from tests.dashboard.drawn_page import DrawnPage


@pytest.fixture
def follow(sqlite_store):
    """Write evaluations, and a feed that is told of them."""
    feed = OverviewFeed(Subscription("overview", "*", None, frozenset({"node:read"})))
    sqlite_store.read(feed.load)

    def put(key, status=EvalStatus.PENDING):
        def write(change):
            change.put_evaluation(
                Evaluation(id=key, job_id="web", status=status, create_index=change.index)
            )
            change.put(
                LIFECYCLE_STEPS,
                LifecycleStep(eval_id=key, number=1, step=Step.CREATED, at=SOME_MOMENT),
            )

        since = sqlite_store.read(lambda reader: reader.index)
        sqlite_store.write(WriteKind.EVALUATION_UPDATED, write, now=SOME_MOMENT)
        for frame in sqlite_store.frames_since(since):
            feed.observe(frame)

    feed.read_anew = lambda now: sqlite_store.read(lambda reader: feed.flush(reader, now))
    return feed, put


def read_anew(feed, now=SOME_MOMENT):
    """What is read beside what is counted on."""
    assert feed.is_due(now)
    assert feed.needs_reader
    return feed.read_anew(now)


def joined(feed, now=SOME_MOMENT):
    (drawing,) = [piece for piece in feed.standing(now) if isinstance(piece, Drawing)]
    return DrawnPage(drawing.graph)


def told(feed, *pages, now=SOME_MOMENT):
    pieces = feed.flush(None, now)
    for piece in pieces:
        for page in pages if isinstance(piece, Redrawing) else ():
            page.take(piece.patch)
    return pieces


def drawn_now(feed, now=SOME_MOMENT):
    counts, flows = feed._overview.counts(), feed._overview.flows(now)
    return DrawnPage(DrawnGraph(lifecycle_map(counts, flows)).whole())


def test_who_joins_between_a_change_and_its_telling_takes_nothing_from_the_others(follow):
    feed, put = follow
    first = joined(feed)
    put("a")
    second = joined(feed)
    told(feed, first, second)
    put("b")
    told(feed, first, second)
    assert vars(first) == vars(second) == vars(drawn_now(feed))
    assert ">2<" in first.layers["nodes"]["pending"]


def test_moves_are_told_once_and_leave_with_time(follow):
    feed, put = follow
    page = joined(feed)
    put("a")
    moved = [piece.edges for piece in told(feed, page) if isinstance(piece, Moved)]
    assert moved == [{"event-pending": 1}]
    later = SOME_MOMENT + 2 * WINDOW
    assert feed.is_due(later)
    told(feed, page, now=later)
    assert vars(page) == vars(drawn_now(feed, later))
    read_anew(feed, later)
    assert not feed.is_due(later + 1)


def test_the_moves_that_a_new_page_has_are_brought_to_all(follow):
    feed, put = follow
    page = joined(feed)
    put("a")
    told(feed, page)
    read_anew(feed)
    assert not feed.is_due(SOME_MOMENT + 1)
    joined(feed)
    assert feed.is_due(SOME_MOMENT + 1)


def test_each_panel_goes_where_the_page_has_it(follow):
    feed, _ = follow
    panels = [piece for piece in feed.standing(SOME_MOMENT) if isinstance(piece, Html)]
    assert panels
    assert [piece.target for piece in panels if f'id="{piece.target}"' not in piece.html] == []


def test_figures_are_told_once_what_stands_beside_them_is_read(follow):
    feed, put = follow
    put("a")
    assert not figures_of(told(feed, joined(feed)))
    assert set(figures_of(read_anew(feed))) == {
        "figure-ended", "figure-made", "figure-plans", "figure-running", "figure-ready",
    }  # fmt: skip
    # On a quiet cluster the lines go on with time.
    feed.is_due(SOME_MOMENT + WINDOW // 2)
    assert not feed.needs_reader
    feed.is_due(SOME_MOMENT + 2 * WINDOW)
    assert feed.needs_reader


def figures_of(pieces):
    targets = [piece.target for piece in pieces if isinstance(piece, Html)]
    return [target for target in targets if target.startswith("figure-")]


@pytest.mark.parametrize(
    ("key", "ago_s", "counted"),
    [("*", 90, {}), ("*/5m", 90, {"event-pending": 1}), ("*/5m", 400, {}),
     ("*/1h", 400, {"event-pending": 1}), ("*/1h", 4_000, {})],
)  # fmt: skip
def test_moves_are_counted_as_far_back_as_was_asked(sqlite_store, key, ago_s, counted):
    at = SOME_MOMENT - ago_s * 1_000_000_000

    def write(change):
        change.put_evaluation(
            Evaluation(id="a", job_id="web", create_index=change.index, modify_time=at)
        )
        change.put(LIFECYCLE_STEPS, LifecycleStep(eval_id="a", number=1, step=Step.CREATED, at=at))

    sqlite_store.write(WriteKind.EVALUATION_UPDATED, write, now=at)
    feed = OverviewFeed(Subscription("overview", key, None))
    sqlite_store.read(feed.load)
    assert feed._overview.flows(SOME_MOMENT) == counted
