"""The rollout on a job's page, as its newest deployment has it."""

import pytest
from msgspec.structs import replace

from cluster.operations.jobs import JobRegistration, register_job
from dashboard.feeds.pieces import Html
from dashboard.panels import feed_for
from dashboard.rollouts import GroupProgress
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from tests.builders import SOME_MOMENT, make_job
from tests.callers import MANAGER

JOB = "/jobs/default/web/"
WAITING = GroupRollout(
    desired_canaries=1,
    placed_canaries=("c",),
    desired_total=3,
    placed_allocs=1,
    healthy_allocs=1,
    require_progress_by=SOME_MOMENT + 60_000_000_000,
)
PROMOTED = GroupRollout(
    desired_canaries=1,
    placed_canaries=("c",),
    promoted=True,
    desired_total=3,
    placed_allocs=3,
    healthy_allocs=2,
)


@pytest.fixture
def deploy(store, ids):
    """A job with a deployment of its version 0."""
    register_job(
        store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )

    def deploy(group, **fields):
        deployment = Deployment(id="d", job_id="web", task_groups={"web": group}, **fields)
        return store.write(
            WriteKind.PLAN_RESULT,
            lambda change: put_found(change, deployment),
            now=SOME_MOMENT,
        )

    return deploy


@pytest.mark.parametrize(
    ("state", "told"),
    [
        pytest.param(GroupRollout(desired_total=3), "", id="without"),
        pytest.param(GroupRollout(desired_canaries=2), "0 of 2 placed", id="not-placed"),
        pytest.param(WAITING, "1 of 1 placed, healthy: promote it", id="wait"),
        pytest.param(
            replace(WAITING, placed_canaries=("lost", "c")),
            "1 of 1 placed, healthy: promote it",
            id="replaced",
        ),
        pytest.param(PROMOTED, "1, promoted", id="promoted"),
    ],
)
def test_canaries_are_told_by_what_they_wait_for(state, told):
    assert GroupProgress(name="web", state=state).canaries == told


def test_replacements_are_no_more_of_those_wanted():
    state = GroupRollout(desired_total=2, placed_allocs=6, healthy_allocs=1)
    group = GroupProgress(name="web", state=state)
    assert (group.placed, group.healthy) == ("6 placed, 2 wanted", "1 of 2")


def test_a_job_that_was_never_rolled_out_shows_no_rollout(browser, deploy):
    answer = browser.get(JOB)
    assert answer.context["rollout"] is None
    assert 'id="job-rollout" data-live-panel hidden>' in answer.text


def test_a_healthy_canary_is_said_to_wait_for_its_promotion(browser, deploy):
    deploy(WAITING)
    answer = browser.get(JOB)
    assert answer.context["rest"].endswith(
        "Version 0 rolls out: 1 healthy canary waits to be promoted."
    )
    assert "Rollout of version 0" in answer.text
    assert answer.context["rollout"].deadline == 0


def test_canaries_that_are_not_healthy_yet_have_a_deadline(browser, deploy):
    deploy(replace(WAITING, healthy_allocs=0))
    assert browser.get(JOB).context["rollout"].deadline == WAITING.require_progress_by


def test_a_rollout_counts_what_is_healthy(browser, deploy):
    deploy(PROMOTED)
    assert browser.get(JOB).context["rest"].endswith("Version 0 rolls out: 2 of 3 healthy.")


def test_a_rollout_that_is_over_is_no_news_and_has_no_deadline(browser, deploy):
    deploy(WAITING, status=DeploymentStatus.FAILED, status_description="Failed for a reason")
    answer = browser.get(JOB)
    assert "rolls out" not in answer.context["rest"]
    assert answer.context["rollout"].deadline == 0
    assert "Failed for a reason" in answer.text


def test_a_later_version_without_a_deployment_leaves_the_old_one_behind(
    browser, deploy, store, ids
):
    deploy(PROMOTED, status=DeploymentStatus.SUCCESSFUL)
    changed = JobRegistration(job=make_job(id="web", priority=70))
    register_job(store, changed, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert browser.get(JOB).context["rollout"] is None


def test_a_change_of_the_deployment_brings_the_rollout_to_open_pages(store, deploy):
    before = store.index
    deploy(WAITING)
    feed = feed_for(Subscription("job", "default/web", None))
    for frame in store.frames_since(before):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    assert [piece.target for piece in pieces if isinstance(piece, Html)] == [
        "job-standing",
        "job-scale",
        "job-rollout",
    ]
