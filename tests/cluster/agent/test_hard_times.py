"""A node whose disk is full, and one whose clock is set: no task is lost, doubled or late."""

import pytest

from cluster.agent import alloc_record
from cluster.agent.alloc_health import HealthTracker
from cluster.agent.alloc_runner import AllocRunner, Surroundings
from cluster.agent.restarts import Ending
from cluster.agent.time_jumps import TimeJumps
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.policies import RestartPolicy, UpdateStrategy
from tests.builders import make_allocation, make_job, make_task, make_task_group
from tests.cluster.agent import real_node
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work
from tests.cluster.agent.small_disk import fill

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
NOW = 1_750_000_000 * SECOND


class SetClock:
    """A wall clock that can be set, beside one that cannot."""

    def __init__(self):
        self.wall, self.steady = NOW, 100.0

    def now(self):
        return self.wall

    def monotonic(self):
        return self.steady

    def passes(self, seconds):
        self.wall += int(seconds * SECOND)
        self.steady += seconds


def script(text):
    return {"command": "/bin/sh", "args": ["-c", text]}


async def test_a_full_disk_costs_no_task_and_what_happened_is_written_down_later(
    small_disk, monkeypatch
):
    monkeypatch.setattr(alloc_record, "RETRY_S", 0.05)
    node = Node(small_disk)
    await node.start()
    ends, job_of_it = make_work(
        script("while [ ! -e ../go ]; do sleep 0.02; done; exit 0"), driver="raw_exec"
    )
    runs, job = make_work(script("exec sleep 600"), driver="raw_exec")
    node.host.add(ends, job_of_it)
    node.host.add(runs, job)
    for alloc in (ends, runs):
        await node.reach(alloc, ClientStatus.RUNNING)
    fill(small_disk)
    late, job_of_late = make_work(script("exec sleep 600"), driver="raw_exec")
    node.host.add(late, job_of_late)
    await node.reach(late, ClientStatus.FAILED)
    (state,) = node.host.entries[late.id].runner.states.values()
    told = " ".join(event.display_message for event in state.events)
    assert "No space left" in told or "disk is full" in told
    (small_disk / "alloc" / ends.id / "go").symlink_to("/dev/null")
    await until(lambda: node.status(ends) is not ClientStatus.RUNNING, "the end is noticed")
    assert node.status(runs) is ClientStatus.RUNNING
    (small_disk / "ballast").unlink()
    await until(lambda: not node.host._record._due, "it is written down")
    await node.stop()
    await node.start()
    assert node.status(late) is ClientStatus.FAILED
    assert node.status(runs) is ClientStatus.RUNNING
    (state,) = node.host.entries[ends.id].runner.states.values()
    assert "Exit Code: 0" in " ".join(event.display_message for event in state.events)
    await node.end()


def test_only_a_clock_that_is_set_is_told_of():
    clock = SetClock()
    jumps = TimeJumps(clock)
    clock.passes(7200)
    assert jumps.look() == (NOW + 2 * HOUR, 0)
    clock.wall -= HOUR
    assert jumps.look() == (NOW + HOUR, -HOUR)
    clock.passes(1)
    assert jumps.look() == (NOW + HOUR + SECOND, 0)
    clock.wall += SECOND // 2
    assert jumps.look()[1] == 0


def runner_of(update=None):
    task = make_task(driver="mock_driver", config={"run_for": "1h"})
    policy = RestartPolicy(attempts=2, interval=HOUR, delay=15 * SECOND, mode="delay")
    group = make_task_group(tasks=(task,), restart_policy=policy, update=update)
    job = make_job(task_groups=(group,))
    alloc = make_allocation(job, 0).changed(deployment_id="d" if update else "")
    return AllocRunner(alloc, job, Surroundings(chance=lambda: 0.0), now=NOW)


@pytest.mark.parametrize("jump", [pytest.param(HOUR, id="on"), pytest.param(-HOUR, id="back")])
def test_a_restart_waits_as_long_as_it_was_to_when_the_clock_is_set(jump):
    runner = runner_of()
    runner.begin(NOW)
    (name,) = runner.tasks
    runner.task_started(name, NOW)
    runner.task_ended(name, Ending(exit_code=1), NOW)
    assert runner.wake_at == NOW + 15 * SECOND
    runner.shift(jump)
    assert runner.tick(NOW + jump + 14 * SECOND) == []
    assert runner.tick(NOW + jump + 15 * SECOND) != []


@pytest.mark.parametrize("jump", [pytest.param(HOUR, id="on"), pytest.param(-HOUR, id="back")])
def test_health_takes_as_long_as_it_was_to_when_the_clock_is_set(jump):
    update = UpdateStrategy(
        max_parallel=1,
        health_check="task_states",
        min_healthy_time=10 * SECOND,
        healthy_deadline=300 * SECOND,
    )
    runner = runner_of(update)
    runner.begin(NOW)
    (name,) = runner.tasks
    runner.task_started(name, NOW)
    assert isinstance(runner.health, HealthTracker)
    runner.shift(jump)
    runner.tick(NOW + jump + 9 * SECOND)
    assert runner.deployment_status is None
    runner.tick(NOW + jump + 10 * SECOND)
    assert runner.deployment_status.healthy is True


async def test_a_node_whose_clock_is_set_back_restarts_its_task_in_time(tmp_path, monkeypatch):
    clock = SetClock()
    monkeypatch.setattr(real_node, "CLOCK", clock)
    node = Node(tmp_path)
    await node.start()
    policy = RestartPolicy(attempts=1, interval=HOUR, delay=SECOND // 5, mode="fail")
    task = make_task(driver="mock_driver", config={"run_for": "50ms", "exit_code": 1})
    job = make_job(task_groups=(make_task_group(tasks=(task,), restart_policy=policy),))
    alloc = make_allocation(job, 0)
    node.host.add(alloc, job)
    runner = node.host.entries[alloc.id].runner
    (run,) = runner.tasks.values()
    await until(lambda: run.phase == "delayed", "the first end")
    clock.wall -= HOUR
    clock.passes(1)
    await until(lambda: node.status(alloc) is ClientStatus.FAILED, "the second end")
    assert alloc.desired_status is DesiredStatus.RUN
    await node.end()
