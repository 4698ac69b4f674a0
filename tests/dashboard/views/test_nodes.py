"""Nodes and drains: lists, the page of one, the board, and the buttons."""

import pytest
from msgspec.structs import replace

from cluster.operations.nodes import DrainRequest, drain_node
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.node_drain import DrainNote
from scheduler.state.writes.nodes import add_node_event
from scheduler.structs.allocation import (
    ClientStatus,
    DesiredStatus,
    DesiredTransition,
    TaskState,
)
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.node import (
    CLOCK_OFF_BY,
    SIMULATED,
    DrainStrategy,
    DriverInfo,
    NodeEligibility,
    NodeEvent,
    NodeStatus,
)
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_job, make_node
from tests.callers import MANAGER
from tests.cluster.api.clients import accessor_of, make_token
from tests.dashboard.views.conftest import Browser, one_line
from tests.people import account

OTHER = make_node(2)
NOTE = DrainNote(meta={"message": "kernel update", "by": "kim"})


def put(store, *values, kind=WriteKind.PLAN_RESULT):
    def work(change):
        for value in values:
            put_found(change, value)

    store.write(kind, work, now=SOME_MOMENT)


@pytest.fixture
def drain(store, node, ids):
    """Start a drain of the node."""

    def drain(**strategy):
        asked = DrainRequest(strategy=DrainStrategy(**strategy), note=NOTE)
        drain_node(store, node.id, asked, by=MANAGER, now=SOME_MOMENT + SECOND, ids=ids)

    return drain


def columns(answer):
    return {
        column["key"]: [card.alloc.name for card in column["cards"]]
        for column in answer.context["columns"]
        if column["cards"]
    }


def test_an_empty_list_says_how_nodes_join(browser):
    assert "No node has joined" in browser.get("/nodes/").text


def test_the_list_says_what_is_taken_of_each(store, browser, node):
    put(store, make_allocation(node_id=node.id))
    (row,) = browser.get("/nodes/").context["list"].contexts
    assert (row["state"], row["count"]) == ("ready", 1)
    assert [item.label for item in row["capacities"]] == [
        "CPU: 500 of 4\u202f000 MHz",
        "Memory: 256 of 8\u202f192 MiB",
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param({}, ["node-1", "node-2"], id="all"),
        pytest.param({"status": "down"}, ["node-2"], id="status"),
        pytest.param({"prefix": "node-1"}, ["node-1"], id="name"),
        pytest.param({"prefix": "zzz"}, [], id="no-match"),
    ],
)
def test_the_list_is_narrowed_by_its_address(store, browser, node, query, names):
    put(store, replace(OTHER, status=NodeStatus.DOWN))
    rows = browser.get("/nodes/", **query).context["list"].contexts
    assert [row["node"].name for row in rows] == names


def test_a_node_page_shows_room_allocations_and_events(store, browser, node):
    put(store, make_allocation(node_id=node.id, client_status=ClientStatus.RUNNING))
    answer = browser.get(f"/nodes/{node.id}/")
    assert answer.context["strong"] == "Ready, with 1 allocation."
    assert "3\u202f500 MHz free" in answer.text
    assert "web.web[0]" in answer.text
    assert "Joined." in answer.text


def test_a_node_page_says_which_drivers_it_has_and_what_keeps_others_from_it(store, browser, node):
    drivers = {
        "exec": DriverInfo(health_description="no isolation on this machine: pivot_root"),
        "raw_exec": DriverInfo(detected=True, healthy=True, health_description="Healthy"),
    }
    put(store, replace(node, drivers=drivers), kind=WriteKind.NODE_REGISTRATION)
    page = one_line(browser.get(f"/nodes/{node.id}/").text)
    assert "<dt>exec</dt><dd>Not offered: no isolation on this machine: pivot_root </dd>" in page
    assert "<dt>raw_exec</dt><dd>Offered </dd>" in page


def test_an_unknown_node_is_not_found(browser):
    assert browser.get("/nodes/nothing/").status == 404
    assert browser.get("/drains/nothing/").status == 404


def test_a_node_is_closed_and_opened(store, browser, node):
    address = f"/nodes/{node.id}/eligibility"
    browser.post(address, eligibility="ineligible")
    closed = store.read(lambda reader: reader.node(node.id)).scheduling_eligibility
    browser.post(address, eligibility="eligible")
    opened = store.read(lambda reader: reader.node(node.id)).scheduling_eligibility
    assert (closed, opened) == (NodeEligibility.INELIGIBLE, NodeEligibility.ELIGIBLE)


def test_a_refused_change_writes_nothing_and_says_why(store, node, browser):
    answer = browser.post(f"/nodes/{node.id}/eligibility", eligibility="nonsense")
    assert answer.status == 302
    assert store.read(lambda reader: reader.node(node.id)) == node
    assert 'data-state="failed"' in browser.get(f"/nodes/{node.id}/").text


def test_who_may_only_look_at_nodes_is_told_which_right_a_button_needs(store, node):
    browser = Browser(account(store, "viewer"))
    answer = browser.post(f"/nodes/{node.id}/eligibility", eligibility="ineligible")
    assert answer.status == 403
    assert "To change nodes you need node:write." in answer.text
    assert "The groups administrator and operator have this right." in answer.text
    assert store.read(lambda reader: reader.node(node.id)) == node
    page = browser.get(f"/nodes/{node.id}/").text
    assert 'aria-disabled="true" title="needs node:write" aria-describedby="node-denied"' in page


def test_buttons_are_not_pressed_by_looking(browser, node):
    assert browser.get(f"/nodes/{node.id}/eligibility").status == 405
    assert browser.get(f"/drains/{node.id}/cancel").status == 405


def test_a_node_that_never_drained_says_so(browser, node):
    assert "Never drained" in browser.get(f"/drains/{node.id}/").text


def test_the_board_tells_each_allocation_its_column(store, browser, node, drain):
    service = make_job()
    away = {"client_status": ClientStatus.COMPLETE, "desired_status": DesiredStatus.STOP}
    running = {"client_status": ClientStatus.RUNNING, "node_id": node.id}
    replaced = make_allocation(service, 3, node_id=node.id, **away)
    placed = make_allocation(service, 4, node_id=node.id, **away)
    after = make_allocation(
        service, 13, node_id=OTHER.id, node_name=OTHER.name, name=replaced.name,
        client_status=ClientStatus.RUNNING, previous_allocation=replaced.id,
    )  # fmt: skip
    soon = make_allocation(service, 14, node_id=OTHER.id, previous_allocation=placed.id)
    put(
        store,
        OTHER,
        make_allocation(service, 0, **running),
        make_allocation(service, 1, **running, desired_transition=DesiredTransition(migrate=True)),
        make_allocation(service, 2, **running, desired_status=DesiredStatus.STOP),
        replace(replaced, next_allocation=after.id, modify_time=SOME_MOMENT + 2 * SECOND),
        replace(placed, next_allocation=soon.id, modify_time=SOME_MOMENT + 2 * SECOND),
        after,
        soon,
        make_allocation(service, 5, node_id=node.id, **away, modify_time=SOME_MOMENT + 2 * SECOND),
    )
    drain(deadline=3600 * SECOND)
    answer = browser.get(f"/drains/{node.id}/")
    assert columns(answer) == {
        "waiting": ["web.web[0]"],
        "marked": ["web.web[1]"],
        "stopping": ["web.web[2]"],
        "stopped": ["web.web[5]"],
        "placed": ["web.web[4]"],
        "running": ["web.web[3]"],
    }
    assert answer.context["strong"] == "Moving."
    assert answer.context["rest"] == "1 of 6 replacements run, 3 of 6 allocations stopped."
    assert "kernel update" in answer.text


@pytest.mark.parametrize(
    ("job_type", "told"),
    [
        pytest.param("batch", "left to finish", id="batch"),
        pytest.param("system", "last", id="system"),
        pytest.param("service", "waits for its turn", id="service"),
    ],
)
def test_the_board_says_why_an_allocation_is_still_here(
    store, browser, node, drain, job_type, told
):
    job = make_job(type=job_type)
    put(store, make_allocation(job, node_id=node.id, client_status=ClientStatus.RUNNING))
    drain()
    (card,) = browser.get(f"/drains/{node.id}/").context["columns"][0]["cards"]
    assert card.strong == told


def test_the_board_leads_to_the_evaluation_that_holds_an_allocation_up(
    store, browser, node, drain
):
    job = make_job(id="web")
    put(store, make_allocation(job, node_id=node.id, client_status=ClientStatus.RUNNING))
    drain()
    waits = Evaluation(id="waits", job_id="web", status=EvalStatus.BLOCKED)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, waits), now=SOME_MOMENT)
    answer = browser.get(f"/drains/{node.id}/")
    assert answer.context["strong"] == "web.web[0] waits: its job waits for room."
    assert 'href="/evaluations/waits/"' in answer.text
    assert 'href="/explain/waits/?group=web&amp;unblock=1#unblock"' in answer.text


def test_who_began_a_drain_is_named_where_its_story_alone_knows(store, browser, node, ids):
    asked = DrainRequest(strategy=DrainStrategy(), note=DrainNote(meta={"ticket": "OPS-412"}))
    kim = replace(MANAGER, name="kim")
    assert 'class="tag push"' not in one_line(browser.get("/drains/").text)
    drain_node(store, node.id, asked, by=kim, now=SOME_MOMENT, ids=ids)
    listed = browser.get("/drains/")
    (line,) = listed.context["running"]
    assert '<span class="tag push">1</span>' in one_line(listed.text)
    assert line["by"] == line["story"].actor != ""
    page = browser.get(f"/drains/{node.id}/")
    assert page.context["by"] == line["by"]
    assert "OPS-412" in page.text


@pytest.mark.parametrize(
    ("namespaces", "is_told"),
    [
        pytest.param(None, True, id="who-sees-all"),
        pytest.param(frozenset({"team"}), False, id="who-sees-others"),
    ],
)
def test_an_open_board_follows_what_holds_an_allocation_up(
    store, node, drain, namespaces, is_told
):
    job = make_job(id="web")
    put(store, make_allocation(job, node_id=node.id, client_status=ClientStatus.RUNNING))
    drain()
    feed = feed_for(Subscription("drains", node.id, namespaces))
    store.read(feed.load)
    told = []
    for status in (EvalStatus.BLOCKED, EvalStatus.CANCELED):
        since = store.index
        waits = Evaluation(id="waits", job_id="web", status=status)
        store.write(
            WriteKind.PLAN_RESULT,
            lambda change, waits=waits: put_found(change, waits),
            now=SOME_MOMENT,
        )
        for frame in store.frames_since(since):
            feed.observe(frame)
        pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
        told.append(
            {piece.target: "its job waits for room" in one_line(piece.html) for piece in pieces}
        )
    changed = [{"drain-head": True, "board": True}, {"drain-head": False, "board": False}]
    assert told == (changed if is_told else [{}, {}])


def test_those_that_wait_for_the_same_are_counted_together(store, browser, node, drain):
    running = {"node_id": node.id, "client_status": ClientStatus.RUNNING}
    web, api = make_job(id="web"), make_job(id="api")
    put(store, *(make_allocation(web, number, **running) for number in range(3)))
    put(store, make_allocation(api, 7, **running))
    drain()
    waits = Evaluation(id="waits", job_id="web", status=EvalStatus.BLOCKED)
    told = [browser.get(f"/drains/{node.id}/").context["strong"]]
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, waits), now=SOME_MOMENT)
    told.append(browser.get(f"/drains/{node.id}/").context["strong"])
    assert told == [
        "Moving.",
        "web.web[0] and 2 more wait: their job waits for room.",
    ]


def test_nobody_is_held_up_who_only_waits_for_a_turn(store, browser, node, drain):
    running = {"node_id": node.id, "client_status": ClientStatus.RUNNING}
    put(store, *(make_allocation(make_job(id="web"), number, **running) for number in range(20)))
    drain()
    answer = browser.get(f"/drains/{node.id}/")
    assert "held up" not in answer.text
    assert {card.tone for card in answer.context["columns"][0]["cards"]} == {"marked"}


def test_a_drain_names_the_token_that_asked_for_it(store, browser, node, ids):
    make_token(store, "deploy bot")
    for accessor_id, told in (
        (accessor_of("deploy bot"), "token “deploy bot”"),
        ("gone", "a token that is gone"),
    ):
        asked = DrainRequest(strategy=DrainStrategy(), note=DrainNote(accessor_id=accessor_id))
        drain_node(store, node.id, asked, by=MANAGER, now=SOME_MOMENT, ids=ids)
        assert told in browser.get("/drains/").text
        assert browser.get(f"/drains/{node.id}/").context["by"] == told


def test_an_open_list_of_drains_says_how_many_drain_now(store, node, drain):
    feed = feed_for(Subscription("drains", "", None))
    since = store.index
    drain(deadline=3600 * SECOND)
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: one_line(piece.html) for piece in pieces}
    assert "1 node drains now." in told["drains-told"]
    assert node.name in told["drain-list"]


def test_events_of_a_node_are_told_in_words_for_people(browser, node, drain):
    drain()
    for path in (f"/nodes/{node.id}/", f"/drains/{node.id}/"):
        answer = browser.get(path)
        assert "Its drain began." in answer.text
        assert "Node drain strategy set" not in answer.text


def test_a_drain_tells_its_own_events_and_draws_no_empty_bars(store, browser, node, drain, ids):
    drain()
    browser.post(f"/drains/{node.id}/cancel", eligible="yes")
    first = browser.get(f"/drains/{node.id}/")
    asked = DrainRequest(strategy=DrainStrategy(), note=NOTE)
    later = first.context["last"].updated_at + 60 * SECOND
    drain_node(store, node.id, asked, by=MANAGER, now=later, ids=ids)
    second = browser.get(f"/drains/{node.id}/")
    assert [len(answer.context["lines"]) for answer in (first, second)] == [2, 1]
    assert first.context["rest"] == "Nothing had to move."
    assert 'class="meter"' not in first.text


def test_a_board_tells_when_each_stopped_and_where_its_replacement_went(
    store, browser, node, drain
):
    job = make_job(id="web")
    alloc = make_allocation(job, node_id=node.id, client_status=ClientStatus.RUNNING)
    after = make_allocation(
        job, 2, node_id="b" * 36, node_name="two", eval_id="e" * 36, create_time=at(3),
        client_status=ClientStatus.RUNNING, task_states={"web": TaskState(started_at=at(5))},
        previous_allocation=alloc.id,
    )  # fmt: skip
    put(store, alloc)
    drain()
    gone = {
        "client_status": ClientStatus.COMPLETE,
        "next_allocation": after.id,
        "modify_time": at(4),
    }
    put(store, after, replace(alloc, task_states={"web": TaskState(finished_at=at(4))}, **gone))
    answer = browser.get(f"/drains/{node.id}/")
    assert [(line.at, line.word, line.told) for line in answer.context["lines"]] == [
        (at(5), "running", f"{after.name} runs on two after 2.0 s"),
        (at(4), "stopped", f"{alloc.name} stopped"),
        (at(3), "placed", f"{after.name} placed on two"),
        (at(1), "node", "Its drain began."),
    ]
    assert f'href="/evaluations/{after.eval_id}/"' in answer.text


def at(seconds):
    return SOME_MOMENT + seconds * SECOND


def test_a_replacement_that_waits_for_room_is_led_to(store, browser, node, drain):
    job = make_job(id="web")
    alloc = make_allocation(job, node_id=node.id, client_status=ClientStatus.RUNNING)
    put(store, alloc)
    drain()
    ended = SOME_MOMENT + 2 * SECOND
    put(store, replace(alloc, client_status=ClientStatus.COMPLETE, modify_time=ended))
    waits = Evaluation(id="waits", job_id="web", status=EvalStatus.BLOCKED)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, waits), now=SOME_MOMENT)
    answer = browser.get(f"/drains/{node.id}/")
    assert columns(answer) == {"stopped": ["web.web[0]"]}
    assert 'href="/evaluations/waits/"' in answer.text


def test_names_of_hidden_namespaces_stay_off_the_board(store, guest, node, drain):
    job = make_job(id="sealed-job", namespace="other")
    put(store, make_allocation(job, node_id=node.id, client_status=ClientStatus.RUNNING))
    drain()
    answer = guest.get(f"/drains/{node.id}/")
    assert (answer.context["total"], answer.context["redacted"]) == (1, 1)
    assert "sealed-job" not in answer.text
    assert "sealed-job" not in guest.get(f"/nodes/{node.id}/").text


def test_a_drain_is_listed_and_canceled(store, browser, node, drain):
    drain()
    (line,) = browser.get("/drains/").context["running"]
    assert (line["node"].id, line["reason"], line["by"]) == (node.id, "kernel update", "kim")
    browser.post(f"/drains/{node.id}/cancel", eligible="yes")
    after = store.read(lambda reader: reader.node(node.id))
    assert (after.drain_strategy, after.last_drain.status) == (None, "canceled")
    assert after.scheduling_eligibility is NodeEligibility.ELIGIBLE
    assert "Canceled at" in browser.get(f"/drains/{node.id}/").context["strong"]


def test_a_simulated_node_says_that_it_only_pretends(browser, store, node):
    pretender = make_node(3, attributes={SIMULATED: "true"})
    put(store, pretender, kind=WriteKind.NODE_REGISTRATION)
    told = "Simulated: it runs nothing and only pretends what it is given."
    assert told in browser.get(f"/nodes/{pretender.id}/").text
    assert told not in browser.get(f"/nodes/{node.id}/").text


def test_a_node_whose_clock_is_off_says_so_in_words(store, browser, node):
    """As an agent's door writes it, and no more once the clock agrees again."""
    for message, off_by in (
        ("Node clock is 61 s behind the server's", "-61000"),
        ("Node clock agrees with the server's again", "0"),
    ):
        event = NodeEvent(message=message, subsystem="Cluster", details={CLOCK_OFF_BY: off_by})
        store.write(
            WriteKind.NODE_STREAM_EVENT,
            lambda change, event=event: add_node_event(change, node.id, event),
            now=SOME_MOMENT,
        )
        page = browser.get(f"/nodes/{node.id}/").text
        told = "Its clock is 1 min 1 s behind the server&#x27;s: times it reports are off by that."
        assert (told in page) == (off_by != "0")
        assert f"Its{message.removeprefix('Node')}.".replace("'", "&#x27;") in page
        assert "clock_off_by_ms" not in page
