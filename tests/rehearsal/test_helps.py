"""What would help those that wait: each change is confirmed by a rehearsal, and by the deed."""

import pytest

from cluster.operations.namespaces import put_namespace
from cluster.operations.quotas import put_quota
from cluster.operations.unblock_changes import ChangeWord
from cluster.rehearsal.wire import for_reader, pack, unpack
from scheduler.access.access import Access
from scheduler.access.caller import CLUSTER
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.rehearsal.quiet_cluster import QuietCluster, job_document


@pytest.fixture
def full():
    """Four nodes, each with one allocation that takes more than half of it."""
    cluster = QuietCluster(4)
    cluster.run(job_document("big", count=4, cpu=2500))
    cluster.rest()
    return cluster


def lose(cluster, *numbers):
    return {"Lose": {"Filter": " or ".join(f'Name == "node-{number}"' for number in numbers)}}


def of_word(result, word):
    (found,) = (each for each in result.helps if each.change.change is word)
    return found


def test_where_nobody_waits_nothing_would_help(full):
    assert full.helped({"Scale": {"JobID": "big", "Count": 3}}).helps == ()


def test_as_many_nodes_as_it_takes_are_named_and_one_less_is_too_few(full):
    change = lose(full, 1, 2)
    result = full.helped(change)
    assert result.totals.waits == 2
    added = of_word(result, ChangeWord.ADD_NODE)
    assert (added.change.count, added.fits, added.waiting) == (2, 2, 2)
    like = added.change.node_id
    for count, waits in ((2, 0), (1, 1)):
        again = full.rehearse(change, {"Add": {"Like": like, "Count": count}})
        assert again.totals.waits == waits


def test_a_closed_node_is_opened_and_the_deed_does_what_was_said():
    cluster = QuietCluster(5)
    closed = cluster.node_id(5)
    cluster.do({"Eligibility": {"NodeIDs": [closed], "Eligibility": "ineligible"}})
    cluster.run(job_document("big", count=4, cpu=2500))
    cluster.rest()
    change = {"Drain": {"NodeIDs": [cluster.node_id(1)], "Spec": {"Deadline": "10m"}}}
    best = cluster.helped(change).helps[0]
    assert best.change.change is ChangeWord.SET_ELIGIBLE
    assert (best.change.node_id, best.fits, best.fits_in_all, best.waiting_in_all) == (
        closed, 1, 1, 1,
    )  # fmt: skip
    cluster.do(change, {"Eligibility": {"NodeIDs": [closed], "Eligibility": "eligible"}})
    assert "node-5" in cluster.places()["big", "main"]


def test_nothing_takes_back_what_was_asked(full):
    """Of nodes that are closed, drained or added by the changes themselves nothing is said."""
    closed = [full.node_id(number) for number in (1, 2)]
    result = full.helped(
        {"Eligibility": {"NodeIDs": closed, "Eligibility": "ineligible"}},
        {"Add": {"Like": full.node_id(3), "Count": 1}},
        {"Scale": {"JobID": "big", "Count": 7}},
    )
    assert result.totals.waits == 2
    added = {node.id for node in result.nodes if node.fate == "added"}
    words = {each.change.change for each in result.helps}
    assert ChangeWord.SCALE_DOWN not in words
    # More nodes like one that is added are like the one that it is like.
    assert of_word(result, ChangeWord.ADD_NODE).fits == 2
    assert not added & {each.change.node_id for each in result.helps}
    kept = (each for each in result.helps if each.change.change is not ChangeWord.ADD_NODE)
    assert not {*closed} & {each.change.node_id for each in kept}


def test_where_others_take_the_new_room_first_more_nodes_are_tried():
    cluster = QuietCluster(2)
    cluster.run(job_document("first", count=2, cpu=2500, priority=80))
    cluster.run(job_document("last", count=1, cpu=1400, priority=20))
    cluster.rest()
    result = cluster.helped(
        {"Scale": {"JobID": "first", "Count": 4}}, {"Scale": {"JobID": "last", "Count": 4}}
    )
    assert result.totals.waits == 4
    by_job = {
        each.job_id: each for each in result.helps if each.change.change is ChangeWord.ADD_NODE
    }
    assert (by_job["first"].fits, by_job["first"].change.count) == (2, 2)
    assert by_job["last"].fits == by_job["last"].waiting


def test_a_quota_is_raised_by_what_is_missing_and_its_limits_are_told():
    cluster = QuietCluster(4)
    now = cluster.plane.clock.now()
    quota = QuotaSpec(name="small", limits=QuotaAmounts(memory_mb=200))
    put_quota(cluster.store, quota, by=CLUSTER, now=now)
    put_namespace(cluster.store, Namespace(name="default", quota="small"), by=CLUSTER, now=now)
    cluster.run(job_document("web", count=3))
    cluster.rest()
    change = {"Scale": {"JobID": "web", "Count": 5}}
    result = cluster.helped(change)
    raised = of_word(result, ChangeWord.RAISE_QUOTA)
    assert (raised.change.quota, raised.change.amounts.memory_mb, raised.fits) == ("small", 120, 2)
    assert (raised.limit.memory_mb, raised.limit.cpu) == (320, 0)
    limits = {"Quota": {"Name": "small", "Limits": {"MemoryMB": 320}}}
    assert cluster.rehearse(change, limits).totals.waits == 0


def test_room_is_freed_and_less_is_asked_for():
    cluster = QuietCluster(2)
    cluster.run(job_document("small", count=2, cpu=1500))
    cluster.run(job_document("big", count=2, cpu=1500))
    cluster.rest()
    result = cluster.helped({"Scale": {"JobID": "big", "Count": 3}})
    words = {each.change.change for each in result.helps}
    assert {ChangeWord.FREE, ChangeWord.ADD_NODE} <= words
    freed = of_word(result, ChangeWord.FREE)
    assert freed.change.amounts.cpu > 0
    assert freed.fits == 1


def test_time_that_is_over_finds_nothing_and_says_nothing_false(full):
    result = full.helped(lose(full, 1), is_late=lambda: True)
    assert (result.totals.waits, result.helps, result.groups_unhelped) == (1, (), 1)


def test_what_helps_a_group_that_one_may_not_read_is_not_told(full):
    result = full.helped(lose(full, 1))
    assert result.helps
    assert for_reader(result, Access()).helps == ()
    assert unpack(pack(result)).helps == result.helps
