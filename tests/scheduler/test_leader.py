"""The leader over a store in memory; numbers are rows of evaluations.md 17."""

import msgspec
import pytest

from scheduler.broker.blocked_evals import BlockedStats
from scheduler.broker.places import BrokerStats, Place
from scheduler.commands import CancelEvaluations, FailEvaluation, RecordSteps
from scheduler.errors import NotOutstanding, RequestRefused, TokenMismatch
from scheduler.messages import FinishRequest, PlanOutcome
from scheduler.ports import Change
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.allocations import update_from_client
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation, Step
from scheduler.structs.node import NodeEligibility, NodeStatus
from scheduler.structs.plan import Plan, PlanResult
from tests.builders import SECOND, make_allocation, make_evaluation, make_job, make_node
from tests.scheduler.leading import E, complete, dequeue, make_world, nack, pause_broker, take_one
from tests.simulation.world import World

MINUTE = 60 * SECOND


def steps_of(world: World, evaluation: Evaluation = E) -> list[tuple[int, Step, str]]:
    return [(s.number, s.step, s.reason) for s in world.store.lifecycle(evaluation.id)]


# Coming in.


def test_57_pending_evaluations_become_ready_and_blocked_ones_are_tracked() -> None:
    blocked = make_evaluation(2, job_id="other", status=EvalStatus.BLOCKED)
    world = make_world(E, blocked)
    assert world.leader.broker.place_of(E.id) is Place.READY
    assert blocked.id in world.leader.blocked
    assert world.leader.broker.place_of(blocked.id) is None


def test_118_a_new_leader_finds_the_pending_ones() -> None:
    world = make_world(E, make_evaluation(2, job_id="other", status=EvalStatus.BLOCKED))
    world.new_leader()
    assert world.leader.stats().broker.total_ready == 1
    assert world.leader.stats().blocked.total_blocked == 1


def test_58_a_placed_job_waits_for_nothing() -> None:
    blocked = make_evaluation(2, status=EvalStatus.BLOCKED)
    failed = {"web": AllocMetric()}
    world = make_world(E, blocked)
    world.put_evaluations(
        make_evaluation(3),
        make_evaluation(3, status=EvalStatus.COMPLETE, failed_task_groups=failed),
    )
    assert blocked.id in world.leader.blocked
    world.finish("w", complete(take_one(world)))
    assert blocked.id not in world.leader.blocked
    assert world.stored(blocked).status is EvalStatus.CANCELED


@pytest.mark.parametrize(
    ("client_status", "is_released"),
    [
        pytest.param("complete", True, id="59-complete"),
        pytest.param("failed", True, id="59-failed"),
        pytest.param("running", False, id="59-running"),
        pytest.param("lost", False, id="59-lost"),
    ],
)
def test_a_report_of_a_node_frees_room(client_status: str, *, is_released: bool) -> None:
    blocked = make_evaluation(
        status=EvalStatus.BLOCKED, class_eligibility={"v1:1": True}, snapshot_index=50
    )
    world = make_world(blocked)
    world.put_nodes(make_node(status=NodeStatus.DOWN))
    alloc = make_allocation(client_status="running")
    world.store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, alloc), now=1)
    report = alloc.changed(client_status=client_status)
    world.store.write(
        WriteKind.ALLOCATION_UPDATED,
        lambda change: update_from_client(change, [report], world.ids),
        now=1,
    )
    world.follow()
    assert (blocked.id not in world.leader.blocked) is is_released


@pytest.mark.parametrize(
    ("before", "after", "kind", "is_released"),
    [
        pytest.param(
            {"status": NodeStatus.DOWN}, {}, WriteKind.NODE_STREAM_EVENT, True, id="becomes-ready"
        ),
        pytest.param(
            {"scheduling_eligibility": NodeEligibility.INELIGIBLE},
            {},
            WriteKind.NODE_ELIGIBILITY,
            True,
            id="becomes-eligible",
        ),
        pytest.param({}, {}, WriteKind.NODE_REGISTRATION, False, id="registers-again"),
        pytest.param(
            {},
            {"scheduling_eligibility": NodeEligibility.INELIGIBLE},
            WriteKind.PLAN_RESULT,
            False,
            id="is-closed",
        ),
    ],
)
def test_a_system_evaluation_waits_until_its_node_opens(
    before: dict[str, object], after: dict[str, object], kind: str, *, is_released: bool
) -> None:
    node = make_node(**before)
    world = make_world()
    world.put_nodes(node)
    blocked = make_evaluation(
        type="system",
        node_id=node.id,
        status=EvalStatus.BLOCKED,
        class_eligibility={"v1:1": False},
        snapshot_index=50,
    )
    world.put_evaluations(blocked)
    changed = make_node(**after)
    world.store.write(kind, lambda change: put_found(change, changed), now=1)
    world.follow()
    assert (blocked.id not in world.leader.blocked) is is_released


def test_27_a_canceled_follow_up_never_runs() -> None:
    delayed = E.changed(wait_until=2**62)
    world = make_world(delayed)
    assert world.leader.stats().broker.total_waiting == 1
    world.put_evaluations(delayed.changed(status=EvalStatus.CANCELED))
    assert world.leader.stats().broker.total_waiting == 0


def test_a_plan_commit_seen_late_does_not_bring_a_finished_evaluation_back() -> None:
    world = make_world(E)
    world.put_job(make_job(id="other"))
    delivery = next(d for d in dequeue(world, limit=2) if d.evaluation.id == E.id)

    def touch(change: Change) -> None:
        put_found(change, world.stored(E).changed(modify_index=change.index))

    world.store.write(WriteKind.PLAN_RESULT, touch, now=1)
    request = complete(delivery)
    world.leader.check_finish("w", request, world.moment)
    world.leader.finished(request, world.moment)
    world.follow()
    assert world.leader.broker.place_of(E.id) is None


# Deliveries.


def test_82_a_run_must_see_the_newest_evaluation_of_its_job() -> None:
    world = make_world(E)
    world.put_evaluations(make_evaluation(2))
    assert take_one(world).wait_index == world.store.index


def test_84_a_run_must_see_the_plans_of_its_job() -> None:
    world = make_world(E)

    def touch(change: Change) -> None:
        put_found(change, world.stored(E).changed(modify_index=change.index))

    world.store.write(WriteKind.PLAN_RESULT, touch, now=1)
    world.follow()
    assert take_one(world).wait_index == world.store.index


def test_a_run_after_a_failover_must_see_everything_before() -> None:
    world = make_world(E)
    world.put_nodes(make_node())
    world.new_leader()
    assert take_one(world).wait_index == world.store.index


def test_83_a_run_must_see_the_write_that_made_its_evaluation_whatever_the_leader_saw() -> None:
    world = make_world()
    ahead = world.store.index + 1
    world.leader.broker.enqueue(E.changed(modify_index=ahead), monotonic=0)
    assert take_one(world).wait_index == ahead


def test_86_a_paused_broker_hands_out_nothing_and_complains_of_nothing() -> None:
    world = make_world(E)
    pause_broker(world, paused=True)
    assert dequeue(world) == ()


@pytest.mark.parametrize(
    ("before", "after", "keeps_deliveries", "hands_out"),
    [
        pytest.param(False, True, False, 0, id="119-pausing-empties-it"),
        pytest.param(True, True, False, 0, id="119-paused-again-nothing-changes"),
        pytest.param(True, False, False, 1, id="119-resuming-restores-it"),
        pytest.param(False, False, True, 0, id="resumed-again-nothing-changes"),
    ],
)
def test_the_broker_follows_the_switch_and_only_a_change_of_it(
    before: bool, after: bool, *, keeps_deliveries: bool, hands_out: int
) -> None:
    world = make_world(E, make_evaluation(2, job_id="b", status=EvalStatus.BLOCKED))
    delivery = take_one(world)
    pause_broker(world, paused=before)
    assert pause_broker(world, paused=after) is (before and not after)
    assert world.leader.broker.enabled is world.leader.blocked.enabled is not after
    assert (world.leader.broker.outstanding(E.id) == delivery.token) is keeps_deliveries
    assert world.leader.stats().blocked.total_blocked == (0 if after else 1)
    assert len(dequeue(world)) == hands_out


@pytest.mark.parametrize("is_same_leader", [False, True], ids=["125-failover", "125-switched-off"])
def test_tokens_of_before_are_worth_nothing(*, is_same_leader: bool) -> None:
    world = make_world(E)
    old = take_one(world)
    if is_same_leader:
        pause_broker(world, paused=True)
        pause_broker(world, paused=False)
    else:
        world.new_leader()
    plan = Plan(id="p", job_id="web", eval_id=E.id, eval_token=old.token)
    for error in (NotOutstanding, TokenMismatch):
        with pytest.raises(error):
            world.finish("w", complete(old))
        with pytest.raises(error):
            world.leader.submit_plan("w", plan, plan.size, world.moment)
        if error is NotOutstanding:
            assert take_one(world).token != old.token


def test_126_a_released_evaluation_is_blocked_again_after_a_failover() -> None:
    world = make_world(make_evaluation(status=EvalStatus.BLOCKED, snapshot_index=50))
    world.put_nodes(make_node())
    assert take_one(world).evaluation.id == E.id
    world.new_leader()
    assert E.id in world.leader.blocked
    assert world.leader.broker.place_of(E.id) is None


def test_a_reblocked_evaluation_waits_again_and_missed_room_brings_it_back() -> None:
    blocked = make_evaluation(status=EvalStatus.BLOCKED, snapshot_index=50)
    world = make_world(blocked)
    world.put_nodes(make_node())
    for start_index, place in ((world.store.index, None), (0, Place.READY)):
        if world.leader.broker.place_of(E.id) is None:
            world.leader.blocked.remove(E.id)
            world.leader.broker.enqueue(blocked, monotonic=0)
        delivery = take_one(world)
        again = delivery.evaluation.changed(snapshot_index=start_index)
        world.finish("w", FinishRequest(eval_id=E.id, token=delivery.token, reblocked=again))
        assert world.leader.broker.place_of(E.id) is place
        assert (E.id in world.leader.blocked) is (place is None)


@pytest.mark.parametrize(
    ("stored", "fields", "error", "text"),
    [
        pytest.param(
            EvalStatus.BLOCKED,
            {"eval_id": "unknown"},
            NotOutstanding,
            "evaluation is not outstanding",
            id="93-unknown",
        ),
        pytest.param(
            EvalStatus.BLOCKED,
            {"reblocked": make_evaluation(9)},
            RequestRefused,
            "evaluation does not exist",
            id="93-another-than-was-delivered",
        ),
        pytest.param(
            EvalStatus.PENDING, {}, RequestRefused, "evaluation not blocked", id="93-pending"
        ),
    ],
)
def test_what_never_waited_for_room_cannot_wait_again(
    stored: EvalStatus, fields: dict[str, object], error: type[Exception], text: str
) -> None:
    world = make_world(E.changed(status=stored, snapshot_index=50))
    world.put_nodes(make_node())
    delivery = take_one(world)
    blocked = delivery.evaluation.changed(status=EvalStatus.BLOCKED)
    request = {"eval_id": E.id, "token": delivery.token, "reblocked": blocked} | fields
    with pytest.raises(error, match=text):
        world.finish("w", FinishRequest(**request))
    assert world.leader.stats().blocked == BlockedStats()
    assert world.leader.broker.outstanding(E.id) == delivery.token


def test_a_lost_worker_gives_back_what_it_held() -> None:
    world = make_world(E, make_evaluation(2, job_id="begun"), delivery_limit=1)
    deliveries = {d.evaluation.job_id: d for d in dequeue(world, limit=2)}
    begun = deliveries["begun"].evaluation
    world.leader.alive("w", (begun.id,), monotonic=world.clock.monotonic())
    world.tick(4.9)
    assert world.leader.broker.outstanding(E.id) is not None
    world.tick(0.1)
    assert world.leader.broker.place_of(E.id) is Place.READY
    assert world.stored(begun).status is EvalStatus.FAILED
    assert take_one(world, "other").previous_deliveries == 0


def test_a_lost_worker_whose_plan_is_being_judged_is_nacked_after_the_answer() -> None:
    world = make_world(E)
    delivery = take_one(world)
    plan = Plan(id="p", job_id="web", eval_id=E.id, eval_token=delivery.token)
    world.leader.submit_plan("w", plan, plan.size, world.moment)
    world.take_plans()
    world.tick(5)
    assert world.leader.broker.outstanding(E.id) == delivery.token
    world.leader.plans_done([PlanOutcome(plan_id="p", result=PlanResult())], world.moment)
    assert world.leader.broker.place_of(E.id) is Place.BACKING_OFF
    assert world.leader.take_replies() == ()


# Reapers.


@pytest.mark.parametrize("has_job", [True, False], ids=["116-with-job", "115-without-job"])
def test_c16_an_evaluation_that_fails_too_often_is_written_off(*, has_job: bool) -> None:
    world = make_world(delivery_limit=1)
    evaluation = world.put_job(make_job()) if has_job else E
    if not has_job:
        world.put_evaluations(E)
    nack(world, take_one(world))
    (command,) = (c for c in world.tick() if isinstance(c, FailEvaluation))
    failed = world.stored(evaluation)
    assert (failed.status, failed.status_description) == (
        EvalStatus.FAILED,
        "evaluation reached delivery limit (1)",
    )
    if not has_job:
        assert failed.next_eval == ""
        assert world.store.evaluation(command.follow_up.id) is None
        return
    follow_up = world.store.evaluation(failed.next_eval)
    assert follow_up is not None
    assert (follow_up.triggered_by, follow_up.previous_eval, follow_up.status) == (
        EvalTrigger.FAILED_FOLLOW_UP,
        evaluation.id,
        EvalStatus.PENDING,
    )
    assert MINUTE <= follow_up.wait < 6 * MINUTE
    assert world.leader.stats().broker.total_waiting == 1


def test_a_failed_commit_brings_the_write_off_again() -> None:
    world = make_world(E, delivery_limit=1)
    nack(world, take_one(world))
    (first,) = world.leader.tick(world.moment)[:1]
    assert isinstance(first, FailEvaluation)
    world.leader.not_performed(first)
    assert not any(isinstance(c, FailEvaluation) for c in world.tick(59))
    world.tick(1)
    assert world.stored(E).status is EvalStatus.FAILED


def test_117_the_older_of_two_blocked_evaluations_is_canceled() -> None:
    older = make_evaluation(status=EvalStatus.BLOCKED)
    newer = make_evaluation(2, status=EvalStatus.BLOCKED)
    world = make_world(older)
    world.put_evaluations(newer)
    world.tick()
    assert world.stored(older).status is EvalStatus.CANCELED
    assert world.stored(older).status_description == (
        'existing blocked evaluation exists for job "web"'
    )
    assert world.stored(newer).status is EvalStatus.BLOCKED


def test_c17_of_blocked_evaluations_of_one_job_the_older_goes_unless_each_has_its_node() -> None:
    service = [make_evaluation(n, status=EvalStatus.BLOCKED) for n in (1, 2)]
    system = [
        make_evaluation(
            n, job_id="logs", type="system", node_id=f"n{n}", status=EvalStatus.BLOCKED
        )
        for n in (3, 4)
    ]
    world = make_world()
    for evaluation in (*service, *system):
        world.put_evaluations(evaluation)
    world.tick()
    assert [world.stored(evaluation).status for evaluation in (*service, *system)] == [
        EvalStatus.CANCELED,
        EvalStatus.BLOCKED,
        EvalStatus.BLOCKED,
        EvalStatus.BLOCKED,
    ]


def test_33_of_eleven_evaluations_of_one_job_two_run_and_nine_are_canceled() -> None:
    evaluations = [make_evaluation(n, type="system") for n in range(1, 12)]
    world = make_world()
    for evaluation in evaluations:
        world.put_evaluations(evaluation)
    for _ in range(3):
        for delivery in dequeue(world, limit=4):
            world.finish("w", complete(delivery))
        world.tick()
    statuses = [world.stored(e).status for e in evaluations]
    assert statuses.count(EvalStatus.COMPLETE) == 2
    assert statuses.count(EvalStatus.CANCELED) == 9
    assert {world.stored(e).status_description for e in evaluations} == {
        "", "canceled after more recent eval was processed",
    }  # fmt: skip
    assert world.leader.stats().broker == BrokerStats()


def test_a_cancellation_that_failed_comes_again() -> None:
    world = make_world(make_evaluation(status=EvalStatus.BLOCKED))
    world.put_evaluations(make_evaluation(2, status=EvalStatus.BLOCKED))
    (command,) = world.leader.tick(world.moment)
    assert isinstance(command, CancelEvaluations)
    world.leader.not_performed(command)
    assert world.leader.tick(world.moment) == [command]


def test_those_that_gave_up_over_conflicts_try_again_each_minute() -> None:
    blocked = make_evaluation(
        status=EvalStatus.BLOCKED, triggered_by=EvalTrigger.MAX_PLAN_ATTEMPTS
    )
    world = make_world(blocked)
    world.tick(59)
    assert blocked.id in world.leader.blocked
    world.tick(1)
    assert world.leader.broker.place_of(blocked.id) is Place.READY


# Lifecycle.


def test_the_life_of_an_evaluation_is_recorded_with_its_outcome() -> None:
    world = make_world(E)
    world.clock.advance(0.5)
    delivery = take_one(world)
    world.leader.submit_plan(
        "w", Plan(id="p", job_id="web", eval_id=E.id, eval_token=delivery.token), 0, world.moment
    )
    world.clock.advance(0.25)
    world.take_plans()
    taken_at = world.clock.now()
    rejected = PlanResult(rejected_nodes=("n1",), rejections={"n1": "memory"}, refresh_index=3)
    world.leader.plans_done([PlanOutcome(plan_id="p", result=rejected)], world.moment)
    world.finish("w", complete(delivery))
    assert steps_of(world) == [
        (1, Step.CREATED, "job-register"),
        (2, Step.ENQUEUED, ""),
        (3, Step.DEQUEUED, ""),
        (4, Step.PLAN_SUBMITTED, ""),
        (5, Step.PLAN_ANSWERED, "n1: memory"),
        (6, Step.COMPLETE, ""),
    ]
    lasted = [step.duration_ns for step in world.store.lifecycle(E.id)]
    assert lasted == [0, 0, SECOND // 2, 0, SECOND // 4, 0]
    assert [step.taken_at for step in world.store.lifecycle(E.id)] == [0, 0, 0, 0, taken_at, 0]
    assert {step.index for step in world.store.lifecycle(E.id)} == {world.store.index}
    world.tick(5)
    assert len(steps_of(world)) == 6


def test_steps_without_a_commit_are_written_after_a_second() -> None:
    world = make_world(E)
    world.tick()
    assert not any(isinstance(c, RecordSteps) for c in world.tick(0.9))
    assert any(isinstance(c, RecordSteps) for c in world.tick(0.1))
    assert steps_of(world) == [(1, Step.CREATED, "job-register"), (2, Step.ENQUEUED, "")]


def test_numbers_go_on_after_a_failover() -> None:
    world = make_world(E)
    world.tick()
    world.tick(1)
    world.new_leader()
    world.tick()
    world.tick(1)
    assert steps_of(world)[2:] == [(3, Step.ENQUEUED, "")]


def test_hints_are_handed_out_once() -> None:
    world = make_world(E)
    assert [step.step for step in world.leader.take_hints()] == [Step.CREATED, Step.ENQUEUED]
    assert world.leader.take_hints() == ()


def test_steps_of_a_failed_commit_are_kept() -> None:
    world = make_world(E)
    delivery = take_one(world)
    write = world.leader.check_finish("w", complete(delivery), world.moment)
    world.leader.put_back(write.steps)
    again = world.leader.check_finish("w", complete(delivery), world.moment)
    assert again.steps == write.steps
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(write), type=type(write)) == write


def test_a_status_written_by_others_is_a_step_too() -> None:
    world = make_world(E)
    world.put_evaluations(E.changed(status=EvalStatus.COMPLETE, status_description="job deleted"))
    world.tick()
    world.tick(1)
    assert steps_of(world)[-1] == (3, Step.COMPLETE, "job deleted")
