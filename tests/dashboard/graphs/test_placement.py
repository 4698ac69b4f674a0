import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.graphs.placement import (
    Refusal,
    ScoredNode,
    applied,
    placement_view,
    score_bar,
)
from dashboard.wording import TIMES
from scheduler.structs.alloc_metric import AllocMetric, NodeScore

METRIC = AllocMetric(
    nodes_evaluated=12,
    nodes_filtered=1,
    nodes_exhausted=6,
    nodes_in_pool=13,
    constraint_filtered={"missing drivers": 1},
    dimension_exhausted={"memory": 5, "cpu": 1},
    score_meta_data=(
        NodeScore(node_id="n6", scores={"binpack": 0.93, "node-affinity": 1.0}, norm_score=0.965),
        NodeScore(
            node_id="n5", scores={"binpack": 0.93, "job-anti-affinity": -0.25}, norm_score=-0.1
        ),
    ),
)


def test_candidates_carry_every_score_in_one_order():
    view = placement_view(METRIC, {"n6": "node-06"}, chosen="n6")
    assert view.columns == ("binpack", "job-anti-affinity", "node-affinity")
    assert view.candidates == (
        ScoredNode(
            node_id="n6", name="node-06", scores=(0.93, None, 1.0), final=0.965,
            margin=0.0, is_chosen=True,
        ),
        ScoredNode(
            node_id="n5", name="n5", scores=(0.93, -0.25, None), final=-0.1,
            margin=-1.065, is_chosen=False,
        ),
    )  # fmt: skip


def test_refusals_are_told_largest_first():
    view = placement_view(METRIC, {})
    assert view.exhausted == (
        Refusal(kind="exhausted", reason="memory", count=5, bar=41.7),
        Refusal(kind="exhausted", reason="CPU", count=1, bar=8.3),
    )
    assert view.sentence.replace(TIMES, "x") == (
        "12 nodes: 6 exhausted (5 x memory, 1 x CPU), 1 filtered (1 x missing drivers), "
        "5 had room."
    )


@pytest.mark.parametrize(
    ("scores", "has_bars"),
    [
        pytest.param((0.5, -0.1), True, id="one-above-zero"),
        pytest.param((0.0, -0.1), True, id="one-below-zero"),
        pytest.param((0.0,), False, id="only-zero"),
        pytest.param((), False, id="none"),
    ],
)
def test_bars_are_drawn_where_one_shows_something(scores, has_bars):
    found = tuple(NodeScore(node_id="n", norm_score=score) for score in scores)
    assert placement_view(AllocMetric(score_meta_data=found), {}).has_bars is has_bars


@pytest.mark.parametrize(
    ("scores", "final", "shown"),
    [
        pytest.param(
            {"binpack": 0.5, "job-anti-affinity": 0, "node-reschedule-penalty": 0,
             "node-affinity": 0}, 0.5, {"binpack": 0.5}, id="nothing-else-applies",
        ),
        pytest.param(
            {"binpack": 0.5, "job-anti-affinity": 0, "node-affinity": 0}, 0.25,
            {"binpack": 0.5, "node-affinity": 0}, id="an-affinity-that-nothing-matches",
        ),
        pytest.param(
            {"binpack": 0.5, "job-anti-affinity": -0.5, "node-affinity": 1}, 1 / 3,
            {"binpack": 0.5, "job-anti-affinity": -0.5, "node-affinity": 1}, id="all-apply",
        ),
    ],
)  # fmt: skip
def test_the_parts_that_are_shown_give_the_score(scores, final, shown):
    item = NodeScore(node_id="n", scores=scores, norm_score=final)
    assert applied(item) == shown
    assert sum(shown.values()) / len(shown) == pytest.approx(final)


@pytest.mark.parametrize(
    ("score", "has_below", "bar"),
    [
        pytest.param(0.5, False, (0.0, 50.0), id="from-the-left"),
        pytest.param(0.5, True, (50.0, 25.0), id="from-the-middle"),
        pytest.param(-0.5, True, (25.0, 25.0), id="below"),
        pytest.param(-3.0, True, (0.0, 50.0), id="beyond-the-axis"),
    ],
)
def test_a_bar_shows_scores_below_zero_as_well(score, has_below, bar):
    assert score_bar(score, has_below=has_below) == bar


def test_no_ready_node_is_said():
    assert placement_view(AllocMetric(), {}).sentence == "No node was looked at: none is ready."


counts = st.integers(min_value=0, max_value=50)


@given(filtered=counts, exhausted=counts, room=counts, named=counts, dimensions=counts)
def test_reasons_add_up_to_the_nodes_looked_at(filtered, exhausted, room, named, dimensions):
    metric = AllocMetric(
        nodes_evaluated=filtered + exhausted + room,
        nodes_filtered=filtered,
        nodes_exhausted=exhausted,
        constraint_filtered={"constraint": min(named, filtered)} if min(named, filtered) else {},
        dimension_exhausted={"cpu": min(dimensions, exhausted)}
        if min(dimensions, exhausted)
        else {},
    )
    view = placement_view(metric, {})
    told = sum(refusal.count for refusal in view.filtered + view.exhausted)
    assert told + room == metric.nodes_evaluated
