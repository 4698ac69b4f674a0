"""What would unblock a group: every answer is one that the scheduler confirms, the best first."""

import pytest
from msgspec.structs import replace

from cluster.operations.errors import NotFound
from cluster.operations.unblock import unblock
from cluster.operations.unblock_changes import ChangeWord
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.structs.constraint import Constraint
from scheduler.structs.job import Namespace
from scheduler.structs.node import DrainStrategy, NodeEligibility
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.scheduler.engine.scene import group_of, plain_node

OLD_KERNEL = {"kernel.version": "5.15"}
NEW_KERNEL = Constraint(l_target="${attr.kernel.version}", operand=">=", r_target="6.1")
JOB = make_job(task_groups=(group_of(500, 2000, count=3),), datacenters=("dc1",))


def record(*rows, job=JOB):
    store = MemoryStateStore()

    def put(change):
        change.put_job(job)
        for row in rows:
            put_found(change, row)

    store.write(WriteKind.JOB_REGISTERED, put, now=SOME_MOMENT)
    return store


def asked(store, *, job=JOB, looks=10**6):
    left = iter(range(looks))
    return unblock(
        store.snapshot(),
        job.key,
        "web",
        now=SOME_MOMENT,
        is_late=lambda: next(left, None) is None,
    )


def told(found):
    return [
        (answer.change.change, answer.change.node_name, answer.fits) for answer in found.answers
    ]


def test_the_node_that_is_held_back_comes_first_and_says_how_many_fit():
    full = plain_node(1, 4000, 1000, name="full")
    held = plain_node(
        2, 4000, 5000, name="held", scheduling_eligibility=NodeEligibility.INELIGIBLE
    )
    found = asked(record(full, held))
    assert found.waiting == 3
    assert told(found)[0] == (ChangeWord.SET_ELIGIBLE, "held", 2)


def test_what_lets_more_be_placed_comes_before_what_costs_less():
    full = plain_node(1, 4000, 1500, name="full")
    small = plain_node(
        2, 4000, 2500, name="small", scheduling_eligibility=NodeEligibility.INELIGIBLE
    )
    away = plain_node(3, 9000, 9000, name="away", datacenter="dc2")
    found = asked(record(full, small, away))
    assert told(found)[:2] == [
        (ChangeWord.ADD_DATACENTER, "", 3),
        (ChangeWord.SET_ELIGIBLE, "small", 1),
    ]
    assert found.answers[0].change.datacenter == "dc2"
    assert told(found)[-1] == (ChangeWord.SCALE_DOWN, "", 3)


def test_freeing_says_how_much_and_names_an_allocation_that_holds_as_much():
    near = plain_node(1, 4000, 2312, name="near")
    other = make_job(id="other", task_groups=(group_of(100, 624),))
    alloc = make_allocation(other, number=9, node_id=near.id, job_priority=30)
    store = record(near, alloc, job=replace(JOB, task_groups=(group_of(500, 2000),)))
    held = alloc.allocated_resources
    memory = sum(task.memory.memory_mb for task in held.tasks.values())
    lacks = 2000 - (2312 - memory)
    (freed,) = [a for a in asked(store).answers if a.change.change is ChangeWord.FREE]
    assert freed.change.amounts.memory_mb == lacks
    assert freed.change.alloc_id == (alloc.id if memory >= lacks else "")
    assert freed.fits == 1


def test_what_nobody_holds_cannot_be_freed():
    small = plain_node(1, 4000, 1900, name="small")
    other = make_job(id="other", task_groups=(group_of(100, 800),))
    alloc = make_allocation(other, number=9, node_id=small.id)
    store = record(small, alloc, job=replace(JOB, task_groups=(group_of(500, 2000),)))
    assert ChangeWord.FREE not in {each.change.change for each in asked(store).answers}


def test_a_node_like_the_largest_that_would_do_is_added_in_thought_alone():
    full = plain_node(1, 4000, 6500, name="full", node_class="big")
    job = replace(JOB, task_groups=(group_of(500, 2000, count=6),))
    store = record(full, job=job)
    found = asked(store, job=job)
    assert found.waiting == 3
    (added,) = [a for a in found.answers if a.change.change is ChangeWord.ADD_NODE]
    assert (added.change.node_name, added.change.node_class, added.fits) == ("full", "big", 3)
    assert len(store.read(lambda reader: reader.nodes())) == 1


def test_a_constraint_is_dropped_where_the_nodes_behind_it_have_room():
    old = plain_node(
        1, 4000, 6500, name="old", attributes=OLD_KERNEL | {"driver.mock_driver": "1"}
    )
    job = replace(JOB, constraints=(NEW_KERNEL,))
    found = asked(record(old, job=job), job=job)
    (dropped,) = [a for a in found.answers if a.change.change is ChangeWord.DROP_CONSTRAINT]
    assert (dropped.change.constraint, dropped.change.nodes, dropped.fits) == (
        "${attr.kernel.version} >= 6.1",
        1,
        3,
    )


def test_a_quota_is_raised_by_what_those_that_wait_ask_for():
    node = plain_node(1, 8000, 16000)
    store = record(node)

    def limit(change):
        change.put(QUOTAS, QuotaSpec(name="team-a", limits=QuotaAmounts(memory_mb=2500)))
        change.put(NAMESPACES, Namespace(name="default", quota="team-a"))

    store.write(WriteKind.JOB_REGISTERED, limit, now=SOME_MOMENT)
    found = asked(store)
    best = found.answers[0]
    assert (best.change.change, best.change.quota, best.fits) == (
        ChangeWord.RAISE_QUOTA,
        "team-a",
        found.waiting,
    )
    assert best.change.amounts.memory_mb == 3 * 2000 - 2500


def test_asking_for_less_helps_where_it_is_not_less_than_half():
    nodes = [plain_node(number, 4000, 1500, name=f"n{number}") for number in range(1, 4)]
    found = asked(record(*nodes))
    less = [a for a in found.answers if a.change.change is ChangeWord.ASK_LESS]
    assert [(a.change.amounts.memory_mb, a.fits) for a in less] == [(1500, 3)]
    tiny = asked(record(plain_node(1, 4000, 500)))
    assert ChangeWord.ASK_LESS not in [a.change.change for a in tiny.answers]


def test_a_drain_that_is_canceled_counts_as_well():
    draining = plain_node(
        1,
        4000,
        9000,
        name="leaves",
        drain_strategy=DrainStrategy(),
        scheduling_eligibility=NodeEligibility.INELIGIBLE,
    )
    assert told(asked(record(draining)))[0] == (ChangeWord.CANCEL_DRAIN, "leaves", 3)


def test_what_is_of_no_use_alone_is_told_as_tried():
    held = plain_node(1, 4000, 500, name="held", scheduling_eligibility=NodeEligibility.INELIGIBLE)
    found = asked(record(held))
    assert [change.change for change in found.in_vain][:1] == [ChangeWord.SET_ELIGIBLE]


def test_when_time_is_over_it_says_how_many_were_not_tried():
    nodes = [plain_node(number, 4000, 1500) for number in range(1, 6)]
    whole, cut = asked(record(*nodes)), asked(record(*nodes), looks=1)
    assert (whole.untried, len(cut.answers) + len(cut.in_vain)) == (0, 1)
    assert cut.untried == len(whole.answers) + len(whole.in_vain) - 1


def test_nothing_is_looked_for_where_nothing_would_wait():
    found = asked(record(plain_node(1, 4000, 9000)))
    assert (found.waiting, found.answers) == (0, ())


def test_a_job_that_is_gone_cannot_be_asked_about():
    with pytest.raises(NotFound, match="gone"):
        asked(MemoryStateStore())
