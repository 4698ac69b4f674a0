"""What a rehearsal says: who goes where, who waits and why, who falls below, and for how long."""

from itertools import pairwise

import pytest

from cluster.operations.namespaces import put_namespace
from cluster.operations.quotas import put_quota
from cluster.operations.scheduler_settings import set_scheduler_settings
from cluster.rehearsal.result import Assumption, RehearsalEnd, RehearsedOutcome
from cluster.rehearsal.run import RehearsalLimits
from cluster.rehearsal.scenario import ScenarioProblems
from scheduler.access.caller import CLUSTER
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import SECOND
from tests.rehearsal.quiet_cluster import QuietCluster, job_document


@pytest.fixture
def cluster():
    return QuietCluster(4)


def start(cluster, *documents):
    for document in documents:
        cluster.run(document)
    cluster.rest()


def drain(*node_ids, deadline="1h", **more):
    return {"Drain": {"NodeIDs": list(node_ids), "Spec": {"Deadline": deadline}, **more}}


def node_of(cluster, number):
    return cluster.store.node(cluster.node_id(number)).name


def crowded(cluster, job_id="web"):
    """The node with most of a job on it."""
    allocs = [a for a in cluster.store.allocations() if a.job_id == job_id and not a.is_terminal]
    ids = [alloc.node_id for alloc in allocs]
    return max(sorted(set(ids)), key=ids.count)


def test_a_drain_names_each_destination_and_changes_nothing(cluster):
    start(cluster, job_document("web", count=4))
    node_id, before = crowded(cluster), cluster.store.index
    leaving = sum(1 for alloc in cluster.store.allocations_by_node(node_id))
    result = cluster.rehearse(drain(node_id))
    assert cluster.store.index == before == result.index
    assert result.ending is RehearsalEnd.QUIET
    assert result.totals.need_place == result.totals.placed == leaving
    for each in result.allocations:
        assert each.outcome is RehearsedOutcome.PLACED
        assert each.from_node_id == node_id != each.to_node_id
        assert each.score is not None
        assert cluster.store.allocation(each.id).node_id == node_id
        assert 0 <= each.asked_at <= each.started_at < each.healthy_at


def test_allocations_leave_as_many_at_a_time_as_their_job_allows(cluster):
    moved = {"MaxParallel": 1, "MinHealthyTime": 20 * SECOND, "HealthyDeadline": 60 * SECOND}
    start(cluster, job_document("web", count=6, cpu=100, Migrate=moved))
    node_ids = [cluster.node_id(1), cluster.node_id(2), cluster.node_id(3)]
    result = cluster.rehearse(drain(*node_ids))
    times = sorted(each.asked_at for each in result.allocations)
    assert len(times) > 1
    assert all(later - earlier >= 20 * SECOND for earlier, later in pairwise(times))
    (group,) = result.groups
    assert (group.before, group.lowest, group.after) == (6, 5, 6)
    assert group.below_for == len(times) * 20 * SECOND
    assert result.totals.fall_below == 1
    assert result.lasts >= group.below_for


def test_what_finds_no_room_waits_and_says_for_what(cluster):
    start(cluster, job_document("big", count=4, cpu=2500))
    result = cluster.rehearse(drain(cluster.node_id(1), deadline="10m"))
    (waits,) = result.allocations
    assert waits.outcome is RehearsedOutcome.WAITS
    assert waits.from_node_name == node_of(cluster, 1)
    assert waits.waiting.reason == "cpu"
    assert (waits.waiting.node_name, waits.waiting.missing) == ("node-2", 1000)
    assert "lack" in waits.waiting.text
    (group,) = result.groups
    assert (group.count, group.after, group.waits, group.lowest) == (4, 3, 1, 3)
    assert result.totals.end_below == result.totals.fall_below == 1
    blocked = [row for row in result.evaluations if row.status == "blocked"]
    assert [row.id for row in blocked] == [waits.waiting.eval_id]
    assert blocked[0].previous_eval == result.evaluations[0].id


def test_what_others_of_its_own_keep_out_says_so_and_not_what_most_nodes_lack(cluster):
    """Most nodes are of another name; on those that would do there is one of it already."""
    names = [node_of(cluster, number) for number in (1, 2)]
    apart = [
        {"Operand": "distinct_hosts"},
        {"LTarget": "${node.unique.name}", "Operand": "set_contains_any",
         "RTarget": ",".join(names)},
    ]  # fmt: skip
    start(cluster, job_document("web", count=2, Constraints=apart))
    result = cluster.rehearse(drain(cluster.node_id(1), deadline="10m"))
    (waits,) = result.allocations
    assert waits.waiting.metric.constraint_filtered["distinct_hosts"] == 1
    assert waits.waiting.reason == "distinct_hosts"


def test_batch_work_is_left_to_finish_until_the_deadline(cluster):
    start(cluster)
    cluster.run(job_document("night", count=1, kind="batch"))
    for _ in range(3):
        cluster.cluster.round(0.5)
    (alloc,) = cluster.store.allocations()
    result = cluster.rehearse(drain(alloc.node_id, deadline=0))
    (each,) = result.allocations
    assert each.outcome is RehearsedOutcome.FINISHES
    assert Assumption.BATCH_RUNS_ON in result.assumptions
    forced = cluster.rehearse(drain(alloc.node_id, deadline="5m"))
    assert forced.lasts >= 300 * SECOND
    # Nothing is placed for what the deadline ended: it is not one that waits.
    (each,) = forced.allocations
    assert (each.outcome, each.waiting) == (RehearsedOutcome.STOPPED, None)
    assert each.stopped_at >= 300 * SECOND
    assert (forced.totals.need_place, forced.totals.waits) == (0, 0)


def test_nodes_can_be_drained_a_few_at_a_time(cluster):
    start(cluster, job_document("big", count=2, cpu=2500))
    node_ids = [alloc.node_id for alloc in cluster.store.allocations()]
    result = cluster.rehearse(drain(*node_ids, AtOnce=1))
    asked = sorted(each.asked_at for each in result.allocations)
    first_done = min(each.healthy_at for each in result.allocations)
    assert result.totals.placed == 2
    assert asked[1] >= first_done


def test_lost_nodes_are_chosen_by_a_filter_and_a_share(cluster):
    start(cluster, job_document("web", count=4, cpu=100))
    every = {"Lose": {"Filter": 'NodeClass == "odd"'}}
    lost = [node for node in cluster.rehearse(every).nodes if node.fate == "lost"]
    assert sorted(node.name for node in lost) == ["node-1", "node-3"]
    half = cluster.rehearse({"Lose": {"Filter": 'NodeClass == "odd"', "Share": 50}})
    assert [node.name for node in half.nodes if node.fate == "lost"] == ["node-3"]


def test_added_nodes_take_what_waits(cluster):
    start(cluster, job_document("big", count=4, cpu=2500))
    change = drain(cluster.node_id(1))
    more = {"Add": {"Like": cluster.node_id(2), "Count": 2}}
    result = cluster.rehearse(more, change)
    assert result.totals.placed == 1
    assert result.allocations[0].to_node_name.startswith("node-2-like-")
    assert sum(node.fate == "added" for node in result.nodes) == 2


def test_a_job_is_rolled_out_and_scaled_and_stopped(cluster):
    update = {"MaxParallel": 1, "MinHealthyTime": 5 * SECOND, "HealthyDeadline": 60 * SECOND}
    document = job_document("web", count=3, Update=update)
    start(cluster, document)
    again = job_document("web", count=3, cpu=250, Update=update)
    rollout = cluster.rehearse({"Job": again})
    assert rollout.totals.placed == 3
    assert rollout.lasts >= 15 * SECOND
    assert {row.triggered_by for row in rollout.evaluations} == {
        "job-register",
        "deployment-watcher",
    }
    told = rollout.rollout
    assert (told.at_once, told.deployment.status, len(told.allocations)) == (1, "successful", 3)
    assert all(each.healthy_at > each.create_time for each in told.allocations)
    grown = cluster.rehearse({"Scale": {"JobID": "web", "Count": 5}})
    assert (grown.totals.placed, grown.groups[0].count) == (2, 5)
    assert {each.id for each in grown.allocations if each.outcome == "placed"} == {""}
    ended = cluster.rehearse({"Stop": {"JobID": "web"}})
    assert grown.rollout is None
    assert ended.totals.stopped == 3
    assert ended.totals.end_below == 0


def test_a_job_is_dispatched_and_taken_back_to_an_earlier_version(cluster):
    calls = job_document("calls", count=2, kind="batch") | {
        "ParameterizedJob": {"MetaRequired": ["input"]}
    }
    start(cluster, calls)
    asked = {"JobID": "calls", "Meta": {"input": "a"}, "Payload": "eA=="}
    dispatched = cluster.rehearse({"Dispatch": asked})
    assert dispatched.totals.placed == 2
    assert {row.triggered_by for row in dispatched.evaluations} == {"job-register"}
    with pytest.raises(ScenarioProblems, match=r"Dispatch\.Meta: Dispatch did not provide"):
        cluster.rehearse({"Dispatch": {"JobID": "calls"}})
    start(cluster, job_document("web", count=2))
    start(cluster, job_document("web", count=3, cpu=250))
    back = {"JobID": "web", "JobVersion": 0, "EnforcePriorVersion": 1}
    assert cluster.rehearse({"Revert": back}).groups[0].count == 2
    kept = cluster.rehearse({"Revert": {**back, "KeepCounts": True}})
    assert (kept.groups[0].count, kept.totals.placed) == (3, 3)
    with pytest.raises(ScenarioProblems, match="has no version 7"):
        cluster.rehearse({"Revert": {"JobID": "web", "JobVersion": 7}})


def test_what_cannot_grow_says_which_names_wait(cluster):
    start(cluster, job_document("big", count=4, cpu=2500))
    result = cluster.rehearse({"Scale": {"JobID": "big", "Count": 6}})
    waits = [each for each in result.allocations if each.outcome == "waits"]
    assert [each.name for each in waits] == ["big.main[4]", "big.main[5]"]
    assert {each.waiting.reason for each in waits} == {"cpu"}
    assert result.groups[0].rollout == "failed"
    assert "progress deadline" in result.groups[0].rollout_description


def test_a_quota_refuses_and_a_larger_one_does_not(cluster):
    now = cluster.plane.clock.now()
    limits = QuotaAmounts(cpu=500)
    put_quota(cluster.store, QuotaSpec(name="team", limits=limits), by=CLUSTER, now=now)
    put_namespace(cluster.store, Namespace(name="team", quota="team"), by=CLUSTER, now=now)
    start(cluster, job_document("web", count=2) | {"Namespace": "team"})
    more = {"Scale": {"JobID": "web", "Namespace": "team", "Count": 3}}
    refused = cluster.rehearse(more)
    assert refused.totals.waits == 1
    assert "quota" in next(
        each.waiting.reason for each in refused.allocations if each.waiting is not None
    )
    raised = {"Quota": {"Name": "team", "Limits": {"CPU": 5000}}}
    assert cluster.rehearse(raised, more).totals.waits == 0


def test_another_algorithm_chooses_other_nodes(cluster):
    filled = cluster.rehearse({"Job": job_document("web", count=4, cpu=100)})
    levelled = cluster.rehearse(
        {"Settings": {"SchedulerAlgorithm": "spread"}},
        {"Job": job_document("web", count=4, cpu=100)},
    )
    assert filled.totals.placed == levelled.totals.placed == 4
    assert levelled.totals.destinations >= filled.totals.destinations


def test_a_paused_scheduler_is_rehearsed_as_if_it_ran(cluster):
    start(cluster, job_document("web", count=2))
    paused = SchedulerSettings(pause_eval_broker=True)
    set_scheduler_settings(cluster.store, paused, by=CLUSTER, now=cluster.plane.clock.now())
    result = cluster.rehearse(drain(crowded(cluster)))
    assert Assumption.NOT_PAUSED in result.assumptions
    assert result.totals.placed == result.totals.need_place > 0


def test_a_closed_node_keeps_what_it_has_and_a_purged_one_nothing(cluster):
    start(cluster, job_document("web", count=2))
    node_id = crowded(cluster)
    closed = {"Eligibility": {"NodeIDs": [node_id], "Eligibility": "ineligible"}}
    assert cluster.rehearse(closed).totals.need_place == 0
    purged = cluster.rehearse({"Purge": {"NodeIDs": [node_id]}})
    assert purged.totals.placed > 0


def test_a_rehearsal_ends_where_its_limits_are(cluster):
    start(cluster, job_document("web", count=4))
    ticks = iter(range(1_000_000))
    late = cluster.rehearse_by(
        lambda: float(next(ticks)), drain(crowded(cluster)), limits=RehearsalLimits(seconds=5)
    )
    assert late.ending is RehearsalEnd.TIME
    few = cluster.rehearse(
        {"Job": job_document("a")},
        {"Job": job_document("b")},
        limits=RehearsalLimits(evaluations=1),
    )
    assert few.ending is RehearsalEnd.EVALUATIONS
    soon = cluster.rehearse(drain(crowded(cluster)), limits=RehearsalLimits(horizon=0.5))
    assert soon.ending is RehearsalEnd.HORIZON


def test_every_problem_is_named_with_its_place(cluster):
    with pytest.raises(ScenarioProblems) as raised:
        cluster.rehearse(
            drain("nobody"),
            {"Lose": {"Filter": 'NoSuchField == "x"'}},
            {"Scale": {"JobID": "nothing", "Count": 2}},
            {"Add": {"Like": "nobody", "Count": 1}},
            {"Quota": {"Name": "none", "Limits": {"CPU": 1}}},
            {"Job": {"ID": "x", "TaskGroups": [{"Count": -1}], "Namespace": "nowhere"}},
        )
    found = [problem.path for problem in raised.value.problems]
    assert found[:5] == [
        "Changes[0].Drain.NodeIDs[0]",
        "Changes[1].Lose.Filter",
        "Changes[2].Scale.JobID",
        "Changes[3].Add.Like",
        "Changes[4].Quota.Name",
    ]
    of_job = {path.removeprefix("Changes[5].Job.") for path in found[5:]}
    assert of_job >= {"TaskGroups[0].Count", "TaskGroups[0].Tasks", "Namespace"}


def test_a_count_that_is_refused_is_named_with_its_place(cluster):
    everywhere = job_document("everywhere", kind="system")
    del everywhere["TaskGroups"][0]["Count"]
    start(cluster, everywhere)
    with pytest.raises(ScenarioProblems, match="only be scaled between 0 and 1") as raised:
        cluster.rehearse({"Scale": {"JobID": "everywhere", "Count": 2}})
    assert [problem.path for problem in raised.value.problems] == ["Changes[0].Scale.Count"]


def test_a_purged_job_stops_with_all_it_has(cluster):
    start(cluster, job_document("web", count=3))
    result = cluster.rehearse({"Stop": {"JobID": "web", "Purge": True}})
    assert {each.outcome for each in result.allocations} == {RehearsedOutcome.STOPPED}
    assert (result.totals.stopped, result.totals.updated) == (3, 0)


def first_asked(result):
    return min(
        each.asked_at for each in result.allocations if each.outcome is RehearsedOutcome.PLACED
    )


def test_what_nobody_has_judged_yet_becomes_healthy_in_its_time_and_holds_nothing_up(cluster):
    slow = {"MaxParallel": 1, "MinHealthyTime": 30 * SECOND, "HealthyDeadline": 300 * SECOND}
    cluster.run(job_document("web", count=4, Migrate=slow))
    for _ in range(8):
        cluster.cluster.round(1.0)
    fresh = tuple(alloc for alloc in cluster.store.allocations() if not alloc.is_terminal)
    assert {alloc.client_status for alloc in fresh} == {ClientStatus.RUNNING}
    assert not any(alloc.deployment_status for alloc in fresh)
    # Were nobody told of them, nothing would ever call them healthy, and force moved them.
    forced = cluster.rehearse(drain(crowded(cluster)))
    assert first_asked(forced) >= 3600 * SECOND
    told = cluster.rehearse(drain(crowded(cluster)), under_way=fresh)
    assert (told.totals.held, told.totals.placed) == (0, told.totals.need_place)
    # They have run for a while already; the first leaves once enough others are healthy.
    assert 0 < first_asked(told) < 30 * SECOND
