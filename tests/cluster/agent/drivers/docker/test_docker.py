"""The driver `docker` at an engine that answers as a real one: ends, logs, agents that die."""

import asyncio
import gc
import signal

import msgspec
import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers.docker import engine_watch, image_fetch
from cluster.agent.drivers.docker.docker import DockerDriver
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import Handle, InsideFailed, Launch, StartError, Streams
from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.restarts import Ending
from cluster.runtime.clock import SystemClock
from tests.builders import make_job, make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.drivers.docker.fake_engine import IN_REGISTRY, FakeContainer, FakeEngine

#: The library lets go of a stream that is broken off only when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning")
NOW = 1_700_000_000_000_000_000


@pytest.fixture(autouse=True)
def collected():
    yield
    gc.collect()


@pytest.fixture
async def engine(tmp_path):
    async with FakeEngine(tmp_path / "engine.sock") as engine:
        yield engine


@pytest.fixture
async def driver(engine):
    driver = DockerDriver(DockerSettings(socket=engine.socket), "node-1")
    yield driver
    for task_id in list(driver._runs):
        driver.forget(handle_of(task_id))


@pytest.fixture
def directories(tmp_path):
    places = AllocDirectories(tmp_path / "allocs", "alloc-1")
    places.make_shared()
    return places.make_task(make_task(), make_job())


@pytest.fixture
def launch(directories):
    def make(script="true", run="00000001", **config):
        config = {"image": "app:1", "command": "/bin/sh", "args": ["-c", script], **config}
        return Launch(
            task_id=f"alloc-1/web/{run}", task_name="web", config=config, directories=directories
        )

    return make


def handle_of(task_id):
    return Handle(driver="docker", task_id=task_id)


async def run(driver, launch):
    """Start it; its handle, and what will be its ending."""
    handle = driver.prepare(launch)
    ending = asyncio.get_running_loop().create_future()
    await driver.fetch(launch, lambda _sentence: None)
    await driver.start(launch, handle, ending.set_result)
    return handle, ending


def output(directories, stream="stdout"):
    files = sorted(directories.logs.glob(f"web.{stream}.*"))
    return "".join(path.read_text() for path in files)


async def test_a_container_runs_to_its_end_and_is_removed(driver, launch, directories, engine):
    handle, ending = await run(driver, launch("echo out; echo err >&2; exit 3"))
    assert await ending == Ending(
        exit_code=3, message="Docker container exited with non-zero exit code: 3"
    )
    assert (output(directories), output(directories, "stderr")) == ("out\n", "err\n")
    assert engine.containers == {}
    assert driver.measure(handle, ProcessTable()) is None


async def test_it_is_called_by_task_and_allocation_and_carries_labels(driver, launch, engine):
    await run(driver, launch("exec sleep 60", labels=[{"team": "a"}]))
    (container,) = engine.containers.values()
    assert container.name == "web-alloc-1"
    assert container.body["Labels"] == {
        "team": "a",
        "com.hashicorp.nomad.alloc_id": "alloc-1",
        "bivouac.node_id": "node-1",
        "bivouac.task_id": "alloc-1/web/00000001",
    }


async def test_a_stop_asks_first_and_then_forces(driver, launch, directories):
    waits = "echo up; while :; do sleep 0.05; done"
    handle, ending = await run(driver, launch(f"trap 'exit 5' TERM; {waits}"))
    await until(lambda: driver.measure(handle, ProcessTable()))
    await until(lambda: output(directories) == "up\n")
    await driver.stop(handle, 5, "")
    assert (await ending).exit_code == 5
    handle, ending = await run(driver, launch(f"trap '' INT; {waits}", "00000002"))
    await until(lambda: output(directories) == "up\nup\n")
    await driver.stop(handle, 0.3, "SIGINT")
    assert (await ending).exit_code in (137, 143)


async def test_signals_reach_it_and_unknown_ones_are_refused(driver, launch, directories):
    handle, ending = await run(
        driver, launch("trap 'echo heard; exit 0' USR1; echo up; while :; do sleep 0.05; done")
    )
    await until(lambda: "up" in output(directories))
    await driver.signal(handle, "SIGUSR1")
    assert (await ending).exit_code == 0
    assert output(directories) == "up\nheard\n"
    handle, _ = await run(driver, launch("exec sleep 60", "00000002"))
    with pytest.raises(ValueError, match='signal "SIGNONE": Invalid signal'):
        await driver.signal(handle, "SIGNONE")


async def test_a_new_agent_finds_it_and_no_output_is_lost_or_doubled(
    driver, launch, directories, engine
):
    script = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done"
    handle, ending = await run(driver, launch(script))
    await until(lambda: "3" in output(directories))
    driver.forget(handle)
    await asyncio.sleep(0.25)
    again = DockerDriver(DockerSettings(socket=engine.socket), "node-1")
    found = asyncio.get_running_loop().create_future()
    assert await again.recover(handle, found.set_result)
    assert (await found).succeeded
    assert not ending.done()
    assert output(directories).split() == list("12345678")


async def test_the_end_is_told_to_an_agent_that_came_later(driver, launch, engine):
    handle, ending = await run(driver, launch("exit 4"))
    told = await ending
    later = asyncio.get_running_loop().create_future()
    again = DockerDriver(DockerSettings(socket=engine.socket), "node-1")
    assert await again.recover(handle, later.set_result)
    assert await later == told


async def test_what_is_not_its_run_is_not_taken_over(driver, launch, engine):
    handle, _ = await run(driver, launch("exec sleep 60"))
    other = msgspec.structs.replace(handle, task_id="alloc-1/web/00000009")
    assert not await driver.recover(other, lambda _ending: None)
    (container,) = engine.containers.values()
    container.signal(signal.SIGKILL)
    await until(lambda: not engine.containers)
    never = driver.prepare(launch("true", "00000008"))
    assert not await driver.recover(never, lambda _ending: None)


async def test_a_container_that_was_never_started_is_removed(driver, launch, engine, directories):
    first = launch("exec sleep 60")
    handle, _ = await run(driver, first)
    driver.forget(handle)
    (container,) = engine.containers.values()
    container.signal(signal.SIGKILL)
    await container.over.wait()
    container.status = "created"
    assert not await driver.recover(handle, lambda _ending: None)
    assert engine.containers == {}


async def test_what_an_earlier_run_left_makes_way_and_a_stranger_does_not(driver, launch, engine):
    handle, _ = await run(driver, launch("exec sleep 60"))
    driver.forget(handle)
    await run(driver, launch("exec sleep 60", "00000002"))
    (container,) = engine.containers.values()
    assert container.body["Labels"]["bivouac.task_id"] == "alloc-1/web/00000002"
    container.body["Labels"]["bivouac.node_id"] = "another"
    with pytest.raises(StartError, match='"web-alloc-1" is there and not ours'):
        await run(driver, launch("true", "00000003"))


async def test_a_command_that_is_not_in_the_image_fails_and_leaves_nothing(driver, launch, engine):
    with pytest.raises(StartError, match=r"Failed to start container .*: exec: ") as told:
        await run(driver, launch(command="/no/such"))
    assert not told.value.recoverable
    assert engine.containers == {}


async def test_an_image_is_pulled_once_for_all_who_wait_and_tells_how_far_it_is(
    driver, launch, engine, monkeypatch
):
    monkeypatch.setattr(image_fetch, "TELL_EVERY_S", 0.0)
    said = [[], []]
    launches = [launch(run=str(n), image=IN_REGISTRY) for n in range(2)]
    await asyncio.gather(
        *(
            driver.fetch(each, sentences.append)
            for each, sentences in zip(launches, said, strict=True)
        )
    )
    assert engine.pulls == 1
    assert said[0][0] == said[1][0] == "Downloading image"
    assert said[0][-1] == (
        "Docker image pull progress: Pulled 1/2 (4MiB/4MiB) layers: 1 waiting/0 pulling"
    )
    await driver.fetch(launches[0], said[0].append)
    assert engine.pulls == 1


async def test_latest_and_forced_pulls_ask_the_registry_again(driver, launch, engine):
    tell = [].append
    engine.images |= {IN_REGISTRY, "app:latest"}
    await driver.fetch(launch(image=IN_REGISTRY), tell)
    assert engine.pulls == 0
    await driver.fetch(launch(image="app"), tell)
    await driver.fetch(launch(image=IN_REGISTRY, force_pull=True), tell)
    assert engine.pulls == 2


async def test_an_image_that_is_nowhere_is_no_matter_of_another_attempt(driver, launch):
    with pytest.raises(StartError, match="Failed to pull `nosuch:1`: manifest for") as told:
        await driver.fetch(launch(image="nosuch:1"), [].append)
    assert not told.value.recoverable


async def test_a_pull_that_nobody_waits_for_any_more_ends(driver, launch, engine):
    pull = asyncio.create_task(driver.fetch(launch(image=IN_REGISTRY), [].append))
    await until(lambda: engine.pulls)
    pull.cancel()
    await asyncio.gather(pull, return_exceptions=True)
    await until(lambda: not driver._images._pulls)
    assert IN_REGISTRY not in engine.images


async def test_an_image_is_loaded_from_an_archive_of_the_task(driver, launch, directories, engine):
    (directories.local / "image.tar").write_text("mine:3")
    loading = launch(image="mine:3", load="image.tar")
    _, ending = await run(driver, loading)
    assert (await ending).succeeded
    with pytest.raises(StartError, match=r"archive .*no-file"):
        await driver.fetch(launch(image="mine:3", load="no-file"), [].append)
    with pytest.raises(StartError, match="escapes"):
        await driver.fetch(launch(image="mine:3", load="../private/x"), [].append)


async def test_without_an_engine_it_is_not_offered_and_starts_fail_for_now(tmp_path, launch):
    driver = DockerDriver(DockerSettings(socket=str(tmp_path / "none.sock")), "node-1")
    info = driver.describe(NOW)
    assert (info.detected, info.healthy) == (False, False)
    assert info.health_description == "Failed to connect to docker daemon"
    with pytest.raises(StartError, match="cannot connect to the container engine") as told:
        await driver.fetch(launch(), [].append)
    assert told.value.recoverable
    off = DockerDriver(DockerSettings(socket=""), "node-1").describe(NOW)
    assert off.health_description == "disabled"


async def test_an_engine_that_went_away_was_seen(engine, driver):
    info = await asyncio.to_thread(driver.describe, NOW)
    assert (info.detected, info.healthy) == (True, True)
    assert info.attributes["driver.docker.version"] == "20.10"
    assert "driver.docker.privileged.enabled" not in info.attributes
    await engine.runner.cleanup()
    info = await asyncio.to_thread(driver.describe, NOW)
    assert (info.detected, info.healthy) == (True, False)


async def test_containers_that_no_task_knows_are_removed_after_a_while(driver, launch, engine):
    handle, _ = await run(driver, launch("exec sleep 60"))
    orphan = dict(engine.asked[0], Labels={**engine.asked[0]["Labels"], "bivouac.task_id": "x"})
    engine.asked.append(orphan)
    engine.containers["f"] = FakeContainer(15, "orphan", orphan)
    engine.containers["f"].id = "f"
    begin = SystemClock().now()
    await asyncio.to_thread(driver.describe, begin)
    assert "f" in engine.containers
    later = begin + int((engine_watch.GRACE_S + 10) * 1e9)
    await asyncio.to_thread(driver.describe, later)
    assert [each.name for each in engine.containers.values()] == ["web-alloc-1"]
    assert handle.task_id in driver._runs


async def test_nothing_runs_inside_what_has_ended(driver, launch):
    handle, ending = await run(driver, launch("true"))
    await ending
    with pytest.raises(InsideFailed, match="is not running"):
        await driver.run_inside(handle, ["true"], Streams(0, 1, 2))
    await driver.stop(handle, 1, "")
    await driver.signal(handle, "SIGTERM")
