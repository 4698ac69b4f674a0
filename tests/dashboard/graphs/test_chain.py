import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.chain_tree import DEEPEST, chain_tree


def member(key, *, at=0, job="web", state="complete", **fields):
    fields.setdefault("trigger", "node-update")
    return ChainMember(id=key, job=job, state=state, created_at=at, **fields)


def placed(layout):
    return {node.key: (node.x, node.y) for node in layout.graph().nodes}


def arrows(layout):
    return {(edge.source, edge.target): (edge.kind, edge.text) for edge in layout.graph().edges}


LOST = {"event_key": "node n4 7", "event_lines": ("node-04", "lost", "12:41:07")}


def test_links_are_solid_and_causes_dashed():
    layout = ChainLayout("chain-x")
    layout.update(
        [
            member("a", at=1, blocked_eval="b", **LOST),
            member("b", at=2, previous_eval="a", trigger="queued-allocs"),
            member("c", at=3, cause_eval="a", cause_text="preempts", next_eval="d"),
            member("d", at=4),
            member("e", at=5, previous_eval="d", trigger="rolling-update"),
        ]
    )
    assert arrows(layout) == {
        ("event:node n4 7", "a"): ("step", ""),
        ("a", "b"): ("link", "BlockedEval"),
        ("a", "c"): ("cause", "preempts"),
        ("c", "d"): ("link", "NextEval"),
        ("d", "e"): ("link", "PreviousEval"),
    }


def test_column_is_the_generation_and_lane_the_first_free_row_beside_the_parent():
    layout = ChainLayout("chain-x")
    layout.update([member("a", at=1, **LOST), member("b", at=2, **LOST)])
    layout.update([member("c", at=3, previous_eval="b"), member("d", at=4, previous_eval="a")])
    layout.update([member("e", at=5, previous_eval="a")])
    first, second = 140.0, 422.0
    assert {key: at for key, at in placed(layout).items() if not key.startswith("event")} == {
        "a": (first, 31.0),
        "b": (first, 99.0),
        "c": (second, 99.0),
        "d": (second, 31.0),
        "e": (second, 167.0),
    }


def test_words_on_arrows_stay_clear_of_the_ring_around_a_selected_node():
    layout = ChainLayout("chain-x", selected="b")
    layout.update(
        [
            member("a", at=1, next_eval="b", **LOST),
            member("b", at=2, cause_eval="a", expects="later"),
            member("c", at=3, cause_eval="a", cause_text="max-disconnect-timeout"),
        ]
    )
    graph = layout.graph()
    rings = [(node.focus[0], node.focus[0] + node.focus[2]) for node in graph.nodes]
    for label in (label for edge in graph.edges for label in edge.labels):
        # Letters of 11 px are about six wide.
        left, right = label.x - 3 * len(label.text), label.x + 3 * len(label.text)
        assert [ring for ring in rings if left < ring[1] and right > ring[0]] == []


def test_a_placed_node_never_moves():
    layout = ChainLayout("chain-x")
    history = [
        member(f"e{place}", at=place, previous_eval=f"e{place // 3}" if place else "", **LOST)
        for place in range(60)
    ]
    before: dict = {}
    for arrived in history:
        layout.update([arrived])
        now = {
            key: at for key, at in placed(layout).items() if not key.startswith(("event", "fold"))
        }
        assert {key: now[key] for key in before if key in now} == {
            key: at for key, at in before.items() if key in now
        }
        before = now


TANGLED = (
    member("a", at=1, **LOST),
    member("b", at=2, **LOST),
    member("c", at=3, previous_eval="b"),
    member("d", at=4, previous_eval="a"),
    member("e", at=5, previous_eval="a"),
    member("f", at=6, previous_eval="zzzzzzzz-gone"),
    member("g", at=7, previous_eval="g"),
)


def lanes(layout):
    return {key: (spot.column, int(spot.lane)) for key, spot in layout.spots.items()}


def test_tidied_a_branch_keeps_its_lanes_together():
    layout = ChainLayout("chain-x")
    layout.update(TANGLED)
    layout.tidy()
    assert lanes(layout) == {
        "a": (1, 0),
        "d": (2, 0),
        "e": (2, 1),
        "b": (1, 2),
        "c": (2, 2),
        "zzzzzzzz-gone": (1, 3),
        "f": (2, 3),
        "g": (1, 4),
    }


def test_what_comes_after_tidying_moves_nothing():
    layout = ChainLayout("chain-x")
    layout.update(TANGLED)
    layout.tidy()
    before = lanes(layout)
    layout.update([member("h", at=8, previous_eval="a"), member("i", at=9, previous_eval="e")])
    assert lanes(layout) == before | {"h": (2, 4), "i": (3, 1)}


def test_a_loop_of_links_is_tidied_too():
    layout = ChainLayout("chain-x")
    layout.update([member("a", at=1, previous_eval="b"), member("b", at=2, previous_eval="a")])
    layout.tidy()
    assert lanes(layout) == {"a": (2, 0), "b": (1, 0)}


# A busy machine draws slowly; that says nothing of the tidying.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_tidied_arrows_never_cross(parents):
    layout = ChainLayout("chain-x")
    layout.update(
        member(
            f"e{place}",
            at=place,
            previous_eval=f"e{parent}" if parent < place else "",
            event_key=f"event {parent % 3}" if parent >= place else "",
            outcome=str(place % 3),
        )
        for place, parent in enumerate(parents)
    )
    layout.tidy()
    spots = layout.spots
    assert len(set(spots.values())) == len(spots)
    made = sorted(
        (spots[key].column, spots[key].lane, spots[source].lane)
        for source, key in arrows(layout)
        if not source.startswith("event")
    )
    for (column, _, above), (next_column, _, below) in itertools.pairwise(made):
        assert column != next_column or above <= below


def test_no_two_nodes_share_a_place():
    layout = ChainLayout("chain-x")
    layout.update(
        member(
            f"e{place}",
            at=place,
            previous_eval=f"e{place // 2}" if place > 1 else "",
            expects="later",
        )
        for place in range(40)
    )
    boxes = [node for node in layout.graph().nodes if node.shape != "circle"]
    assert len({(node.x, node.y) for node in boxes}) == len(boxes)


def test_a_collected_ancestor_is_drawn_as_a_stub_and_an_unknown_one_as_such():
    layout = ChainLayout("chain-x")
    layout.update(
        [
            member("a", at=1, state="deleted", is_tombstone=True, **LOST),
            member("b", at=2, previous_eval="a"),
            member("c", at=3, previous_eval="zzzzzzzz-gone"),
        ]
    )
    told = {node.key: (node.is_tombstone, node.name) for node in layout.graph().nodes}
    assert told["a"][0]
    assert told["zzzzzzzz-gone"] == (True, "evaluation zzzzzzzz, not in the record")
    assert ("zzzzzzzz-gone", "c") in arrows(layout)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_two_roots_joined_by_one_blocked_evaluation_are_drawn(order):
    members = [
        member("a", at=1, blocked_eval="c", **LOST),
        member("b", at=2, blocked_eval="c", **LOST),
        member("c", at=3, previous_eval="a"),
    ]
    layout = ChainLayout("chain-x")
    layout.update(members[place] for place in order)
    assert {"a", "b", "c"} <= placed(layout).keys()


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([member("a", previous_eval="a")], id="names-itself"),
        pytest.param(
            [member("a", previous_eval="b"), member("b", previous_eval="a")], id="loop-of-two"
        ),
        pytest.param([], id="nothing"),
    ],
)
def test_damaged_links_end_in_a_drawing(members):
    layout = ChainLayout("chain-x")
    layout.update(members)
    assert {item.id for item in members} <= placed(layout).keys()
    chain_tree(layout)


def test_a_storm_of_equal_outcomes_folds_and_counts_exactly():
    layout = ChainLayout("chain-x")
    layout.update(
        member(f"e{place:05}", at=place, job=f"job{place}", outcome="no-op", **LOST)
        for place in range(2000)
    )
    graph = layout.graph()
    folded = [node for node in graph.nodes if node.is_folded]
    assert [node.lines[0].text for node in folded] == ["1\u202f997 more jobs"]
    assert len(graph.nodes) == 5
    assert graph.description == "2\u202f000 evaluations, 1\u202f997 of them folded."


def test_a_folded_evaluation_that_has_an_effect_comes_out_of_the_fold():
    layout = ChainLayout("chain-x")
    layout.update(member(f"e{place}", at=place, outcome="no-op", **LOST) for place in range(9))
    assert "e8" not in placed(layout)
    layout.update([member("child", at=20, previous_eval="e8")])
    assert {"e8", "child"} <= placed(layout).keys()


def test_what_may_come_next_is_dotted():
    layout = ChainLayout("chain-x")
    layout.update([member("a", state="blocked", expects="when memory is free", **LOST)])
    assert arrows(layout)["a", "next:a"] == ("next", "then")
    edge = next(edge for edge in layout.graph().edges if edge.target == "next:a")
    assert edge.path == "possible"


def test_the_tree_tells_links_and_causes_apart():
    layout = ChainLayout("chain-x")
    layout.update(
        [
            member("a", at=1, blocked_eval="b", **LOST),
            member("b", at=2, previous_eval="a"),
            member("c", at=3, cause_eval="a", job="thumbs"),
        ]
    )
    (root,) = chain_tree(layout)
    assert (root.title, root.sub) == ("node-04 lost", "12:41:07")
    (first,) = root.links
    assert [branch.title for branch in first.links] == ["web"]
    assert [branch.title for branch in first.causes] == ["thumbs"]


def row_of(count, triggers=("node-update",)):
    """Each made by the one before it."""
    return [member("e0000", **LOST)] + [
        member(
            f"e{place:04}", at=place, href=f"/{place}", previous_eval=f"e{place - 1:04}",
            trigger=triggers[place % len(triggers)],
        )
        for place in range(1, count)
    ]  # fmt: skip


def titles_down(branches):
    """The titles of a tree that never forks."""
    while branches:
        (branch,) = branches
        yield branch.title
        branches = branch.links + branch.causes


def test_a_long_row_of_alike_ones_is_its_first_its_last_and_how_many_between():
    layout = ChainLayout("chain-x")
    layout.update([*row_of(500), member("end", at=600, previous_eval="e0499", state="blocked")])
    told = [*titles_down(chain_tree(layout))]
    assert told == ["node-04 lost", "web", "498 more like it", "web", "web"]
    short = ChainLayout("chain-x")
    short.update(row_of(8))
    assert [*titles_down(chain_tree(short))] == ["node-04 lost", *["web"] * 8]


def test_what_a_page_is_about_is_never_folded_into_a_row():
    layout = ChainLayout("chain-x", selected="e0100")
    layout.update(row_of(200))
    assert [*titles_down(chain_tree(layout))] == [
        "node-04 lost", "web", "98 more like it", "web", "web", "web", "97 more like it", "web",
    ]  # fmt: skip


def test_a_chain_of_a_thousand_in_a_row_is_one_list_from_some_depth_on():
    layout = ChainLayout("chain-x")
    layout.update(row_of(1000, triggers=("node-update", "max-plan-attempts")))
    (branch,) = chain_tree(layout)
    depth = 0
    while len(branch.links) == 1:
        (branch,), depth = branch.links, depth + 1
    assert depth == DEEPEST
    assert [each.href for each in branch.links] == [f"/{place}" for place in range(depth, 1000)]
    assert not any(each.links or each.causes for each in branch.links)
