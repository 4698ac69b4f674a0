"""exec under an agent: what names and templates say inside, and what its history tells."""

import msgspec
import pytest

from cluster.agent.drivers.exec import ExecDriver
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedTaskResources,
)
from scheduler.structs.task_group import Identity, Template
from tests.cluster.agent.drivers.test_exec_escapes import python_inside
from tests.cluster.agent.real_groups import groups, rooted
from tests.cluster.agent.real_node import Node, make_work

__all__ = ["groups", "rooted"]

SHOWS = "echo $NOMAD_TASK_DIR $NOMAD_SECRETS_DIR $NOMAD_ALLOC_DIR $HOME; cat"


@pytest.fixture
async def node(rooted, tmp_path):
    node = Node(tmp_path, drivers=[ExecDriver(lambda: rooted)])
    await node.start()
    yield node
    await node.end()


async def give_identity(_alloc_id, _task, name):
    return f"token {name}"


def granted(work, memory):
    alloc, job = work
    one = AllocatedTaskResources(
        cpu=AllocatedCpu(cpu_shares=100), memory=AllocatedMemory(memory_mb=memory)
    )
    return msgspec.structs.replace(
        alloc, allocated_resources=AllocatedResources(tasks={"web": one})
    ), job


async def test_names_and_templates_are_those_of_the_inside(node):
    templates = (
        Template(embedded_tmpl='local {{ env "NOMAD_TASK_DIR" }}\n', dest_path="local/a"),
        Template(embedded_tmpl="shared\n", dest_path="${NOMAD_ALLOC_DIR}/data/b"),
        Template(embedded_tmpl="hush\n", dest_path="${NOMAD_SECRETS_DIR}/c"),
        Template(embedded_tmpl="root\n", dest_path="d"),
    )
    node.host.ask_identity = give_identity
    identities = (Identity(name="db", file=True),)
    script = f"{SHOWS} /local/a /alloc/data/b /secrets/c /d /secrets/nomad_db.jwt"
    work = make_work(
        {"command": "sh", "args": ["-c", script]},
        driver="exec", templates=templates, identities=identities,
    )  # fmt: skip
    alloc, job = granted(work, 64)
    node.host.add(alloc, job)
    # A service that ends has failed, as nothing starts it again here.
    await node.reach(alloc, ClientStatus.FAILED)
    assert node.read(alloc, "alloc/logs/web.stdout.0") == (
        "/local /secrets /alloc /nonexistent\nlocal /local\nshared\nhush\nroot\ntoken db"
    )
    assert node.read(alloc, "alloc/logs/web.stderr.0") == ""


async def test_the_history_tells_that_memory_ran_out(node):
    code = "x = b'x' * (200 << 20)"
    config = {"command": python_inside(), "args": ["-S", "-c", code]}
    alloc, job = granted(make_work(config, driver="exec"), 32)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    events = node.host.entries[alloc.id].runner.states["web"].events
    (end,) = [event for event in events if event.type == "Terminated"]
    assert end.display_message == 'Exit Code: 137, Signal: 9, Exit Message: "OOM Killed"'
    assert end.details["oom_killed"] == "true"
