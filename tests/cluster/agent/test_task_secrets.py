"""Secrets of tasks: what `${secret.<name>.<key>}` stands for, from the cluster to the process."""

import asyncio

import pytest

from cluster.agent import task_secrets
from cluster.agent.server_link import CallFailed
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.task_group import SecretAsk, Template, TemplateWait
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work
from tests.cluster.agent.templates.asked_server import Server

SHOWS = {"command": "/bin/sh", "args": ["-c", "echo $DB ${secret.db.user}; exec sleep 600"]}
PATH = "nomad/jobs/web"


@pytest.fixture
def server():
    return Server()


@pytest.fixture
async def node(tmp_path, server):
    node = Node(tmp_path)
    await node.start(server)
    yield node
    await node.end()


def secret_work(*secrets, **task):
    wanted = secrets or (
        SecretAsk(name="db", provider="nomad", path="nomad/jobs/${NOMAD_JOB_ID}"),
    )
    env = {"DB": "${secret.db.user}:${secret.db.password}"}
    return make_work(SHOWS, driver="raw_exec", secrets=wanted, env=env, **task)


def shown(node, alloc):
    return node.read(alloc, "alloc/logs/web.stdout.0")


async def begun(node, alloc, job):
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    await until(lambda: shown(node, alloc), "its output")


async def test_variables_stand_in_environment_and_options(node, server):
    alloc, job = secret_work()
    server.set(f"nomad/jobs/{job.id}@default", user="kim", password="s3")
    await begun(node, alloc, job)
    assert shown(node, alloc) == "kim:s3 kim\n"


async def test_another_namespace_may_be_named(node, server):
    wanted = SecretAsk(name="db", provider="nomad", path=PATH, config={"namespace": "prod"})
    server.set(f"{PATH}@prod", user="ann", password="p")
    await begun(node, *(work := secret_work(wanted)))
    assert shown(node, work[0]) == "ann:p ann\n"


async def test_a_missing_one_holds_the_start_up_and_is_told_once(node, server, monkeypatch):
    monkeypatch.setattr(task_secrets, "_QUIET_S", 0.05)
    alloc, job = secret_work()
    node.host.add(alloc, job)
    run = node.host.entries[alloc.id].runner.tasks["web"]
    text = f"Missing: nomad.var.block(nomad/jobs/{job.id}@default.global)"

    def told():
        return [each.display_message for each in run.state.events].count(text)

    await until(told, "what is missing")
    server.set("unlike", key="x")
    await asyncio.sleep(0.2)
    assert (told(), node.status(alloc)) == (1, ClientStatus.PENDING)
    server.set(f"nomad/jobs/{job.id}@default", user="kim", password="s3")
    await node.reach(alloc, ClientStatus.RUNNING)


async def test_a_later_start_has_what_the_first_one_had(node, server):
    restart = RestartPolicy(attempts=3, interval=60_000_000_000, delay=0, mode="fail")
    alloc, job = secret_work(restart_policy=restart)
    path = f"nomad/jobs/{job.id}@default"
    server.set(path, user="kim", password="s3")
    await begun(node, alloc, job)
    server.set(path, user="new", password="s4")
    node.host.restart(alloc.id, "web", all_tasks=False)
    await until(lambda: shown(node, alloc).count("\n") == 2, "the second start")
    assert shown(node, alloc) == "kim:s3 kim\n" * 2
    assert len(server.asked) == 1


async def test_a_server_that_is_away_is_asked_again(tmp_path, server, monkeypatch):
    monkeypatch.setattr(task_secrets, "_FIRST_PAUSE_S", 0.01)
    failures = [CallFailed("away"), CallFailed("away")]

    async def ask(question):
        if failures:
            raise failures.pop()
        return await server(question)

    node = Node(tmp_path)
    await node.start(ask)
    alloc, job = secret_work()
    server.set(f"nomad/jobs/{job.id}@default", user="kim", password="s3")
    await begun(node, alloc, job)
    await node.end()


@pytest.mark.parametrize(
    ("secret", "refused", "text"),
    [
        pytest.param({}, {"p": "nomad.var.get(p@default): Permission denied"},
                     "secrets: nomad.var.get(p@default): Permission denied", id="right"),
        pytest.param({"config": {"engine": "kv"}}, {},
                     'secrets: the config of "db" has no key "engine"', id="config"),
    ],
)  # fmt: skip
async def test_what_cannot_be_had_fails_the_task_by_name(node, server, secret, refused, text):
    server.refused = refused
    wanted = SecretAsk(**({"name": "db", "provider": "nomad", "path": "p"} | secret))
    alloc, job = secret_work(wanted)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    events = node.host.entries[alloc.id].runner.tasks["web"].state.events
    assert text in [each.display_message for each in events]


async def test_a_new_agent_fetches_them_again_for_the_templates_of_a_running_task(node, server):
    template = Template(
        dest_path="local/conf",
        embedded_tmpl='{{ env "DB" }} {{ with nomadVar "other" }}{{ .x }}{{ end }}',
        change_mode="noop",
        wait=TemplateWait(min=0, max=0),
    )
    alloc, job = secret_work(templates=(template,))
    server.set(f"nomad/jobs/{job.id}@default", user="kim", password="s3")
    server.set("other", x="1")
    await begun(node, alloc, job)
    await node.stop()
    await node.start(server)
    server.set("other", x="2")
    await until(lambda: node.read(alloc, "web/local/conf") == "kim:s3 2", "the file anew")
    assert "s3" not in "".join(
        file.read_text(errors="replace")
        for file in (node.directory / "state").rglob("*")
        if file.is_file()
    )
