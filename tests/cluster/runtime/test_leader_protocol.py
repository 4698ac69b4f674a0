"""What travels through Redis between processes: every message there and back, and its bytes."""

import re
from pathlib import Path

import msgspec
import pytest

from cluster.runtime import leader_protocol as protocol
from scheduler.messages import (
    Delivery,
    FinishRequest,
    PlanOutcome,
    QueuedPlan,
    Reap,
    Reaped,
    ReapRequest,
)
from scheduler.structs.collection import forced_cutoffs
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.plan import Plan, PlanResult
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job

STEP = LifecycleStep(eval_id="e", number=1, step=Step.DEQUEUED, at=SOME_MOMENT)
PLACED = make_allocation(make_job())
WHOLE = Plan(id="p", eval_id="e", job_id="web", node_allocation={PLACED.node_id: (PLACED,)})
REAP = Reap(
    core_job="job-gc",
    started_at=SOME_MOMENT,
    cutoffs=forced_cutoffs(SOME_MOMENT),
    evaluations=("e",),
    jobs=(make_job().key,),
)
OUTCOME = PlanOutcome(plan_id="p", result=PlanResult(alloc_index=9))
DELIVERIES = (Delivery(evaluation=make_evaluation(), token="t", wait_index=4),)

#: Every kind of request, with a body and the body of its answer.
EXCHANGES = {
    protocol.ALIVE: (protocol.AliveBody("worker", ("e",)), protocol.Done()),
    protocol.DEQUEUE: (protocol.DequeueBody("worker", ("service",), 8, 0.1, 1), DELIVERIES),
    protocol.PLAN: (
        protocol.PlanBody("worker", WHOLE.outline, 1, protocol.encoded_body(WHOLE)),
        OUTCOME,
    ),
    protocol.FINISH: (
        protocol.FinishBody("worker", FinishRequest(eval_id="e", token="t")),
        protocol.Done(7),
    ),
    protocol.REAP: (
        protocol.ReapBody("worker", ReapRequest(eval_id="e", token="t", reap=REAP)),
        Reaped(evaluations=1),
    ),
    protocol.NEXT_PLANS: (
        protocol.NextPlansBody("applier", 64, 0.1),
        (QueuedPlan(plan=WHOLE, steps=(STEP,)),),
    ),
    protocol.PLANS_DONE: (protocol.PlansDoneBody("applier", (OUTCOME,)), protocol.Done(7)),
}


def there(kind, body):
    envelope = protocol.Request("1", kind.name, "reply:worker", protocol.encoded_body(body), 7)
    return protocol.request_in(protocol.encoded(envelope))


def back(body, error=""):
    envelope = protocol.Answer("1", 7, protocol.encoded_body(body), error)
    return protocol.answer_in(protocol.encoded(envelope))


def test_every_kind_is_listed_once():
    assert list(EXCHANGES) == list(protocol.KINDS)
    assert len({kind.name for kind in protocol.KINDS}) == len(protocol.KINDS)


@pytest.mark.parametrize("kind", protocol.KINDS, ids=lambda kind: kind.name)
def test_a_request_and_its_answer_arrive_as_they_were_sent(kind):
    asked, answered = EXCHANGES[kind]
    request = there(kind, asked)
    assert (request.id, request.kind, request.reply, request.epoch) == (
        "1", kind.name, "reply:worker", 7,
    )  # fmt: skip
    assert kind.read_body(request) == asked
    answer = back(answered)
    assert (answer.id, answer.epoch, answer.error) == ("1", 7, "")
    assert kind.read_answer(answer) == answered


def test_a_plan_that_the_leader_hands_on_unopened_is_the_one_that_was_submitted():
    asked, _ = EXCHANGES[protocol.PLAN]
    taken = protocol.PLAN.read_body(there(protocol.PLAN, asked))
    queued = QueuedPlan(plan=WHOLE, steps=(STEP,), newest_step=STEP, taken_at=9)
    assert all(getattr(queued, name) for name in QueuedPlan.__struct_fields__)
    carried = protocol.CarriedPlan.of(queued, taken.cargo)
    assert protocol.NEXT_PLANS.read_answer(back((carried,))) == (queued,)


def test_step_hints_arrive_as_they_were_published():
    assert protocol.steps_in(protocol.encoded((STEP,))) == (STEP,)


def test_envelopes_are_arrays_in_a_fixed_order():
    request = protocol.Request("1", "alive", "", protocol.encoded_body(0), 7)
    assert protocol.encoded(request) == b"\x95\xa11\xa5alive\xa0\x00\x07"
    answer = protocol.Answer("1", 7, protocol.encoded_body(0), "no")
    assert protocol.encoded(answer) == b"\x94\xa11\x07\x00\xa2no"
    # What a process of before sent, which knew neither epochs nor errors.
    assert protocol.request_in(b"\x94\xa11\xa5alive\xa0\x00").epoch == 0
    assert protocol.answer_in(b"\x93\xa11\x07\x00").error == ""


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xc1", id="no-msgpack"),
        pytest.param(b"\x95\xa11\xa5alive\xa0", id="cut-off"),
        pytest.param(b"\x95\x01\xa5alive\xa0\x00\x07", id="wrong-type"),
        pytest.param(b"\x95\xa2\xff\xff\xa5alive\xa0\x00\x07", id="no-text"),
        pytest.param(b"\x91" * 100_000, id="bottomless"),
    ],
)
@pytest.mark.parametrize("read", [protocol.request_in, protocol.answer_in, protocol.steps_in])
def test_bytes_that_are_no_message_are_unreadable(read, raw):
    with pytest.raises(protocol.UNREADABLE):
        read(raw)


def test_a_body_of_another_kind_is_unreadable():
    request = there(protocol.NEXT_PLANS, EXCHANGES[protocol.NEXT_PLANS][0])
    with pytest.raises(protocol.UNREADABLE):
        protocol.PLAN.read_body(request)


def test_the_packages_readme_names_every_key_and_kind():
    readme = Path(protocol.__file__).parents[1].joinpath("README.md").read_text()
    table = readme[readme.index("## What each Redis key is for") :]
    named = set(re.findall(r"\w[\w:]*", table[: table.index("## Decisions")]))
    keys = {protocol.LEADER_IN, protocol.INDEX_HINTS, protocol.STEP_HINTS}
    keys |= {protocol.WORKER_WAKE_UPS, protocol.APPLIER_WAKE_UPS}
    assert keys | {kind.name for kind in protocol.KINDS} <= named


def test_a_message_is_at_most_one_encoding_deep():
    """Bodies are put into envelopes as they are, not as text in text."""
    request = there(protocol.ALIVE, protocol.AliveBody("worker"))
    assert msgspec.msgpack.decode(request.body) == {"process": "worker", "working_on": []}
