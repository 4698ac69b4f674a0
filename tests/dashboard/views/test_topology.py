"""The page of the topology: the map, what is selected, what may be lit, and all of it live."""

from msgspec.structs import replace

from cluster.operations.namespaces import put_namespace
from dashboard.faces import place_of
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from dashboard.topology import rack_keys
from dashboard.topology_view import TopologyView
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodeStatus
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node
from tests.callers import MANAGER
from tests.dashboard.views.conftest import one_line

S = 1_000_000_000
LATER = SOME_MOMENT + 60 * S
NODES = [
    make_node(number, name=f"n-{number}", meta={"rack": f"r{number % 2}"}, node_class="big")
    for number in range(1, 5)
]


def fill(store, namespace="default", first=1):
    """Four nodes in two racks, and a job with two allocations on the first of them."""

    def work(change):
        for node in NODES:
            put_found(change, node)
        job = write_job(change, make_job(id="web", namespace=namespace))
        for number in (first, first + 1):
            alloc = make_allocation(
                job, number, node_id=NODES[0].id, namespace=namespace,
                client_status=ClientStatus.RUNNING,
            )  # fmt: skip
            put_found(change, alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def put(store, *values):
    def work(change):
        for value in values:
            put_found(change, value)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def test_what_the_database_says_of_nodes_is_what_their_values_say(store):
    fill(store)
    put(store, replace(NODES[1], meta={}, attributes={"rack": "x"}))

    def compared(reader):
        nodes = reader.nodes()
        faces = {each.id: each for each in reader.node_places(rack_keys())}
        assert faces == {node.id: place_of(node, rack_keys()) for node in nodes}
        sums = reader.node_sums()
        for node in nodes:
            held = reader.node_use(node.id).held
            expected = (held.cpu, held.memory_mb, held.alloc_count)
            assert tuple(sums.get(node.id, (0, 0, 0))) == expected
        key = make_job(id="web").key
        held = [a for a in reader.allocations_by_job(key) if not a.is_client_terminal]
        assert reader.held_places(key) == {alloc.id: alloc.node_id for alloc in held}

    store.read(compared)


def test_the_map_shows_each_rack_once_and_says_what_a_rack_is(browser, store):
    fill(store)
    text = browser.get("/topology/").text
    assert text.count('<li id="rack-') == 2
    assert "4 of 4 nodes take new work." in text
    assert "<dd>meta.rack</dd>" in text


def test_a_job_is_lit_up_where_it_is_held(browser, store):
    fill(store)
    page = browser.get("/topology/", job="web")
    assert "2 of web on 1 node." in page.text
    assert [rack.lit for place in page.context["map"].places for rack in place.racks] == [0, 2]
    assert "No such job" in browser.get("/topology/", job="nothing").text


def test_a_rack_and_a_node_of_it_are_looked_into(browser, store):
    fill(store)
    (place,) = browser.get("/topology/").context["map"].places
    rack = place.racks[1]
    page = browser.get(rack.drawing.url.partition("#")[0])
    assert [row["place"].name for row in page.context["rack_rows"]] == ["n-1", "n-3"]
    page = browser.get("/topology/", rack=rack.key, node=NODES[0].id)
    assert "Selected: node n-1" in page.text
    assert len(page.context["allocs"]) == 2
    assert 'class="selected-node"' in page.text
    assert "Nothing runs there." not in page.text
    assert "Nothing runs there." in browser.get("/topology/", node=NODES[1].id).text
    assert browser.get("/topology/", rack="gone", node="gone").status == 200


def test_a_silent_node_is_called_so_in_the_sums_the_legend_and_both_tables(browser, store):
    fill(store)
    silent = replace(NODES[0], status=NodeStatus.DISCONNECTED)
    put(
        store,
        silent,
        replace(NODES[2], id=make_node(5).id, name="n-5", status=NodeStatus.INITIALIZING),
    )
    page = browser.get("/topology/")
    assert "1 silent, 1 closed, in 2 racks" in one_line(page.text)
    assert "</svg>silent</li>" in page.text
    assert "1 node is silent." in page.text
    rack = page.context["map"].places[0].racks[1]
    answer = browser.get("/topology/", rack=rack.key, view="table")
    assert [row["state"] for row in answer.context["rack_rows"]] == [
        "silent",
        "ready",
        "initializing",
    ]
    table = one_line(
        answer.text.partition('aria-label="Racks, table"')[2].partition("</table>")[0]
    )
    assert 'data-state="disconnected">1</span>' in table


def test_the_table_has_a_row_for_each_rack(browser, store):
    fill(store)
    text = browser.get("/topology/", view="table").text
    assert 'aria-label="Racks, table"' in text
    assert text.count('<tr data-key="') == 2
    assert "data-racks" not in text


def test_hidden_namespaces_are_neither_lit_nor_named(guest, store):
    put_namespace(store, Namespace(name="secret"), by=MANAGER, now=SOME_MOMENT)
    fill(store, namespace="secret")
    for query in ({"job": "web"}, {"job": "web", "namespace": "secret"}):
        page = guest.get("/topology/", **query)
        assert "No such job" in page.text
        assert page.context["map"].lit_count == 0
    page = guest.get("/topology/", node=NODES[0].id)
    assert (page.context["allocs"], page.context["alloc_count"]) == ([], 2)
    view = TopologyView(job="web", namespace="secret")
    feed = feed_for(Subscription("topology", view.text, frozenset({"default"})))
    store.read(feed.load)
    assert all(
        "of web" not in piece.html
        for piece in store.read(lambda reader: feed.everything(reader, LATER))
    )


def opened(store, view=None):
    feed = feed_for(Subscription("topology", (view or TopologyView()).text, None))
    store.read(feed.load)
    return feed


def told(store, feed, now=LATER):
    """What the feed tells of the newest write, by target."""
    for frame in store.read(lambda reader: reader.frames_after(reader.index - 1, 1)):
        feed.observe(frame)
    if not feed.is_due(now):
        return None
    pieces = store.read(lambda reader: feed.flush(reader, now))
    return {piece.target: piece.html for piece in pieces}


def rack_targets(found):
    return [target for target in found if target.startswith("rack-")]


def test_a_change_of_one_node_tells_its_rack_alone(browser, store):
    fill(store)
    feed = opened(store)
    put(store, replace(NODES[1], status=NodeStatus.DOWN))
    found = told(store, feed)
    (target,) = rack_targets(found)
    assert 'class="gone"' in found[target]
    assert "3 of 4 nodes take new work." in found["topology-told"]
    assert "topology-map" not in found
    assert one_line(found[target]) in browser.get("/topology/").text


def test_looks_are_a_second_apart_and_nothing_is_told_twice(store):
    fill(store)
    feed = opened(store)
    put(store, replace(NODES[1], status=NodeStatus.DOWN))
    assert told(store, feed)
    put(store, NODES[1])
    assert told(store, feed, LATER + S // 2) is None
    assert rack_targets(told(store, feed, LATER + 5 * S))
    put(store, NODES[1])
    assert told(store, feed, LATER + 10 * S) == {}


def test_a_new_rack_draws_the_map_whole(store):
    fill(store)
    feed = opened(store)
    put(store, make_node(9, name="n-9", meta={"rack": "r9"}))
    found = told(store, feed)
    assert found["topology-map"].count('<li id="rack-') == 3
    assert not rack_targets(found)


def test_a_lit_job_is_followed(store):
    fill(store)
    feed = opened(store, TopologyView(job="web", namespace="default"))
    job = make_job(id="web")
    put(store, make_allocation(job, 7, node_id=NODES[1].id, client_status=ClientStatus.RUNNING))
    assert "3 of web on 2 nodes." in told(store, feed)["topology-told"]
    put(store, make_allocation(job, 7, node_id=NODES[1].id, client_status=ClientStatus.FAILED))
    found = told(store, feed, LATER + 10 * S)
    assert "2 of web on 1 node." in found["topology-told"]


def test_what_is_selected_is_read_again(store):
    fill(store)
    feed = opened(store, TopologyView(node=NODES[1].id))
    job = make_job(id="web")
    put(store, make_allocation(job, 7, node_id=NODES[1].id, client_status=ClientStatus.RUNNING))
    assert "web" in told(store, feed)["topology-selected"]


def test_the_map_as_it_was_is_shown_at_an_index_and_says_so(browser, store):
    def begin(change):
        made = {"create_index": change.index, "modify_index": change.index}
        for node in NODES:
            put_found(change, replace(node, **made))
        job = write_job(change, make_job(id="web"))
        for number in (1, 2):
            alloc = make_allocation(job, number, node_id=NODES[0].id)
            put_found(change, alloc.changed(client_status=ClientStatus.RUNNING, **made))

    def end(change):
        for alloc in change.allocations():
            ended = {"client_status": ClientStatus.COMPLETE, "modify_time": LATER}
            put_found(change, alloc.changed(modify_index=change.index, **ended))

    store.write(WriteKind.PLAN_RESULT, begin, now=SOME_MOMENT)
    then = store.index
    store.write(WriteKind.ALLOCATION_UPDATED, end, now=LATER)
    assert "past" not in browser.get("/topology/").context
    page = browser.get("/topology/", at=str(then), job="web")
    assert page.context["past"].index == then
    assert not page.context["live_topics"]
    assert "You see the past: " in page.text
    assert "2 of web on 1 node." in page.text
    assert f"at={then}" in page.context["moment_url"]
    latest = browser.get("/topology/", at="now", job="web")
    assert latest.context["past"].index == store.index
    assert "2 of web" not in latest.text
    assert "past" not in browser.get("/topology/", at="rubbish").context
    assert browser.get("/topology/", at="0").context["past"].index > 0
