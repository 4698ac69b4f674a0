"""The sentence of a group that waits: each kind of reason is counted, and all add up."""

from dashboard.queries.explain_words import found_sentence
from scheduler.structs.explanation import GroupExplanation, RefusedNodes


def test_nodes_that_run_one_of_it_already_are_not_said_to_be_unable_to():
    refused = (
        RefusedNodes(reason="distinct_hosts", count=18),
        RefusedNodes(reason="distinct_property: ${meta.rack}=r1", count=1),
        RefusedNodes(reason="${meta.rack} = r3", count=40),
    )
    told = found_sentence(GroupExplanation(candidates=59, refused=refused), 1, {})
    assert told.strong == "No node has room for one more: 1 allocation waits."
    assert told.rest == "Of 59 nodes 19 already run one of it and 40 could never run it."
