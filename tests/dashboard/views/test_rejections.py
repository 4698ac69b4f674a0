"""Which nodes refused plans, why, how often, and whose plans they were."""

import html
import re

import pytest

from cluster.store.ports import RecordReader
from dashboard.panels import feed_for
from dashboard.queries.rejections import SLOTS, history_of, rejections
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.node import NodeEligibility
from tests.builders import SOME_MOMENT, make_evaluation, make_node
from tests.dashboard.views.conftest import Browser
from tests.people import account_with

LIAR, OTHER, GONE = make_node(1, name="liar"), make_node(2, name="other"), make_node(3)
MINUTE = 60_000_000_000


def told_of(reader: RecordReader):
    return rejections(reader, reader.recent_steps(300), 300, 20 * MINUTE)


def panel_in(text):
    return text.partition('id="scheduler-disputed"')[2].partition("</section>")[0]


def words_of(panel):
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", panel).split()))


def answered(eval_id, number, plan, nodes=(), reason="", minutes=0):
    return (
        LifecycleStep(
            eval_id=eval_id,
            number=number,
            step=Step.PLAN_SUBMITTED,
            at=SOME_MOMENT,
            actor=f"worker host/{plan}-worker",
            plan_id=plan,
        ),
        LifecycleStep(
            eval_id=eval_id,
            number=number + 1,
            step=Step.PLAN_ANSWERED,
            at=SOME_MOMENT + minutes * MINUTE,
            actor="applier",
            plan_id=plan,
            nodes=nodes,
            reason=reason,
        ),
    )


@pytest.fixture
def disputed(store):
    def work(change):
        put_found(change, LIAR)
        put_found(change, OTHER)
        first, second = make_evaluation(1), make_evaluation(2)
        put_found(change, first)
        put_found(change, second)
        memory = f"{LIAR.id}: memory exhausted; {GONE.id}: node does not exist"
        steps = (
            *answered(first.id, 1, "a", (LIAR.id, GONE.id), memory),
            *answered(first.id, 3, "b", (LIAR.id,), f"{LIAR.id}: memory exhausted", 20),
            *answered(second.id, 1, "c", (OTHER.id,), f"{OTHER.id}: port: taken; again", 25),
            *answered(second.id, 3, "d", minutes=30),
        )
        for step in steps:
            change.put(LIFECYCLE_STEPS, step)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    return store


def test_each_node_is_told_with_its_reasons_its_rate_and_the_workers(disputed):
    view = disputed.read(told_of)
    assert view.strong == "3 of 4 plans were refused in part, by 3 nodes."
    liar = view.nodes[0]
    assert (liar.name, liar.refusals, liar.rate) == ("liar", 2, "4 an hour")
    assert liar.reasons == (("memory exhausted", 2),)
    assert liar.workers == ("worker a-worker", "worker b-worker")
    assert liar.newest_at == SOME_MOMENT + 20 * MINUTE
    # Of half an hour in twelve parts the first and the one that begins after 20 minutes.
    assert liar.history.counts == (1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)
    assert liar.history.told.count(" from ") == 2
    assert liar.history.path.count("M") == 2
    told = {node.name: node for node in view.nodes}
    assert told["other"].reasons == (("port: taken; again", 1),)
    gone = told[GONE.id[:8]]
    assert (gone.is_known, gone.reasons) == (False, (("node does not exist", 1),))
    assert sum(node.refusals for node in view.nodes) == 4
    # 20 minutes lie between its refusals: both count within them.
    assert view.peak_told.endswith("at most 2 in that time, by liar.")


def test_without_refusals_it_says_how_many_plans_were_taken_whole(store):
    assert store.read(told_of).strong == "No plan was answered yet."

    def begin(change):
        put_found(change, make_evaluation(1))
        created = LifecycleStep(
            eval_id=make_evaluation(1).id, number=1, step=Step.CREATED, at=SOME_MOMENT
        )
        change.put(LIFECYCLE_STEPS, created)

    store.write(WriteKind.PLAN_RESULT, begin, now=SOME_MOMENT)
    assert store.read(told_of).strong == "The newest 300 evaluations made no plan."

    def work(change):
        put_found(change, make_evaluation(1))
        for step in answered(make_evaluation(1).id, 1, "a"):
            change.put(LIFECYCLE_STEPS, step)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    view = store.read(told_of)
    assert (view.strong, view.nodes) == ("No node refused any of 1 plan.", ())
    assert view.peak_told.endswith(" no node refused a plan.")


def test_the_page_of_the_scheduler_shows_them_with_a_button_that_closes_them(disputed, browser):
    text = browser.get("/scheduler/").text
    panel, said = panel_in(text), words_of(panel_in(text))
    assert "3 of 4 plans were refused in part, by 3 nodes." in said
    assert "liar memory exhausted 2 times worker a-worker, worker b-worker" in said
    assert f'aria-label="{disputed.read(told_of).nodes[0].history.told}"' in panel
    assert f'formaction="/nodes/{LIAR.id}/eligibility"' in panel
    assert f'formaction="/nodes/{GONE.id}/eligibility"' not in panel
    assert '<form method="post" id="disputed-form">' in text
    browser.post(f"/nodes/{LIAR.id}/eligibility", eligibility="ineligible")
    closed = disputed.read(lambda reader: reader.node(LIAR.id))
    assert closed.scheduling_eligibility is NodeEligibility.INELIGIBLE
    assert "Set eligible liar" in words_of(panel_in(browser.get("/scheduler/").text))


def test_live_they_look_as_the_page_does_and_who_may_not_has_no_button(disputed, browser):
    rules = 'operator { policy = "read" } node { policy = "read" }'
    for viewer, may in (
        (browser, frozenset({"operator:write", "node:write", "node:read"})),
        (Browser(account_with(disputed, rules)), frozenset({"node:read"})),
    ):
        feed = feed_for(Subscription("scheduler", "*", None, may))
        feed.is_due(SOME_MOMENT)
        pieces = disputed.read(lambda reader, feed=feed: feed.flush(reader, SOME_MOMENT))
        live = next(piece.html for piece in pieces if piece.target == "scheduler-disputed")
        loaded = panel_in(viewer.get("/scheduler/").text)
        assert panel_in(live).split() == loaded.split()
        assert (f'formaction="/nodes/{LIAR.id}/eligibility"' in loaded) == ("node:write" in may)
        assert f'href="/nodes/{LIAR.id}/"' in loaded


def test_the_page_inside_leads_there(disputed, browser):
    text = browser.get("/inside/").text
    assert 'href="/scheduler/#scheduler-disputed"' in text
    assert "memory exhausted" not in text


def test_every_refusal_is_in_one_part_of_the_history():
    told = history_of([0, 0, 59, 60], 0, 60)
    assert (sum(told.counts), told.counts[0], told.counts[-1]) == (4, 2, 2)
    at_once = history_of([7, 7], 7, 7)
    assert at_once.counts == (2, *(SLOTS - 1) * (0,))
    assert history_of([], 0, 60).told == ""


def refusals_in(text):
    return words_of(text.partition('id="node-refusals"')[2].partition("</section>")[0])


def test_a_node_says_what_it_refused_and_why(browser, disputed):
    told = refusals_in(browser.get(f"/nodes/{LIAR.id}/").text)
    assert "2 plans of the newest 300 evaluations" in told
    assert "memory exhausted 2 times" in told
    assert "4 an hour" in told
    assert "GONE" not in told
    assert "port: taken" not in told
    other = refusals_in(browser.get(f"/nodes/{OTHER.id}/").text)
    assert "1 plan of the newest 300 evaluations" in other
    assert "port: taken; again" in other


def test_an_open_page_of_a_node_follows_its_refusals_and_nobody_elses(browser, disputed):
    feed = feed_for(Subscription("node", OTHER.id, None))
    disputed.read(feed.load)

    def follow(*nodes):
        since = disputed.read(lambda reader: reader.index)
        eval_id = make_evaluation(2).id
        steps = answered(eval_id, since, f"p{since}", nodes, f"{nodes[0]}: disk exhausted", 40)
        disputed.write(
            WriteKind.PLAN_RESULT,
            lambda change: [change.put(LIFECYCLE_STEPS, step) for step in steps],
            now=SOME_MOMENT,
        )
        for frame in disputed.frames_since(since):
            feed.observe(frame)
        return disputed.read(lambda reader: feed.flush(reader, SOME_MOMENT))

    assert follow(LIAR.id) == ()
    (piece,) = follow(OTHER.id)
    assert piece.target == "node-refusals"
    assert "disk exhausted" in piece.html
    told = words_of(piece.html.partition(">")[2].partition("</section>")[0])
    assert told in refusals_in(browser.get(f"/nodes/{OTHER.id}/").text)


def test_a_node_of_a_cluster_without_plans_says_so(store, browser, node):
    assert "No plan of the newest is kept." in refusals_in(browser.get(f"/nodes/{node.id}/").text)
