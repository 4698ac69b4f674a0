"""The engine's columns give what the plain evaluator gives, however the plan grew."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler.structs.constraint import Affinity, Constraint, Spread, SpreadTarget
from tests.builders import make_allocation, make_job
from tests.properties.plain_evaluator import World, evaluate
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node

STRANGER = make_job(id="stranger")
RACKS = st.sampled_from(["r1", "r2", "r3", None])


@st.composite
def nodes(draw):
    count = draw(st.integers(1, 9))
    return [
        plain_node(
            number,
            draw(st.sampled_from([1000, 2000, 3000])),
            draw(st.sampled_from([1000, 2000, 4000])),
            datacenter=draw(st.sampled_from(["dc1", "dc2"])),
            meta={"rack": rack} if (rack := draw(RACKS)) else {},
        )
        for number in range(count)
    ]


SPREADS = st.sampled_from(
    [
        (),
        (Spread(attribute="${meta.rack}"),),
        (
            Spread(
                attribute="${node.datacenter}",
                spread_target=(SpreadTarget(value="dc1", percent=60),),
            ),
            Spread(attribute="${meta.rack}", weight=20),
        ),
        (
            Spread(
                attribute="${meta.rack}",
                spread_target=(
                    SpreadTarget(value="r1", percent=50),
                    SpreadTarget(value="r2", percent=50),
                ),
            ),
        ),
    ]
)
AFFINITIES = st.sampled_from(
    [
        (),
        (Affinity(l_target="${meta.rack}", r_target="r1", weight=30),),
        (
            Affinity(l_target="${node.datacenter}", r_target="dc2", weight=-50),
            Affinity(l_target="${meta.rack}", r_target="r3", weight=20),
        ),
    ]
)
CONSTRAINTS = st.sampled_from(
    [
        (),
        (Constraint(l_target="${node.datacenter}", r_target="dc1"),),
        (Constraint(operand="distinct_hosts"),),
    ]
)


@st.composite
def jobs(draw):
    group = group_of(
        draw(st.sampled_from([100, 400, 900])),
        draw(st.sampled_from([100, 500])),
        count=draw(st.integers(1, 12)),
        spreads=draw(SPREADS),
        affinities=draw(AFFINITIES),
    )
    return job_of(group, constraints=draw(CONSTRAINTS))


@st.composite
def allocations(draw, on, job):
    count = draw(st.integers(0, 6))
    return [
        make_allocation(
            draw(st.sampled_from([job, STRANGER])),
            number,
            id=f"stored-{number}",
            node_id=draw(st.sampled_from(on)).id,
        )
        for number in range(count)
    ]


STEPS = st.lists(
    st.tuples(st.sampled_from(["place", "place", "place", "stop", "unstop"]), st.integers(0, 5)),
    max_size=14,
)


@given(data=st.data(), cluster=nodes(), job=jobs(), steps=STEPS)
def test_every_select_chooses_among_the_best_and_counts_the_rest(data, cluster, job, steps):
    stored = data.draw(allocations(cluster, job))
    penalised = frozenset({cluster[0].id}) if data.draw(st.booleans()) else frozenset()
    scene = Scene(cluster, job, stored, others=[STRANGER])
    world = World(cluster, job, stored)
    for step, number in steps:
        mine = [alloc for alloc in stored if alloc.job_id == job.id]
        if step == "stop" and number < len(mine) and mine[number] not in world.stopped:
            scene.context.add_stop(mine[number])
            world.stopped.append(mine[number])
        elif step == "unstop" and world.stopped:
            scene.context.remove_stop(world.stopped.pop())
        elif step == "place":
            check_select(scene, world, penalised)


def check_select(scene, world, penalised):
    verdicts = evaluate(world, scene.group, penalised)
    scores = {node: score for node, score in verdicts.items() if isinstance(score, float)}
    found = scene.select(penalty_node_ids=penalised)
    metrics = scene.context.metrics
    best = sorted(scores.values(), reverse=True)[:5]
    shown = [entry.norm_score for entry in metrics.score_meta_data]
    assert [round(score, 9) for score in shown] == [round(score, 9) for score in best]
    assert all(
        abs(scores[entry.node_id] - entry.norm_score) < 1e-9 for entry in metrics.score_meta_data
    )
    refused = [label for label in verdicts.values() if isinstance(label, str)]
    exhausted = [label for label in refused if label in {"cpu", "memory"}]
    assert metrics.nodes_exhausted == len(exhausted)
    assert metrics.nodes_filtered == len(refused) - len(exhausted)
    assert metrics.dimension_exhausted == {label: exhausted.count(label) for label in exhausted}
    assert (found is None) == (not scores)
    if found is not None:
        assert abs(found.norm_score - best[0]) < 1e-9
        world.placed.append(scene.propose(found, scene.group))
