"""distinct_hosts and distinct_property, as the plan grows."""

import pytest

from scheduler.engine.stack import SelectOptions
from scheduler.structs.constraint import Constraint
from tests.builders import make_allocation, make_job
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node


def hosts(r_target=""):
    return (Constraint(operand="distinct_hosts", r_target=r_target),)


def prop(r_target="", name="rack"):
    return (
        Constraint(operand="distinct_property", l_target=f"${{meta.{name}}}", r_target=r_target),
    )


def nodes(count, **fields):
    return [plain_node(n, meta={"rack": f"r{n}"}, **fields) for n in range(count)]


@pytest.mark.parametrize(
    ("r_target", "is_enforced"),
    [("", True), ("true", True), ("garbage", True), ("false", False), ("0", False)],
)
def test_t32_distinct_hosts_of_the_job(r_target, is_enforced):
    job = job_of(group_of(count=2), constraints=hosts(r_target))
    scene = Scene(nodes(1), job)
    assert scene.place()
    assert (scene.place() is None) is is_enforced
    if is_enforced:
        assert scene.context.metrics.constraint_filtered == {"distinct_hosts": 1}


def test_t32_three_groups_need_three_hosts():
    groups = [group_of(name=name) for name in ("a", "b", "c")]
    scene = Scene(nodes(2), job_of(*groups, constraints=hosts()))
    assert [scene.place(group) is not None for group in groups] == [True, True, False]


def test_t32_a_job_of_that_name_elsewhere_does_not_count():
    job = job_of(constraints=hosts())
    other = make_job(namespace="other")
    scene = Scene(nodes(1), job, [make_allocation(other, node_id=nodes(1)[0].id)], others=[other])
    assert scene.place()


def test_t33_distinct_hosts_of_a_group_minds_its_own_only():
    mine, other = group_of(name="mine", constraints=hosts()), group_of(name="other")
    scene = Scene(nodes(1), job_of(mine, other))
    assert scene.place(other)
    assert scene.place(mine)
    assert scene.place(mine) is None
    assert scene.place(other)


def test_t33_the_same_group_name_of_another_job_does_not_count():
    stranger = make_job(id="stranger")
    job = job_of(group_of(constraints=hosts()))
    scene = Scene(
        nodes(1), job, [make_allocation(stranger, node_id=nodes(1)[0].id)], others=[stranger]
    )
    assert scene.place()


def test_a_stopped_allocation_leaves_its_host():
    job = job_of(constraints=hosts())
    held = make_allocation(job, node_id=nodes(1)[0].id)
    scene = Scene(nodes(1), job, [held])
    assert scene.select() is None
    scene.context.add_stop(held)
    assert scene.select()
    scene.context.remove_stop(held)
    assert scene.select() is None


def test_system_stacks_do_not_know_distinct_hosts():
    job = job_of(constraints=hosts(), type="system")
    held = make_allocation(job, node_id=nodes(1)[0].id)
    scene = Scene(nodes(1), job, [held])
    assert scene.system.select(scene.group, SelectOptions(only_node_id=held.node_id))


def test_t34_a_property_of_the_job_counts_all_groups():
    groups = [group_of(name=name) for name in ("a", "b")]
    job = job_of(*groups, constraints=prop())
    held = make_allocation(job, node_id=nodes(3)[0].id, task_group="a")
    scene = Scene(nodes(3), job, [held])
    racks = {scene.place(group).node.meta["rack"] for group in groups}
    assert racks == {"r1", "r2"}
    assert scene.place(groups[0]) is None
    assert scene.context.metrics.constraint_filtered == {
        f"distinct_property: ${{meta.rack}}=r{n} used by 1 allocs": 1 for n in range(3)
    }


def test_t34_a_property_of_the_job_forgets_what_is_stopped_and_minds_no_other_job():
    job, stranger = job_of(constraints=prop()), make_job(id="stranger")
    held = make_allocation(job, node_id=nodes(2)[0].id)
    foreign = make_allocation(stranger, 5, node_id=nodes(2)[1].id)
    scene = Scene(nodes(2), job, [held, foreign], others=[stranger])
    assert scene.place().node.meta["rack"] == "r1"
    assert scene.select() is None
    scene.context.add_stop(held)
    assert scene.place().node.meta["rack"] == "r0"


def test_t35_a_property_may_be_used_as_often_as_it_says():
    cluster = [plain_node(n, meta={"rack": "r"}) for n in range(4)]
    scene = Scene(cluster, job_of(group_of(count=3), constraints=prop("2")))
    assert [scene.place() is not None for _ in range(3)] == [True, True, False]


def test_t36_stop_and_replace_of_one_value_stays_refused():
    job = job_of(constraints=prop())
    held = make_allocation(job, node_id=nodes(1)[0].id)
    scene = Scene(nodes(1), job, [held])
    scene.context.add_stop(held)
    assert scene.place()
    assert scene.select() is None


def test_t37_a_property_of_a_group_ignores_other_groups():
    mine, other = group_of(name="mine", constraints=prop()), group_of(name="other")
    scene = Scene(nodes(1), job_of(mine, other))
    assert scene.place(other)
    assert scene.place(mine)
    assert scene.place(mine) is None
    assert scene.place(other)


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        pytest.param(prop(name="none"), 'missing property "${meta.none}"', id="missing"),
        pytest.param(
            prop("many"), 'failed to parse distinct_property value "many"', id="not-a-number"
        ),
    ],
)
def test_a_property_that_cannot_be_judged_refuses_every_node(constraints, reason):
    scene = Scene(nodes(2), job_of(constraints=constraints))
    assert scene.select() is None
    assert scene.context.metrics.constraint_filtered == {reason: 2}
