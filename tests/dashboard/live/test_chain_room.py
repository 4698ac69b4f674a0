from dashboard.graphs.chain import ChainLayout, graph_key
from dashboard.live.chain_room import ChainRoom, TidyRoom, TimelineRoom
from dashboard.live.subscriptions import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import SOME_MOMENT, make_evaluation

ROOT, CHILD, STRANGER = (make_evaluation(number) for number in range(1, 4))


def loaded_room(kind="chain"):
    store = MemoryStateStore()
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: change.put_evaluation(ROOT), now=SOME_MOMENT
    )
    rooms = {"chain": ChainRoom, "tidy": TidyRoom, "timeline": TimelineRoom}
    room = rooms[kind](Subscription(kind, ROOT.id, frozenset({"default"})))
    room.load(store)
    return room


def frame(*events):
    return EventFrame(
        index=9, kind=WriteKind.EVALUATION_UPDATED, at=SOME_MOMENT, events=tuple(events)
    )


def changed(evaluation, *, deleted=False):
    return StateEvent(
        topic=Topic.EVALUATION, key=evaluation.id, namespace="default", value=evaluation,
        deleted=deleted,
    )  # fmt: skip


def drawn(room):
    """The nodes that a flush sends."""
    patches = [piece for piece in room.flush(None, SOME_MOMENT) if hasattr(piece, "patch")]
    return {node.key: node for piece in patches for node in piece.patch.nodes}


def test_an_evaluation_that_a_member_made_joins_the_chain():
    room = loaded_room()
    child = CHILD.changed(previous_eval=ROOT.id, status=EvalStatus.BLOCKED)
    room.observe(frame(changed(child)))
    assert drawn(room).keys() == {CHILD.id, f"next:{CHILD.id}"}
    (drawing, tree) = room.standing(SOME_MOMENT)
    assert {ROOT.id, CHILD.id} <= {node.key for node in drawing.graph.nodes}
    assert tree.target == "tree"


def test_strangers_stay_out_and_draw_nothing():
    room = loaded_room()
    room.observe(frame(changed(STRANGER)))
    assert drawn(room) == {}


def test_a_hinted_step_moves_a_member_once():
    room = loaded_room()
    step = LifecycleStep(eval_id=ROOT.id, number=4, step=Step.DEQUEUED, at=SOME_MOMENT)
    assert [room.observe_step(step), room.observe_step(step)] == [True, False]
    assert drawn(room)[ROOT.id].is_current


def test_a_collected_member_becomes_a_stub_in_its_place():
    room = loaded_room()
    room.observe(frame(changed(CHILD.changed(previous_eval=ROOT.id))))
    before = {node.key: node for node in room.standing(SOME_MOMENT)[0].graph.nodes}[ROOT.id]
    room.observe(frame(changed(ROOT, deleted=True)))
    after = drawn(room)[ROOT.id]
    assert after.is_tombstone
    assert (after.x, after.y) == (before.x, before.y)


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
    tidied, grown = loaded_room("tidy"), loaded_room("chain")
    for evaluation in (first, second, *below):
        for room in (tidied, grown):
            room.observe(frame(changed(evaluation)))
            room.flush(None, SOME_MOMENT)
    opened = ChainLayout(graph_key(ROOT.id, is_tidy=True), selected=ROOT.id)
    opened.update(grown.layout.members.values())
    opened.tidy()
    assert tidied.standing(SOME_MOMENT)[0].graph == opened.graph()
    assert tidied.layout.spots != grown.layout.spots


def test_over_time_nothing_is_drawn():
    room = loaded_room("timeline")
    child = CHILD.changed(previous_eval=ROOT.id)
    assert [room.concerns(changed(item)) for item in (child, STRANGER)] == [True, False]
    room.observe(frame(changed(child)))
    step = LifecycleStep(eval_id=CHILD.id, number=4, step=Step.DEQUEUED, at=SOME_MOMENT)
    assert not room.observe_step(step)
    assert room.concerns(
        StateEvent(topic=Topic.LIFECYCLE, key=f"{CHILD.id}/4", namespace="default", value=step)
    )
    assert room.flush(None, SOME_MOMENT) == room.standing(SOME_MOMENT) == ()
