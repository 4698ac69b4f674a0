"""An allocation on its node, step by step, without any process."""

import pytest

from cluster.agent.alloc_runner import AllocRunner, Surroundings, TaskRefused
from cluster.agent.restarts import Ending
from cluster.agent.task_run import AbortStart, SignalTask, StartTask, StopTask
from scheduler.structs.allocation import ClientStatus, DesiredStatus, DesiredTransition
from scheduler.structs.policies import MigrateStrategy, RestartPolicy, UpdateStrategy
from scheduler.structs.resources import TaskLifecycle
from tests.builders import make_allocation, make_job, make_task, make_task_group

SECOND = 1_000_000_000
T0 = 1_750_000_000 * SECOND
FIVE_S = 5 * SECOND
ONE_TRY = RestartPolicy(attempts=1, interval=60 * SECOND, delay=2 * SECOND, mode="fail")
NO_TRY = RestartPolicy(attempts=0, interval=60 * SECOND, delay=2 * SECOND, mode="fail")


def make_runner(*tasks, job_type="service", **group):
    group = {"restart_policy": NO_TRY} | group
    job = make_job(
        type=job_type, task_groups=(make_task_group(tasks=tasks or (make_task(),), **group),)
    )
    return AllocRunner(make_allocation(job), job, Surroundings(), now=T0)


def task(name, hook="", *, sidecar=False, **fields):
    lifecycle = TaskLifecycle(hook=hook, sidecar=sidecar) if hook else None
    return make_task(name=name, lifecycle=lifecycle, **fields)


def messages(runner, name="web"):
    return [event.display_message for event in runner.tasks[name].state.events]


def test_a_task_starts_runs_and_ends_well():
    runner = make_runner(job_type="batch")
    assert runner.begin(T0) == [StartTask("web")]
    assert runner.client_status == (ClientStatus.PENDING, "No tasks have started")
    assert runner.task_started("web", T0 + 1) == []
    assert runner.client_status == (ClientStatus.RUNNING, "Tasks are running")
    assert runner.task_ended("web", Ending(), T0 + 2) == []
    assert runner.client_status == (ClientStatus.COMPLETE, "All tasks have completed")
    assert (runner.is_terminal, runner.states["web"].finished_at) == (True, T0 + 2)
    assert messages(runner) == [
        "Task received by client",
        "Building Task Directory",
        "Task started by client",
        "Exit Code: 0",
    ]


def test_a_failed_task_is_restarted_after_its_delay_and_then_given_up():
    runner = make_runner(restart_policy=ONE_TRY)
    runner.begin(T0)
    runner.task_started("web", T0)
    assert runner.task_ended("web", Ending(exit_code=3), T0) == []
    assert (runner.wake_at, runner.states["web"].state) == (T0 + 2 * SECOND, "pending")
    assert runner.tick(T0 + SECOND) == []
    assert runner.tick(T0 + 2 * SECOND) == [StartTask("web")]
    runner.task_started("web", T0 + 2 * SECOND)
    runner.task_ended("web", Ending(exit_code=3), T0 + 3 * SECOND)
    assert runner.client_status == (ClientStatus.FAILED, "Failed tasks")
    state = runner.states["web"]
    assert (state.failed, state.restarts, state.last_restart) == (True, 1, T0)
    assert messages(runner)[-2:] == [
        "Exit Code: 3",
        'Exceeded allowed attempts 1 in interval 1m0s and mode is "fail"',
    ]


def test_a_stop_of_the_server_kills_and_ends_complete():
    runner = make_runner()
    runner.begin(T0)
    runner.task_started("web", T0)
    stopped = runner.alloc.changed(desired_status=DesiredStatus.STOP)
    assert runner.update(stopped, runner.job, T0 + 1) == [StopTask("web", FIVE_S, "")]
    assert runner.update(stopped, runner.job, T0 + 2) == []
    runner.task_ended("web", Ending(exit_code=130, signal=2), T0 + 3)
    assert runner.client_status[0] is ClientStatus.COMPLETE
    assert messages(runner)[-3:] == [
        "Sent interrupt. Waiting 5s before force killing",
        "Exit Code: 130, Signal: 2",
        "Task successfully killed",
    ]


def test_a_task_stopped_while_it_starts_is_killed_once_it_runs():
    runner = make_runner()
    runner.begin(T0)
    assert runner.kill(T0) == [AbortStart("web")]
    assert runner.task_started("web", T0) == [StopTask("web", FIVE_S, "")]


def test_a_failed_task_ends_its_siblings():
    runner = make_runner(task("a"), task("b"))
    assert runner.begin(T0) == [StartTask("a"), StartTask("b")]
    runner.task_started("a", T0)
    runner.task_started("b", T0)
    assert runner.task_ended("a", Ending(exit_code=1), T0) == [StopTask("b", FIVE_S, "")]
    assert 'Task\'s sibling "a" failed' in messages(runner, "b")
    runner.task_ended("b", Ending(signal=2, exit_code=130), T0)
    assert runner.client_status == (ClientStatus.FAILED, "Failed tasks")
    assert runner.is_terminal


def test_the_leader_is_stopped_first_and_its_death_ends_the_others():
    runner = make_runner(task("lead", leader=True), task("log", "poststart", sidecar=True))
    runner.begin(T0)
    runner.task_started("lead", T0)
    assert runner.tasks["log"].phase == "starting"
    runner.task_started("log", T0)
    assert runner.kill(T0) == [StopTask("lead", FIVE_S, "")]
    assert runner.task_ended("lead", Ending(), T0) == [StopTask("log", FIVE_S, "")]


def test_prestart_opens_main_and_poststop_closes():
    runner = make_runner(
        task("init", "prestart"), task("web"), task("after", "poststop"), job_type="batch"
    )
    assert runner.begin(T0) == [StartTask("init")]
    runner.task_started("init", T0)
    assert runner.task_ended("init", Ending(), T0) == [StartTask("web")]
    runner.task_started("web", T0)
    assert runner.task_ended("web", Ending(exit_code=1), T0) == [StartTask("after")]
    assert runner.client_status == (ClientStatus.FAILED, "Failed tasks")
    runner.task_started("after", T0)
    runner.task_ended("after", Ending(), T0)
    assert runner.is_terminal


def test_a_failed_prestart_never_opens_main():
    runner = make_runner(task("init", "prestart"), task("web"))
    runner.begin(T0)
    assert runner.task_ended("init", Ending(start_error="no"), T0) == []
    assert (runner.client_status[0], runner.is_terminal) == (ClientStatus.FAILED, True)


def test_sidecars_alone_end_the_allocation():
    runner = make_runner(task("web"), task("proxy", "prestart", sidecar=True), job_type="batch")
    runner.begin(T0)
    runner.task_started("proxy", T0)
    runner.task_started("web", T0)
    assert runner.task_ended("web", Ending(), T0) == [StopTask("proxy", FIVE_S, "")]
    runner.task_ended("proxy", Ending(signal=2, exit_code=130), T0)
    assert runner.client_status == (ClientStatus.COMPLETE, "All tasks have completed")


def test_a_shutdown_delay_is_waited_for_unless_the_server_says_otherwise():
    runner = make_runner(make_task(shutdown_delay=FIVE_S))
    runner.begin(T0)
    runner.task_started("web", T0)
    assert runner.kill(T0) == []
    assert (runner.wake_at, runner.states["web"].state) == (T0 + FIVE_S, "pending")
    hurried = runner.alloc.changed(
        desired_status=DesiredStatus.STOP,
        desired_transition=DesiredTransition(no_shutdown_delay=True),
    )
    assert runner.update(hurried, runner.job, T0 + 1) == [StopTask("web", FIVE_S, "")]


def test_a_group_shutdown_delay_precedes_every_kill():
    runner = make_runner(shutdown_delay=FIVE_S)
    runner.begin(T0)
    runner.task_started("web", T0)
    assert (runner.kill(T0), runner.wake_at) == ([], T0 + FIVE_S)
    assert runner.tick(T0 + FIVE_S) == [StopTask("web", FIVE_S, "")]


def test_the_kill_timeout_is_capped_by_the_node():
    runner = make_runner(make_task(kill_timeout=3600 * SECOND))
    runner.begin(T0)
    runner.task_started("web", T0)
    assert runner.kill(T0) == [StopTask("web", 30 * SECOND, "")]


def test_a_restart_by_an_operator_uses_up_no_attempt():
    runner = make_runner(restart_policy=NO_TRY)
    runner.begin(T0)
    runner.task_started("web", T0)
    stop = [StopTask("web", FIVE_S, "")]
    assert runner.restart_tasks("web", T0, all_tasks=False) == stop
    assert runner.task_ended("web", Ending(signal=2, exit_code=130), T0) == [StartTask("web")]
    runner.task_started("web", T0)
    assert runner.client_status[0] is ClientStatus.RUNNING
    assert "User requested task to restart" in messages(runner)


@pytest.mark.parametrize(
    ("name", "all_tasks", "text"),
    [
        pytest.param("web", False, "Task not running", id="not-running"),
        pytest.param("x", False, "Could not find task runner for task: x", id="unknown"),
        pytest.param(
            "web", True, "task name cannot be set when restarting all tasks", id="name-and-all"
        ),
    ],
)
def test_an_impossible_restart_is_refused(name, all_tasks, text):
    runner = make_runner()
    runner.begin(T0)
    with pytest.raises(TaskRefused, match=text):
        runner.restart_tasks(name, T0, all_tasks=all_tasks)


def test_a_restart_of_all_tasks_runs_those_that_were_done_again():
    runner = make_runner(task("init", "prestart"), task("web"))
    runner.begin(T0)
    runner.task_started("init", T0)
    assert runner.task_ended("init", Ending(exit_code=0), T0) == [StartTask("web")]
    runner.task_started("web", T0)
    stop_and_begin = [StopTask("web", FIVE_S, ""), StartTask("init")]
    assert runner.restart_tasks("", T0 + 1, all_tasks=True) == stop_and_begin
    state = runner.tasks["init"].state
    assert (state.restarts, state.last_restart) == (1, T0 + 1)
    assert [line.type for line in state.events] == [
        "Received", "Task Setup", "Started", "Terminated", "Restart Signaled", "Restarting",
    ]  # fmt: skip


def test_a_signal_reaches_a_task_until_its_process_is_gone():
    runner = make_runner()
    runner.begin(T0)
    runner.task_started("web", T0)
    assert runner.kill(T0) == [StopTask("web", FIVE_S, "")]
    assert runner.signal_tasks("", "SIGUSR1", T0) == [SignalTask("web", "SIGUSR1")]
    last = runner.tasks["web"].state.events[-1]
    assert (last.display_message, last.details) == (
        "Task being sent a signal", {"signal": "SIGUSR1"},
    )  # fmt: skip
    runner.task_ended("web", Ending(signal=2, exit_code=130), T0)
    with pytest.raises(TaskRefused, match="Task not running"):
        runner.signal_tasks("web", "SIGUSR1", T0)


def test_a_batch_allocation_that_runs_too_long_ends_complete():
    runner = make_runner(job_type="batch", max_run_duration=60 * SECOND)
    runner.begin(T0)
    runner.task_started("web", T0)
    deadline = runner.alloc.create_time + 60 * SECOND
    assert runner.wake_at == deadline
    assert runner.tick(deadline) == [StopTask("web", FIVE_S, "")]
    runner.task_ended("web", Ending(signal=2, exit_code=130), deadline)
    assert runner.client_status == (
        ClientStatus.COMPLETE,
        "allocation exceeded max_run_duration",
    )


def test_a_migratable_service_is_healthy_after_min_healthy_time():
    runner = make_runner(migrate=MigrateStrategy(min_healthy_time=10 * SECOND))
    runner.begin(T0)
    runner.task_started("web", T0)
    assert (runner.deployment_status, runner.wake_at) == (None, T0 + 10 * SECOND)
    runner.tick(T0 + 10 * SECOND)
    assert runner.report().deployment_status.healthy is True


@pytest.mark.parametrize(
    ("deployment_id", "healthy_after"),
    [pytest.param("", 10, id="default-of-migrate"), pytest.param("d", 30, id="update")],
)
def test_a_system_allocation_without_a_deployment_is_healthy_after_ten_seconds(
    deployment_id, healthy_after
):
    update = UpdateStrategy(
        max_parallel=1, min_healthy_time=30 * SECOND, healthy_deadline=60 * SECOND
    )
    group = make_task_group(tasks=(make_task(),), update=update, migrate=None)
    job = make_job(type="system", task_groups=(group,))
    alloc = make_allocation(job, deployment_id=deployment_id)
    runner = AllocRunner(alloc, job, Surroundings(), now=T0)
    runner.begin(T0)
    runner.task_started("web", T0)
    runner.tick(T0 + healthy_after * SECOND - 1)
    assert runner.report().deployment_status is None
    runner.tick(T0 + healthy_after * SECOND)
    assert runner.report().deployment_status.healthy is True


def test_a_restart_moves_the_health_timer_and_a_failure_decides():
    runner = make_runner(
        restart_policy=ONE_TRY, migrate=MigrateStrategy(min_healthy_time=10 * SECOND)
    )
    runner.begin(T0)
    runner.task_started("web", T0)
    runner.task_ended("web", Ending(exit_code=1), T0 + 9 * SECOND)
    runner.tick(T0 + 11 * SECOND)
    runner.task_started("web", T0 + 11 * SECOND)
    assert runner.wake_at == T0 + 21 * SECOND
    runner.task_ended("web", Ending(exit_code=1), T0 + 12 * SECOND)
    assert runner.report().deployment_status.healthy is False


def test_a_node_that_came_back_says_so_to_its_tasks():
    runner = make_runner()
    runner.begin(T0)
    runner.task_started("web", T0)
    runner.update(runner.alloc.changed(client_status=ClientStatus.UNKNOWN), runner.job, T0)
    assert messages(runner)[-1] == "Client reconnected"


def test_only_ten_events_are_kept():
    runner = make_runner(restart_policy=RestartPolicy(attempts=9, interval=3600 * SECOND))
    runner.begin(T0)
    for _ in range(8):
        runner.task_started("web", T0)
        runner.task_ended("web", Ending(exit_code=1), T0)
    assert len(runner.states["web"].events) == 10


def test_time_to_become_healthy_begins_when_the_allocation_does():
    update = UpdateStrategy(min_healthy_time=SECOND, healthy_deadline=FIVE_S)
    job = make_job(task_groups=(make_task_group(tasks=(make_task(),), update=update),))
    alloc = make_allocation(job, deployment_id="d")
    runner = AllocRunner(alloc, job, Surroundings(), now=T0)
    late = T0 + 60 * SECOND
    assert (runner.wake_at, runner.tick(late), runner.deployment_status) == (0, [], None)
    runner.begin(late)
    assert runner.wake_at == late + FIVE_S
    runner.task_started("web", late)
    runner.tick(late + SECOND)
    assert runner.deployment_status.healthy is True


def test_what_has_not_begun_starts_nothing_whatever_is_said_of_it():
    runner = make_runner(task("web"), task("bye", "poststop"), shutdown_delay=FIVE_S)
    assert runner.update(runner.alloc, runner.job, T0) == runner.release(T0) == []
    assert runner.restart_tasks("", T0, all_tasks=True) == []
    assert runner.states["web"].state == "pending"
    assert runner.kill(T0) == []
    assert runner.is_terminal
    assert messages(runner, "bye")[-1] != "Task started by client"
