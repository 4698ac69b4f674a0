"""Stories as drawings: lanes, folds, arrows; never too many shapes, and the same from the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.story import story_graph
from dashboard.graphs.story_lanes import (
    MOST_SHAPES,
    LaneEvent,
    StoryDrawing,
    StoryLane,
    joined,
    shapes_in,
)

ROOT = LaneEvent(lines=("200 nodes", "lost", "02:31:11"), name="200 nodes lost")


def member(number, job="web", state="complete", **fields):
    return ChainMember(
        id=f"{number:08d}-e",
        job=job,
        state=state,
        trigger=fields.pop("trigger", "node-update"),
        created_at=number,
        **fields,
    )


def lane(*members, **fields):
    known = {"key": "a", "title": "On the way", "members": tuple(members)} | fields
    return StoryLane(**known)


def drawn(*lanes, root=ROOT, **fields):
    return story_graph(
        StoryDrawing(
            key="story-1", title="Story", description="", lanes=lanes, root=root, **fields
        )
    )


def nodes(graph):
    return {node.key: node for node in graph.nodes}


def texts(node):
    return [line.text for line in node.lines]


def test_equal_branches_fold_from_three_on_and_say_what_all_did():
    graph = drawn(lane(*(member(n, work={"placed": 2}) for n in range(170))), root=None)
    (fold,) = graph.nodes
    assert fold.is_folded
    assert texts(fold) == ["170 evaluations", "340 placed"]
    assert [node.is_folded for node in drawn(lane(member(1), member(2))).nodes] == [False] * 3


def test_what_waits_or_moves_is_never_folded_while_there_is_room():
    waiting = [member(n, state="blocked") for n in range(10)]
    assert {item.id for item in waiting} <= nodes(drawn(lane(*waiting))).keys()


def test_neighbours_hang_by_their_stored_link_else_by_their_cause():
    first = member(1, blocked_eval="00000002-e")
    second = member(2, state="blocked", trigger="queued-allocs", previous_eval=first.id)
    third = member(3, state="pending", trigger="alloc-failure")
    edges = {edge.target: edge for edge in drawn(lane(first, second, third)).edges}
    assert (edges[second.id].kind, edges[second.id].text) == ("link", "BlockedEval")
    assert (edges[third.id].kind, edges[third.id].text) == ("cause", "alloc-failure")


def test_phases_hang_on_a_trunk_without_links():
    started = LaneEvent(lines=("shop v2", "priya", "14:31:02"), name="started")
    canary = lane(member(1), key="canary", title="Canary", event=started)
    batch = lane(member(2), key="batch-1", title="Batch 1 of 2")
    later = lane(key="batch-2", title="Batch 2 of 2", expects="20, then done")
    edges = {
        (edge.source, edge.target): edge for edge in drawn(canary, batch, later, root=None).edges
    }
    assert edges["event:canary", "00000001-e"].kind == "step"
    assert edges["event:canary", "00000002-e"].kind == "cause"
    assert edges["00000002-e", "next:batch-2"].path == "possible"


def test_lanes_say_what_they_are_and_whether_they_need_somebody():
    graph = drawn(lane(member(1), title="Held up", subs=("1 job", "3 wait"), tone="blocked"))
    (band,) = graph.lanes
    assert (band.title, band.state, band.name) == ("Held up", "blocked", "Held up: 1 job, 3 wait")
    markup = DrawnGraph(graph).whole().layers
    assert next(iter(markup)) == "lanes"


def test_a_fold_opens_to_its_members():
    members = [member(n) for n in range(8)]
    (fold,) = (node for node in drawn(lane(*members)).nodes if node.is_folded)
    assert "open" not in fold.key
    opened = drawn(lane(*members), opened=fold.key)
    assert {item.id for item in members} <= nodes(opened).keys()
    assert not any(node.is_folded for node in opened.nodes)


def test_many_lanes_become_few():
    lanes = [lane(member(n), key=str(n), title=f"node-{n}") for n in range(40)]
    assert len(joined(lanes)) == 12
    assert sum(len(each.members) for each in joined(lanes)) == 40


STATES = st.sampled_from(
    ["complete", "blocked", "failed", "pending", "scheduling", "delayed", "canceled", "deleted"]
)
MEMBERS = st.lists(
    st.tuples(
        st.integers(0, 300),
        STATES,
        st.sampled_from(["node-update", "queued-allocs", "alloc-failure", "job-register"]),
    ),
    max_size=400,
)


@settings(max_examples=60, deadline=None)
@given(rows=MEMBERS, lanes=st.integers(1, 12), is_by_job=st.booleans())
def test_never_more_shapes_than_the_page_may_hold_and_nobody_is_lost(rows, lanes, is_by_job):
    members = [
        member(number, f"job-{job}", state, trigger=trigger)
        for number, (job, state, trigger) in enumerate(rows)
    ]
    drawing = [
        lane(*members[place::lanes], key=str(place), is_by_job=is_by_job) for place in range(lanes)
    ]
    shapes = [shape for each in shapes_in(drawing).values() for row in each for shape in row]
    assert len(shapes) <= MOST_SHAPES
    assert sorted(item.id for shape in shapes for item in shape.members) == sorted(
        item.id for item in members
    )
    graph = drawn(*drawing)
    assert graph == drawn(*drawing)
    keys = [node.key for node in graph.nodes]
    assert len(keys) == len(set(keys))
    assert len(keys) <= 60
    known = set(keys)
    assert all(edge.source in known and edge.target in known for edge in graph.edges)
