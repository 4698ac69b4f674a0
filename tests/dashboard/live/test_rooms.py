import pytest

from dashboard.live.messages import Html
from dashboard.live.rooms import NEW_ROWS, Room, RowList
from dashboard.live.subscriptions import Subscription
from scheduler.state.events import EventFrame, StateEvent, Topic, WriteKind
from tests.builders import make_allocation, make_evaluation, make_job, make_node


class OneRow(RowList):
    """Rows that show only the id."""

    def __init__(self):
        super().__init__(Topic.EVALUATION, "rows", "dashboard/partials/_facts.html", facts)


def facts(value, now):
    return {"facts": [{"word": "id", "value": value.id}]}


def room_of_rows():
    room = Room(Subscription("evaluations", "*", None))
    room.lists = [OneRow()]
    return room


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
    room = room_of_rows()
    new, old = make_evaluation(1, create_index=7), make_evaluation(2, create_index=3)
    room.observe(frame(7, new, old))
    assert modes(room.flush(None, 0)) == [
        (f"rows-{new.id}", "upsert"),
        (f"rows-{old.id}", "replace"),
    ]


def test_a_row_made_and_changed_between_two_flushes_is_still_new():
    room = room_of_rows()
    made = make_evaluation(1, create_index=7)
    room.observe(frame(7, made))
    room.observe(frame(8, made))
    assert modes(room.flush(None, 0)) == [(f"rows-{made.id}", "upsert")]
    assert room.flush(None, 0) == ()


def test_a_deleted_row_is_taken_away():
    room = room_of_rows()
    room.observe(frame(9, make_evaluation(1, create_index=7), deleted=True))
    assert room.flush(None, 0) == (Html(target=f"rows-{make_evaluation(1).id}", mode="remove"),)


def test_a_storm_sends_no_more_new_rows_than_a_list_keeps():
    room = room_of_rows()
    storm = [make_evaluation(number, create_index=7) for number in range(500)]
    room.observe(frame(7, *storm))
    assert room.needs_reader
    sent = room.flush(None, 0)
    assert [piece.target for piece in sent] == [f"rows-{item.id}" for item in storm[-NEW_ROWS:]]


NODE = make_node(1)
ON_NODE = make_allocation(node_id=NODE.id)
JOB = make_job()


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
        pytest.param("nodes", "", NODE, Topic.NODE, True, id="lists-take-all"),
    ],
)  # fmt: skip
def test_a_room_concerns_itself_with_its_own_subject(kind, key, value, topic, expected):
    room = Room(Subscription(kind, key, None))
    (event,) = frame(1, value, topic=topic).events
    assert room.concerns(event) == expected
