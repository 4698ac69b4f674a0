"""What the lifecycle drawings say can be read: no number and no word lies over another.

Measured in a real browser, with the fonts it has.
"""

import numpy as np
import pytest
from django.template import Context, Template

from dashboard.graphs import machine
from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.lifecycle import EvaluationLife, MadeEvaluation, lifecycle_graph
from dashboard.graphs.lifecycle_map import lifecycle_map
from scheduler.structs.evaluation import EvalTrigger, LifecycleStep, Step

PAGE = Template(
    "{% load cluster_tags %}<!doctype html><html lang=en><head><title>x</title>"
    "<link rel=stylesheet href=/static/css/tokens.css><link rel=stylesheet"
    " href=/static/css/graph.css></head><body>{% icon_sprite %}<div>"
    "{% for graph in graphs %}{% graph graph %}{% endfor %}</div></body></html>"
)
#: Pairs of texts, or of a step's number and a text, whose boxes meet. A box of text has some
#: room above and below its letters.
MEETING = """() => [...document.querySelectorAll("svg.graph")].flatMap((svg, place) => {
  const box = (element) => element.getBoundingClientRect();
  const texts = ".graph-label, .graph-title, .graph-title-long, .graph-count, .graph-count-long,"
    + " .graph-sub, .graph-id";
  const words = [...svg.querySelectorAll(texts)]
    .filter((element) => element.textContent.trim());
  const steps = [...svg.querySelectorAll(".graph-step circle")];
  const meets = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const found = [];
  words.forEach((word, at) => {
    for (const other of words.slice(at + 1)) if (meets(box(word), box(other))) {
      found.push([place, word.textContent, other.textContent]);
    }
    for (const step of steps) if (meets(box(word), box(step))) {
      found.push([place, word.textContent, `step ${step.parentElement.textContent}`]);
    }
  });
  return found;
})"""
#: What may follow each step, of those that lead somewhere.
AFTER = {
    Step.CREATED: (Step.ENQUEUED, Step.DELAYED, Step.BLOCKED, Step.CANCELED),
    Step.DELAYED: (Step.ENQUEUED,),
    Step.ENQUEUED: (Step.DEQUEUED, Step.DEQUEUED, Step.CANCELED),
    Step.DEQUEUED: (Step.PLAN_SUBMITTED, Step.NACKED, Step.COMPLETE, Step.BLOCKED, Step.FAILED),
    Step.PLAN_SUBMITTED: (Step.PLAN_ANSWERED,),
    Step.PLAN_ANSWERED: (Step.PLAN_SUBMITTED, Step.COMPLETE, Step.FAILED, Step.BLOCKED),
    Step.NACKED: (Step.DELAYED, Step.ENQUEUED),
    Step.BLOCKED: (Step.UNBLOCKED, Step.CANCELED),
    Step.UNBLOCKED: (Step.DEQUEUED,),
    Step.COMPLETE: (Step.DELETED,),
    Step.FAILED: (Step.DELETED,),
    Step.CANCELED: (Step.DELETED,),
}  # fmt: skip


def life(seed):
    """A life that may have been, and evaluations that it made."""
    chance = np.random.default_rng(seed)
    names = [Step.CREATED]
    while names[-1] in AFTER and len(names) < 24:
        names.append(AFTER[names[-1]][chance.integers(len(AFTER[names[-1]]))])
    steps = tuple(
        LifecycleStep(
            eval_id="e", number=number, step=name, at=number,
            nodes=("n1", "n2") if name is Step.PLAN_ANSWERED else (),
        )
        for number, name in enumerate(names, 1)
    )  # fmt: skip
    triggers = [*EvalTrigger]
    made = tuple(
        MadeEvaluation(
            id=f"{place:08x}", trigger=triggers[chance.integers(len(triggers))], at=len(names)
        )
        for place in range(chance.integers(3))
    )
    event = [("Job", "checkout-worker"), ("Allocation", "web"), ("Made by", "1a2b")][seed % 3]
    trigger = triggers[chance.integers(len(triggers))]
    return EvaluationLife(eval_id=f"e{seed}", trigger=trigger, steps=steps, made=made, event=event)


@pytest.fixture
def drawn(tab, address, pages):
    def drawn(*graphs):
        pages["/drawn"] = PAGE.render(Context({"graphs": graphs}))
        tab.set_viewport_size({"width": 1600, "height": 900})
        tab.goto(f"{address}/drawn")
        return tab.evaluate(MEETING)

    return drawn


def test_numbers_of_the_map_cover_no_word(drawn):
    flows = {arrow.key: 1_234 for arrow in machine.ARROWS}
    counts = dict.fromkeys(machine.PLACES, 304)
    large = {"complete": 96_841, "failed": 9_841, "canceled": 96_841, "deleted": 96_841}
    assert drawn(lifecycle_map(counts, flows), lifecycle_map({**counts, **large}, flows)) == []


def test_numbers_of_steps_cover_no_word_in_any_life(drawn):
    assert drawn(*(lifecycle_graph(life(seed)) for seed in range(60))) == []


def test_the_name_of_a_job_covers_no_id_beside_it(drawn):
    names = ("web", "demo-canary", "checkout-worker", "sum-of-month", "Backup-Night")
    layout = ChainLayout("chain-named")
    layout.update(
        ChainMember(
            id=f"{place}e8da84b-6c92-4a8f-92b1-0a2f0e9d8c77", job=name, state="complete",
            created_at=place, trigger="job-register", outcome="2 placed", event_key=name,
            event_lines=(name, "registered", "12:41:07"),
        )
        for place, name in enumerate(names)
    )  # fmt: skip
    assert drawn(layout.graph()) == []
