"""Identities with names: given for each start, renewed before they end, over restarts too."""

import asyncio
import stat

import jwt
import pytest

from cluster.agent import identity_keeper
from cluster.agent.identity_keeper import noted_ends, wait_s
from cluster.agent.server_link import CallFailed
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.task_group import Identity, Template
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import CLOCK, Node, make_work

SECOND = 1_000_000_000
SCRIPT = (
    'trap "echo told >> told" HUP; echo "$NOMAD_TOKEN_db" >> tokens; while :; do sleep 0.05; done'
)


class Server:
    """Signs identities that end soon, and keeps which ones."""

    def __init__(self):
        self.signed = []
        self.is_away = False

    async def __call__(self, alloc_id, task, name):
        if self.is_away:
            raise CallFailed("away", 0)
        self.signed.append(name)
        claims = {"sub": f"{alloc_id}:{task}:{name}", "jti": str(len(self.signed))}
        claims["exp"] = CLOCK.now() // SECOND + 1
        return jwt.encode(claims, "k" * 32, algorithm="HS256")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(identity_keeper, "LEAST_S", 0.05)


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path)
    await node.start()
    node.host.ask_identity = Server()
    yield node
    await node.end()


def work(*identities, **task):
    config = {"command": "/bin/sh", "args": ["-c", SCRIPT], "work_dir": "${NOMAD_TASK_DIR}"}
    return make_work(config, driver="raw_exec", identities=identities, **task)


async def run(node, *identities, **task):
    alloc, job = work(*identities, **task)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    return alloc


def said(node, alloc):
    return [
        e.display_message for e in node.host.entries[alloc.id].runner.tasks["web"].state.events
    ]


def lines(node, alloc, name):
    return node.read(alloc, f"web/local/{name}").splitlines()


async def test_it_is_in_the_environment_and_in_a_file_under_its_name(node):
    alloc = await run(node, Identity(name="db", env=True, file=True))
    await until(lambda: lines(node, alloc, "tokens"), "the task has its token")

    root = node.storage.directories(alloc.id).root
    file = root / "web" / "secrets" / "nomad_db.jwt"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [told] = lines(node, alloc, "tokens")
    assert jwt.decode(told, options={"verify_signature": False})["jti"] == "1"


async def test_templates_do_not_take_it_away(node):
    template = Template(embedded_tmpl="A=b", dest_path="local/env", envvars=True)
    alloc = await run(node, Identity(name="db", env=True), templates=(template,))
    await until(lambda: any(lines(node, alloc, "tokens")), "the task has its token")


async def test_before_it_ends_the_file_is_renewed_and_nobody_is_disturbed(node):
    alloc = await run(node, Identity(name="db", file=True, filepath="local/me"))
    before = node.read(alloc, "web/local/me")
    await until(lambda: node.read(alloc, "web/local/me") != before, "a new token")
    assert len(lines(node, alloc, "tokens")) == 1


async def test_the_task_starts_again_where_it_asked_for_that(node):
    alloc = await run(node, Identity(name="db", env=True, change_mode="restart"))
    await until(lambda: len(set(lines(node, alloc, "tokens"))) > 1, "another start")
    assert "Identity[db]: new token acquired" in " ".join(said(node, alloc))


async def test_the_task_is_sent_its_signal(node):
    identity = Identity(name="db", file=True, change_mode="signal", change_signal="SIGHUP")
    alloc = await run(node, identity)
    await until(lambda: lines(node, alloc, "told"), "the signal")


async def test_a_server_that_is_away_is_asked_again(node):
    alloc = await run(node, Identity(name="db", file=True))
    server = node.host.ask_identity
    server.is_away = True
    file = "web/secrets/nomad_db.jwt"
    before = node.read(alloc, file)
    await asyncio.sleep(0.5)
    assert node.read(alloc, file) == before
    server.is_away = False
    await until(lambda: node.read(alloc, file) != before, "a new token")


async def test_an_agent_that_comes_after_renews_them_too(node):
    alloc = await run(node, Identity(name="db", file=True))
    file = "web/secrets/nomad_db.jwt"
    assert noted_ends(node.storage.directories(alloc.id).root / "web" / "private")["db"]
    await node.stop()
    before = node.read(alloc, file)
    await node.start()
    node.host.ask_identity = Server()
    node.host.release()
    await until(lambda: node.read(alloc, file) != before, "a new token")


async def test_without_the_server_the_task_does_not_start(node):
    node.host.ask_identity.is_away = True
    alloc, job = work(Identity(name="db", env=True))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    assert "the identity db of the task could not be had: away" in " ".join(said(node, alloc))


@pytest.mark.parametrize(
    ("left", "chance", "wanted"), [(3600, 0, 1800), (4000, 0.5, 2100), (4, 0, 10), (-5, 1, 11)]
)
def test_half_of_the_shortest_life_is_waited_for_and_ten_seconds_at_least(
    monkeypatch, left, chance, wanted
):
    monkeypatch.setattr(identity_keeper, "LEAST_S", 10.0)
    assert wait_s([left * SECOND, 10**6 * SECOND, 0], 0, chance) == wanted
