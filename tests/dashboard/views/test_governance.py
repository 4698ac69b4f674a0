"""Pages of namespaces, node pools and quotas: what holds room, of how much, and who."""

import pytest

from cluster.operations.namespaces import delete_namespace, put_namespace
from cluster.operations.node_pools import put_node_pool
from cluster.operations.quotas import put_quota
from dashboard.panels import feed_for
from dashboard.rights import QUOTA_READ
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodePool
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_node
from tests.callers import MANAGER
from tests.dashboard.views.conftest import one_line

AT = {"by": MANAGER, "now": SOME_MOMENT}


@pytest.fixture
def governed(store):
    """Two namespaces of one quota, a pool with a node, and what runs there."""
    put_quota(store, QuotaSpec(name="small", limits=QuotaAmounts(cpu=1000)), **AT)
    put_namespace(store, Namespace(name="team", quota="small", description="Us <all>"), **AT)
    put_namespace(store, Namespace(name="other", quota="small"), **AT)
    put_node_pool(store, NodePool(name="gpu"), **AT)
    place(store, "team", "web", 1)
    return store


def place(store, namespace, job_id, number, status=ClientStatus.RUNNING):
    node = make_node(number, node_pool="gpu")
    job = make_job(id=job_id, namespace=namespace)
    alloc = make_allocation(
        job, number, node_id=node.id, namespace=namespace, client_status=status
    )

    def work(change):
        write_job(change, job)
        put_found(change, node)
        put_found(change, alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    return alloc


def words(answer):
    return f"{answer.context['strong']} {answer.context['rest']}"


def holders(answer):
    return [
        (line.namespace, line.name, line.held.allocations) for line in answer.context["holders"]
    ]


def test_namespaces_are_listed_with_what_they_hold(browser, governed):
    answer = browser.get("/namespaces/")
    lines = {line.namespace.name: line for line in answer.context["lines"]}
    assert words(answer) == "3 namespaces. 2 count against quotas."
    assert (lines["team"].use.allocations, lines["other"].use.allocations) == (1, 0)
    assert (lines["team"].jobs.total, lines["other"].jobs.total) == (1, 0)
    assert "<all>" not in answer.text


def test_a_guest_sees_only_their_namespaces(guest, governed):
    assert [line.namespace.name for line in guest.get("/namespaces/").context["lines"]] == [
        "default",
        "team",
    ]
    assert guest.get("/namespaces/other/").status == 404
    assert guest.get("/namespaces/team/").status == 200


def test_a_namespace_tells_its_share_and_who_holds_it(browser, governed):
    answer = browser.get("/namespaces/team/")
    assert holders(answer) == [("team", "web", 1)]
    cpu = answer.context["own_shares"][0]
    assert (cpu.used, cpu.total) == (answer.context["use"].cpu, 1000)
    assert cpu.used > 0
    assert 'href="/quotas/small/"' in answer.text


def test_a_quota_tells_its_limits_and_the_namespaces_that_share_them(browser, governed):
    answer = browser.get("/quotas/small/")
    assert [line.namespace.name for line in answer.context["sharers"]] == ["other", "team"]
    together = sum(line.use.cpu for line in answer.context["sharers"])
    assert answer.context["shares"][0].used == together > 0


def test_a_pool_tells_its_capacity_and_who_holds_it(browser, governed):
    answer = browser.get("/pools/gpu/")
    node = make_node(1)
    assert answer.context["strong"] == "1 of 1 node ready."
    assert holders(answer) == [("team", "web", 1)]
    assert answer.context["shares"][0].total == node.node_resources.cpu.cpu_shares - (
        node.reserved_resources.cpu.cpu_shares
    )
    assert browser.get("/pools/all/").context["face"] == answer.context["face"]


def test_who_may_not_look_at_a_namespace_is_not_told_what_it_runs(guest, governed):
    place(governed, "other", "unseen", 2)
    assert holders(guest.get("/pools/gpu/")) == [("team", "web", 1)]
    assert "unseen" not in guest.get("/pools/gpu/").text


def test_what_has_ended_holds_nothing(browser, governed):
    place(governed, "team", "ended", 2, ClientStatus.COMPLETE)
    assert holders(browser.get("/namespaces/team/")) == [("team", "web", 1)]
    assert holders(browser.get("/pools/gpu/")) == [("team", "web", 1)]


@pytest.mark.parametrize(
    "path",
    [
        "/namespaces/no/", "/pools/no/", "/quotas/no/", "/namespaces/%00/", "/pools/..%2F/",
        "/quotas/<b>/",
    ],
)  # fmt: skip
def test_what_is_not_there_is_404(browser, governed, path):
    answer = browser.get(path)
    assert answer.status == 404
    assert "<b>" not in answer.text


@pytest.mark.parametrize(
    ("kind", "key", "path"),
    [
        ("namespaces", "", "/namespaces/"),
        ("namespaces", "team", "/namespaces/team/"),
        ("quotas", "", "/quotas/"),
        ("quotas", "small", "/quotas/small/"),
        ("pools", "", "/pools/"),
        ("pools", "gpu", "/pools/gpu/"),
    ],
)
def test_an_open_page_shows_what_a_fresh_one_does(browser, governed, kind, key, path):
    feed = feed_for(Subscription(kind, key, None, frozenset({QUOTA_READ})))
    governed.read(feed.load)
    since = governed.read(lambda reader: reader.index)
    place(governed, "team", "more", 2)
    for frame in governed.frames_since(since):
        feed.observe(frame)
    feed.is_due(SOME_MOMENT)
    assert feed.needs_reader
    pieces = governed.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    page = browser.get(path).text
    assert len(pieces) == 2
    for piece in pieces:
        assert one_line(piece.html) in page


def test_what_is_held_in_a_pool_is_summed_once_a_second_at_most(governed):
    feed = feed_for(Subscription("pools", "gpu", None))
    governed.read(feed.load)
    second = 1_000_000_000
    dues = []
    for number, now in enumerate((0, second // 2, second, second), 2):
        since = governed.read(lambda reader: reader.index)
        job = make_job(id="web", namespace="team")
        alloc = make_allocation(job, number, node_id=make_node(1).id, namespace="team")
        governed.write(
            WriteKind.PLAN_RESULT, lambda change, alloc=alloc: put_found(change, alloc), now=now
        )
        for frame in governed.frames_since(since):
            feed.observe(frame)
        dues.append(feed.is_due(SOME_MOMENT + now))
        if feed.needs_reader:
            governed.read(lambda reader, now=now: feed.flush(reader, SOME_MOMENT + now))
    assert dues == [True, False, True, False]


def test_a_page_of_what_was_deleted_says_so(store, governed):
    put_namespace(store, Namespace(name="gone"), **AT)
    feed = feed_for(Subscription("namespaces", "gone", None))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    delete_namespace(store, "gone", **AT)
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    assert "It was deleted." in "".join(piece.html for piece in pieces)


def test_an_id_that_no_path_can_hold_is_linked_to_where_it_opens(browser, governed):
    place(governed, "team", "a//b", 2)
    page = browser.get("/namespaces/team/").text
    assert "/jobs/named/?namespace=team&amp;id=a%2F%2Fb" in page
    assert governed.read(lambda reader: reader.job(JobKey("team", "a//b"))) is not None
