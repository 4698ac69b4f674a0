"""Drivers of other packages: the example is built, found by its entry point, and runs a task."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cluster.agent.agent import fingerprint
from cluster.agent.config import AgentConfig
from cluster.agent.drivers.driver import Launch, StartError
from cluster.agent.drivers.kept_process import no_groups
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.drivers.packages import (
    GROUP,
    DriverMeans,
    absent_drivers,
    drivers_of_packages,
)
from cluster.jobspec.left_out import left_out_warnings
from cluster.jobspec.parse import parse_job
from cluster.jobspec.validate import validate
from scheduler.structs.allocation import ClientStatus
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work
from tests.cluster.jobspec.rules.places import group, job, task

EXAMPLE = Path(__file__).parents[4] / "examples" / "driver-python"
MEANS = DriverMeans(lambda: 1, no_groups)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example as a wheel on the way that Python looks."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=EXAMPLE, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    sys.path.insert(0, str(wheel))
    yield
    sys.path.remove(str(wheel))
    sys.modules.pop("bivouac_python")


@pytest.fixture
async def node(installed, tmp_path):
    node = Node(tmp_path, drivers=drivers_of_packages(MEANS, {"raw_exec"}))
    await node.start()
    yield node
    await node.end()


async def test_the_example_runs_the_code_of_a_job(node):
    alloc, of_job = make_work({"code": "import os; print(6 * 7, os.getcwd())"}, driver="python")
    node.host.add(alloc, of_job)

    def told():
        # A print of two values is written in pieces.
        return node.read(alloc, "alloc/logs/web.stdout.0").endswith("\n")

    await until(told, "its output")
    assert node.read(alloc, "alloc/logs/web.stdout.0").startswith("42 /")


def test_the_example_has_a_hundred_lines_at_most():
    whole = "".join(path.read_text() for path in EXAMPLE.glob("bivouac_python/*.py"))
    assert len(whole.splitlines()) <= 100


async def test_a_wrong_option_of_the_example_is_named(node):
    alloc, of_job = make_work({"cod": "x"}, driver="python")
    node.host.add(alloc, of_job)
    await node.reach(alloc, ClientStatus.FAILED)
    events = node.host.entries[alloc.id].runner.states["web"].events
    (told,) = [event for event in events if event.type == "Failed Validation"]
    assert "cod" in told.display_message


async def test_its_task_is_found_again_by_another_agent(node, installed, tmp_path):
    alloc, of_job = make_work({"code": "import time; time.sleep(600)"}, driver="python")
    node.host.add(alloc, of_job)
    await node.reach(alloc, ClientStatus.RUNNING)
    await node.stop()
    await node.start()
    await node.reach(alloc, ClientStatus.RUNNING)
    types = [e.type for e in node.host.entries[alloc.id].runner.states["web"].events]
    assert types.count("Started") == 1
    assert "Failed Restoring Task" not in types


def test_the_node_tells_of_it(installed, tmp_path):
    drivers = {driver.name: driver for driver in drivers_of_packages(MEANS, ())}
    config = AgentConfig(server="http://x", state_dir=tmp_path, alloc_dir=tmp_path)
    told = fingerprint(config, "n", drivers, 1)
    assert told.attributes["driver.python"] == "1"
    assert told.drivers["python"].healthy


def point(name, value):
    return EntryPoint(name=name, value=value, group=GROUP)


HERE = "tests.cluster.agent.drivers.test_packages"


def raises(_means):
    raise RuntimeError("no luck")


def nothing_of_a_driver(_means):
    return json


def another(_means):
    return MockDriver(lambda: 1, "another")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("nowhere:Driver", "nowhere:Driver cannot be loaded: ModuleNotFound", id="no"),
        pytest.param(f"{HERE}:raises", "cannot be loaded: RuntimeError: no luck", id="raises"),
        pytest.param(f"{HERE}:nothing_of_a_driver", "lacks name, abilities, describe", id="parts"),
        pytest.param(f"{HERE}:another", 'another calls itself "another"', id="name"),
    ],
)
def test_a_package_that_is_broken_is_told_of_and_stops_nobody(value, why):
    (driver,) = drivers_of_packages(MEANS, (), [point("strange", value)])
    told = driver.describe(1)
    assert (driver.name, told.detected, told.healthy) == ("strange", False, False)
    assert why in told.health_description
    with pytest.raises(StartError, match='driver "strange": '):
        driver.prepare(Launch(task_id="a/b/c", task_name="b", config={}))


def test_our_own_names_stay_ours_and_two_of_one_name_are_none():
    one = point("strange", f"{HERE}:another")
    assert drivers_of_packages(MEANS, {"strange"}, [one]) == []
    (driver,) = drivers_of_packages(MEANS, (), [one, point("strange", f"{HERE}:raises")])
    assert "two packages bring a driver of this name" in driver.describe(1).health_description


@pytest.mark.parametrize("name", ["java", "qemu"])
def test_what_is_refused_by_name_is_told_of_when_submitted_and_by_every_node(name):
    document = job(TaskGroups=[group(Tasks=[task(Driver=name)])])
    (problem,) = validate(parse_job(document))
    assert f'Driver "{name}" is not carried out: ' in str(problem)
    described = {driver.name: driver.describe(1) for driver in absent_drivers()}
    assert not described[name].detected
    assert described[name].health_description in str(problem)


def test_a_driver_that_is_nobodys_yet_is_no_fault():
    document = job(TaskGroups=[group(Tasks=[task(Driver="python", Config={"code": "1"})])])
    assert validate(parse_job(document)) == []
    assert left_out_warnings(parse_job(document)) == ()
