"""Rows of placement that speak of several packages at once."""

import msgspec
import pytest

from scheduler.engine.measure.ask import ask_of
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.node import NodeMemory, ReservedCpu, ReservedResources
from scheduler.structs.resources import Resources, TaskLifecycle
from tests.builders import make_allocation, make_task, make_task_group
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node


def reserving(node, cpu: int, memory_mb: int):
    kept = ReservedResources(
        cpu=ReservedCpu(cpu_shares=cpu), memory=NodeMemory(memory_mb=memory_mb)
    )
    return msgspec.structs.replace(node, reserved_resources=kept)


def on(job, number: int, node, cpu: int, memory_mb: int, **fields: object):
    """A running allocation of the job that takes this much."""
    group = group_of(cpu, memory_mb)
    return make_allocation(
        job,
        number,
        node_id=node.id,
        client_status=ClientStatus.RUNNING,
        allocated_resources=ask_of(group, oversubscription=False).resources,
        **fields,
    )


def test_t46_what_a_node_keeps_for_itself_makes_it_smaller():
    nodes = [
        plain_node(1, 1100, 1100),
        reserving(plain_node(2, 2000, 2000), 800, 800),
        reserving(plain_node(3, 2000, 2000), 500, 500),
        plain_node(4, 900, 900),
    ]
    scene = Scene(nodes, job_of(group_of(1000, 1000)))
    assert scene.select().node == nodes[0]
    found = scene.scores()
    assert [found[node.name]["binpack"] for node in nodes[:3]] == pytest.approx(
        [0.9741281400619926, 0.9480223035975478, 0.8717294788853462], abs=1e-9
    )
    assert scene.context.metrics.dimension_exhausted == {"cpu": 1}


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        pytest.param({"client_status": ClientStatus.COMPLETE}, True, id="T40-client-terminal"),
        pytest.param(
            {"desired_status": DesiredStatus.STOP}, False, id="T40-told-to-stop-but-running"
        ),
    ],
)
def test_what_still_runs_counts(fields, fits):
    node, other = plain_node(1, 1000, 1000), job_of(id="other")
    held = on(other, 1, node, 800, 800).changed(**fields)
    scene = Scene([node], job_of(group_of(500, 500)), [held], others=[other])
    assert (scene.select() is not None) is fits


def test_t48_a_planned_stop_frees_its_node():
    nodes = [plain_node(1, 1000, 1000), plain_node(2, 1000, 1000)]
    other = job_of(id="other")
    held = on(other, 1, nodes[0], 1000, 1000)
    scene = Scene(nodes, job_of(group_of(1000, 1000)), [held], others=[other])
    scene.context.add_stop(held)
    assert scene.select() is not None
    assert len(scene.scores()) == 2


def test_t61_w08_a_node_that_failed_before_scores_lower_and_scores_are_averaged():
    node = plain_node(1)
    job = job_of(group_of(500, 1000, count=4))
    existing = [on(job, number, node, 10, 10) for number in (1, 2)]
    scene = Scene([node], job, existing)
    found = scene.select(penalty_node_ids=frozenset({node.id}))
    columns = found.scores
    assert columns["job-anti-affinity"] == -0.75
    assert columns["node-reschedule-penalty"] == -1
    without_fit = (3 * found.norm_score - columns["binpack"]) / 2
    assert without_fit == pytest.approx(-0.875, abs=1e-9)


def test_w15_the_largest_phase_of_a_groups_life_is_what_it_takes():
    def task(name: str, cpu: int, memory_mb: int, hook: str = "", *, sidecar: bool = False):
        lifecycle = TaskLifecycle(hook=hook, sidecar=sidecar) if hook else None
        resources = Resources(cpu=cpu, memory_mb=memory_mb)
        return make_task(name=name, resources=resources, lifecycle=lifecycle)

    tasks = (
        task("before", 1000, 500, "prestart"),
        task("beside", 200, 100, "prestart", sidecar=True),
        task("main", 500, 800),
        task("later", 100, 50, "poststart"),
        task("after", 900, 2000, "poststop"),
    )
    use = ask_of(make_task_group(tasks=tasks), oversubscription=False).use
    assert (use.cpu, use.memory_mb) == (1200, 2000)
