"""The page of a staged drain: node by node, live, canceled by whoever may, told in the list."""

import html

import pytest

from cluster.operations.nodes import complete_drain, purge_node
from cluster.operations.staged_drains import (
    StagedDrainRequest,
    advance_staged_drain,
    start_staged_drain,
)
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.structs.node import NodeEligibility
from tests.builders import SOME_MOMENT, CountingIDs, make_node
from tests.callers import MANAGER
from tests.dashboard.views.conftest import Browser, one_line
from tests.people import account_with

NODES = [make_node(number, name=f"<b>{number}") for number in range(1, 5)]
IDS = tuple(node.id for node in NODES)


@pytest.fixture
def drain(store):
    """Four nodes, two at a time: the first is done, the second and third drain."""

    def work(change):
        for node in NODES:
            put_found(change, node)

    store.write("NodeRegistration", work, now=SOME_MOMENT)
    request = StagedDrainRequest(
        node_ids=IDS, at_once=2, deadline=3600 * 10**9, meta={"message": "<i>disks", "by": "kim"}
    )
    ids = CountingIDs(prefix="b")
    drain = start_staged_drain(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)
    complete_drain(store, IDS[:1], by=CLUSTER, now=SOME_MOMENT)
    advance_staged_drain(store, drain.id, by=CLUSTER, now=SOME_MOMENT)
    return drain


def test_the_page_says_who_is_done_who_drains_and_who_waits(drain, browser):
    page = browser.get(f"/drains/staged/{drain.id}/")
    assert "<b>1" not in page.text
    text = one_line(html.unescape(page.text))
    assert "1 of 4 nodes is done.</strong> 2 drain now, 1 waits for a turn, next is <b>4." in text
    assert [each.state for each in page.context["nodes"]] == [
        "done", "draining", "draining", "waiting",
    ]  # fmt: skip
    assert "1 h for each node" in text
    assert "one story" in text


def test_the_list_of_drains_leads_to_it(drain, browser):
    page = html.unescape(one_line(browser.get("/drains/").text))
    assert f'href="/drains/staged/{drain.id}/">4 nodes, 2 at a time</a>' in page
    assert "<i>disks" in page


def test_the_board_of_its_node_says_whose_turn_it_is(drain, browser):
    board = one_line(browser.get(f"/drains/{IDS[1]}/").text)
    assert f'<a href="/drains/staged/{drain.id}/">turn 2 of 4</a>' in board


def test_an_open_page_follows_what_its_nodes_do(store, drain, browser):
    feed = feed_for(Subscription("staged", drain.id, None, frozenset({"node:read"})))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    complete_drain(store, IDS[1:3], by=CLUSTER, now=SOME_MOMENT)
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: one_line(piece.html) for piece in pieces if hasattr(piece, "html")}
    assert set(told) == {"staged-head", "staged-nodes"}
    assert told["staged-nodes"] in browser.get(f"/drains/staged/{drain.id}/").text


def test_it_is_canceled_and_its_nodes_opened_again(store, drain, browser):
    answer = browser.post(f"/drains/staged/{drain.id}/cancel", eligible="yes")
    assert answer.headers["Location"] == f"/drains/staged/{drain.id}/"
    page = browser.get(f"/drains/staged/{drain.id}/")
    assert "It is canceled. 3 were left as they are." in one_line(page.text)
    assert "Cancel staged drain" not in one_line(page.text)
    nodes = [store.read(lambda reader, key=key: reader.node(key)) for key in IDS]
    assert [node.scheduling_eligibility is NodeEligibility.ELIGIBLE for node in nodes] == [
        False, True, True, True,
    ]  # fmt: skip
    browser.post(f"/drains/staged/{drain.id}/cancel")
    again = browser.get(f"/drains/staged/{drain.id}/").text
    assert "Not canceled: the staged drain is canceled already." in again


def test_a_purged_node_and_a_drain_that_is_not_kept(store, drain, browser):
    purge_node(store, IDS[0], by=MANAGER, now=SOME_MOMENT, ids=CountingIDs(prefix="c"))
    page = browser.get(f"/drains/staged/{drain.id}/")
    assert page.context["nodes"][0].state == "gone"
    assert browser.get("/drains/staged/none/").status == 404
    assert browser.post("/drains/staged/none/cancel").status == 302


def test_who_only_looks_is_offered_no_button_and_refused(store, drain):
    looking = Browser(account_with(store, 'node { policy = "read" }'))
    page = looking.get(f"/drains/staged/{drain.id}/")
    assert (page.status, "Cancel staged" in page.text) == (200, False)
    assert looking.post(f"/drains/staged/{drain.id}/cancel").status == 403
    kept = store.read(lambda reader: reader.get(STAGED_DRAINS, drain.id))
    assert kept.status.value == "running"
