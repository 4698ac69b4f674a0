"""Images that go when nobody uses them, and those that never do."""

import asyncio

import pytest

from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.drivers.docker import engine_watch
from cluster.agent.drivers.docker.docker import DockerDriver
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import Launch
from tests.builders import make_job, make_task
from tests.cluster.agent.drivers.docker.fake_engine import IN_REGISTRY, FakeEngine
from tests.cluster.agent.drivers.docker.test_docker import run

pytestmark = pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning")
NOW, SECOND = 1_700_000_000_000_000_000, 1_000_000_000
DELAY_S = 180


@pytest.fixture
async def engine(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_watch, "GRACE_S", 0.0)
    async with FakeEngine(tmp_path / "engine.sock") as engine:
        yield engine


@pytest.fixture
def settings(engine, tmp_path):
    return DockerSettings(
        socket=engine.socket, image_delay_s=DELAY_S, image_note=tmp_path / "state" / "images.json"
    )


@pytest.fixture
def launch(tmp_path):
    places = AllocDirectories(tmp_path / "allocs", "alloc-1")
    places.make_shared()
    directories = places.make_task(make_task(), make_job())

    def make(image=IN_REGISTRY, number=1, script="exec sleep 60", **config):
        config = {"image": image, "command": "/bin/sh", "args": ["-c", script], **config}
        return Launch(
            task_id=f"alloc-1/web{number}/{number}",
            task_name=f"web{number}",
            config=config,
            directories=directories,
        )

    return make


async def look(driver, at_s):
    """As the agent does, so many seconds after the first time."""
    await asyncio.to_thread(driver.describe, NOW + at_s * SECOND)


async def ended(driver, handle, ending):
    await driver.stop(handle, 0, "")
    await ending


async def test_an_image_goes_when_its_last_task_has_been_over_for_the_delay(
    engine, settings, launch
):
    driver = DockerDriver(settings, "node-1")
    first = await run(driver, launch(number=1))
    second = await run(driver, launch(number=2))
    assert engine.pulls == 1
    await ended(driver, *first)
    for at_s in (0, 1, 2 * DELAY_S):
        await look(driver, at_s)
        assert IN_REGISTRY in engine.images
    await ended(driver, *second)
    await look(driver, 3 * DELAY_S)
    await look(driver, 4 * DELAY_S - 1)
    assert IN_REGISTRY in engine.images
    await look(driver, 4 * DELAY_S)
    assert IN_REGISTRY not in engine.images
    assert "app:1" in engine.images
    # It is fetched anew, and goes anew.
    again = await run(driver, launch(number=3))
    assert engine.pulls == 2
    await ended(driver, *again)


async def test_whoever_wants_it_again_keeps_it(engine, settings, launch):
    driver = DockerDriver(settings, "node-1")
    await driver.fetch(launch(), [].append)
    await look(driver, 0)
    await look(driver, 1)
    await driver.fetch(launch(), [].append)
    await look(driver, DELAY_S + 1)
    assert IN_REGISTRY in engine.images


async def test_a_new_agent_knows_what_the_one_before_fetched(engine, settings, launch):
    await DockerDriver(settings, "node-1").fetch(launch(), [].append)
    later = DockerDriver(settings, "node-1")
    for at_s in (0, 1, DELAY_S + 1):
        await look(later, at_s)
    assert IN_REGISTRY not in engine.images
    assert DockerDriver(settings, "node-1")._kept.ours == frozenset()


async def test_a_run_that_is_found_again_keeps_its_image(engine, settings, launch):
    first = DockerDriver(settings, "node-1")
    handle, _ = await run(first, launch())
    first.forget(handle)
    later = DockerDriver(settings, "node-1")
    ending = asyncio.get_running_loop().create_future()
    assert await later.recover(handle, ending.set_result)
    for at_s in (0, 1, 2 * DELAY_S):
        await look(later, at_s)
    assert IN_REGISTRY in engine.images
    assert later._kept._users
    await ended(later, handle, ending)


@pytest.mark.parametrize("image", ["app:1", "app:latest"])
async def test_what_the_engine_had_before_is_never_removed(engine, settings, launch, image):
    engine.images.add("app:latest")
    driver = DockerDriver(settings, "node-1")
    await driver.fetch(launch(image), [].append)
    assert engine.pulls == (image == "app:latest")
    for at_s in (0, 1, 2 * DELAY_S):
        await look(driver, at_s)
    assert {"app:1", "app:latest"} <= engine.images


async def test_an_image_that_another_name_was_given_loses_ours_alone(engine, settings, launch):
    driver = DockerDriver(settings, "node-1")
    await driver.fetch(launch(), [].append)
    engine.images.add("mine:1")
    engine.ids["mine:1"] = engine.ids[IN_REGISTRY]
    for at_s in (0, 1, 2 * DELAY_S):
        await look(driver, at_s)
    assert (IN_REGISTRY in engine.images, "mine:1" in engine.images) == (False, True)
    assert driver._kept.ours == frozenset()


async def test_a_forced_pull_leaves_the_image_of_before_to_go(engine, settings, launch):
    driver = DockerDriver(settings, "node-1")
    handle, ending = await run(driver, launch())
    old = engine.ids[IN_REGISTRY]
    second = await run(driver, launch(number=2, force_pull=True))
    assert engine.pulls == 2
    assert driver._kept.ours == {old, engine.ids[IN_REGISTRY]}
    engine.ids["nameless"] = old
    await ended(driver, handle, ending)
    for at_s in (0, 1, 2 * DELAY_S):
        await look(driver, at_s)
    assert old not in engine.ids.values()
    assert IN_REGISTRY in engine.images
    await ended(driver, *second)


async def test_one_that_a_stranger_runs_stays_until_it_does_not(engine, settings, launch):
    driver = DockerDriver(settings, "node-1")
    handle, ending = await run(driver, launch())
    driver._kept.release(handle.task_id)
    for at_s in (0, 1, 2 * DELAY_S):
        await look(driver, at_s)
    assert IN_REGISTRY in engine.images
    await ended(driver, handle, ending)
    await look(driver, 2 * DELAY_S + 1)
    assert IN_REGISTRY not in engine.images


async def test_nothing_goes_where_the_owner_says_so(engine, settings, launch, tmp_path):
    kept = DockerSettings(socket=settings.socket, image_delay_s=None)
    driver = DockerDriver(kept, "node-1")
    await driver.fetch(launch(), [].append)
    for at_s in (0, 1, 2 * DELAY_S):
        await look(driver, at_s)
    assert IN_REGISTRY in engine.images
    broken = tmp_path / "broken.json"
    broken.write_text("[1")
    assert DockerDriver(DockerSettings(image_note=broken), "n")._kept.ours == frozenset()
