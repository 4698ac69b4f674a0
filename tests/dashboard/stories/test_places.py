"""Lanes by rack, class or datacenter: which word, what stands where, what no node is known of."""

import pytest

from cluster.store.evaluation_face import EvaluationFace
from cluster.store.ports import NodePlace
from dashboard.graphs.chain_places import ChainMember
from dashboard.stories.lane_choice import LaneChoice
from dashboard.stories.places import StoryPlaces, nodes_behind, place_lanes, placed


def node(name, *, rack="", node_class="", datacenter="dc1"):
    return NodePlace(
        name, name, datacenter, "default", node_class, "ready", "eligible", False, 1000, 1000,
        (rack,),
    )  # fmt: skip


def face(number, node_id="", *, previous="", kind="node"):
    return EvaluationFace(
        f"e{number}", "default", "web", "node-update", "complete", previous, number, number, 0, 0,
        kind if node_id else "evaluation", node_id,
    )  # fmt: skip


def member(number, state="complete", job="web", **fields):
    return ChainMember(id=f"e{number}", job=job, state=state, created_at=number, **fields)


@pytest.mark.parametrize(
    ("known", "word", "where"),
    [
        ([node("a", rack="r1"), node("b")], "rack", {"a": "r1", "b": "no rack"}),
        ([node("a", node_class="big"), node("b")], "class", {"a": "big", "b": "no class"}),
        ([node("a"), node("b", datacenter="dc2")], "datacenter", {"a": "dc1", "b": "dc2"}),
        ([node("a", rack="r1")], "rack", {"a": "r1", "b": "nodes that are gone"}),
    ],
)
def test_the_first_that_is_known_says_where_nodes_stand(known, word, where):
    places = placed(["a", "b"], known)
    assert (places.word, dict(places.of_node)) == (word, where)


def test_what_follows_an_evaluation_stands_where_that_stands():
    faces = [face(1, "a"), face(2, previous="e1"), face(3, "b", kind="drain"), face(4)]
    assert nodes_behind(faces) == {"e1": "a", "e2": "a", "e3": "b"}


def test_places_stand_worst_off_first_and_hold_every_evaluation():
    places = StoryPlaces(word="rack", of_node={"a": "r10", "b": "r9", "c": "r2", "d": "empty"})
    faces = [face(1, "a"), face(2, "b"), face(3, previous="e2"), face(4, "c"), face(5)]
    members = [
        member(1, work={"placed": 2}), member(2), member(3, "blocked"), member(4), member(5),
    ]  # fmt: skip
    told = place_lanes(places, faces, members)
    assert [(lane.title, lane.tone, len(lane.members)) for lane in told.lanes] == [
        ("r9", "blocked", 2), ("nodes that are gone", "", 1), ("r2", "", 1), ("r10", "", 1),
    ]  # fmt: skip
    rows = {row.title: row for row in told.rows}
    assert rows["r10"].told == "1 node. 2 placed."
    assert rows["empty"].told == "1 node. No evaluation was needed."
    assert sum(row.evaluations for row in told.rows) == len(members)


@pytest.mark.parametrize("choice", [
    LaneChoice(), LaneChoice("fold:a/b:c"), LaneChoice("", "place"),
    LaneChoice("fold:x/y", "place"), LaneChoice("fold:x/y", "place", "0a1b"),
    LaneChoice("", "", "0a1b"), LaneChoice("fold:a/b:c", "", "0a1b"),
])  # fmt: skip
def test_a_topic_says_which_lanes_and_which_fold(choice):
    assert LaneChoice.from_text(choice.text) == choice
