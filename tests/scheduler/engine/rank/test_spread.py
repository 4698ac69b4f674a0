"""Spread scores: worked examples W10 to W14 and their scenarios."""

import pytest

from scheduler.engine.rank.spread import SpreadScores, desired_counts
from scheduler.structs.constraint import Spread, SpreadTarget
from tests.builders import make_allocation
from tests.scheduler.engine.scene import Scene, group_of, job_of, plain_node

DATACENTER = "${node.datacenter}"
RACK = "${meta.rack}"


def spread(attribute, weight=100, **targets):
    return Spread(
        attribute=attribute,
        weight=weight,
        spread_target=tuple(
            SpreadTarget(value="*" if value == "rest" else value, percent=percent)
            for value, percent in targets.items()
        ),
    )


def boosts_of(spreads, count, places, *, existing=(), planned=(), stopped=()):
    """The spread score of one node per place, after allocations on some of the places.

    A place is `datacenter/rack`; a rack `-` is no rack.
    """
    nodes = {}
    for number, place in enumerate(places):
        datacenter, _, rack = place.partition("/")
        meta = {} if rack in {"", "-"} else {"rack": rack}
        nodes[place] = plain_node(number, datacenter=datacenter, meta=meta)
    job = job_of(group_of(count=count, spreads=tuple(spreads)))
    allocs = [
        make_allocation(job, number, node_id=nodes[place].id)
        for number, place in enumerate(existing)
    ]
    scene = Scene(list(nodes.values()), job, allocs)
    for number, place in enumerate(planned):
        scene.context.add_placement(
            make_allocation(job, number, id=f"p{number}", node_id=nodes[place].id, create_index=0)
        )
    for place in stopped:
        scene.context.add_stop(next(a for a in allocs if a.node_id == nodes[place].id))
    scores = SpreadScores(scene.context, job, scene.group)
    scores.refresh(scene.context.table.present)
    by_row = scores.boosts[scores.combination].tolist()
    return {place: by_row[scene.context.table.row_of(nodes[place].id)] for place in places}


DC1_80 = [spread(DATACENTER, dc1=80)]
TWO = [spread(DATACENTER, dc1=60, dc2=40), spread(RACK, 50, r1=40, r2=60)]


@pytest.mark.parametrize(
    ("spreads", "count", "existing", "expected"),
    [
        pytest.param(DC1_80, 10, ["dc1"] * 2, {"dc1": 0.625, "dc2": 0.5}, id="T63-W10a"),
        pytest.param(DC1_80, 10, ["dc1"] * 7, {"dc1": 0.0, "dc2": 0.5}, id="T63-W10b"),
        pytest.param(
            [spread(DATACENTER, 50, dc1=80), spread(RACK, 100, r9=100)],
            10,
            ["dc1/r9"] * 2,
            {"dc1/r8": 0.20833333333333331 - 1},
            id="W10d-the-lighter-of-two-with-an-unwanted-rack",
        ),
        pytest.param(
            TWO,
            10,
            ["dc1/r1", "dc1/r2"],
            {
                "dc1/r1": 0.5,
                "dc2/r1": 0.6666666666666666,
                "dc1/r2": 0.5555555555555556,
            },
            id="T63-W11-two-spreads",
        ),
        pytest.param(
            [spread(DATACENTER, dc1=50)],
            12,
            ["dc1", "dc1", "dc1", "dc2", "dc2", "dc3"],
            dict.fromkeys(["dc1", "dc2", "dc3", "dc4"], 0.3333333333333333),
            id="W12a-all-others-share-the-rest",
        ),
        pytest.param(
            [spread(DATACENTER, dc1=80, dc2=20)], 5, [], {"dc3": -1.0}, id="T63-W12b-no-target"
        ),
        pytest.param(
            [spread(DATACENTER, dc1=50, dc2=50, rest=0)],
            8,
            [],
            {"dc1": 0.75, "dc2": 0.75, "dc3": -1.0},
            id="T63-W12c-none-wanted-elsewhere",
        ),
        pytest.param(
            [spread(DATACENTER, dc1=99, dc2=1, rest=0)],
            8,
            [],
            {"dc1": 0.8737373737373737, "dc2": -11.5, "dc3": -11.5},
            id="T63-W12d-none-wanted-is-never-better-than-too-many",
        ),
        pytest.param(
            [spread(DATACENTER, dc1=60, dc2=40)],
            10,
            ["dc1"] * 8 + ["dc2"] * 2,
            {"dc1": -0.5, "dc2": 0.25},
            id="W12f-above-its-share",
        ),
        pytest.param(
            [spread(RACK, r1=50)], 4, [], {"dc1": -1.0}, id="T63-no-node-has-the-attribute"
        ),
        pytest.param([spread(RACK)], 4, ["dc1/r1"], {"dc1/-": -1.0}, id="even-attribute-missing"),
        pytest.param(
            [spread(DATACENTER, dc1=70, dc2=30)],
            3,
            [],
            {"dc3": -1.0},
            id="W13-rounding-is-no-wish",
        ),
    ],
)
def test_a_spread_scores(spreads, count, existing, expected):
    places = list(dict.fromkeys([*expected, *existing]))
    boosts = boosts_of(spreads, count, places, existing=existing)
    assert {place: boosts[place] for place in expected} == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param({}, {"dc1": 0.0}, id="W14-nothing-yet"),
        pytest.param({"dc1": 2}, {"dc1": -1.0, "dc2": 1.0}, id="W14-one-used"),
        pytest.param({"dc1": 2, "dc2": 3}, {"dc1": 0.5, "dc2": -0.5, "dc3": 1.0}, id="W14-uneven"),
        pytest.param({"dc1": 3, "dc2": 3}, {"dc1": -1.0, "dc2": -1.0, "dc3": 1.0}, id="W14-even"),
        pytest.param({"dc1": 1, "dc2": 4}, {"dc1": 3.0, "dc2": -3.0}, id="W14-far-apart"),
        pytest.param({"a": 2, "b": 5}, {"a": 1.5, "b": -1.5}, id="W14-other-names"),
    ],
)
def test_an_even_spread_scores(counts, expected):
    existing = [value for value, count in counts.items() for _ in range(count)]
    places = list(dict.fromkeys([*expected, *existing]))
    boosts = boosts_of([spread(DATACENTER)], 10, places, existing=existing)
    assert {place: boosts[place] for place in expected} == pytest.approx(expected, abs=1e-9)


def test_values_that_were_left_count_as_empty():
    boosts = boosts_of(
        [spread(DATACENTER)],
        10,
        ["dc1", "dc2", "dc3"],
        existing=["dc1", "dc2", "dc3"],
        stopped=["dc2", "dc3"],
    )
    assert boosts == {"dc1": -1.0, "dc2": 1.0, "dc3": 1.0}


def test_planned_allocations_count_like_existing_ones():
    boosts = boosts_of(DC1_80, 10, ["dc1", "dc2"], existing=["dc1"] * 2, planned=["dc1"] * 5)
    assert boosts == pytest.approx({"dc1": 0.0, "dc2": 0.5}, abs=1e-9)


@pytest.mark.parametrize(
    ("targets", "count", "expected"),
    [
        pytest.param({"dc1": 80}, 10, {"dc1": 8, "*": 2}, id="W10-the-rest"),
        pytest.param(
            {"dc1": 50, "rest": 20}, 10, {"dc1": 5, "*": 3}, id="W12e-rest-is-overwritten"
        ),
        pytest.param(
            {"dc1": 70, "dc2": 20, "dc3": 10}, 10, {"dc1": 7, "dc2": 2, "dc3": 1}, id="W13"
        ),
        pytest.param({"dc1": 70, "dc2": 30}, 3, {"dc1": 2.1, "dc2": 0.9}, id="W13-no-tiny-rest"),
    ],
)
def test_percentages_become_counts(targets, count, expected):
    assert desired_counts(spread(DATACENTER, **targets), count) == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize("share", [100, 90, 80, 70, 60, 50, 40, 30, 20, 10])
def test_t64_placements_follow_the_targets_exactly(share):
    nodes = [plain_node(n, datacenter=f"dc{1 + n % 2}") for n in range(10)]
    targets = {"dc1": share, "dc2": 100 - share} if share < 100 else {"dc1": 100, "dc2": 0}
    job = job_of(group_of(100, 100, count=10, spreads=(spread(DATACENTER, **targets),)))
    scene = Scene(nodes, job)
    placed = [scene.place().node.datacenter for _ in range(10)]
    assert placed.count("dc1") == share // 10


def test_t64_without_targets_placements_are_even():
    nodes = [plain_node(n, datacenter=f"dc{1 + n % 2}") for n in range(10)]
    scene = Scene(nodes, job_of(group_of(100, 100, count=10, spreads=(spread(DATACENTER),))))
    assert [scene.place().node.datacenter for _ in range(10)].count("dc1") == 5


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        pytest.param({"dc1": 50}, [6, 6], id="T65-empty-rest"),
        pytest.param({"dc1": 50, "rest": 50}, [6, 6], id="T65-named-rest"),
        pytest.param({"dc1": 50, "dc2": 25, "dc3": 25}, [6, 3, 3], id="T65-explicit-rest"),
    ],
)
def test_t65_twelve_allocations_over_three_datacenters(targets, expected):
    nodes = [plain_node(n, datacenter=f"dc{1 + n % 3}") for n in range(18)]
    job = job_of(group_of(100, 100, count=12, spreads=(spread(DATACENTER, **targets),)))
    scene = Scene(nodes, job)
    placed = [scene.place().node.datacenter for _ in range(12)]
    counts = [placed.count(f"dc{number}") for number in (1, 2, 3)]
    # How the rest is divided between values without a target of their own is free.
    assert (counts if len(expected) == 3 else [counts[0], sum(counts[1:])]) == expected


@pytest.mark.parametrize("racks", [10, 50, 500], ids="T66-{}-racks".format)
def test_racks_of_a_large_cluster_are_filled_alike(racks):
    nodes = [plain_node(n, 14_000, 32_000, meta={"rack": f"r{n % racks}"}) for n in range(10_000)]
    scene = Scene(nodes, job_of(group_of(6000, 6000, count=500, spreads=(spread(RACK),))))
    placed = [scene.place().node.meta["rack"] for _ in range(500)]
    counts = {placed.count(rack) for rack in set(placed)}
    assert max(counts) - min(counts) <= 2
