"""The phases of a rollout against allocations and evaluations as the product writes them."""

from msgspec.structs import replace

from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.story_lanes import LaneEvent
from dashboard.stories.acts import as_of, held_by
from dashboard.stories.batches import WatchedRollout, phases_of
from dashboard.stories.lanes import rollout_lanes
from scheduler.structs.allocation import DeploymentHealth
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    GroupRollout,
    RolloutAct,
    RolloutVerb,
)
from scheduler.structs.evaluation import Cause, CauseKind
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_evaluation

LATE = SOME_MOMENT + 1000 * SECOND


def alloc(number, index, *, healthy_at=0, name=None, **fields):
    health = DeploymentHealth(healthy=True, timestamp=healthy_at) if healthy_at else None
    return make_allocation(
        number=number,
        name=name or f"shop.web[{number}]",
        task_group="web",
        create_index=index,
        create_time=SOME_MOMENT + index * SECOND,
        deployment_status=health,
        **fields,
    )


def rollout(*allocations, at_once=20, total=100, status=DeploymentStatus.RUNNING, **group):
    deployment = Deployment(
        id="d",
        job_id="shop",
        job_version=2,
        status=status,
        status_description=group.pop("description", ""),
        modify_index=900,
        modify_time=LATE,
        task_groups={"web": GroupRollout(desired_total=total, **group)},
    )
    return WatchedRollout(deployment=deployment, allocations=allocations, at_once=at_once)


def told(phases):
    return [(phase.title, phase.healthy, phase.wanted, phase.is_to_come) for phase in phases]


def test_batches_are_counted_by_what_is_replaced_at_a_time():
    first = [alloc(n, 10, healthy_at=SOME_MOMENT + 60 * SECOND) for n in range(20)]
    second = [alloc(n, 30) for n in range(20, 40)]
    phases = phases_of(rollout(*first, *second, total=95), {}, until=LATE)
    assert told(phases) == [
        ("Batch 1 of 5", 20, 20, False),
        ("Batch 2 of 5", 0, 20, False),
        ("Batch 3 of 5", 0, 20, True),
        ("Batch 4 of 5", 0, 20, True),
        ("Batch 5 of 5", 0, 15, True),
    ]
    assert phases[-1].expects == "15, then done"
    assert phases[0].whole_at == SOME_MOMENT + 60 * SECOND


def test_without_canaries_nothing_waits_for_a_promotion():
    first = phases_of(rollout(at_once=1, total=3), {}, until=LATE)[0]
    assert (first.expects, first.begins) == (
        "1, the first",
        "Nothing of this batch is placed yet.",
    )


def test_the_first_batch_is_held_up_where_nothing_of_it_finds_a_place():
    phases = phases_of(rollout(at_once=1, total=3), {}, until=LATE)
    waits = ChainMember(id="e", job="shop", state="blocked", created_at=10)
    event = LaneEvent(lines=("shop v2",), name="Cause: shop v2")
    rows = rollout_lanes(phases, [waits], event, LATE).rows
    assert [(row.state, row.evaluations, row.took) for row in rows] == [
        ("held-up", 1, 0), ("to-come", 0, 0), ("to-come", 0, 0),
    ]  # fmt: skip
    assert rows[0].told == "1 evaluation waits. Nothing of this batch is placed yet."


def test_what_stays_in_place_began_with_the_rollout_that_counts_it():
    kept = rollout(alloc(1, 10), at_once=1, total=1)
    began = SOME_MOMENT + 500 * SECOND
    later = replace(kept, deployment=replace(kept.deployment, create_time=began))
    (phase,) = phases_of(later, {}, until=LATE)
    assert phase.began == began


def test_what_began_after_the_moment_that_is_shown_lasted_no_time():
    first = [alloc(n, 10) for n in range(2)]
    phases = phases_of(rollout(*first, at_once=2, total=2), {}, until=SOME_MOMENT)
    event = LaneEvent(lines=("shop v2",), name="Cause: shop v2")
    (row,) = rollout_lanes(phases, [], event, SOME_MOMENT).rows
    assert row.took == 0


def test_a_replacement_of_one_that_failed_belongs_to_the_batch_of_its_name():
    placed = [alloc(n, 10) for n in range(20)]
    again = alloc(50, 40, name="shop.web[3]", healthy_at=SOME_MOMENT + SECOND)
    (batch, *_) = phases_of(rollout(*placed, again, total=20), {}, until=LATE)
    assert (batch.title, batch.healthy, batch.wanted) == ("All at once", 1, 20)


def test_a_batch_that_is_under_way_is_filled_up_before_the_next():
    placed = [alloc(n, 10 + n) for n in range(14)]
    assert told(phases_of(rollout(*placed, total=25), {}, until=LATE)) == [
        ("Batch 1 of 2", 0, 20, False),
        ("Batch 2 of 2", 0, 5, True),
    ]


def test_what_one_plan_places_is_one_batch_however_much_it_is():
    placed = [alloc(n, 10) for n in range(50)]
    assert told(phases_of(rollout(*placed, total=50, at_once=1), {}, until=LATE)) == [
        ("All at once", 0, 50, False)
    ]


def test_canaries_come_first_and_wait_for_the_promotion():
    canaries = [alloc(n, 10, healthy_at=SOME_MOMENT + SECOND) for n in range(5)]
    group = {"desired_canaries": 5, "placed_canaries": tuple(item.id for item in canaries)}
    phases = phases_of(rollout(*canaries, total=45, **group), {}, until=LATE)
    assert [phase.title for phase in phases] == [
        "Canary", "Promoted", "Batch 1 of 2", "Batch 2 of 2",
    ]  # fmt: skip
    assert (phases[0].healthy, phases[0].wanted) == (5, 5)
    assert phases[1].expects == "when a person promotes"


def test_the_promotion_is_the_evaluation_that_says_so():
    canary = alloc(1, 10)
    promoted = make_evaluation(
        7,
        create_index=20,
        create_time=SOME_MOMENT,
        cause=Cause(kind=CauseKind.DEPLOYMENT, text="its canaries were promoted"),
    )
    group = {"desired_canaries": 1, "placed_canaries": (canary.id,)}
    first = alloc(2, 21, eval_id=promoted.id)
    phases = phases_of(
        rollout(canary, first, total=2, **group), {promoted.id: promoted}, until=LATE
    )
    assert [(phase.title, phase.since) for phase in phases] == [
        ("Canary", 0), ("Promoted", 20), ("All at once", 20),
    ]  # fmt: skip
    assert phases[1].event[0] == "promoted"


def test_what_became_healthy_later_was_not_healthy_then():
    placed = [alloc(n, 10, healthy_at=SOME_MOMENT + (n + 1) * 100 * SECOND) for n in range(4)]
    (batch,) = phases_of(rollout(*placed, total=4), {}, until=SOME_MOMENT + 250 * SECOND)
    assert (batch.healthy, batch.whole_at) == (2, 0)


def test_a_rollout_that_failed_ends_with_that_and_nothing_is_to_come():
    placed = [alloc(n, 10) for n in range(20)]
    failed = {"status": DeploymentStatus.FAILED, "total": 60}
    back = "Failed due to progress deadline - rolling back to job version 1"
    phases = phases_of(rollout(*placed, description=back, **failed), {}, until=LATE)
    assert [phase.title for phase in phases] == ["Batch 1 of 3", "Went back"]
    stays = "Failed due to progress deadline - not rolling back to stable job version 1"
    phases = phases_of(rollout(*placed, description=stays, **failed), {}, until=LATE)
    assert phases[-1].title == "Failed"


def test_what_a_failed_rollout_is_told_later_does_not_move_its_failure():
    text = "Failed due to unhealthy allocations"
    made = make_evaluation(
        7,
        create_index=40,
        create_time=SOME_MOMENT,
        cause=Cause(kind=CauseKind.DEPLOYMENT, id="d", text=text[0].lower() + text[1:]),
    )
    later = make_evaluation(8, create_index=41, create_time=SOME_MOMENT + SECOND)
    failed = rollout(
        alloc(1, 10),
        status=DeploymentStatus.FAILED,
        description=f"{text} - rolling back to job version 1",
    )
    steps = {each.id: each for each in (made, later)}
    phases = phases_of(failed, steps, until=LATE)
    assert failed.deployment.modify_index > later.create_index
    assert (phases[-1].title, phases[-1].since, phases[-1].began) == ("Went back", 40, SOME_MOMENT)


def test_what_was_not_whole_when_the_rollout_failed_does_not_run_on():
    canaries = [alloc(1, 10), alloc(2, 10)]
    failed = rollout(
        *canaries,
        status=DeploymentStatus.FAILED,
        desired_canaries=2,
        placed_canaries=tuple(each.id for each in canaries),
    )
    first, end = phases_of(failed, {}, until=LATE)
    assert (first.title, first.tone, first.whole_at) == ("Canary", "failed", LATE)
    assert end.title == "Failed"


def act(verb, index, by="kim"):
    return RolloutAct(verb=verb, by=by, at=SOME_MOMENT + index * SECOND, index=index)


def acted(watched, *acts):
    return replace(watched, deployment=replace(watched.deployment, acts=acts))


def test_phases_name_who_promoted_paused_and_let_go_on():
    canary, first = alloc(1, 10), alloc(2, 21)
    group = {"desired_canaries": 1, "placed_canaries": (canary.id,)}
    watched = acted(
        rollout(canary, first, total=2, **group),
        act(RolloutVerb.PROMOTED, 20),
        act(RolloutVerb.PAUSED, 25, "lee"),
        act(RolloutVerb.RESUMED, 27),
    )
    # The evaluation of the promotion is gone: the deployment remembers it.
    canary_phase, promoted, batch = phases_of(watched, {}, until=LATE)
    assert (promoted.by, promoted.since) == ("kim", 20)
    assert (promoted.event[0], promoted.by) == ("promoted", "kim")
    assert (canary_phase.notes, promoted.notes) == ((), ())
    assert [note.rpartition(" at ")[0] for note in batch.notes] == [
        "Paused by lee", "Let go on by kim",
    ]  # fmt: skip
    members = [ChainMember(id="e", job="shop", state="complete", icon="complete", created_at=21)]
    event = LaneEvent(lines=("shop v2",), name="Cause")
    rows = rollout_lanes((canary_phase, promoted, batch), members, event, LATE).rows
    assert rows[1].told.startswith("Promoted by kim.")
    assert "Paused by lee at " in rows[2].told


def test_a_rollout_that_somebody_failed_names_them():
    failed = rollout(alloc(1, 10), total=2, status=DeploymentStatus.FAILED)
    phases = phases_of(acted(failed, act(RolloutVerb.FAILED, 900)), {}, until=LATE)
    assert (phases[-1].by, phases[-1].event[:2]) == ("kim", ("failed", "kim"))


def test_it_was_paused_then_and_by_whom():
    running = acted(
        rollout(alloc(1, 10)), act(RolloutVerb.PAUSED, 20), act(RolloutVerb.RESUMED, 30)
    ).deployment
    paused = as_of(running, 25)
    assert paused.status is DeploymentStatus.PAUSED
    assert held_by(paused).by == "kim"
    assert as_of(running, 30).status is DeploymentStatus.RUNNING
    assert as_of(running, 19).acts == ()


def test_no_phase_of_a_rollout_that_ended_well_goes_on():
    well = [alloc(n, 10, healthy_at=SOME_MOMENT + 60 * SECOND) for n in range(2)]
    lost_since = alloc(2, 30)
    ended = rollout(*well, lost_since, at_once=2, total=3, status=DeploymentStatus.SUCCESSFUL)
    phases = phases_of(ended, {}, until=LATE)
    assert told(phases) == [("Batch 1 of 2", 2, 2, False), ("Batch 2 of 2", 1, 1, False)]
    rows = rollout_lanes(phases, [], LaneEvent(lines=("shop v2",), name="Cause"), LATE).rows
    assert [row.state for row in rows] == ["done", "done"]


def test_nothing_of_a_rollout_that_ended_well_is_to_come_where_its_allocations_are_no_longer_its():
    """The next version took them over as they stood."""
    ended = rollout(at_once=2, total=6, status=DeploymentStatus.SUCCESSFUL)
    assert told(phases_of(ended, {}, until=LATE)) == [("All of it", 6, 6, False)]
    two = [alloc(n, 10, healthy_at=SOME_MOMENT + 60 * SECOND) for n in range(2)]
    ended = rollout(*two, at_once=2, total=6, status=DeploymentStatus.SUCCESSFUL)
    phases = phases_of(ended, {}, until=LATE)
    assert told(phases) == [("Batch 1 of 3", 2, 2, False), ("The rest", 4, 4, False)]
    rows = rollout_lanes(phases, [], LaneEvent(lines=("shop v2",), name="Cause"), LATE).rows
    assert [row.state for row in rows] == ["done", "done"]
    # Nobody knows with which try.
    assert rows[1].told == "What it placed is a later version's, or collected."


def test_names_that_took_several_tries_are_told_with_how_many():
    first, second = alloc(1, 10), alloc(2, 10, healthy_at=SOME_MOMENT + SECOND)
    again = alloc(3, 20, name=first.name, healthy_at=SOME_MOMENT + 30 * SECOND)
    (phase,) = phases_of(rollout(first, second, again, total=2), {}, until=LATE)
    assert [(each.id, tries) for each, tries in phase.again] == [(again.id, 2)]
    (row,) = rollout_lanes((phase,), [], LaneEvent(lines=("shop v2",), name="Cause"), LATE).rows
    assert "first try" not in row.told
    (phase,) = phases_of(rollout(second, total=1), {}, until=LATE)
    (row,) = rollout_lanes((phase,), [], LaneEvent(lines=("shop v2",), name="Cause"), LATE).rows
    assert "Each became healthy at the first try." in row.told
