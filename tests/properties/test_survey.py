"""Whatever the cluster is like: one verdict per node, sums that add up, shortfalls that hold."""

from collections import Counter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scheduler.engine.survey import survey
from scheduler.structs.constraint import Constraint
from scheduler.structs.explanation import VerdictKind
from scheduler.structs.job import JobType
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeStatus
from tests.builders import make_allocation, make_job
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node, sized

STRANGER = make_job(id="stranger", task_groups=(group_of(700, 900),))
AMOUNTS = {"cpu", "memory"}
RACK_1 = Constraint(l_target="${meta.rack}", operand="=", r_target="r1")
ONE_EACH = Constraint(operand="distinct_hosts")


@st.composite
def clusters(draw):
    return [
        plain_node(
            number,
            draw(st.sampled_from([1000, 2000, 3000])),
            draw(st.sampled_from([1000, 2000, 4000])),
            datacenter=draw(st.sampled_from(["dc1", "dc1", "dc2"])),
            node_pool=draw(st.sampled_from(["default", "default", "other"])),
            status=draw(st.sampled_from([NodeStatus.READY] * 4 + [NodeStatus.DOWN])),
            scheduling_eligibility=draw(st.sampled_from(NodeEligibility)),
            drain_strategy=draw(st.sampled_from([None, None, DrainStrategy()])),
            node_max_allocs=draw(st.sampled_from([0, 0, 1])),
            meta={"rack": rack} if (rack := draw(st.sampled_from(["r1", "r2", None]))) else {},
        )
        for number in range(draw(st.integers(0, 9)))
    ]


@st.composite
def scenes(draw):
    nodes = draw(clusters())
    constraints = draw(st.sampled_from([(), (RACK_1,), (ONE_EACH,), (RACK_1, ONE_EACH)]))
    group = group_of(draw(st.integers(100, 3500)), draw(st.integers(100, 4500)))
    group = msgspec.structs.replace(group, constraints=constraints)
    kind = draw(st.sampled_from([JobType.SERVICE, JobType.SYSTEM]))
    job = job_of(group, type=kind, datacenters=("dc1",))
    allocs = [
        make_allocation(draw(st.sampled_from([job, STRANGER])), number=number, node_id=node.id)
        for number, node in enumerate(nodes)
        if draw(st.booleans())
    ]
    return nodes, job, allocs


def asked(nodes, job, allocs, node_id=""):
    scene = Scene(nodes, job, [*allocs], others=[STRANGER])
    return survey(scene.context, job, job.task_groups[0], node_id)


@given(scenes())
def test_every_node_has_one_verdict_and_the_reasons_add_up_to_the_nodes(drawn):
    nodes, job, allocs = drawn
    found = asked(nodes, job, allocs)
    told = found.explanation
    assert [verdict.node_id for verdict in found.nodes] == sorted(node.id for node in nodes)
    kinds = Counter(verdict.kind for verdict in found.nodes)
    exhausted = sum(item.count for item in told.exhausted)
    refused = sum(item.count for item in told.refused)
    not_asked = sum(item.count for item in told.not_asked)
    assert told.candidates == told.with_room + exhausted + refused
    assert told.candidates + not_asked == len(nodes)
    assert kinds == Counter(
        {
            VerdictKind.ROOM: told.with_room,
            VerdictKind.EXHAUSTED: exhausted,
            VerdictKind.REFUSED: refused,
            VerdictKind.NOT_ASKED: not_asked,
        }
    )
    counts = {(item.check, item.reason): item.count for item in told.refused}
    assert counts == Counter(
        (verdict.check, verdict.reason)
        for verdict in found.nodes
        if verdict.kind is VerdictKind.REFUSED
    )


@given(scenes())
def test_what_a_node_fails_first_is_what_its_examination_fails_first(drawn):
    nodes, job, allocs = drawn
    for verdict in asked(nodes, job, allocs).nodes:
        checks = asked(nodes, job, allocs, verdict.node_id).checks
        failed = [each.check for each in checks if not each.passed]
        assert failed[:1] == [verdict.check] * (verdict.kind is not VerdictKind.ROOM)


@given(scenes())
def test_a_node_with_as_much_more_as_it_lacks_lacks_it_no_longer(drawn):
    nodes, job, allocs = drawn
    by_id = {node.id: node for node in nodes}
    for verdict in asked(nodes, job, allocs).nodes:
        if verdict.check not in AMOUNTS:
            continue
        assert verdict.missing > 0
        for more, still in ((verdict.missing - 1, True), (verdict.missing, False)):
            node = by_id[verdict.node_id]
            cpu = node.node_resources.cpu.cpu_shares + more * (verdict.check == "cpu")
            memory = node.node_resources.memory.memory_mb + more * (verdict.check == "memory")
            others = [each for each in nodes if each.id != node.id]
            again = asked([*others, sized(node, cpu, memory)], job, allocs)
            (now,) = [each for each in again.nodes if each.node_id == node.id]
            assert (now.check == verdict.check) is still


@given(scenes())
def test_the_scheduler_takes_a_node_exactly_where_the_verdict_says_room(drawn):
    nodes, job, allocs = drawn
    if job.type is not JobType.SERVICE:
        return
    for verdict in asked(nodes, job, allocs).nodes:
        if verdict.kind is VerdictKind.NOT_ASKED:
            continue
        scene = Scene(nodes, job, [*allocs], others=[STRANGER])
        chosen = scene.select(only_node_id=verdict.node_id)
        assert (chosen is not None) is (verdict.kind is VerdictKind.ROOM)
