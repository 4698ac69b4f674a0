"""The phases of a rollout, from every way it can stand."""

import pytest
from msgspec.structs import replace

from dashboard.phases import PhaseFacts, phases_of
from dashboard.rollouts import progress_of
from scheduler.structs.allocation import DeploymentHealth
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import Cause, CauseKind, EvalTrigger
from scheduler.structs.policies import UpdateStrategy
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_task_group

S = 1_000_000_000
WITH_CANARY = GroupRollout(desired_canaries=2, desired_total=5)
TO_COME = ("Promote", "3 more", "Done")
PLAIN = GroupRollout(desired_total=4)
PROMOTED = replace(
    WITH_CANARY, placed_canaries=("c", "d"), healthy_allocs=3, placed_allocs=4, promoted=True
)


def told(
    status=DeploymentStatus.RUNNING, description="", allocs=(), evaluations=(), is_blocked=False,
    **groups,
):  # fmt: skip
    deployment = Deployment(
        id="d", status=status, status_description=description, task_groups=groups,
        modify_time=SOME_MOMENT + 60 * S,
    )  # fmt: skip
    update = UpdateStrategy(max_parallel=2)
    job = make_job(task_groups=tuple(make_task_group(name=name, update=update) for name in groups))
    return phases_of(
        PhaseFacts(
            progress=progress_of(deployment),
            job=job,
            allocs=allocs,
            evaluations=evaluations,
            is_blocked=is_blocked,
        )
    )


def marks(phases):
    """Title, tone and place of each."""
    return [f"{each.title} {each.tone}{'*' if each.is_current else ''}".strip() for each in phases]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param(
            WITH_CANARY,
            ["0 of 2 canaries placed running*", "0 of 2 canaries healthy", *TO_COME],
            id="begun",
        ),
        pytest.param(
            replace(WITH_CANARY, placed_canaries=("c", "d"), healthy_allocs=1),
            ["2 canaries placed complete", "1 of 2 canaries healthy canary*", *TO_COME],
            id="placed",
        ),
        pytest.param(
            replace(WITH_CANARY, placed_canaries=("c", "d"), unhealthy_allocs=1),
            ["2 canaries placed complete", "0 of 2 canaries healthy failed*", *TO_COME],
            id="unhealthy",
        ),
        pytest.param(
            replace(WITH_CANARY, placed_canaries=("c", "d"), healthy_allocs=2),
            ["2 canaries placed complete", "2 canaries healthy complete", "Promote canary*",
             "3 more", "Done"],
            id="healthy",
        ),
        pytest.param(
            PROMOTED,
            ["2 canaries placed complete", "2 canaries healthy complete", "Promoted complete",
             "3 more running*", "Done"],
            id="promoted",
        ),
        pytest.param(PLAIN, ["4 of this version running*", "Done"], id="without-canaries"),
        pytest.param(
            replace(PLAIN, unhealthy_allocs=1), ["4 of this version failed*", "Done"], id="bad"
        ),
    ],
)  # fmt: skip
def test_one_phase_is_the_present_one_and_those_before_it_are_over(group, expected):
    assert marks(told(web=group)) == expected


def test_a_group_without_canaries_goes_on_while_another_waits():
    waits = replace(WITH_CANARY, placed_canaries=("c", "d"), healthy_allocs=2)
    phases = told(web=waits, cache=replace(PLAIN, healthy_allocs=1))
    assert [each.title for each in phases if each.is_current] == ["Promote", "7 more"]
    assert phases[3].told == "1 of 7 healthy"


def test_what_is_paused_is_held_where_it_stands():
    phases = told(status=DeploymentStatus.PAUSED, web=PLAIN)
    assert marks(phases) == ["4 of this version paused*", "Done"]


@pytest.mark.parametrize(
    ("group", "expected", "said"),
    [
        pytest.param(
            PLAIN, ["4 of this version blocked*", "Done"], "0 of 4 healthy, waits for room",
            id="none-placed",
        ),
        pytest.param(
            replace(PLAIN, placed_allocs=4), ["4 of this version running*", "Done"],
            "0 of 4 healthy", id="all-placed",
        ),
    ],
)  # fmt: skip
def test_a_phase_that_finds_no_place_says_so(group, expected, said):
    phases = told(is_blocked=True, web=group)
    assert marks(phases) == expected
    assert phases[0].told == said


def test_after_a_failure_the_phase_that_broke_is_marked_and_what_was_not_reached_says_so():
    broken = replace(WITH_CANARY, placed_canaries=("c", "d"), unhealthy_allocs=2)
    phases = told(status=DeploymentStatus.FAILED, web=broken)
    assert marks(phases) == [
        "2 canaries placed complete", "0 of 2 canaries healthy failed", *TO_COME[:2],
        "Failed failed",
    ]  # fmt: skip
    assert [each.more for each in phases[1:4]] == ["2 unhealthy", "not reached", "not reached"]


@pytest.mark.parametrize(
    ("status", "group", "last"),
    [
        pytest.param(
            DeploymentStatus.SUCCESSFUL, replace(PROMOTED, healthy_allocs=5), "Done complete",
            id="successful",
        ),
        pytest.param(DeploymentStatus.FAILED, WITH_CANARY, "Failed failed", id="failed"),
        pytest.param(DeploymentStatus.CANCELLED, PLAIN, "Canceled canceled", id="canceled"),
    ],
)  # fmt: skip
def test_after_the_end_nothing_is_under_way(status, group, last):
    phases = told(status=status, description="why", web=group)
    assert not any(each.is_current for each in phases)
    assert marks(phases)[-1] == last
    assert phases[-1].at == SOME_MOMENT + 60 * S


def test_past_phases_name_their_instants_and_evaluations():
    def canary(number, healthy_after):
        health = DeploymentHealth(
            canary=True, healthy=True, timestamp=SOME_MOMENT + healthy_after * S
        )
        return make_allocation(
            number=number, eval_id=f"e{number}", deployment_status=health,
            create_time=SOME_MOMENT + number * S, create_index=number,
        )  # fmt: skip

    allocs = (canary(1, 5), canary(2, 9))
    ids = tuple(alloc.id for alloc in allocs)
    promotion = make_evaluation(
        7, cause=Cause(kind=CauseKind.DEPLOYMENT, text="its canaries were promoted"),
        create_time=SOME_MOMENT + 30 * S,
    )  # fmt: skip
    phases = told(
        allocs=allocs, evaluations=[promotion], web=replace(PROMOTED, placed_canaries=ids)
    )
    placed, healthy, promoted = phases[:3]
    assert (placed.at, placed.eval_id) == (SOME_MOMENT + 2 * S, "e2")
    assert (healthy.at, healthy.told) == (SOME_MOMENT + 9 * S, "after 7.0 s")
    assert (promoted.at, promoted.eval_id) == (SOME_MOMENT + 30 * S, promotion.id)


def judged(number, healthy_after):
    health = DeploymentHealth(healthy=True, timestamp=SOME_MOMENT + healthy_after * S)
    return make_allocation(
        number=number, eval_id=f"e{number}", deployment_status=health, create_index=number
    )


def watched(number, after, text=""):
    """An evaluation that the deployment's watcher made."""
    return make_evaluation(
        number, triggered_by=EvalTrigger.DEPLOYMENT_WATCHER, create_index=number,
        cause=Cause(kind=CauseKind.DEPLOYMENT, text=text), create_time=SOME_MOMENT + after * S,
    )  # fmt: skip


def test_the_health_of_the_canaries_names_the_first_evaluation_that_the_watcher_made_of_it():
    allocs = (judged(1, 5), judged(2, 9))
    early, seen, later = watched(3, 5), watched(4, 9), watched(6, 12)
    promoted = watched(5, 9, "its canaries were promoted")
    group = replace(
        WITH_CANARY, placed_canaries=tuple(alloc.id for alloc in allocs), healthy_allocs=2
    )
    phases = told(allocs=allocs, evaluations=[later, promoted, seen, early], web=group)
    assert phases[1].eval_id == seen.id
    unseen = told(allocs=allocs, evaluations=[promoted, early], web=group)
    assert unseen[1].eval_id == ""


def test_health_that_is_not_there_yet_names_no_evaluation():
    group = replace(WITH_CANARY, placed_canaries=("c", "d"), healthy_allocs=1)
    phases = told(allocs=(judged(1, 5),), evaluations=[watched(3, 9)], web=group)
    assert phases[1].eval_id == ""


def test_the_batches_name_the_newest_evaluation_that_placed_one_and_when_all_are_well():
    canary, first, last = judged(1, 5), judged(2, 20), judged(3, 31)
    group = replace(PROMOTED, placed_canaries=(canary.id, "d"), healthy_allocs=4)
    moving = told(allocs=(canary, last, first), web=group)[3]
    assert (moving.eval_id, moving.at) == ("e3", 0)
    over = told(allocs=(canary, last, first), web=replace(group, healthy_allocs=5))[3]
    assert (over.eval_id, over.at) == ("e3", SOME_MOMENT + 31 * S)
    assert told(allocs=(canary,), web=group)[3].eval_id == ""


@pytest.mark.parametrize(
    ("auto_promote", "words"),
    [pytest.param(True, "promotes itself", id="itself"),
     pytest.param(False, "waits for a person", id="person")],
)  # fmt: skip
def test_a_promotion_says_whose_it_is(auto_promote, words):
    group = replace(
        WITH_CANARY, placed_canaries=("c", "d"), healthy_allocs=2, auto_promote=auto_promote
    )
    assert told(web=group)[2].told == words
