"""Webhooks are told once of what holds, again and again until it arrives, and never in the way."""

import pytest

from cluster.notifications.detect import conditions
from cluster.operations.webhooks import (
    ATTEMPTS,
    delete_webhook,
    pause_after,
    put_webhook,
    send_test,
)
from cluster.runtime.notifier import LINES, Notifier
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Job, JobSummary, TaskGroupSummary
from scheduler.structs.node import DrainStrategy, NodeStatus
from scheduler.structs.webhook import NoticeKind, Webhook
from tests.builders import (
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.hook_server import hook_server
from tests.process_store import store

__all__ = ["store"]

SECOND = 10**9
MINUTE = 60 * SECOND


class Time:
    """A clock that is set by hand."""

    def __init__(self):
        self.at = SOME_MOMENT

    def now(self):
        return self.at

    def monotonic(self):
        return self.at / SECOND


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def hooks(settings):
    settings.BIVOUAC_WEBHOOK_PRIVATE = True
    with hook_server() as server:
        yield server


@pytest.fixture
def notifier(store, time):
    del store
    return Notifier(clock=time, ids=CountingIDs())


def hook(store, hooks, name="chat", **fields):
    webhook = Webhook(name=name, **fields)
    put_webhook(store, webhook, url=hooks.url, secret="shh", by=CLUSTER, now=SOME_MOMENT)


def put(store, *rows):
    def work(change):
        for row in rows:
            change.put_job(row) if isinstance(row, Job) else put_found(change, row)

    store.write("made", work, now=SOME_MOMENT)


def deliveries(store):
    found = store.read(lambda reader: reader.list_all(WEBHOOK_DELIVERIES))
    return sorted(found, key=lambda each: each.create_index)


def lost(number):
    return make_node(number, name=f"n{number}", status=NodeStatus.DOWN)


def test_a_lost_node_is_told_once(store, hooks, notifier):
    hook(store, hooks)
    put(store, lost(1))
    notifier.look()
    notifier.look()
    (text,) = hooks.texts
    assert text.startswith("Node n1 is down: it missed its heartbeat. http")
    assert text.endswith(f"/nodes/{make_node(1).id}/")
    (delivery,) = deliveries(store)
    assert (delivery.state, delivery.attempts, delivery.result) == (
        "delivered", 1, "it was taken",
    )  # fmt: skip
    assert hooks.ids == [delivery.id]


def test_many_troubles_are_one_message(store, hooks, notifier):
    hook(store, hooks)
    put(store, *(lost(number) for number in range(1, LINES + 4)))
    notifier.look()
    (text,) = hooks.texts
    assert len(text.splitlines()) == LINES + 1
    assert text.splitlines()[-1] == "And 3 more."
    put(store, lost(90))
    notifier.look()
    assert [len(each.splitlines()) for each in hooks.texts] == [LINES + 1, 1]


def test_who_leads_next_tells_nothing_twice(store, hooks, notifier, time):
    hook(store, hooks)
    put(store, lost(1))
    notifier.look()
    following = Notifier(clock=time, ids=CountingIDs(prefix="b"))
    following.look()
    assert len(hooks.came) == 1


@pytest.mark.parametrize(("over", "told"), [(9 * MINUTE, 1), (10 * MINUTE, 2)])
def test_trouble_that_was_over_for_long_and_comes_back_is_told_again(
    store, hooks, notifier, time, over, told
):
    hook(store, hooks, kinds=(NoticeKind.DRAIN_HELD,))
    drains = make_node(1, drain_strategy=DrainStrategy(deadline=-1))
    job = make_job()
    put(store, drains, job, make_allocation(job, node_id=drains.id))
    waits = make_evaluation(1, status=EvalStatus.BLOCKED)
    put(store, waits)
    notifier.look()
    store.write("made", lambda change: change.delete_evaluation(waits.id), now=SOME_MOMENT)
    notifier.look()
    time.at += over
    put(store, make_evaluation(2, status=EvalStatus.BLOCKED))
    notifier.look()
    assert [text.partition(".")[0] for text in hooks.texts] == [
        f"Drain of {drains.name} is held up: there is no room elsewhere"
    ] * told


def test_a_message_that_does_not_arrive_is_sent_again_under_its_id(store, hooks, notifier, time):
    hook(store, hooks)
    put(store, lost(1))
    hooks.status = 500
    notifier.look()
    time.at += pause_after(1) - 1
    notifier.look()
    assert len(hooks.came) == 1
    time.at += 1
    hooks.status = 200
    notifier.look()
    (delivery,) = deliveries(store)
    assert hooks.ids == [delivery.id] * 2
    assert (delivery.state, delivery.attempts) == ("delivered", 2)


def test_it_is_given_up_after_hours(store, hooks, notifier, time):
    hook(store, hooks)
    put(store, lost(1))
    hooks.status = 500
    began = time.at
    for attempt in range(1, ATTEMPTS + 2):
        notifier.look()
        time.at += pause_after(attempt)
    (delivery,) = deliveries(store)
    assert (delivery.state, delivery.result) == ("given-up", "it answers 500")
    assert len(hooks.came) == ATTEMPTS
    assert time.at - began > 4 * 3600 * SECOND


def test_one_hook_that_fails_keeps_no_other_from_anything(store, hooks, notifier):
    hook(store, hooks, "good")
    bad = Webhook(name="bad")
    put_webhook(store, bad, url="http://nobody.invalid/", secret="", by=CLUSTER, now=SOME_MOMENT)
    put(store, lost(1))
    notifier.look()
    states = {each.webhook: (each.state, each.result) for each in deliveries(store)}
    assert states == {
        "good": ("delivered", "it was taken"),
        "bad": ("waiting", "no address is known for nobody.invalid"),
    }


def test_a_hook_is_told_of_what_it_asked_for(store, hooks, notifier, time):
    hook(store, hooks, kinds=(NoticeKind.BLOCKED,), blocked_after=5 * MINUTE)
    time.at = SOME_MOMENT + 5 * MINUTE - 1
    put(store, lost(1), make_evaluation(1, status=EvalStatus.BLOCKED, create_time=SOME_MOMENT))
    notifier.look()
    assert hooks.came == []
    time.at += 1
    notifier.look()
    assert [text.partition(" http")[0] for text in hooks.texts] == ["Job web waits for room."]


def test_a_paused_hook_is_told_nothing_and_a_deleted_one_leaves_nothing(store, hooks, notifier):
    hook(store, hooks, is_paused=True)
    put(store, lost(1))
    notifier.look()
    assert hooks.came == []
    hook(store, hooks)
    notifier.look()
    assert len(hooks.came) == 1
    delete_webhook(store, "chat", by=CLUSTER, now=SOME_MOMENT)
    assert deliveries(store) == []
    notifier.look()
    assert len(hooks.came) == 1


def test_a_test_goes_out_with_the_next_look(store, hooks, notifier):
    hook(store, hooks)
    send_test(store, "chat", by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs(prefix="c"))
    notifier.look()
    assert hooks.texts == ["A test of the webhook chat: nothing is the matter."]


def test_inside_the_network_nothing_is_sent_by_default(store, hooks, notifier, settings):
    settings.BIVOUAC_WEBHOOK_PRIVATE = False
    hook(store, hooks)
    put(store, lost(1))
    notifier.look()
    assert hooks.came == []
    assert deliveries(store)[0].result == "127.0.0.1 is an address inside the network"


def test_without_hooks_nothing_is_written(store, notifier):
    put(store, lost(1))
    before = store.index
    notifier.look()
    assert store.index == before


def rollout(number, status=DeploymentStatus.RUNNING, healthy=1, modify_time=SOME_MOMENT):
    group = GroupRollout(desired_canaries=1, healthy_allocs=healthy, desired_total=3)
    return Deployment(
        id=f"dddddddd-0000-0000-0000-00000000000{number}", job_id=f"job-{number}",
        status=status, task_groups={"web": group}, modify_time=modify_time, job_version=number,
    )  # fmt: skip


def told(store):
    found = store.read(lambda reader: conditions(reader, SOME_MOMENT))
    return sorted((each.kind.value, each.text) for each in found)


def test_rollouts_that_wait_or_failed_lately_are_found(store):
    put(
        store,
        rollout(1),
        rollout(2, healthy=0),
        rollout(3, DeploymentStatus.FAILED),
        rollout(4, DeploymentStatus.FAILED, modify_time=SOME_MOMENT - 3600 * SECOND),
        rollout(5, DeploymentStatus.SUCCESSFUL),
    )
    assert told(store) == [
        ("rollout-failed", "Rollout of job-3 version 3 failed."),
        ("rollout-waits", "Rollout of job-1 version 1 waits for a promotion."),
    ]


def test_a_job_that_fails_again_and_again_is_found(store):
    job = make_job()
    put(store, job)
    counts = JobSummary(job_id=job.id, summary={"web": TaskGroupSummary(failed=3)})
    store.write("made", lambda change: change.put(JOB_SUMMARIES, counts), now=SOME_MOMENT)
    wanted = sum(group.count for group in job.task_groups)
    text = f"Job web fails: 0 of {wanted} are there, 3 failed so far."
    assert told(store) == [("crash-loop", text)]
