from dashboard.feeds.chains import ChainFeed, TidyFeed, TimelineFeed
from dashboard.graphs.chain import ChainLayout, graph_key
from dashboard.graphs.drawing import DrawnGraph
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import SOME_MOMENT, make_evaluation
from tests.dashboard.drawn_page import elements, parts

ROOT, CHILD, STRANGER = (make_evaluation(number) for number in range(1, 4))


def loaded_feed(kind="chain"):
    store = MemoryStateStore()
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: change.put_evaluation(ROOT), now=SOME_MOMENT
    )
    feeds = {"chain": ChainFeed, "tidy": TidyFeed, "timeline": TimelineFeed}
    feed = feeds[kind](Subscription(kind, ROOT.id, frozenset({"default"})))
    feed.load(store)
    return feed


def frame(*events):
    return EventFrame(
        index=9, kind=WriteKind.EVALUATION_UPDATED, at=SOME_MOMENT, events=tuple(events)
    )


def changed(evaluation, *, deleted=False):
    return StateEvent(
        topic=Topic.EVALUATION, key=evaluation.id, namespace="default", value=evaluation,
        deleted=deleted,
    )  # fmt: skip


def drawn(feed):
    """The nodes that a flush sends."""
    patches = [piece.patch for piece in feed.flush(None, SOME_MOMENT) if hasattr(piece, "patch")]
    return {key: node for told in patches for key, node in elements(told.layers, "nodes").items()}


def shown(feed):
    """The nodes that a viewer gets on joining."""
    return elements(feed.standing(SOME_MOMENT)[0].graph.layers, "nodes")


def test_an_evaluation_that_a_member_made_joins_the_chain():
    feed = loaded_feed()
    child = CHILD.changed(previous_eval=ROOT.id, status=EvalStatus.BLOCKED)
    feed.observe(frame(changed(child)))
    assert drawn(feed).keys() == {CHILD.id, f"next:{CHILD.id}"}
    assert {ROOT.id, CHILD.id} <= shown(feed).keys()
    assert feed.standing(SOME_MOMENT)[1].target == "tree"


def test_strangers_stay_out_and_draw_nothing():
    feed = loaded_feed()
    feed.observe(frame(changed(STRANGER)))
    assert drawn(feed) == {}


def test_a_hinted_step_moves_a_member_once():
    feed = loaded_feed()
    step = LifecycleStep(eval_id=ROOT.id, number=4, step=Step.DEQUEUED, at=SOME_MOMENT)
    assert [feed.observe_step(step), feed.observe_step(step)] == [True, False]
    assert parts(drawn(feed)[ROOT.id], "graph-pulse")


def test_a_collected_member_becomes_a_stub_in_its_place():
    feed = loaded_feed()
    feed.observe(frame(changed(CHILD.changed(previous_eval=ROOT.id))))
    before = shown(feed)[ROOT.id]
    feed.observe(frame(changed(ROOT, deleted=True)))
    after = drawn(feed)[ROOT.id]
    assert "data-tombstone" in after.attrib
    (was,), (now,) = parts(before, "shape"), parts(after, "shape")
    assert was.attrib == now.attrib


def test_a_tidied_chain_stays_as_a_page_that_is_opened_now_has_it():
    first, second = (
        make_evaluation(number, previous_eval=ROOT.id, create_time=SOME_MOMENT + number)
        for number in (2, 3)
    )
    # The oldest branch grows last: as it grew, its second child stands under the other branch.
    below = [
        make_evaluation(number, previous_eval=first.id, create_time=SOME_MOMENT + number)
        for number in (4, 5)
    ]
    tidied, grown = loaded_feed("tidy"), loaded_feed("chain")
    for evaluation in (first, second, *below):
        for feed in (tidied, grown):
            feed.observe(frame(changed(evaluation)))
            feed.flush(None, SOME_MOMENT)
    opened = ChainLayout(graph_key(ROOT.id, is_tidy=True), selected=ROOT.id)
    opened.update(grown.layout.members.values())
    opened.tidy()
    assert tidied.standing(SOME_MOMENT)[0].graph == DrawnGraph(opened.graph()).whole()
    assert tidied.layout.spots != grown.layout.spots


def test_over_time_nothing_is_drawn():
    feed = loaded_feed("timeline")
    child = CHILD.changed(previous_eval=ROOT.id)
    assert [feed.concerns(changed(item)) for item in (child, STRANGER)] == [True, False]
    feed.observe(frame(changed(child)))
    step = LifecycleStep(eval_id=CHILD.id, number=4, step=Step.DEQUEUED, at=SOME_MOMENT)
    assert not feed.observe_step(step)
    assert feed.concerns(
        StateEvent(topic=Topic.LIFECYCLE, key=f"{CHILD.id}/4", namespace="default", value=step)
    )
    assert feed.flush(None, SOME_MOMENT) == feed.standing(SOME_MOMENT) == ()
