import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.graphs.explanation import (
    MOST_NAMED,
    ExplanationView,
    NamedNode,
    NodesKeptOut,
    explanation_view,
    nodes_named,
)
from dashboard.graphs.placement import ScoredNode
from scheduler.structs.alloc_metric import NodeScore
from scheduler.structs.explanation import GroupExplanation, RefusedNodes, Shortfall

BEST = NodeScore(node_id="n9", scores={"binpack": 0.5}, norm_score=0.5)
FOUND = GroupExplanation(
    task_group="web",
    candidates=6,
    with_room=1,
    exhausted=(
        Shortfall(dimension="memory", count=2, node_ids=("n1", "n2"), missing=(200, 1200)),
        Shortfall(dimension="network: no port", count=1, node_ids=("n3",)),
    ),
    refused=(RefusedNodes(reason="${meta.gpu} is_set ", count=2, node_ids=("n4", "n5")),),
    best=(BEST,),
    failed=1,
    nearest_miss="2 nodes lack 200 MiB of memory or more",
)


def test_each_reason_names_its_nodes_the_nearest_with_what_it_lacks():
    view = explanation_view(FOUND, {"n1": "node-01", "n9": "node-09"}, chosen="n9")
    assert view == ExplanationView(
        group="web",
        sentence="6 nodes: 3 exhausted, 2 filtered, 1 with room for one more.",
        nearest_miss="2 nodes lack 200 MiB of memory or more.",
        verdicts=(
            NodesKeptOut(
                kind="exhausted",
                reason="memory",
                count=2,
                nodes=(
                    NamedNode(id="n1", name="node-01", lacks="200\u00a0MiB"),
                    NamedNode(id="n2", name="n2", lacks="1\u202f200\u00a0MiB"),
                ),
            ),
            NodesKeptOut(
                kind="exhausted",
                reason="network: no port",
                count=1,
                nodes=(NamedNode(id="n3", name="n3"),),
            ),
            NodesKeptOut(
                kind="filtered",
                reason="${meta.gpu} is_set",
                count=2,
                nodes=(NamedNode(id="n4", name="n4"), NamedNode(id="n5", name="n5")),
            ),
        ),
        with_room=1,
        columns=("binpack",),
        candidates=(
            ScoredNode(
                node_id="n9",
                name="node-09",
                scores=(0.5,),
                final=0.5,
                margin=0.0,
                is_chosen=True,
            ),
        ),
    )
    assert [verdict.is_amount for verdict in view.verdicts] == [True, False, False]
    assert nodes_named(FOUND) == {"n1", "n2", "n3", "n4", "n5", "n9"}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(GroupExplanation(), ("No node was looked at.", ""), id="no-candidate"),
        pytest.param(
            GroupExplanation(candidates=2, with_room=2),
            ("2 nodes: 2 with room for one more.", ""),
            id="all-have-room",
        ),
        pytest.param(
            GroupExplanation(nearest_miss="no node of pool gpu is ready"),
            ("No node was looked at.", "No node of pool gpu is ready."),
            id="nothing-ready",
        ),
        pytest.param(
            GroupExplanation(
                candidates=2,
                with_room=2,
                quota_exhausted=("cpu over", "memory over"),
                nearest_miss="quota: cpu over; memory over",
            ),
            (
                "Quota reached: cpu over; memory over. 2 nodes: 2 with room for one more.",
                "Cpu over; memory over.",
            ),
            id="quota",
        ),
    ],
)
def test_the_total_is_a_sentence(found, told):
    view = explanation_view(found, {})
    assert (view.sentence, view.nearest_miss) == told


@given(listed=st.integers(0, 200), unlisted=st.integers(0, 5000))
def test_named_and_unnamed_nodes_add_up(listed, unlisted):
    ids = tuple(f"n{place}" for place in range(listed))
    found = GroupExplanation(
        candidates=listed + unlisted,
        refused=(RefusedNodes(reason="missing drivers", count=listed + unlisted, node_ids=ids),),
    )
    (verdict,) = explanation_view(found, {}).verdicts
    assert len(verdict.nodes) + verdict.more == listed + unlisted
    assert len(verdict.nodes) <= MOST_NAMED
    assert nodes_named(found) == {node.id for node in verdict.nodes}
