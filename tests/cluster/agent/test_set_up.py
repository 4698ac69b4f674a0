"""What an agent does with a task that asks for more than it can carry out: fail it, by name."""

import asyncio

import pytest

from cluster.agent.agent_state import DiskStorage, NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import AllocRunner, Surroundings
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.drivers.raw_exec import RawExecDriver
from cluster.agent.fingerprint import attributes_of_machine
from cluster.agent.task_launch import TaskLauncher
from cluster.agent.task_run import StartTask
from cluster.fleet.blueprint import FleetOptions, members_of
from cluster.runtime.clock import RandomIDs, SystemClock
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.node import SIMULATED as SIMULATED_MARK
from scheduler.structs.policies import MigrateStrategy, RestartPolicy, UpdateStrategy
from scheduler.structs.resources import TaskLifecycle
from scheduler.structs.service import Check, Service
from scheduler.structs.task_group import (
    Artifact,
    Identity,
    VolumeAsk,
    VolumeMount,
)
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.cluster.agent.deadline import until

SECOND = 1_000_000_000
T0 = 1_750_000_000 * SECOND
CLOCK = SystemClock()
NO_TRY = RestartPolicy(attempts=0, mode="fail")
SIMULATED = Surroundings(is_simulated=True)
#: A check on a port that nobody listens on.
CHECKED = Service(
    name="s", provider="nomad", port_label="9", checks=(Check(name="c", type="tcp"),)
)
IN_CONSUL = Service(name="s", provider="consul", port_label="9")
UPDATE = UpdateStrategy(
    max_parallel=1,
    health_check="checks",
    min_healthy_time=10 * SECOND,
    healthy_deadline=60 * SECOND,
)


def make_runner(*tasks, surroundings=None, **group):
    group = {"restart_policy": NO_TRY} | group
    job = make_job(task_groups=(make_task_group(tasks=tasks or (make_task(),), **group),))
    alloc = make_allocation(job, deployment_id="d")
    return AllocRunner(alloc, job, surroundings or Surroundings(), now=T0)


def messages(runner, name="web"):
    return [event.display_message for event in runner.tasks[name].state.events]


OF_TASKS = [
    pytest.param(
        {"artifacts": (Artifact(getter_source="s3::https://x/y"),)},
        "artifact.source",
        id="artifact",
    ),
    pytest.param({"services": (IN_CONSUL,)}, "service.provider", id="service"),
    pytest.param(
        {"identities": (Identity(name="a", extra_claims={"b": "c"}),)},
        "identity.extra_claims",
        id="another claim",
    ),
    pytest.param({"volume_mounts": (VolumeMount(volume="v"),)}, "volume_mount", id="mount"),
    pytest.param({"vault": {"Role": "r"}}, "vault", id="vault"),
]
OF_GROUPS = [
    pytest.param({"services": (IN_CONSUL,)}, "service.provider", id="service"),
    pytest.param({"volumes": {"v": VolumeAsk(name="v", type="csi")}}, "volume", id="volume"),
]


@pytest.mark.parametrize(("fields", "name"), OF_TASKS)
def test_a_task_that_cannot_be_carried_out_fails_before_it_starts_and_says_why(fields, name):
    runner = make_runner(make_task(**fields), update=UPDATE)

    assert runner.begin(T0) == []

    assert runner.client_status == (ClientStatus.FAILED, "Failed tasks")
    received, failure, unhealthy = messages(runner)
    assert received == "Task received by client"
    assert failure.startswith(f"failed to setup alloc: {name} is not carried out: ")
    assert runner.tasks["web"].state.events[1].type == "Setup Failure"
    assert unhealthy == "Unhealthy because of failed task"
    assert runner.report().deployment_status.healthy is False


@pytest.mark.parametrize(("fields", "name"), OF_GROUPS)
def test_a_group_that_cannot_be_carried_out_starts_none_of_its_tasks(fields, name):
    runner = make_runner(make_task(name="a"), make_task(name="b"), **fields)

    assert runner.begin(T0) == []

    assert runner.client_status[0] is ClientStatus.FAILED
    for task in ("a", "b"):
        assert f"{name} is not carried out: " in messages(runner, task)[-1]


def test_the_tasks_beside_it_do_not_start_either_and_name_the_one_that_is_to_blame():
    runner = make_runner(
        make_task(name="first", lifecycle=TaskLifecycle(hook="prestart")),
        make_task(name="web", artifacts=(Artifact(getter_source="s3::https://x/y"),)),
        make_task(name="last", lifecycle=TaskLifecycle(hook="poststop")),
    )

    assert runner.begin(T0) == []

    assert runner.is_terminal
    for task in ("first", "last"):
        assert messages(runner, task)[-1] == (
            'failed to setup alloc: task "web": artifact.source is not carried out:'
            " only sources of http, https, git are fetched"
        )


def test_one_that_was_lost_over_a_restart_of_the_agent_is_not_started_without_it():
    """An agent that left such parts out had started it; this one does not."""
    runner = make_runner(make_task(artifacts=(Artifact(getter_source="s3::https://x/y"),)))
    run = runner.tasks["web"]
    run.lose(T0)
    run.held = True
    assert runner.carry_on(T0) == []
    assert not run.is_dead
    assert runner.release(T0 + 1) == []
    assert "artifact.source is not carried out" in messages(runner)[-1]
    assert runner.client_status[0] is ClientStatus.FAILED


@pytest.mark.parametrize(("fields", "_name"), OF_TASKS)
def test_a_simulated_node_pretends_all_of_it(fields, _name):
    runner = make_runner(make_task(**fields), update=UPDATE, surroundings=SIMULATED)

    assert runner.begin(T0) == [StartTask("web")]

    runner.task_started("web", T0)
    runner.tick(T0 + 10 * SECOND)
    assert runner.report().deployment_status.healthy is True


@pytest.mark.parametrize("strategy", ["update", "migrate"])
def test_a_check_that_has_not_passed_never_counts_as_healthy(strategy):
    """It came with a change in place, to a task that runs already."""
    plans = {
        "update": {"update": UPDATE},
        "migrate": {"migrate": MigrateStrategy(healthy_deadline=60 * SECOND)},
    }
    runner = make_runner(**plans[strategy])
    runner.begin(T0)
    runner.task_started("web", T0)
    changed = make_job(
        task_groups=(make_task_group(services=(CHECKED,), **plans[strategy]),), version=1
    )
    next_one = "next" if strategy == "update" else ""
    runner.update(runner.alloc.changed(deployment_id=next_one), changed, T0 + SECOND)

    assert runner.wake_at == T0 + 61 * SECOND
    runner.tick(T0 + 30 * SECOND)
    assert runner.deployment_status is None
    runner.tick(T0 + 61 * SECOND)
    assert runner.report().deployment_status.healthy is False
    told = 'Checks not passing for min_healthy_time of 10s by healthy_deadline of 1m0s: "c"'
    assert (messages(runner)[-1] == told) is (strategy == "update")


@pytest.mark.parametrize(
    ("update", "on_update"),
    [
        pytest.param({"health_check": "task_states"}, "require_healthy", id="tasks decide"),
        pytest.param({"health_check": "checks"}, "ignore", id="the check is not to count"),
    ],
)
def test_where_checks_do_not_decide_the_tasks_do(update, on_update):
    check = Check(name="c", type="tcp", on_update=on_update)
    strategy = UpdateStrategy(
        max_parallel=1,
        min_healthy_time=10 * SECOND,
        healthy_deadline=60 * SECOND,
        **update,
    )
    runner = make_runner(update=strategy)
    runner.begin(T0)
    runner.task_started("web", T0)
    service = Service(name="s", provider="nomad", checks=(check,))
    changed = make_job(task_groups=(make_task_group(services=(service,), update=strategy),))
    runner.update(runner.alloc.changed(deployment_id="next"), changed, T0)
    runner.tick(T0 + 10 * SECOND)
    assert runner.report().deployment_status.healthy is True


def test_a_node_offers_services_and_only_a_simulated_one_says_that_it_pretends(tmp_path):
    real = attributes_of_machine(tmp_path)
    (member,) = members_of(FleetOptions(nodes=1), "key")
    assert (real["nomad.service_discovery"], SIMULATED_MARK in real) == ("true", False)
    assert member.node.attributes["nomad.service_discovery"] == "true"
    assert (member.node.is_simulated, make_node().is_simulated) == (True, False)


def host_of(storage, surroundings):
    drivers = {each.name: each for each in (MockDriver(CLOCK.now), RawExecDriver(enabled=True))}
    launcher = TaskLauncher(make_node, {"PATH": "/usr/bin:/bin"}, RandomIDs())
    return AllocHost(launcher, drivers, storage, CLOCK, surroundings)


async def test_an_unreachable_artifact_keeps_the_command_from_running(tmp_path):
    mark = tmp_path / "ran"
    task = make_task(
        driver="raw_exec",
        config={"command": "/bin/sh", "args": ["-c", f"touch {mark}"]},
        artifacts=(Artifact(getter_source="http://127.0.0.1:9/nothing.tgz"),),
    )
    job = make_job(type="batch", task_groups=(make_task_group(tasks=(task,)),))
    alloc = make_allocation(job)
    storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
    host = host_of(storage, Surroundings())
    try:
        host.add(alloc, job)
        runner = host.entries[alloc.id].runner
        await until(lambda: runner.is_terminal)
        await asyncio.sleep(0.2)
        assert runner.client_status[0] is ClientStatus.FAILED
        assert not mark.exists()
    finally:
        await host.close()
        storage.close()


async def test_a_mocked_service_on_a_simulated_node_runs():
    job = make_job(
        task_groups=(
            make_task_group(tasks=(make_task(config={"run_for": "1h"}, services=(CHECKED,)),)),
        )
    )
    alloc = make_allocation(job)
    host = host_of(NoStorage(), SIMULATED)
    try:
        host.add(alloc, job)
        runner = host.entries[alloc.id].runner
        await until(lambda: runner.client_status[0] is ClientStatus.RUNNING)
    finally:
        await host.close()
