"""What is said of rollouts, against the facts it is said of."""

import pytest
from msgspec.structs import replace

from dashboard.rollout_words import (
    ended_told,
    fail_told,
    list_sentence,
    pause_told,
    promote_told,
    rank_of,
    sentence_of,
    standing_of,
    where_told,
)
from dashboard.rollouts import progress_of
from scheduler.engine.reconcile.reasons import DEPLOYMENT_NEWER_JOB, DEPLOYMENT_STOPPED_JOB
from scheduler.state.writes.rollouts import LATE, MARKED_FAILED, UNHEALTHY
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    GroupRollout,
    RolloutAct,
    RolloutVerb,
)
from scheduler.structs.policies import UpdateStrategy
from tests.builders import SOME_MOMENT, make_job, make_task_group

S = 1_000_000_000
NOW = SOME_MOMENT
PLAIN = GroupRollout(
    desired_total=4, healthy_allocs=1, placed_allocs=2, progress_deadline=60 * S,
    require_progress_by=NOW + 50 * S,
)  # fmt: skip
CANARIES = GroupRollout(
    desired_total=10, desired_canaries=2, placed_canaries=("a", "b"), placed_allocs=2,
    healthy_allocs=2,
)  # fmt: skip
EARLY = replace(CANARIES, healthy_allocs=1)
STUCK = replace(PLAIN, require_progress_by=NOW + 10 * S)


def rollout(status=DeploymentStatus.RUNNING, description="", job="web", version=2, **groups):
    return progress_of(
        Deployment(
            id="d", job_id=job, job_version=version, status=status,
            status_description=description, task_groups=groups,
        )
    )  # fmt: skip


PAUSED = rollout(status=DeploymentStatus.PAUSED, web=PLAIN)


@pytest.mark.parametrize(
    ("progress", "standing", "where"),
    [
        pytest.param(rollout(web=PLAIN), "running", "1 of 4 healthy, 2 placed", id="running"),
        pytest.param(
            rollout(web=replace(PLAIN, unhealthy_allocs=1)), "unhealthy",
            "1 of 4 healthy, 2 placed, 1 unhealthy", id="unhealthy",
        ),
        pytest.param(
            rollout(web=replace(PLAIN, placed_allocs=0, healthy_allocs=0)), "running",
            "0 of 4 healthy, none placed yet", id="none-placed",
        ),
        pytest.param(
            rollout(web=replace(PLAIN, placed_allocs=4)), "running", "1 of 4 healthy", id="placed",
        ),
        pytest.param(rollout(web=STUCK), "stuck", "no progress: 1 of 4 healthy", id="stuck"),
        pytest.param(
            rollout(web=CANARIES), "canary", "2 of 2 canaries healthy; waits for promotion",
            id="canaries-wait",
        ),
        pytest.param(rollout(web=EARLY), "running", "1 of 2 canaries healthy", id="begun"),
        pytest.param(
            rollout(web=replace(CANARIES, auto_promote=True)), "running",
            "2 of 2 canaries healthy", id="promotes-itself",
        ),
        pytest.param(PAUSED, "paused", "paused: 1 of 4 healthy", id="paused"),
    ],
)  # fmt: skip
def test_a_line_of_the_list_says_how_it_stands(progress, standing, where):
    assert standing_of(progress, NOW) == standing
    assert where_told(progress, standing) == where


@pytest.mark.parametrize(
    ("group", "standing", "where"),
    [
        pytest.param(PLAIN, "waits", "1 of 4 healthy, 2 placed: no room", id="waits"),
        pytest.param(
            replace(PLAIN, placed_allocs=4), "running", "1 of 4 healthy", id="what-waits-is-older"
        ),
        pytest.param(STUCK, "stuck", "no progress: 1 of 4 healthy", id="stuck"),
        pytest.param(
            CANARIES, "canary", "2 of 2 canaries healthy; waits for promotion", id="canaries"
        ),
    ],
)
def test_one_that_finds_no_place_says_why_unless_something_worse_is_known(group, standing, where):
    progress = rollout(web=group)
    assert standing_of(progress, NOW, is_blocked=True) == standing
    assert where_told(progress, standing, "no room") == where


def test_what_needs_a_person_comes_before_what_moves_and_that_before_what_rests():
    words = ["paused", "running", "waits", "pending", "canary", "unhealthy", "stuck"]
    expected = ["stuck", "canary", "unhealthy", "waits", "running", "pending", "paused"]
    assert sorted(words, key=rank_of) == expected


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        pytest.param([], "No rollout is under way.", id="none"),
        pytest.param([rollout(web=PLAIN)], "1 rollout is under way: 1 goes on.", id="one-moves"),
        pytest.param(
            [rollout(web=PLAIN), rollout(job="waits", web=replace(PLAIN, placed_allocs=0))],
            "2 rollouts are under way: 1 goes on, 1 has nothing placed yet.",
            id="one-waits",
        ),
        pytest.param(
            [rollout(web=PLAIN), PAUSED],
            "2 rollouts are under way: 1 goes on, 1 is paused.",
            id="one-rests",
        ),
        pytest.param(
            [rollout(web=CANARIES), rollout(job="api", version=7, web=STUCK), PAUSED],
            "2 rollouts need a person: web v2 has healthy canaries to promote, api v7 makes no"
            " progress. 1 is paused.",
            id="two-need-somebody",
        ),
        pytest.param(
            [rollout(job=f"j{number}", web=STUCK) for number in range(5)],
            "5 rollouts need a person: j0 v2 makes no progress, j1 v2 makes no progress, j2 v2"
            " makes no progress, 2 more.",
            id="many",
        ),
    ],
)
def test_the_list_says_first_how_many_need_a_person(found, sentence):
    strong, rest = list_sentence([(standing_of(item, NOW), item) for item in found])
    assert strong + rest == sentence


@pytest.mark.parametrize(
    ("progress", "sentence"),
    [
        pytest.param(rollout(web=PLAIN), "1 of 4 healthy.", id="running"),
        pytest.param(
            rollout(web=replace(STUCK, unhealthy_allocs=2)),
            "No progress: 1 of 4 healthy. 2 allocations are unhealthy.", id="stuck",
        ),
        pytest.param(
            rollout(web=CANARIES),
            "2 of 2 canaries healthy. They wait for a promotion, as long as it takes. 8 more"
            " follow after it.", id="canaries-wait",
        ),
        pytest.param(
            rollout(web=EARLY), "1 of 2 canaries healthy. A person promotes them once all are.",
            id="canaries-start",
        ),
        pytest.param(
            rollout(web=replace(EARLY, auto_promote=True)),
            "1 of 2 canaries healthy. They promote themselves then.", id="by-themselves",
        ),
        pytest.param(
            PAUSED, "Paused: 1 of 4 healthy. Nothing more is replaced until it goes on.",
            id="paused",
        ),
        pytest.param(
            rollout(status=DeploymentStatus.SUCCESSFUL, web=replace(PLAIN, healthy_allocs=4)),
            "Done: 4 of 4 healthy.", id="successful",
        ),
        pytest.param(
            rollout(status=DeploymentStatus.FAILED, description="no luck", web=PLAIN),
            "Failed: no luck. 1 of 4 healthy.", id="failed",
        ),
        pytest.param(
            rollout(
                status=DeploymentStatus.FAILED, web=replace(PLAIN, unhealthy_allocs=2),
                description=f"{UNHEALTHY} - rolling back to job version 1",
            ),
            "Failed: 2 allocations became unhealthy. 1 of 4 healthy; v1 was stored again as the"
            " newest version.", id="went-back",
        ),
        pytest.param(
            rollout(status=DeploymentStatus.CANCELLED, web=PLAIN), "Canceled. 1 of 4 healthy.",
            id="canceled",
        ),
    ],
)  # fmt: skip
def test_the_head_of_the_page_says_where_it_stands(progress, sentence):
    assert " ".join(filter(None, sentence_of(progress, standing_of(progress, NOW)))) == sentence


def test_promoting_says_how_much_follows_and_at_which_pace():
    update = UpdateStrategy(max_parallel=3)
    job = make_job(task_groups=(make_task_group(name="web", update=update),))
    assert promote_told(rollout(web=CANARIES), job) == "8 of web are rolled out next, 3 at a time."
    alone = replace(CANARIES, desired_total=2)
    assert promote_told(rollout(web=alone), None).startswith("Nothing else has to be replaced")


def test_pausing_says_what_is_left():
    assert pause_told(rollout(web=PLAIN)).startswith("3 of 4 are not healthy yet. Nothing more")


VERSION = make_job(task_groups=(make_task_group(name="web"),), version=2)
STABLE = replace(VERSION, version=1, stable=True, priority=70)
REVERTS = replace(PLAIN, auto_revert=True)


@pytest.mark.parametrize(
    ("group", "versions", "told"),
    [
        pytest.param(PLAIN, [VERSION, STABLE], "Nothing is brought back", id="not-asked-for"),
        pytest.param(
            REVERTS, [VERSION, STABLE], "v1 is stored again as v3 and rolled out", id="back"
        ),
        pytest.param(REVERTS, [VERSION], "No other stable version is kept", id="none-stable"),
        pytest.param(
            REVERTS, [VERSION, replace(STABLE, stop=True)], "No other stable", id="a-stop"
        ),
        pytest.param(
            REVERTS, [VERSION, replace(VERSION, version=1, stable=True)], "No other stable",
            id="the-same-again",
        ),
    ],
)  # fmt: skip
def test_failing_says_what_comes_back(group, versions, told):
    said = fail_told(rollout(web=group), versions)
    assert said.startswith("2 allocations of this version were placed. ")
    assert told in said


def test_what_ended_says_what_happened():
    done = replace(PLAIN, healthy_allocs=4)
    good = rollout(status=DeploymentStatus.SUCCESSFUL, web=done)
    assert ended_told(good) == "4 of 4 healthy"
    bad = rollout(status=DeploymentStatus.FAILED, description="no luck", web=PLAIN)
    assert ended_told(bad) == "no luck"


SAME = "not rolling back to stable job version 3 as current job has same specification"
NOTHING_BACK = "nothing was brought back: the stable v3 asks for the same"


@pytest.mark.parametrize(
    ("description", "told"),
    [
        (UNHEALTHY, "allocations became unhealthy"),
        (LATE, "no progress was made in time"),
        (f"{MARKED_FAILED} - rolling back to job version 3",
         "it was failed; v3 was stored again as the newest version"),
        (f"{LATE} - no stable job version to auto revert to",
         "no progress was made in time; nothing was brought back: no version is stable"),
        (f"{LATE} - {SAME}", f"no progress was made in time; {NOTHING_BACK}"),
        (DEPLOYMENT_NEWER_JOB, "a newer version took its place"),
        (DEPLOYMENT_STOPPED_JOB, "its job was stopped"),
        ("", "1 of 4 healthy"),
    ],
)  # fmt: skip
def test_every_description_that_is_written_here_is_told_in_words(description, told):
    progress = rollout(status=DeploymentStatus.FAILED, description=description, web=PLAIN)
    assert ended_told(progress) == told


def test_whoever_failed_it_is_named():
    act = RolloutAct(verb=RolloutVerb.FAILED, by="kim", at=NOW)
    failed = rollout(status=DeploymentStatus.FAILED, description=MARKED_FAILED, web=PLAIN)
    named = progress_of(replace(failed.deployment, acts=(act,)))
    assert ended_told(named) == "kim failed it"
