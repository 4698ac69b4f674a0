"""Which nodes refused plans, why, how often, and whose plans they were."""

import html
import re

import pytest

from dashboard.queries.rejections import rejections
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.node import NodeEligibility
from tests.builders import SOME_MOMENT, make_evaluation, make_node

LIAR, OTHER, GONE = make_node(1, name="liar"), make_node(2, name="other"), make_node(3)
MINUTE = 60_000_000_000


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
    view = disputed.read(rejections)
    assert view.strong == "3 of 4 plans were refused in part, by 3 nodes."
    liar = view.nodes[0]
    assert (liar.name, liar.refusals, liar.rate) == ("liar", 2, "4 an hour")
    assert liar.reasons == (("memory exhausted", 2),)
    assert liar.workers == ("worker a-worker", "worker b-worker")
    assert liar.newest_at == SOME_MOMENT + 20 * MINUTE
    told = {node.name: node for node in view.nodes}
    assert told["other"].reasons == (("port: taken; again", 1),)
    gone = told[GONE.id[:8]]
    assert (gone.is_known, gone.reasons) == (False, (("node does not exist", 1),))
    assert sum(node.refusals for node in view.nodes) == 4


def test_without_refusals_it_says_how_many_plans_were_taken_whole(store):
    assert store.read(rejections).strong == "No plan was answered yet."

    def work(change):
        put_found(change, make_evaluation(1))
        for step in answered(make_evaluation(1).id, 1, "a"):
            change.put(LIFECYCLE_STEPS, step)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    view = store.read(rejections)
    assert (view.strong, view.nodes) == ("No node refused any of 1 plan.", ())


def test_the_page_inside_shows_them_with_a_button_that_closes_them(disputed, browser):
    text = browser.get("/inside/").text
    start = text.index('id="disputed"')
    panel = text[start : text.index("</section>", start)]
    said = html.unescape(" ".join(re.sub(r"<[^>]+>", " ", panel).split()))
    assert "3 of 4 plans were refused in part, by 3 nodes." in said
    assert "liar 2 4 an hour memory exhausted 2 times" in said
    assert f'action="/nodes/{LIAR.id}/eligibility"' in panel
    assert f'action="/nodes/{GONE.id}/eligibility"' not in panel
    browser.post(f"/nodes/{LIAR.id}/eligibility", eligibility="ineligible")
    closed = disputed.read(lambda reader: reader.node(LIAR.id))
    assert closed.scheduling_eligibility is NodeEligibility.INELIGIBLE
    assert "Set eligible" in " ".join(browser.get("/inside/").text.split())
