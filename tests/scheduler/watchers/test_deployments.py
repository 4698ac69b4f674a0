"""When a rollout is taken onwards, promoted or given up (control-plane.md 6.3, 16.4)."""

import pytest
from msgspec.structs import replace

from scheduler.commands import FailDeployment, PromoteDeployment, StepDeployments
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.policies import ReschedulePolicy
from scheduler.watchers.deployments import BATCH_WAIT, LOOK_AGAIN, Deployments
from tests.builders import (
    SECOND,
    FixedClock,
    make_allocation,
    make_evaluation,
    make_job,
    make_task_group,
)

DEADLINE = 10 * SECOND
HEALTHY = DeploymentHealth(healthy=True, modify_index=1_000)
UNHEALTHY = DeploymentHealth(healthy=False, modify_index=1_000)
ALWAYS = ReschedulePolicy(unlimited=True)
NEVER = ReschedulePolicy()


class Scene:
    """A watcher that follows a store with one job, on a clock that the test moves."""

    def __init__(self, policy=ALWAYS):
        self.clock = FixedClock()
        self.store = MemoryStateStore()
        self.watcher = Deployments()
        self.seen = self.store.index
        job = make_job(task_groups=(make_task_group(reschedule_policy=policy),))
        self.write(lambda change: write_job(change, job))
        self.job = self.store.job(job.key)
        self.watcher.restore(self.store, self.moment)

    @property
    def moment(self):
        return self.clock.moment()

    def write(self, work):
        self.store.write(WriteKind.PLAN_RESULT, work, now=self.clock.now())

    def put(self, *, name="deployment", status=DeploymentStatus.RUNNING, **group):
        """Store the deployment, its one group as described."""
        fields = {"desired_total": 1, "progress_deadline": DEADLINE} | group
        deployment = Deployment(
            id=name,
            job_id=self.job.id,
            job_create_index=self.job.create_index,
            status=status,
            task_groups={"web": GroupRollout(**fields)},
        )
        self.write(lambda change: put_found(change, deployment))

    def put_health(self, health, *, name="deployment", number=0, **fields):
        alloc = make_allocation(self.job, number, deployment_id=name, **fields)
        self.write(lambda change: put_found(change, alloc.changed(deployment_status=health)))
        return alloc.id

    def tick(self, seconds=0.0):
        self.clock.advance(seconds)
        for frame in self.store.frames_since(self.seen):
            self.watcher.observe(frame, self.moment)
            self.seen = frame.index
        return list(self.watcher.tick(self.store, self.moment))

    @property
    def due_in(self):
        """Ns from now."""
        return self.clock.now() + DEADLINE


def steps(*names):
    return StepDeployments(steps=dict.fromkeys(names, ()))


def test_nothing_is_watched_while_no_rollout_is_active():
    scene = Scene()
    scene.put(status=DeploymentStatus.SUCCESSFUL)
    assert scene.tick() == []
    assert scene.watcher.next_deadline(scene.moment) is None


def test_d03_health_told_many_times_is_one_step():
    scene = Scene()
    scene.put()
    handed_out = []
    for _ in range(5):
        scene.put_health(HEALTHY)
        handed_out += scene.tick(BATCH_WAIT / 10)
    assert handed_out == []
    assert scene.tick(BATCH_WAIT) == [steps("deployment")]
    assert scene.tick(BATCH_WAIT) == []


def test_health_that_an_evaluation_has_seen_is_no_news():
    scene = Scene()
    scene.put()
    scene.put_health(HEALTHY)
    seen = make_evaluation(job_id=scene.job.id, snapshot_index=1_000)
    scene.write(lambda change: put_found(change, seen))
    assert scene.tick() + scene.tick(BATCH_WAIT) == []


def test_d04_rollouts_that_progress_together_go_in_one_command():
    scene = Scene()
    for number, name in enumerate(("one", "two")):
        scene.put(name=name)
        scene.put_health(HEALTHY, name=name, number=number)
    assert scene.tick() == []
    assert scene.tick(BATCH_WAIT) == [steps("one", "two")]


@pytest.mark.parametrize(
    ("policy", "group", "gives_up"),
    [
        pytest.param(ALWAYS, {}, False, id="D07-may-be-replaced"),
        pytest.param(NEVER, {}, True, id="D08-never-replaced"),
        pytest.param(ALWAYS, {"progress_deadline": 0}, True, id="D05-no-deadline"),
    ],
)
def test_an_unhealthy_allocation_is_replaced_or_ends_the_rollout(policy, group, gives_up):
    scene = Scene(policy)
    scene.put(auto_revert=True, **group)
    alloc_id = scene.put_health(UNHEALTHY)
    handed_out = scene.tick() + scene.tick(BATCH_WAIT)
    failure = FailDeployment(deployment_id="deployment", rolls_back=True)
    step = StepDeployments(steps={"deployment": (alloc_id,)})
    assert handed_out == ([failure] if gives_up else [step])


def test_d09_a_rollout_without_progress_ends_at_its_deadline():
    scene = Scene()
    scene.put(require_progress_by=scene.due_in)
    assert scene.tick() + scene.tick(9.9) == []
    assert scene.tick(0.1) == [FailDeployment(deployment_id="deployment", is_late=True)]


def test_a_failure_that_was_not_recorded_is_asked_for_again():
    scene = Scene()
    scene.put(require_progress_by=scene.due_in)
    failure = FailDeployment(deployment_id="deployment", is_late=True)
    scene.tick()
    assert scene.tick(10.0) == [failure]
    assert scene.tick(LOOK_AGAIN - 0.1) == []
    assert scene.tick(0.1) == [failure]
    scene.put(status=DeploymentStatus.FAILED)
    assert scene.tick(LOOK_AGAIN) == []


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"status": DeploymentStatus.PAUSED}, id="D11-paused"),
        pytest.param({"desired_canaries": 1, "healthy_allocs": 1}, id="D10-healthy-canary"),
        pytest.param({"healthy_allocs": 1}, id="all-healthy"),
    ],
)
def test_a_passed_deadline_may_mean_nothing(fields):
    scene = Scene()
    scene.put(require_progress_by=scene.due_in, **fields)
    assert scene.tick() + scene.tick(11.0) == []


def test_d12_the_deadline_moves_with_the_progress():
    scene = Scene()
    scene.put(require_progress_by=scene.due_in)
    scene.tick(9.0)
    scene.put(require_progress_by=scene.due_in)
    assert scene.tick() + scene.tick(9.0) == []
    assert scene.tick(1.0) == [FailDeployment(deployment_id="deployment", is_late=True)]


def test_d13_a_late_promotion_begins_a_new_deadline():
    scene = Scene()
    canaries = {"desired_canaries": 1, "healthy_allocs": 1, "desired_total": 2}
    scene.put(require_progress_by=scene.due_in, **canaries)
    assert scene.tick() + scene.tick(20.0) == []
    scene.put(require_progress_by=scene.due_in, promoted=True, **canaries)
    assert scene.tick() + scene.tick(9.0) == []
    assert scene.tick(1.0) == [FailDeployment(deployment_id="deployment", is_late=True)]


@pytest.mark.parametrize(
    ("fields", "promotes"),
    [
        pytest.param({"auto_promote": True}, True, id="D16"),
        pytest.param({"auto_promote": False}, False, id="by-hand"),
        pytest.param({"auto_promote": True, "promoted": True}, False, id="promoted-before"),
        pytest.param(
            {"auto_promote": True, "status": DeploymentStatus.PAUSED}, False, id="paused"
        ),
    ],
)
def test_healthy_canaries_are_promoted_where_the_job_says_so(fields, promotes):
    scene = Scene()
    health = replace(HEALTHY, canary=True)
    alloc_id = scene.put_health(health)
    scene.put(desired_canaries=1, placed_canaries=(alloc_id,), **fields)
    promotion = PromoteDeployment(deployment_id="deployment")
    assert (promotion in scene.tick()) is promotes


def test_d01_an_ended_rollout_is_watched_no_more():
    scene = Scene()
    scene.put()
    scene.put_health(HEALTHY)
    scene.tick()
    scene.put(status=DeploymentStatus.FAILED)
    assert scene.tick(BATCH_WAIT) == []
    assert scene.watcher.next_deadline(scene.moment) is None


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([HEALTHY], id="healthy"),
        pytest.param([UNHEALTHY], id="unhealthy"),
        pytest.param([HEALTHY, UNHEALTHY], id="no-longer-healthy"),
        pytest.param([UNHEALTHY, HEALTHY], id="healthy-again"),
        pytest.param([UNHEALTHY, None], id="taken-back"),
    ],
)
def test_what_was_followed_is_what_a_new_leader_finds(told):
    scene = Scene()
    scene.put(require_progress_by=scene.due_in, unhealthy_allocs=1)
    for health in told:
        scene.put_health(health)
    followed = scene.tick() + scene.tick(BATCH_WAIT)
    scene.watcher = Deployments()
    scene.watcher.restore(scene.store, scene.moment)
    assert scene.tick() + scene.tick(BATCH_WAIT) == followed


def test_an_allocation_that_ended_is_no_longer_counted_as_healthy():
    scene = Scene()
    scene.put(require_progress_by=scene.due_in)
    scene.put_health(HEALTHY)
    scene.tick()
    scene.put_health(HEALTHY, client_status=ClientStatus.COMPLETE)
    scene.put(require_progress_by=scene.due_in)
    assert FailDeployment(deployment_id="deployment", is_late=True) in scene.tick(11.0)


def test_a_rollout_is_followed_from_the_plan_that_begins_it():
    scene = Scene()
    alloc = make_allocation(scene.job, deployment_id="deployment")
    deployment = Deployment(
        id="deployment",
        job_id=scene.job.id,
        job_create_index=scene.job.create_index,
        status=DeploymentStatus.RUNNING,
        task_groups={"web": GroupRollout(desired_total=1, progress_deadline=DEADLINE)},
    )

    def begin(change):
        put_found(change, alloc.changed(deployment_status=HEALTHY))
        put_found(change, deployment)

    scene.write(begin)
    assert scene.tick() + scene.tick(BATCH_WAIT) == [steps("deployment")]


def test_a_new_leader_finds_the_rollouts_in_the_record():
    scene = Scene()
    scene.put(require_progress_by=scene.due_in)
    scene.watcher = Deployments()
    scene.watcher.restore(scene.store, scene.moment)
    assert scene.tick() == []
    assert scene.tick(10.0) == [FailDeployment(deployment_id="deployment", is_late=True)]
