"""Whole selects: score columns of the worked examples, metrics, options, classes."""

import msgspec
import pytest

from scheduler.engine.stack import ClassReport, SelectOptions
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.constraint import Affinity, Constraint, Spread
from scheduler.structs.explanation import (
    AskedAmounts,
    GroupExplanation,
    NearestNode,
    RefusedNodes,
    Shortfall,
)
from scheduler.structs.job import JobType
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.node import (
    NodeCpu,
    NodePool,
    NodePoolSchedulerConfiguration,
    NodeStatus,
    ReservedNetworks,
    ReservedResources,
)
from scheduler.structs.resources import AllocatedMemory, Resources
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from scheduler.structs.task_group import VolumeAsk
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node, sized

BINPACK_W9 = 0.48628741645516765
STRANGER = make_job(id="stranger")


def held(node, cpu, memory, number=0, job=STRANGER, **fields):
    """An allocation of that size on the node."""
    group = group_of(cpu, memory)
    sized_job = msgspec.structs.replace(job, task_groups=(group,))
    alloc = make_allocation(sized_job, number, node_id=node.id, task_group="web")
    return alloc.changed(id=f"held-{node.name}-{number}-{cpu}", **fields)


def affinity(l_target, operand, r_target, weight):
    return Affinity(l_target=l_target, operand=operand, r_target=r_target, weight=weight)


def half_full(number=1, **fields):
    """A node whose fit with an ask of 500/1000 is that of W9, with what is held on it."""
    node = plain_node(number, **fields)
    return node, held(node, 500, 1000)


@pytest.mark.parametrize(
    ("algorithm", "norms"),
    [
        pytest.param(
            "binpack",
            {"N1": -0.06006326833801057, "N2": 0.4954291388183892, "N3": 0.23614049740765117},
            id="W25-binpack",
        ),
        pytest.param(
            "spread",
            {"N1": -0.18993673166198946, "N2": 0.5045708611816108, "N3": 0.3471928359256822},
            id="W25-spread-algorithm",
        ),
    ],
)
def test_w25_full_scoring(algorithm, norms):
    nodes = [
        plain_node(1, name="N1", datacenter="dc1", meta={"rack": "r1"}),
        plain_node(2, name="N2", datacenter="dc2", meta={"rack": "r2"}),
        plain_node(3, name="N3", datacenter="dc1", meta={"rack": "r2"}),
    ]
    affinities = (
        affinity("${node.datacenter}", "=", "dc1", 50),
        affinity("${attr.cpu.arch}", "=", "arm64", -25),
    )
    group = group_of(
        500, 1000, count=3, affinities=affinities, spreads=(Spread(attribute="${meta.rack}"),)
    )
    job = job_of(group)
    allocs = [
        held(nodes[0], 1000, 2000),
        held(nodes[1], 500, 1000),
        held(nodes[0], 500, 1000, 1, job),
    ]
    settings = SchedulerSettings(scheduler_algorithm=algorithm)
    scene = Scene(nodes, job, allocs, others=[STRANGER], settings=settings)
    found = scene.select(penalty_node_ids=frozenset({nodes[2].id}))
    scores = scene.scores()
    assert found.node.name == "N2"
    assert list(scores) == sorted(norms, key=norms.get, reverse=True)
    assert {name: row["norm"] for name, row in scores.items()} == pytest.approx(norms, abs=1e-9)
    assert {name: score for name, score in found.scores.items() if name != "binpack"} == {
        "job-anti-affinity": 0.0,
        "node-reschedule-penalty": 0.0,
        "node-affinity": 0.0,
        "allocation-spread": 1.0,
    }
    assert scores["N1"]["job-anti-affinity"] == pytest.approx(-2 / 3, abs=1e-9)
    assert scores["N3"]["node-reschedule-penalty"] == -1.0


@pytest.mark.parametrize(
    ("same", "count", "expected"),
    [
        pytest.param(2, 4, -0.75, id="T60-W8"),
        pytest.param(1, 1, -2.0, id="W8-below-minus-one"),
        pytest.param(1, 10, -0.2, id="W8-large-group"),
        pytest.param(4, 4, -1.25, id="W8-more-than-count"),
        pytest.param(0, 4, 0.0, id="T60-none-is-recorded-as-zero"),
    ],
)
def test_w8_anti_affinity(same, count, expected):
    node = plain_node(1)
    job = job_of(group_of(10, 10, count=count))
    allocs = [held(node, 10, 10, n, job) for n in range(same)]
    others = [
        held(node, 10, 10, 20),
        held(node, 10, 10, 21, job, task_group="other"),
        held(node, 10, 10, 22, job, client_status=ClientStatus.FAILED),
    ]
    scene = Scene([node], job, allocs + others, others=[STRANGER])
    found = scene.select()
    assert found.scores["job-anti-affinity"] == pytest.approx(expected, abs=1e-9)
    appended = [found.scores["binpack"], *([expected] if same else [])]
    assert found.norm_score == pytest.approx(sum(appended) / len(appended), abs=1e-9)


def test_anti_affinity_minds_the_namespace():
    node = plain_node(1)
    elsewhere = make_job(namespace="elsewhere")
    scene = Scene([node], job_of(), [held(node, 10, 10, 0, elsewhere)], others=[elsewhere])
    assert scene.select().scores["job-anti-affinity"] == 0.0


W9_AFFINITIES = (
    affinity("${node.datacenter}", "=", "dc1", 100),
    affinity("${node.datacenter}", "=", "dc2", -100),
    affinity("${attr.kernel.version}", "version", ">4.0", 50),
    affinity("${node.class}", "is", "large", 50),
)


@pytest.mark.parametrize(
    ("fields", "score", "norm"),
    [
        pytest.param(
            {"datacenter": "dc1", "node_class": "large"}, 0.5, 0.4931437082275838, id="W9-plus-150"
        ),
        pytest.param(
            {"datacenter": "dc2"}, -0.3333333333333333, 0.07647704156091717, id="W9-minus-100"
        ),
        pytest.param(
            {"datacenter": "dc2", "node_class": "large"},
            -0.16666666666666666,
            0.15981037489425048,
            id="W9-minus-50",
        ),
        pytest.param(
            {"datacenter": "dc1"}, 0.3333333333333333, 0.4098103748942505, id="W9-plus-100"
        ),
        pytest.param(
            {"datacenter": "dc3"}, 0.0, 0.24314370822758383, id="T62-W9-zero-is-still-appended"
        ),
    ],
)
def test_w9_affinities(fields, score, norm):
    node, alloc = half_full(**fields)
    job = job_of(
        make_task_group(
            affinities=W9_AFFINITIES[1:2],
            tasks=(
                make_task(
                    resources=Resources(cpu=500, memory_mb=1000), affinities=W9_AFFINITIES[2:]
                ),
            ),
        ),
        affinities=W9_AFFINITIES[:1],
    )
    found = Scene([node], job, [alloc], others=[STRANGER]).select()
    assert found.scores["binpack"] == pytest.approx(BINPACK_W9, abs=1e-9)
    assert found.scores["node-affinity"] == pytest.approx(score, abs=1e-9)
    assert found.norm_score == pytest.approx(norm, abs=1e-9)


def test_w18_penalty_and_anti_affinity():
    node, alloc = half_full()
    scene = Scene([node], job_of(group_of(500, 1000, count=3)), [alloc], others=[STRANGER])
    penalised = scene.select(penalty_node_ids=frozenset({node.id, "gone"}))
    assert penalised.norm_score == pytest.approx(-0.2568562917724162, abs=1e-9)
    assert penalised.scores["node-reschedule-penalty"] == -1.0
    job = job_of(group_of(500, 1000, count=3))
    alloc = held(node, 500, 1000, 0, job)
    both = Scene([node], job, [alloc]).select(penalty_node_ids=frozenset({node.id}))
    assert both.norm_score == pytest.approx(-0.39345975007049966, abs=1e-9)


def test_w28_cores():
    node = make_node(1)
    resources = msgspec.structs.replace(
        sized(node, 0, 16000).node_resources,
        cpu=NodeCpu(cpu_shares=10000, reservable_cpu_cores=(0, 1, 2, 3)),
    )
    node = msgspec.structs.replace(node, node_resources=resources)
    other = held(node, 2500, 2048)
    task = other.allocated_resources.tasks["web"]
    other = other.changed(
        allocated_resources=msgspec.structs.replace(
            other.allocated_resources,
            tasks={
                "web": msgspec.structs.replace(
                    task, cpu=msgspec.structs.replace(task.cpu, reserved_cores=(0,))
                )
            },
        )
    )
    tasks = (
        make_task(name="a", resources=Resources(cores=2, memory_mb=1024)),
        make_task(name="b", resources=Resources(cpu=500, memory_mb=512)),
    )
    scene = Scene([node], job_of(make_task_group(tasks=tasks)), [other], others=[STRANGER])
    found = scene.place()
    cpu = found.resources.tasks["a"].cpu
    assert (cpu.cpu_shares, cpu.reserved_cores) == (5000, (1, 2))
    assert found.scores["binpack"] == pytest.approx(0.6913752189833621, abs=1e-9)
    assert scene.place() is None
    assert scene.context.metrics.dimension_exhausted == {"cores": 1}


def test_t05_a_preferred_node_wins_however_it_scores():
    nodes = [plain_node(1), plain_node(2)]
    alloc = held(nodes[0], 2000, 4000)
    scene = Scene(nodes, job_of(), [alloc], others=[STRANGER])
    assert scene.select().node.name == "node-1"
    assert scene.select(preferred_node_ids=(nodes[1].id,)).node.name == "node-2"
    assert scene.context.metrics.nodes_evaluated == 1


def test_t05_a_preferred_node_that_does_not_fit_is_passed_over():
    nodes = [plain_node(1), plain_node(2)]
    alloc = held(nodes[1], 4000, 8000)
    scene = Scene(nodes, job_of(), [alloc], others=[STRANGER])
    found = scene.select(preferred_node_ids=(nodes[1].id, "gone"))
    assert (found.node.name, scene.context.metrics.nodes_evaluated) == ("node-1", 2)


def test_only_a_named_node_is_looked_at_ready_or_not():
    nodes = [plain_node(1), plain_node(2, status=NodeStatus.DOWN)]
    scene = Scene(nodes, job_of())
    assert scene.select(only_node_id=nodes[1].id).node.name == "node-2"
    assert scene.select(only_node_id="gone") is None


def test_t18_metrics_of_a_failure():
    nodes = [
        plain_node(1, node_class="a", meta={"x": "1"}),
        plain_node(2, node_class="b", meta={"x": "1"}),
        plain_node(3, node_class="c"),
        plain_node(4, cpu=100),
        plain_node(5, status=NodeStatus.DOWN),
    ]
    wanted = Constraint(l_target="${meta.x}", operand="=", r_target="2")
    job = job_of(group_of(500, 9000), constraints=(wanted,))
    scene = Scene(nodes, job)
    assert scene.select() is None
    assert scene.context.metrics == AllocMetric(
        nodes_evaluated=4,
        nodes_filtered=4,
        class_filtered={"a": 1, "b": 1, "c": 1},
        constraint_filtered={"${meta.x} = 2": 4},
    )
    scene = Scene(nodes, job_of(group_of(500, 9000)))
    assert scene.select() is None
    assert scene.context.metrics == AllocMetric(
        nodes_evaluated=4,
        nodes_exhausted=4,
        class_exhausted={"a": 1, "b": 1, "c": 1},
        dimension_exhausted={"memory": 3, "cpu": 1},
    )


def test_t30_a_volume_per_allocation_that_no_node_has():
    group = group_of(volumes={"v": VolumeAsk(type="host", source="v", per_alloc=True)})
    scene = Scene([plain_node(n) for n in range(3)], job_of(group))
    assert scene.select(alloc_name="web.web[2]") is None
    assert scene.context.metrics.constraint_filtered == {"missing compatible host volumes": 3}


def test_t38_stops_free_room_and_placements_take_it():
    node = plain_node(1, 1000, 1000)
    job = job_of(group_of(1000, 1000, count=2))
    alloc = held(node, 1000, 1000, 0, job)
    scene = Scene([node], job, [alloc])
    assert scene.select() is None
    scene.context.add_stop(alloc)
    new = scene.propose(scene.select(), scene.group)
    assert [proposed.id for proposed in scene.context.proposed_allocs(node.id)] == [new.id]
    assert scene.select() is None
    scene.context.remove_placement(new)
    scene.context.remove_stop(alloc)
    assert scene.context.proposed_allocs(node.id) == [alloc]
    assert scene.context.use_at(0) == scene.context.table.use_at(0).held


def test_t38_an_update_in_place_counts_once():
    node = plain_node(1, 1000, 1000)
    job = job_of(group_of(400, 400))
    alloc = held(node, 400, 400, 0, job)
    scene = Scene([node], job, [alloc])
    bigger = held(node, 600, 600, 0, job).changed(id=alloc.id)
    scene.context.add_placement(bigger)
    assert scene.context.proposed_allocs(node.id) == [bigger]
    assert (scene.context.use_at(0).cpu, scene.context.use_at(0).alloc_count) == (600, 1)


@pytest.mark.parametrize(("limit", "is_placed"), [(1, False), (2, True), (0, True)])
def test_t43_a_limit_on_allocations(limit, is_placed):
    node = plain_node(1, node_max_allocs=limit)
    scene = Scene([node], job_of(), [held(node, 10, 10)], others=[STRANGER])
    assert (scene.select() is not None) is is_placed
    expected = {} if is_placed else {"max allocation exceeded": 1}
    assert scene.context.metrics.dimension_exhausted == expected


def test_t45_w2_w3_fuller_nodes_score_higher():
    nodes = [
        plain_node(1, 2048, 2048, name="perfect"),
        plain_node(2, 4096, 4096, name="half"),
        plain_node(3, 1024, 1024, name="small"),
    ]
    kept = ReservedResources(
        cpu=msgspec.structs.replace(ReservedResources().cpu, cpu_shares=1024),
        memory=msgspec.structs.replace(ReservedResources().memory, memory_mb=1024),
    )
    nodes = [msgspec.structs.replace(node, reserved_resources=kept) for node in nodes]
    scene = Scene(nodes, job_of(group_of(1024, 1024)))
    scene.select()
    scores = {name: row["binpack"] for name, row in scene.scores().items()}
    assert scores == pytest.approx({"perfect": 1.0, "half": 0.595379018487469}, abs=1e-9)


def test_t47_secrets_count_as_memory():
    node = plain_node(1, 1000, 1000)
    task = make_task(resources=Resources(cpu=1000, memory_mb=900, secrets_mb=100))
    found = Scene([node], job_of(make_task_group(tasks=(task,)))).select()
    assert found.scores["binpack"] == 1.0
    assert found.resources.tasks["web"].memory.memory_mb == 1000


@pytest.mark.parametrize(
    ("asked", "is_on", "expected"),
    [(0, True, 0), (2048, True, 2058), (-1, True, -1), (2048, False, 0)],
)
def test_t49_memory_maxima_need_oversubscription(asked, is_on, expected):
    task = make_task(
        resources=Resources(cpu=10, memory_mb=256, memory_max_mb=asked, secrets_mb=10)
    )
    settings = SchedulerSettings(memory_oversubscription_enabled=is_on)
    scene = Scene([plain_node(1)], job_of(make_task_group(tasks=(task,))), settings=settings)
    memory = scene.select().resources.tasks["web"].memory
    assert memory == AllocatedMemory(memory_mb=266, memory_max_mb=expected)


def test_t83_only_reserved_memory_is_fitted():
    task = make_task(resources=Resources(cpu=10, memory_mb=200, memory_max_mb=900))
    job = job_of(make_task_group(tasks=(task,), count=10))
    settings = SchedulerSettings(memory_oversubscription_enabled=True)
    scene = Scene([plain_node(1, 4000, 1164)], job, settings=settings)
    assert [scene.place() is not None for _ in range(10)] == [True] * 5 + [False] * 5


WITH_PORT = group_of(
    networks=(
        NetworkResource(
            mode="host",
            reserved_ports=(Port(label="http", value=80, host_network="default"),),
        ),
    ),
    count=3,
)


def test_static_ports_are_taken_once_a_node():
    scene = Scene([plain_node(1), plain_node(2)], job_of(WITH_PORT))
    assert {scene.place().node.name, scene.place().node.name} == {"node-1", "node-2"}
    assert scene.place() is None
    assert scene.context.metrics.dimension_exhausted == {
        "network: reserved port collision http=80": 2
    }


def test_t51_unreadable_reserved_ports_exhaust_a_node():
    kept = ReservedResources(networks=ReservedNetworks(reserved_host_ports="what"))
    scene = Scene([plain_node(1, reserved_resources=kept)], job_of(WITH_PORT))
    assert scene.select() is None
    assert scene.context.metrics.dimension_exhausted == {"network: invalid node": 1}


@pytest.mark.parametrize(
    ("everywhere", "in_pool", "expected"),
    [
        pytest.param("binpack", "", "node-1", id="T70-global-binpack"),
        pytest.param("spread", "", "node-2", id="T70-global-spread"),
        pytest.param("binpack", "spread", "node-2", id="T70-pool-spread"),
        pytest.param("spread", "binpack", "node-1", id="T70-pool-binpack"),
    ],
)
def test_t70_the_pool_overrides_the_algorithm(everywhere, in_pool, expected):
    nodes = [plain_node(n, node_pool="own") for n in (1, 2)]
    own = NodePoolSchedulerConfiguration(scheduler_algorithm=in_pool)
    scene = Scene(
        nodes,
        job_of(node_pool="own"),
        [held(nodes[0], 1000, 2000)],
        others=[STRANGER],
        settings=SchedulerSettings(scheduler_algorithm=everywhere),
        pools=(NodePool(name="own", scheduler_configuration=own),),
    )
    assert scene.select().node.name == expected


@pytest.mark.parametrize(
    ("job_type", "switches", "may_evict"),
    [
        pytest.param(JobType.SYSTEM, PreemptionConfig(), True, id="T79-system-by-default"),
        pytest.param(JobType.SYSBATCH, PreemptionConfig(), False, id="T79-sysbatch-by-default"),
        pytest.param(
            JobType.SYSTEM, PreemptionConfig(system_scheduler_enabled=False), False, id="off"
        ),
        pytest.param(
            JobType.SYSBATCH, PreemptionConfig(sys_batch_scheduler_enabled=True), True, id="on"
        ),
    ],
)
def test_t79_whether_a_system_stack_evicts_is_a_setting(job_type, switches, may_evict):
    node = plain_node(1)
    low = make_job(id="low", priority=10)
    victim = held(node, 4000, 8000, 0, low, job_priority=10)
    scene = Scene(
        [node],
        job_of(type=job_type.value, priority=100),
        [victim],
        others=[low],
        settings=SchedulerSettings(preemption_config=switches),
    )
    found = scene.system.select(scene.group, SelectOptions(only_node_id=node.id))
    assert (found is not None) is may_evict
    if found is not None:
        assert found.preempted == (victim,)
        assert list(found.scores) == ["binpack"]


ESCAPED = Constraint(l_target="${node.unique.name}", operand="=", r_target="nobody")
NEVER = Constraint(l_target="${meta.x}", operand="=", r_target="nothing")


@pytest.mark.parametrize(
    ("job", "groups", "expected"),
    [
        pytest.param((), ((), (NEVER,)), (False, {True}), id="T07-one-group-is-enough"),
        pytest.param((), ((NEVER,), (NEVER,)), (False, {False}), id="T07-no-group"),
        pytest.param((NEVER,), ((), ()), (False, {False}), id="T07-the-job-forbids"),
        pytest.param((), ((), (ESCAPED,)), (True, set()), id="T06-escaped"),
    ],
)
def test_t07_eligibility_of_classes(job, groups, expected):
    named = [
        group_of(name=f"g{n}", constraints=constraints) for n, constraints in enumerate(groups)
    ]
    scene = Scene([plain_node(1), plain_node(2)], job_of(*named, constraints=job))
    for group in named:
        scene.select(group)
    report = scene.stack.class_report()
    assert (report.has_escaped, set(report.eligibility.values())) == expected


def test_an_escaped_class_is_reported_when_asked():
    group = group_of(constraints=(ESCAPED,))
    scene = Scene([plain_node(1)], job_of(group))
    scene.select()
    computed = scene.context.table.class_column().values[0]
    assert scene.stack.class_report(even_if_escaped=True) == ClassReport(
        has_escaped=True,
        eligibility={computed: True},
        missing_resources=(),
        quota_limit_reached="",
    )


def test_t06_a_class_refused_before_is_counted_as_such():
    job = job_of(group_of(count=2, constraints=(NEVER,)))
    scene = Scene([plain_node(1), plain_node(2)], job)
    labels = [NEVER.label, "computed class ineligible"]
    for label in labels:
        assert scene.select() is None
        assert scene.context.metrics.constraint_filtered == {label: 2}


def test_t85_equals_are_chosen_alike_for_one_seed_and_differently_for_others():
    nodes = [plain_node(n) for n in range(50)]
    chosen = {
        seed: [Scene(nodes, job_of(), seed=seed).select().node.id for _ in range(2)]
        for seed in range(12)
    }
    assert all(one == other for one, other in chosen.values())
    assert len({one for one, _ in chosen.values()}) > 6


def test_an_explanation_names_every_node_and_the_nearest_miss():
    nodes = [
        plain_node(1, 4000, 800),
        plain_node(2, 4000, 700),
        plain_node(3, 100, 100),
        plain_node(4, meta={"x": "1"}),
        plain_node(5),
    ]
    unmarked = Constraint(l_target="${meta.x}", operand="is_not_set", r_target="")
    scene = Scene(nodes, job_of(group_of(500, 1000, constraints=(unmarked,))))
    assert scene.select().node == nodes[4]
    assert scene.stack.explain("web") == GroupExplanation(
        task_group="web",
        candidates=5,
        with_room=1,
        refused=(
            RefusedNodes(
                reason="${meta.x} is_not_set ",
                count=1,
                node_ids=(nodes[3].id,),
                check="constraints",
            ),
        ),
        asks=AskedAmounts(cpu=500, memory_mb=1000, disk_mb=group_of().ephemeral_disk.size_mb),
        exhausted=(
            Shortfall(
                dimension="memory",
                count=2,
                node_ids=(nodes[0].id, nodes[1].id),
                missing=(200, 300),
            ),
            Shortfall(dimension="cpu", count=1, node_ids=(nodes[2].id,), missing=(400,)),
        ),
        nearest=NearestNode(lacks=AskedAmounts(memory_mb=200), count=3),
    )


def test_t52_a_host_network_without_a_name_drops_the_node_uncounted():
    port = Port(label="http", host_network="${meta.net}")
    group = group_of(networks=(NetworkResource(mode="none", dynamic_ports=(port,)),))
    node = plain_node(1)
    scene = Scene([node], job_of(group))
    for options in ({}, {"only_node_id": node.id}):
        assert scene.select(**options) is None
        assert scene.context.metrics == AllocMetric(nodes_evaluated=1)
