"""A drain at several paces: each is rehearsed on the same record, and they stand side by side."""

import pytest

from cluster.operations.nodes import DrainRequest, drain_node
from cluster.rehearsal.result import RehearsalEnd
from cluster.rehearsal.run import RehearsalLimits
from cluster.rehearsal.scenario import ScenarioProblems
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.wire import HIDDEN, for_reader
from scheduler.access.access import Access
from scheduler.access.caller import CLUSTER
from scheduler.structs.node import DrainStrategy
from tests.builders import SECOND
from tests.rehearsal.quiet_cluster import QuietCluster, job_document


def drain(node_ids, **more):
    return {"Drain": {"NodeIDs": node_ids, "Spec": {"Deadline": "10m"}, **more}}


@pytest.fixture
def full():
    """Four nodes with room for two each, six of eight places taken: two nodes do not empty."""
    cluster = QuietCluster(4)
    moved = {"MaxParallel": 2, "MinHealthyTime": 10 * SECOND, "HealthyDeadline": 60 * SECOND}
    cluster.run(job_document("web", count=6, cpu=1500, Migrate=moved))
    cluster.rest()
    return cluster


def nodes_of(cluster, *numbers):
    return [cluster.node_id(number) for number in numbers]


def test_each_pace_says_what_the_same_drain_alone_says(full):
    node_ids = nodes_of(full, 1, 2, 3)
    result = full.rehearse(drain(node_ids, AtOnce=2, Paces=[1, 0, 2]))
    assert [pace.at_once for pace in result.paces] == [0, 2, 1]
    for pace in result.paces:
        alone = full.rehearse(drain(node_ids, AtOnce=pace.at_once))
        assert alone.paces == ()
        totals = alone.totals
        told = (totals.placed, totals.waits, totals.held, totals.fall_below, totals.moved_again)
        assert told == (
            pace.placed, pace.waits, pace.held, pace.fall_below, pace.moved_again,
        )  # fmt: skip
        assert pace.lasts == alone.lasts
        assert pace.lowest.lowest == min(group.lowest for group in alone.groups)


def test_the_rest_of_the_result_is_of_the_pace_that_was_asked_for(full):
    node_ids = nodes_of(full, 1, 2, 3)
    result = full.rehearse(drain(node_ids, AtOnce=1, Paces=[0]))
    own = next(pace for pace in result.paces if pace.at_once == 1)
    assert (own.placed, own.lasts) == (result.totals.placed, result.lasts)


def lonely(nodes):
    """Two allocations on as many nodes, of which each has room for one."""
    cluster = QuietCluster(nodes)
    moved = {"MaxParallel": 1, "MinHealthyTime": SECOND, "HealthyDeadline": 60 * SECOND}
    cluster.run(job_document("web", count=2, cpu=2500, Migrate=moved))
    cluster.rest()
    return cluster, min(alloc.node_id for alloc in cluster.store.allocations())


@pytest.mark.parametrize("deadline", ["10m", 0])
@pytest.mark.parametrize(("nodes", "placed"), [(3, 0), (4, 1)])
def test_what_moves_to_a_node_that_drains_later_has_to_go_again(nodes, placed, deadline):
    cluster, taken = lonely(nodes)
    (alone,) = cluster.rehearse(drain([taken])).allocations
    change = drain([taken, alone.to_node_id], AtOnce=1, Paces=[0])
    change["Drain"]["Spec"]["Deadline"] = deadline
    together, single = cluster.rehearse(change).paces
    assert (together.placed, together.waits, together.moved_again) == (placed, 1 - placed, 0)
    assert (single.placed, single.waits, single.moved_again) == (placed, 1 - placed, 1)


def test_one_that_took_too_long_has_no_other_paces(full):
    ticks = iter(range(1_000_000))
    result = full.rehearse_by(
        lambda: float(next(ticks)),
        drain(nodes_of(full, 1, 2), Paces=[1]),
        limits=RehearsalLimits(seconds=3),
    )
    assert (result.ending, result.paces) == (RehearsalEnd.TIME, ())


def begun(cluster, number):
    """Whose deadline or options a drain of it changes."""
    node_id = cluster.node_id(number)
    request = DrainRequest(strategy=DrainStrategy(deadline=3600 * SECOND))
    plane = cluster.plane
    drain_node(plane.store, node_id, request, by=CLUSTER, now=plane.clock.now(), ids=plane.ids)
    return node_id


def test_with_nodes_that_drain_already_there_is_no_other_pace(full):
    """All together they do; a few at a time would be refused."""
    node_ids = [begun(full, 1), *nodes_of(full, 2, 3)]
    result = full.rehearse(drain(node_ids, Paces=[2, 1]))
    alone = full.rehearse(drain(node_ids))
    assert (result.ending, result.paces) == (alone.ending, ())
    assert result.totals == alone.totals


def test_nodes_that_drain_already_are_named_where_it_would_be_refused(full):
    first, second = full.node_id(1), begun(full, 2)
    with pytest.raises(ScenarioProblems) as caught:
        full.rehearse(drain([first, second], AtOnce=1))
    name = full.store.node(second).name
    (problem,) = caught.value.problems
    place = "Changes[0].Drain.NodeIDs[1]"
    assert (problem.path, problem.message) == (place, f"node {name} drains already")


def test_a_group_that_one_may_not_read_is_not_named(full):
    result = full.rehearse(drain(nodes_of(full, 1, 2), Paces=[1]))
    nobody = for_reader(result, Access())
    assert {pace.lowest.job_id for pace in result.paces} == {"web"}
    assert {pace.lowest.job_id for pace in nobody.paces} == {HIDDEN}
    assert [pace.placed for pace in nobody.paces] == [pace.placed for pace in result.paces]


@pytest.mark.parametrize(
    ("paces", "place", "says"),
    [
        ("1", "Paces", "must be a list"),
        ([0, "two"], "Paces[1]", "must be a whole number"),
        ([-1], "Paces[0]", "from 0 to"),
        ([0, 1, 2, 3, 4, 5], "Paces", "6 paces; at most 5"),
    ],
)
def test_what_is_no_pace_is_named_with_its_place(paces, place, says):
    with pytest.raises(ScenarioProblems) as caught:
        read_scenario(drain(["a", "b"], Paces=paces))
    (problem,) = caught.value.problems
    assert problem.path == f"Changes[0].Drain.{place}"
    assert says in problem.message
