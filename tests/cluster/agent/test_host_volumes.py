"""Directories that a node offers by name: declared, fingerprinted, and handed to drivers."""

import pytest

from cluster.agent.agent import Agent
from cluster.agent.config import AgentConfig
from cluster.agent.drivers.driver import Mount
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.host_volumes import BadVolume, declared_volumes
from cluster.agent.means import Means
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.node import HostVolume
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.task_group import VolumeAsk, VolumeMount
from tests.builders import make_allocation, make_job, make_task, make_task_group
from tests.cluster.agent.deadline import until

CLOCK = SystemClock()
NO_TRY = RestartPolicy(attempts=0, mode="fail")


class MountingDriver(MockDriver):
    """A driver that can show a task directories elsewhere, and keeps what it was handed."""

    takes_mounts = True

    def __init__(self):
        super().__init__(CLOCK.now)
        self.name = "mounting"
        self.launches = []

    def prepare(self, launch):
        self.launches.append(launch)
        return super().prepare(launch)


@pytest.fixture
def places(tmp_path):
    for name in ("data", "fixed", "shard[0]"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
async def agent(places):
    volumes = declared_volumes(
        [
            f"data={places}/data",
            f"fixed={places}/fixed:ro",
            f"shard[0]={places}/shard[0]",
        ]
    )
    config = AgentConfig(
        server="http://127.0.0.1:1",
        state_dir=places / "state",
        alloc_dir=places / "alloc",
        host_volumes=volumes,
    )
    agent = Agent(config, Means(CLOCK, RandomIDs(), chance))
    driver = MountingDriver()
    agent.drivers[driver.name] = driver
    yield agent
    for entry in agent.host.entries.values():
        for handle in entry.handles.values():
            await agent.drivers[handle.driver].stop(handle, 0, "")
    await agent.host.close()
    await agent.link.close()
    agent.storage.close()


def work(volumes, mounts, driver="mounting"):
    task = make_task(
        driver=driver, config={"run_for": "1h"}, volume_mounts=tuple(mounts), env={"WHERE": "in"}
    )
    group = make_task_group(tasks=(task,), volumes=volumes, restart_policy=NO_TRY)
    job = make_job(task_groups=(group,))
    return make_allocation(job), job


async def start(agent, *given, **fields):
    alloc, job = work(*given, **fields)
    agent.host.add(alloc, job)
    runner = agent.host.entries[alloc.id].runner
    await until(lambda: runner.client_status[0] is not ClientStatus.PENDING, "a verdict")
    return runner


def test_declared_volumes_are_on_the_node(agent, places):
    assert agent.node.host_volumes == {
        "data": HostVolume(name="data", path=f"{places}/data"),
        "fixed": HostVolume(name="fixed", path=f"{places}/fixed", read_only=True),
        "shard[0]": HostVolume(name="shard[0]", path=f"{places}/shard[0]"),
    }


def test_every_problem_of_a_declaration_is_named(tmp_path):
    texts = ["data", f"a={tmp_path}/none", "b=relative", f"c={tmp_path}", f"c={tmp_path}:ro"]

    with pytest.raises(BadVolume) as problem:
        declared_volumes(texts)

    assert str(problem.value).splitlines() == [
        "expected NAME=PATH or NAME=PATH:ro, not 'data'",
        f"host volume \"a\": '{tmp_path}/none' is not a directory",
        "host volume \"b\": 'relative' is not an absolute path",
        'host volume "c" is declared twice',
    ]


async def test_a_driver_that_can_is_handed_the_mounts_of_its_task(agent, places):
    runner = await start(
        agent,
        {
            "d": VolumeAsk(name="d", type="host", source="data"),
            "f": VolumeAsk(name="f", type="host", source="fixed", read_only=True),
            "s": VolumeAsk(name="s", type="host", source="shard", per_alloc=True),
        },
        [
            VolumeMount(volume="d", destination="/srv/${env[\"WHERE\"]}", read_only=True),
            VolumeMount(volume="f", destination="/etc/fixed"),
            VolumeMount(volume="s", destination="shard", propagation_mode="host-to-task"),
        ],
    )  # fmt: skip

    assert runner.client_status[0] is ClientStatus.RUNNING
    [launch] = agent.drivers["mounting"].launches
    assert launch.mounts == (
        Mount("data", places / "data", "/srv/in", read_only=True),
        Mount("fixed", places / "fixed", "/etc/fixed", read_only=True),
        Mount("shard[0]", places / "shard[0]", "shard", propagation="host-to-task"),
    )


async def test_a_driver_that_cannot_mount_is_refused_the_task_by_name(agent):
    agent.drivers["mounting"].takes_mounts = False
    runner = await start(
        agent,
        {"d": VolumeAsk(name="d", type="host", source="data")},
        [VolumeMount(volume="d", destination="/srv")],
    )

    assert runner.client_status[0] is ClientStatus.FAILED
    [said] = [e for e in runner.tasks["web"].state.events if "host volumes" in e.display_message]
    assert said.type == "Task hook failed"
    assert said.display_message == (
        'volumes: task driver "mounting" for "web" does not support host volumes'
    )


async def test_a_task_without_mounts_starts_under_any_driver(agent):
    runner = await start(
        agent, {"d": VolumeAsk(name="d", type="host", source="data")}, [], driver="mock_driver"
    )

    assert runner.client_status[0] is ClientStatus.RUNNING


async def test_a_volume_that_the_node_lost_meanwhile_fails_the_start(agent):
    runner = await start(agent, {"x": VolumeAsk(name="x", type="host", source="gone")}, [])

    assert runner.client_status[0] is ClientStatus.FAILED
    [said] = [e for e in runner.tasks["web"].state.events if "gone" in e.display_message]
    assert said.display_message == "volumes: host volume validation error: missing gone"
