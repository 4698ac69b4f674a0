"""What stands of an allocation's health when the server changes it, or its agent starts anew."""

from msgspec.structs import replace

from cluster.agent.agent_state import DiskStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import AllocRunner, Surroundings
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.restarts import Ending
from cluster.agent.services import registrations_of
from cluster.agent.task_launch import TaskLauncher
from cluster.runtime.clock import RandomIDs, SystemClock
from scheduler.structs.allocation import ClientStatus, DeploymentHealth, DesiredStatus
from scheduler.structs.policies import RestartPolicy, UpdateStrategy
from scheduler.structs.service import Service
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.cluster.agent.deadline import until

SECOND = 1_000_000_000
T0 = 1_750_000_000 * SECOND
CLOCK = SystemClock()
UPDATE = UpdateStrategy(
    max_parallel=1,
    health_check="task_states",
    min_healthy_time=10 * SECOND,
    healthy_deadline=60 * SECOND,
)
WEB = Service(name="web", provider="nomad", port_label="80", tags=("all",), canary_tags=("new",))
NO_TRY = RestartPolicy(attempts=0, mode="fail")


def make_runner(health=None, **group):
    tasks = (make_task(driver="mock_driver", config={"run_for": "1h"}),)
    group = make_task_group(tasks=tasks, update=UPDATE, restart_policy=NO_TRY, **group)
    job = make_job(task_groups=(group,))
    alloc = make_allocation(job, deployment_id="d", deployment_status=health)
    return AllocRunner(alloc, job, Surroundings(), now=T0)


def begun(health=None, **group):
    runner = make_runner(health, **group)
    runner.begin(T0)
    runner.task_started("web", T0)
    return runner


def judged(health=None, **group):
    runner = begun(health, **group)
    runner.tick(T0 + 10 * SECOND)
    assert runner.deployment_status.healthy is True
    return runner


def change(runner, at, **fields):
    runner.update(runner.alloc.changed(**fields), runner.job, T0 + at * SECOND)


def test_one_that_is_to_end_before_its_verdict_gets_none():
    runner = begun()
    change(runner, 5, desired_status=DesiredStatus.STOP)
    runner.task_ended("web", Ending(), T0 + 6 * SECOND)
    assert runner.client_status[0] is ClientStatus.COMPLETE
    assert runner.deployment_status is None
    assert "Alloc Unhealthy" not in {line.type for line in runner.tasks["web"].state.events}


def test_the_verdict_of_one_deployment_does_not_count_in_the_next():
    runner = judged()
    change(runner, 20, deployment_id="e", deployment_status=None)
    assert runner.report().deployment_status is None
    runner.tick(T0 + 30 * SECOND)
    assert runner.report().deployment_status.healthy is True


def test_a_canary_that_was_promoted_is_found_under_the_tags_of_all():
    runner = judged(DeploymentHealth(canary=True), services=(WEB,))
    assert registrations_of(runner, make_node(), "")[0].tags == ("new",)
    told = replace(runner.deployment_status, canary=False)
    change(runner, 20, deployment_status=told)
    assert registrations_of(runner, make_node(), "")[0].tags == ("all",)
    assert runner.deployment_status.healthy is True


def test_the_later_of_two_verdicts_stands():
    runner = judged()
    at = T0 + 20 * SECOND
    change(runner, 20, deployment_status=DeploymentHealth(healthy=False, timestamp=at))
    assert runner.report().deployment_status == DeploymentHealth(healthy=False, timestamp=at)
    before = begun()
    change(before, 5, deployment_status=DeploymentHealth(healthy=True, timestamp=T0 + SECOND))
    before.tick(T0 + 60 * SECOND)
    assert before.report().deployment_status.timestamp == T0 + SECOND


async def test_an_agent_that_starts_anew_does_not_judge_again(tmp_path):
    def host():
        launcher = TaskLauncher(make_node, {}, RandomIDs())
        drivers = {"mock_driver": MockDriver(CLOCK.now)}
        storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
        return AllocHost(launcher, drivers, storage, CLOCK, Surroundings())

    first = host()
    quick = replace(UPDATE, min_healthy_time=1)
    like = make_runner()
    group = replace(like.group, update=quick)
    job = replace(like.job, task_groups=(group,))
    alloc = like.alloc.changed(job_id=job.id)
    first.add(alloc, job)
    runner = first.entries[alloc.id].runner
    await until(lambda: runner.deployment_status is not None, "a verdict")
    await first.close()
    first.storage.close()

    second = host()
    await second.restore()
    again = second.entries[alloc.id].runner
    again.task_ended("web", Ending(exit_code=1), CLOCK.now())
    assert again.is_terminal
    assert again.deployment_status == runner.deployment_status
    assert again.deployment_status.healthy is True
    await second.close()
    second.storage.close()
