"""An evaluation's life as spans: parts, ids, links, what failed."""

from itertools import pairwise

import pytest

from cluster.traces.spans import PARTS, span_id, spans_of, trace_id
from scheduler.structs.evaluation import Cause, CauseKind, EvalStatus, LifecycleStep, Step
from tests.builders import make_evaluation

EVAL = "cccccccc-0000-0000-0000-000000000001"
OTHER = "cccccccc-0000-0000-0000-000000000002"
WORKER = "worker host/1"


def step(number, kind, at, actor="broker", **fields):
    return LifecycleStep(eval_id=EVAL, number=number, step=kind, at=at, actor=actor, **fields)


LIFE = [
    step(1, Step.ENQUEUED, 110),
    step(2, Step.DEQUEUED, 150, WORKER),
    step(3, Step.PLAN_SUBMITTED, 200, WORKER, plan_id="p"),
    step(4, Step.PLAN_ANSWERED, 260, "applier", plan_id="p", nodes=("n1", "n2"), taken_at=225),
    step(5, Step.COMPLETE, 290, WORKER),
]


def evaluation(**fields):
    usual = {"id": EVAL, "status": EvalStatus.COMPLETE, "create_time": 100, "modify_time": 280}
    return make_evaluation(**usual | fields)


def test_each_part_of_a_life_is_a_span_of_whoever_did_it():
    whole, *parts = spans_of(evaluation(), LIFE)

    assert (whole.name, whole.began, whole.ended) == ("evaluation job-register", 100, 290)
    assert [(each.name, each.began, each.ended, each.service) for each in parts] == [
        ("created", 100, 110, "leader"),
        ("waiting", 110, 150, "leader"),
        ("scheduling", 150, 200, "worker"),
        ("plan", 200, 225, "leader"),
        ("judging", 225, 260, "applier"),
        ("finishing", 260, 290, "worker"),
    ]
    assert {each.parent_id for each in parts} == {whole.span_id}
    assert whole.parent_id == 0
    plan, judging = parts[3:5]
    assert (plan.attributes["bivouac.plan.id"], plan.actor) == ("p", "leader")
    assert plan.attributes["bivouac.step.ended_by"] == "taken"
    assert "bivouac.plan.refused_nodes" not in plan.attributes
    assert (judging.actor, judging.attributes["bivouac.plan.id"]) == ("applier", "p")
    assert judging.attributes["bivouac.plan.refused_nodes"] == 2
    assert parts[2].actor == parts[5].actor == WORKER
    assert parts[5].attributes["bivouac.step.ended_by"] == "complete"


def test_parts_follow_each_other_without_a_gap():
    whole, *parts = spans_of(evaluation(), LIFE)
    assert all(one.ended == other.began for one, other in pairwise(parts))
    assert (parts[0].began, parts[-1].ended) == (whole.began, whole.ended)


def test_a_plan_that_nobody_took_waited_until_it_was_given_up():
    flushed = step(4, Step.PLAN_ANSWERED, 260, "applier", plan_id="p", reason="plan queue flushed")
    plan = spans_of(evaluation(), [*LIFE[:3], flushed])[-1]
    assert (plan.name, plan.began, plan.ended) == ("plan", 200, 260)
    assert plan.attributes["bivouac.reason"] == "plan queue flushed"


@pytest.mark.parametrize(("taken_at", "told"), [(190, 200), (270, 260)], ids=["early", "late"])
def test_a_clock_that_was_set_meanwhile_tears_no_hole(taken_at, told):
    answered = step(4, Step.PLAN_ANSWERED, 260, "applier", taken_at=taken_at)
    plan, judging = spans_of(evaluation(), [*LIFE[:3], answered])[-2:]
    assert (plan.ended, judging.began, judging.ended) == (told, told, 260)


def test_a_life_with_detours_has_a_span_for_each():
    detour = [
        step(1, Step.CREATED, 100), step(2, Step.BLOCKED, 101), step(3, Step.UNBLOCKED, 150),
        step(4, Step.DEQUEUED, 160, WORKER), step(5, Step.NACKED, 170, reason="lost"),
        step(6, Step.DELAYED, 171), step(7, Step.CANCELED, 180),
    ]  # fmt: skip
    names = [each.name for each in spans_of(evaluation(), detour)]
    assert names[1:] == ["created", "blocked", "unblocked", "scheduling", "nacked", "delayed"]


def test_every_step_but_an_end_has_a_name():
    ends = {Step.COMPLETE, Step.FAILED, Step.CANCELED, Step.DELETED}
    assert set(PARTS) == set(Step) - ends


def test_ids_are_made_from_the_evaluation_and_nothing_else():
    assert f"{trace_id(EVAL):032x}" == EVAL.replace("-", "")
    once, again = (spans_of(evaluation(), LIFE) for _ in range(2))
    assert once == again
    ids = [each.span_id for each in once]
    assert len(set(ids)) == len(ids)
    assert all(0 < each < 2**64 for each in ids)


@pytest.mark.parametrize("eval_id", ["short", "0" * 32, "x" * 32, ""])
def test_what_is_no_uuid_has_an_id_too(eval_id):
    assert 0 < trace_id(eval_id) < 2**128


def test_links_lead_along_the_chain_once_each():
    one = evaluation(
        previous_eval="a" * 32, next_eval="b" * 32, blocked_eval=OTHER,
        cause=Cause(kind=CauseKind.EVALUATION, id="a" * 32, text="t"),
    )  # fmt: skip
    (whole,) = spans_of(one, [])
    assert [(link.relation, link.trace_id) for link in whole.links] == [
        ("previous", int("a" * 32, 16)), ("next", int("b" * 32, 16)), ("blocked", trace_id(OTHER)),
    ]  # fmt: skip
    # What it leads to is the other's whole.
    (other,) = spans_of(evaluation(id=OTHER), [])
    assert whole.links[2].span_id == other.span_id == span_id(OTHER)
    caused = evaluation(cause=Cause(kind=CauseKind.EVALUATION, id=OTHER))
    assert [each.relation for each in spans_of(caused, [])[0].links] == ["cause"]
    by_job = evaluation(cause=Cause(kind=CauseKind.JOB, id=OTHER))
    assert spans_of(by_job, [])[0].links == ()


def test_what_failed_is_an_error_with_its_reason():
    failed = evaluation(status=EvalStatus.FAILED, status_description="no plan")
    assert spans_of(failed, [])[0].error == "no plan"
    assert spans_of(evaluation(status=EvalStatus.CANCELED), [])[0].error == ""
