"""The map of all nodes, from where they stand and what is held of them."""

import re

import pytest

from cluster.store.ports import NodePlace, NodeSum
from cluster.store.used_by_nodes import NodeUsed
from dashboard.fleet_totals import cpu_told, memory_told, merged, totals_of
from dashboard.graphs.racks import rack_html
from dashboard.topology import MappedNodes, map_of, rack_label
from dashboard.topology_view import TopologyView

READY = NodePlace(
    id="n1", name="a-1", datacenter="dc1", pool="default", node_class="compute", status="ready",
    eligibility="eligible", is_draining=False, cpu_mhz=1000, memory_mb=1000, labels=("r1",),
)  # fmt: skip


def node(number, **fields):
    return READY._replace(id=f"n{number}", name=f"a-{number}", **fields)


def fleet(*nodes, sums=None, lit=None, used=None):
    places = {each.id: each for each in nodes}
    return MappedNodes(places, sums or {}, rack_label(nodes), lit, used or {})


def racks(drawn):
    return [rack for place in drawn.places for rack in place.racks]


def told(drawn):
    return f"{drawn.strong} {drawn.rest}".strip()


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param("", ["dc1: r2 r10", "dc2: r1"], id="rack"),
        pytest.param("class", ["compute: r1 r10", "memory: r2"], id="class"),
        pytest.param("pool", ["default: r1 r2 r10"], id="pool"),
        pytest.param("datacenter", ["dc1: compute memory", "dc2: compute"], id="datacenter"),
    ],
)
def test_nodes_stand_in_racks_and_racks_in_places(group, expected):
    nodes = (
        node(1, labels=("r10",)),
        node(2, labels=("r2",), node_class="memory"),
        node(3, datacenter="dc2"),
    )
    drawn = map_of(fleet(*nodes), TopologyView(group=group))
    assert [
        f"{place.name}: {' '.join(rack.name for rack in place.racks)}" for place in drawn.places
    ] == expected


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        pytest.param([("", "x"), ("", "")], 1, id="second"),
        pytest.param([("", "x"), ("y", "")], 0, id="first-that-any-has"),
        pytest.param([("", "")], -1, id="none"),
        pytest.param([], -1, id="no-node"),
    ],
)
def test_a_rack_is_told_by_the_first_key_that_any_node_has(labels, label):
    assert rack_label([node(number, labels=each) for number, each in enumerate(labels)]) == label


def test_nodes_without_a_rack_are_drawn_in_parts():
    nodes = [node(number, labels=("",)) for number in range(100)]
    drawn = map_of(fleet(*nodes), TopologyView())
    assert [(rack.name, len(rack.nodes)) for rack in racks(drawn)] == [
        ("no rack 1", 40), ("no rack 2", 40), ("no rack 3", 20),
    ]  # fmt: skip
    assert racks(drawn)[0].nodes[9].name == "a-9"


@pytest.mark.parametrize(
    ("fields", "held", "looks"),
    [
        pytest.param({}, 0, ("h1",), id="empty"),
        pytest.param({}, 399, ("h2",), id="a-fifth"),
        pytest.param({}, 1000, ("h5",), id="full"),
        pytest.param({}, 2000, ("h5",), id="overfull"),
        pytest.param({"is_draining": True}, 500, ("h3", "ring"), id="draining"),
        pytest.param({"eligibility": "ineligible"}, 0, ("h1", "hole"), id="closed"),
        pytest.param({"status": "initializing"}, 0, ("h1", "hole"), id="not-heard-of-yet"),
        pytest.param({"status": "down"}, 500, ("gone",), id="lost"),
        # Its allocations may still come back: they hold their room.
        pytest.param({"status": "disconnected"}, 500, ("h3", "silent"), id="silent"),
        pytest.param({"memory_mb": 0}, 5, ("h1",), id="nothing-to-give"),
    ],
)
def test_a_square_says_how_full_its_node_is_and_what_lies_over_it(fields, held, looks):
    drawn = map_of(fleet(node(1, **fields), sums={"n1": NodeSum(0, held, 1)}), TopologyView())
    assert racks(drawn)[0].drawing.looks == (looks,)


@pytest.mark.parametrize(
    ("by", "look"),
    [pytest.param("", "h1", id="memory"), pytest.param("cpu", "h5", id="cpu"),
     pytest.param("fullest", "h5", id="fullest")],
)  # fmt: skip
def test_darkness_means_what_was_asked_for(by, look):
    drawn = map_of(fleet(READY, sums={"n1": NodeSum(900, 100, 1)}), TopologyView(by=by))
    assert racks(drawn)[0].drawing.looks == ((look,),)


@pytest.mark.parametrize(
    ("by", "looks", "mark"),
    [pytest.param("memory-used", (("h2",), ("untold",)), "30 %", id="memory"),
     pytest.param("cpu-used", (("h4",), ("untold",)), "70 %", id="cpu")],
)  # fmt: skip
def test_darkness_means_what_is_used_where_nodes_say_so(by, looks, mark):
    used = {"n1": NodeUsed(700, 300, 5)}
    drawn = map_of(fleet(node(1), node(2), used=used), TopologyView(by=by))
    (rack,) = racks(drawn)
    assert (rack.drawing.looks, rack.drawing.mark) == (looks, mark)
    (silent,) = racks(map_of(fleet(node(2)), TopologyView(by=by)))
    assert silent.drawing.mark == "\N{EN DASH}"


def test_what_is_used_is_said_of_all_or_of_how_many_say_it():
    sums = {"n1": NodeSum(500, 500, 1), "n2": NodeSum(500, 900, 1)}
    one = fleet(node(1), node(2), sums=sums, used={"n1": NodeUsed(100, 200, 5)})
    totals = map_of(one, TopologyView()).totals
    assert memory_told(totals) == (
        "20 % used on 1 node that says so; 300 MiB are allocated there and idle."
    )
    assert "used" not in told(map_of(one, TopologyView()))
    both = fleet(
        node(1), node(2), sums=sums, used={"n1": NodeUsed(100, 200, 5), "n2": NodeUsed(0, 0, 5)}
    )
    drawn = map_of(both, TopologyView())
    assert memory_told(drawn.totals) == (
        "10 % used; 1\N{NARROW NO-BREAK SPACE}200 MiB are allocated there and idle."
    )
    assert "Memory is 70 % allocated and 10 % used, CPU 50 % and 5 %;" in told(drawn)
    assert cpu_told(drawn.totals) == "5 % used: 100 MHz."
    nobody = map_of(fleet(node(1)), TopologyView()).totals
    assert memory_told(nobody) == cpu_told(nobody) == "No node has said what its tasks use."
    over = fleet(node(1), sums=sums, used={"n1": NodeUsed(0, 600, 5)})
    assert memory_told(map_of(over, TopologyView()).totals) == (
        "60 % used; that is 100 MiB more than is allocated there."
    )


def test_sums_of_sums_are_the_sums_over_all_nodes():
    nodes = [
        node(1), node(2, is_draining=True), node(3, status="down"), node(4, memory_mb=5000),
        node(5, memory_mb=5000), node(6, status="disconnected"),
    ]  # fmt: skip
    sums = {f"n{number}": NodeSum(number, 10 * number, 1) for number in range(1, 5)}
    used = {f"n{number}": NodeUsed(number, number, 1) for number in range(2, 5)}
    parts = [totals_of(nodes[start : start + 2], sums, used) for start in (0, 2, 4)]
    assert merged(parts) == totals_of(nodes, sums, used)
    assert merged([]) == totals_of([], {})


def test_a_lit_job_is_counted_rack_by_rack():
    nodes = [node(number, labels=("r1" if number < 3 else "r2",)) for number in range(5)]
    view = TopologyView(job="web", namespace="default")
    drawn = map_of(fleet(*nodes, lit={"n0": 2, "n1": 1}), view)
    assert [rack.drawing.mark for rack in racks(drawn)] == ["3", "\N{EN DASH}"]
    assert racks(drawn)[0].drawing.looks == (("lit",), ("lit",), ("h1",))
    assert drawn.strong == "3 of web on 2 nodes."
    assert "3 of web there" in racks(drawn)[0].drawing.label


@pytest.mark.parametrize(
    ("nodes", "sums", "sentence"),
    [
        pytest.param([], {}, "No node has joined yet.", id="none"),
        pytest.param(
            [node(1), node(2, eligibility="ineligible")], {"n1": NodeSum(500, 250, 1)},
            "1 of 2 nodes takes new work. Memory is 12 % allocated and CPU 25 %; the largest hole"
            " takes 750 MiB.", id="some-closed",
        ),
        pytest.param(
            [node(1), node(2, labels=("r2",), status="down")], {"n2": NodeSum(900, 900, 3)},
            "1 of 2 nodes takes new work. Memory is 0 % allocated and CPU 0 %; the largest hole"
            " takes 1\N{NARROW NO-BREAK SPACE}000 MiB. r2 is lost as a whole.", id="rack-lost",
        ),
        pytest.param(
            [node(1), node(2), node(3, status="down")], {},
            "2 of 3 nodes take new work. Memory is 0 % allocated and CPU 0 %; the largest hole"
            " takes 1\N{NARROW NO-BREAK SPACE}000 MiB. 1 node is lost.", id="one-lost",
        ),
        pytest.param(
            [node(1), node(2, status="disconnected", eligibility="ineligible", is_draining=True)],
            {"n2": NodeSum(500, 500, 1)},
            "1 of 2 nodes takes new work. Memory is 25 % allocated and CPU 25 %; the largest hole"
            " takes 1\N{NARROW NO-BREAK SPACE}000 MiB. 1 node is silent.", id="one-silent",
        ),
        pytest.param(
            [node(1, eligibility="ineligible")], {},
            "0 of 1 node take new work. Memory is 0 % allocated and CPU 0 %; no node takes new"
            " work.", id="all-closed",
        ),
        pytest.param(
            [node(1, status="down")], {},
            "0 of 1 node take new work. r1 is lost as a whole.", id="all-lost",
        ),
    ],
)  # fmt: skip
def test_the_sentence_is_made_of_the_sums(nodes, sums, sentence):
    assert told(map_of(fleet(*nodes, sums=sums), TopologyView())) == sentence


def test_the_largest_hole_is_on_a_node_that_takes_new_work():
    nodes = (node(1), node(2, memory_mb=9000, is_draining=True), node(3, memory_mb=2000))
    totals = map_of(fleet(*nodes, sums={"n3": NodeSum(0, 500, 1)}), TopologyView()).totals
    assert (totals.hole.id, totals.hole_memory, totals.hole_cpu) == ("n3", 1500, 1000)


def test_of_equal_holes_all_sums_name_the_same_node():
    nodes = (node(2, labels=("r1",)), node(1, labels=("r2",)), node(3, labels=("r1",)))
    drawn = map_of(fleet(*nodes), TopologyView())
    assert [drawn.totals.hole.name, drawn.places[0].totals.hole.name] == ["a-1", "a-1"]


def test_a_silent_node_is_counted_as_such_and_as_nothing_else():
    nodes = (
        node(1, status="down"), node(2, status="disconnected", eligibility="ineligible"),
        node(3, is_draining=True), node(4, eligibility="ineligible"), node(5),
    )  # fmt: skip
    drawn = map_of(fleet(*nodes), TopologyView())
    assert drawn.totals.apart == ["1 lost", "1 silent", "1 draining", "1 closed"]
    (rack,) = racks(drawn)
    assert rack.drawing.label.endswith(", 1 lost, 1 silent, 1 draining, 1 closed")
    assert re.findall(r'<path class="(\w+)"', rack_html(rack.drawing)) == [
        "h1", "hole", "silent", "gone", "ring",
    ]  # fmt: skip
    assert "1 silent" in drawn.places[0].told


def test_squares_of_one_look_are_one_path():
    nodes = [node(number, status="down" if number == 4 else "ready") for number in range(40)]
    (rack,) = racks(map_of(fleet(*nodes), TopologyView()))
    markup = rack_html(rack.drawing)
    assert re.findall(r'<path class="(\w+)"', markup) == ["h1", "gone"]
    assert markup.count("M") == 40
    assert 'viewBox="0 0 64 40"' in markup


def test_5000_nodes_are_some_75_kilobytes():
    nodes = [
        node(number, labels=(f"r{number // 40}",), is_draining=number % 97 == 0)
        for number in range(5000)
    ]
    sums = {f"n{number}": NodeSum(number % 1000, number % 1000, 1) for number in range(5000)}
    drawn = map_of(fleet(*nodes, sums=sums), TopologyView())
    size = sum(len(rack_html(rack.drawing)) for rack in racks(drawn))
    assert len(racks(drawn)) == 125
    assert size < 125_000


def test_a_view_is_the_same_in_an_address_and_in_a_topic():
    view = TopologyView(group="class", by="cpu", job='a&b="', namespace="x/y", rack="r", node="n")
    assert TopologyView.from_text(view.text) == view
    assert TopologyView.from_query({"group": "wrong", "by": "?", "view": "x"}) == TopologyView()
