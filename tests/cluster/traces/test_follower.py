"""Evaluations that ended reach a real receiver of OTLP, once by their ids, whatever it does."""

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest
from django.conf import settings

from cluster.runtime import trace_follower
from cluster.runtime.trace_follower import LOOK_S, MOST_ATTEMPTS, PAUSES, SETTLE_S, TraceFollower
from cluster.traces.sending import SpanSender
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from tests.builders import make_evaluation
from tests.cluster.api.clients import NOW, put
from tests.cluster.traces.conftest import values

WORKER = "worker host/1"


@pytest.fixture
def clock():
    found = SimpleNamespace(at=100.0)
    found.monotonic = lambda: found.at
    return found


@pytest.fixture
def sender(receiver):
    found = SpanSender(receiver.address, timeout=0.5)
    yield found
    found.close()


@pytest.fixture
def follower(store, sender, clock, tmp_path):
    return TraceFollower(sender, tmp_path / "place", clock)


def put_made(change, evaluation):
    """As it is made by a write."""
    put_found(change, evaluation.changed(create_index=change.index, modify_index=change.index))


def end(store, number, **fields):
    """An evaluation that ended, with its steps."""
    one = make_evaluation(
        number, status=EvalStatus.COMPLETE, create_time=NOW, modify_time=NOW + 50, **fields
    )

    def work(change):
        put_made(change, one)
        steps = (Step.ENQUEUED, Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED,
                 Step.COMPLETE)  # fmt: skip
        for place, kind in enumerate(steps, 1):
            actor = WORKER if kind is Step.DEQUEUED else "applier"
            change.put(LIFECYCLE_STEPS, LifecycleStep(
                eval_id=one.id, number=place, step=kind, at=NOW + 10 * place, actor=actor,
                taken_at=NOW + 35 if kind is Step.PLAN_ANSWERED else 0,
            ))  # fmt: skip

    put(store, work)
    return one


def settle(follower, clock):
    follower.look()
    clock.at += SETTLE_S
    return follower.look()


def test_of_a_share_whole_stories_are_sent(store, receiver, sender, clock, tmp_path):
    follower = TraceFollower(sender, tmp_path / "place", clock, share=30)
    made = [end(store, number, story_id=f"story-{number // 2}") for number in range(1, 101)]

    settle(follower, clock)

    came = {one.story_id for one in made if receiver.of_trace(one.id)}
    assert 5 < len(came) < 25
    for one in made:
        assert bool(receiver.of_trace(one.id)) is (one.story_id in came)


def test_a_trace_arrives_whole(store, receiver, follower, clock):
    one = end(store, 1, next_eval="cccccccc-0000-0000-0000-000000000009")
    follower.look()
    assert receiver.spans == []

    clock.at += SETTLE_S
    assert follower.look() == LOOK_S

    found = {span.name: (resource, span) for resource, span in receiver.of_trace(one.id)}
    assert set(found) == {
        "evaluation job-register", "created", "waiting", "scheduling", "plan", "judging",
        "finishing",
    }  # fmt: skip
    _, whole = found["evaluation job-register"]
    resource, scheduling = found["scheduling"]
    assert (scheduling.parent_span_id, whole.parent_span_id) == (whole.span_id, b"")
    assert resource["service.name"] == "bivouac-worker"
    assert resource["service.instance.id"] == WORKER
    times = scheduling.start_time_unix_nano, scheduling.end_time_unix_nano
    assert times == (NOW + 20, NOW + 30)
    assert found["judging"][0]["service.name"] == "bivouac-applier"
    assert values(whole.attributes)["bivouac.job.id"] == one.job_id
    (link,) = whole.links
    assert (values(link.attributes), link.trace_id.hex()) == (
        {"bivouac.relation": "next"}, "cccccccc000000000000000000000009",
    )  # fmt: skip


def test_only_what_has_ended_since_it_was_asked_for_is_sent(
    store, receiver, sender, clock, tmp_path
):
    early = end(store, 1)
    follower = TraceFollower(sender, tmp_path / "place", clock)
    put(store, lambda change: put_made(change, make_evaluation(2)))
    late = end(store, 3)
    settle(follower, clock)

    assert receiver.of_trace(early.id) == []
    assert receiver.of_trace(make_evaluation(2).id) == []
    assert receiver.of_trace(late.id) != []


def test_after_a_restart_it_goes_on_where_it_was_and_says_the_same(
    store, receiver, sender, clock, tmp_path
):
    place = tmp_path / "place"
    first = TraceFollower(sender, place, clock)
    sent = end(store, 1)
    settle(first, clock)
    once = list(receiver.of_trace(sent.id))
    waiting = end(store, 2)
    first.look()

    second = TraceFollower(sender, place, clock)
    settle(second, clock)
    assert len(receiver.of_trace(sent.id)) == len(once)
    assert receiver.of_trace(waiting.id) != []

    place.write_text("0")
    settle(TraceFollower(sender, place, clock), clock)
    again = receiver.of_trace(sent.id)[len(once) :]
    assert [span for _, span in again] == [span for _, span in once]


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 400}, {"delay_s": 1.5}])
def test_while_the_endpoint_fails_nothing_piles_up_and_it_is_said_once(
    store, receiver, follower, clock, caplog, fault
):
    caplog.set_level(logging.INFO)
    vars(receiver).update(fault)
    one = end(store, 1)
    pauses = [settle(follower, clock)]
    for number in range(2, 5):
        end(store, number)
        pauses.append(follower.look())

    assert pauses == list(PAUSES)
    assert receiver.spans == []
    said = [each.getMessage() for each in caplog.records]
    assert said == ["action=send_traces not taken; tried again, later and later"]

    receiver.status, receiver.delay_s = 200, 0.0
    clock.at += SETTLE_S
    follower.look()
    assert [len(receiver.of_trace(make_evaluation(number).id)) for number in range(1, 5)] == [
        7
    ] * 4
    assert caplog.records[-1].getMessage() == "action=send_traces taken again"
    assert receiver.of_trace(one.id)


def test_an_endpoint_that_is_away_is_no_fault_of_ours(store, clock, tmp_path, receiver):
    receiver.close()
    sender = SpanSender(receiver.address, timeout=0.5)
    follower = TraceFollower(sender, tmp_path / "place", clock)
    end(store, 1)
    assert settle(follower, clock) == PAUSES[0]
    sender.close()


class Refusing:
    def __init__(self):
        self.asked = 0

    def send(self, spans):
        self.asked += 1
        return False


def test_what_is_refused_again_and_again_is_left_out_and_counted(store, clock, tmp_path, caplog):
    refusing = Refusing()
    follower = TraceFollower(refusing, tmp_path / "place", clock)
    end(store, 1)
    settle(follower, clock)
    for _ in range(MOST_ATTEMPTS + 3):
        follower.look()

    assert refusing.asked == MOST_ATTEMPTS
    assert "left_out=1" in caplog.records[-1].getMessage()


def test_no_more_is_held_than_a_bound(store, clock, tmp_path, monkeypatch):
    monkeypatch.setattr(trace_follower, "MOST_SETTLING", 3)
    monkeypatch.setattr(trace_follower, "AT_ONCE", 2)
    follower = TraceFollower(Refusing(), tmp_path / "place", clock)
    for number in range(1, 11):
        end(store, number)
    for _ in range(20):
        follower.look()
    assert len(follower._settling) <= 4


def test_what_ends_later_than_it_was_made_is_sent_whenever_that_is(
    store, receiver, sender, clock, tmp_path
):
    place = tmp_path / "place"
    early, late = make_evaluation(1), make_evaluation(2)
    put(store, lambda change: put_made(change, early))
    first = TraceFollower(sender, place, clock)
    put(store, lambda change: put_made(change, late))
    settle(first, clock)
    assert receiver.spans == []
    # Not even their times tell that they have ended, as with one that nobody waits for any more.
    put(store, lambda change: [
        change.put_evaluation(each.changed(status=EvalStatus.CANCELED, modify_index=change.index))
        for each in (early, late)
    ])  # fmt: skip
    settle(first, clock)
    assert receiver.of_trace(early.id) != []
    assert receiver.of_trace(late.id) != []
    count = len(receiver.spans)
    settle(first, clock)
    assert len(receiver.spans) == count


def test_what_ended_while_nobody_followed_is_sent_by_the_next(
    store, receiver, sender, clock, tmp_path
):
    place = tmp_path / "place"
    first = TraceFollower(sender, place, clock)
    end(store, 1)
    settle(first, clock)
    gone = end(store, 2)
    settle(TraceFollower(sender, place, clock), clock)
    assert receiver.of_trace(gone.id) != []


def test_a_long_list_of_new_ones_is_read_at_once_part_by_part(
    store, receiver, follower, clock, monkeypatch
):
    monkeypatch.setattr(trace_follower, "AT_ONCE", 3)
    made = [end(store, number) for number in range(1, 11)]
    while follower.look() == 0.0:
        pass
    clock.at += SETTLE_S
    while follower.look() == 0.0:
        pass
    assert [one.id for one in made if not receiver.of_trace(one.id)] == []


def test_whoever_has_many_open_ones_looks_less_often(store, follower, monkeypatch):
    monkeypatch.setattr(trace_follower, "OPEN_A_SECOND", 1)
    for number in range(1, 4):
        put(store, lambda change, number=number: put_made(change, make_evaluation(number)))
    assert follower.look() == 3.0


def test_nothing_of_the_sdk_is_imported():
    # redis-py imports a part of it by itself, where it is installed.
    program = (
        "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings';"
        "django.setup();"
        "import cluster.runtime.leader_process, cluster.traces.sending, sys;"
        "print([name for name in sys.modules if name.startswith('opentelemetry.exporter')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True, cwd=settings.BASE_DIR, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
