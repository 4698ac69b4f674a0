"""Templates in the life of a task: first rendering, waiting, changes, restarts of the agent."""

import asyncio

import pytest
from msgspec.structs import replace

from cluster.agent.templates import task_templates
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.task_group import Template, TemplateWait
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work
from tests.cluster.agent.templates.asked_server import Server

AT_ONCE = TemplateWait(min=0, max=0)
SHOWS = {"command": "/bin/sh", "args": ["-c", "cat local/conf; echo; echo [$KEY]; sleep 60"]}
HEARS = {
    "command": "/bin/sh",
    "args": ["-c", "trap 'cat local/conf' HUP; echo up; while :; do sleep 0.05; done"],
}


@pytest.fixture
def server():
    return Server()


@pytest.fixture
async def node(tmp_path, server):
    node = Node(tmp_path)
    await node.start()
    node.host.ask = server
    yield node
    await node.end()


def work(*templates, config=None, policy=None):
    kept = tuple(
        replace(each, dest_path=each.dest_path or "local/conf", splay=0, wait=AT_ONCE)
        for each in templates
    )
    alloc, job = make_work(config or SHOWS, driver="raw_exec", templates=kept)
    if policy is not None:
        job = replace(job, task_groups=(replace(job.task_groups[0], restart_policy=policy),))
    return alloc, job


def lines(node, alloc):
    (state,) = node.host.entries[alloc.id].runner.states.values()
    return [(event.type, event.display_message) for event in state.events]


def output(node, alloc):
    return node.read(alloc, "alloc/logs/web.stdout.0")


def kinds(node, alloc):
    return [kind for kind, _text in lines(node, alloc)]


async def test_a_task_finds_its_files_and_its_variables(node, server):
    server.set("db", user="kim")
    server.services["web"] = (ServiceRegistration(id="1", address="10.0.0.1", port=80),)
    alloc, job = work(
        Template(
            embedded_tmpl='{{ with nomadVar "db" }}{{ .user }}{{ end }}'
            '@{{ range nomadService "web" }}{{ .Address }}:{{ .Port }}{{ end }}'
        ),
        Template(
            embedded_tmpl="KEY={{ env `NOMAD_TASK_NAME` }}", dest_path="secrets/env", envvars=True
        ),
    )
    node.host.add(alloc, job)
    await until(lambda: output(node, alloc) == "kim@10.0.0.1:80\n[web]\n", "its output")
    assert kinds(node, alloc) == ["Received", "Task Setup", "Started"]


async def test_what_is_missing_is_told_and_waited_for(node, server, monkeypatch):
    monkeypatch.setattr(task_templates, "_QUIET_S", 0.05)
    text = "".join(f'{{{{ with nomadVar "{path}" }}}}{{{{ .a }}}}{{{{ end }}}}' for path in "dcba")
    alloc, job = work(Template(embedded_tmpl=text))
    node.host.add(alloc, job)
    await until(lambda: "Template" in kinds(node, alloc), "the line")
    named = ", ".join(f"nomad.var.block({path}@default.global)" for path in "abc")
    assert lines(node, alloc)[-1] == ("Template", f"Missing: {named}, and 1 more")
    assert node.status(alloc) is ClientStatus.PENDING
    for path in "abcd":
        server.set(path, a=path)
    await until(lambda: output(node, alloc).startswith("dcba"), "its start")


async def test_a_task_that_waits_can_be_stopped(node, server):
    alloc, job = work(Template(embedded_tmpl='{{ with nomadVar "db" }}{{ .a }}{{ end }}'))
    node.host.add(alloc, job)
    await until(lambda: server.asked, "the question")
    node.host.update(alloc.changed(desired_status=DesiredStatus.STOP), job)
    await node.reach(alloc, ClientStatus.COMPLETE)
    assert kinds(node, alloc)[-1] == "Killing"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (Template(embedded_tmpl="{{ nope }}"), "function 'nope' not defined"),
        (Template(source_path="local/none"), "No such file or directory"),
        (Template(embedded_tmpl="=x", envvars=True), "error on line 1: empty key"),
    ],
)
async def test_what_cannot_be_rendered_ends_the_task_without_a_restart(node, template, why):
    alloc, job = work(template, policy=RestartPolicy(attempts=3, interval=10**12, mode="fail"))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    assert kinds(node, alloc) == ["Received", "Task Setup", "Killing"]
    assert lines(node, alloc)[-1][1].startswith("Template failed: ")
    assert why in lines(node, alloc)[-1][1]


@pytest.mark.parametrize(
    ("template", "what"),
    [
        (Template(embedded_tmpl="x", dest_path="../../x"), "destination"),
        (Template(source_path="../../x"), "source"),
    ],
)
async def test_a_path_that_leads_out_fails_the_start_and_says_so(node, template, what):
    alloc, job = work(template, policy=RestartPolicy(attempts=3, interval=10**12, mode="fail"))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    assert kinds(node, alloc) == ["Received", "Task Setup", "Task hook failed", "Not Restarting"]
    assert lines(node, alloc)[-2:] == [
        ("Task hook failed", f"template: template {what} path escapes alloc directory"),
        ("Not Restarting", "Error was unrecoverable"),
    ]


async def test_what_a_task_may_not_read_ends_it(node, server):
    server.refused = {"db": "nomad.var.get(db@default): Permission denied"}
    alloc, job = work(Template(embedded_tmpl='{{ nomadVar "db" }}'))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    assert "Permission denied" in lines(node, alloc)[-1][1]


SHOW_A = '{{ with nomadVar "db" }}{{ .a }}{{ end }}'


async def test_a_change_restarts_the_task_without_using_an_attempt(node, server):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A))
    node.host.add(alloc, job)
    await until(lambda: output(node, alloc).startswith("1\n"), "the first run")
    server.set("db", a="2")
    await until(lambda: "\n2\n" in output(node, alloc), "the second run")
    assert ("Restart Signaled", "Template with change_mode restart re-rendered") in lines(
        node, alloc
    )


async def test_a_change_sends_a_signal(node, server):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A, change_mode="signal"), config=HEARS)
    node.host.add(alloc, job)
    await until(lambda: output(node, alloc) == "up\n", "the start")
    server.set("db", a="2")
    await until(lambda: output(node, alloc) == "up\n2", "what it does on the signal")
    assert kinds(node, alloc)[-1] == "Signaling"


async def test_a_change_that_asks_for_nothing_changes_the_file_alone(node, server):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A, change_mode="noop"))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    server.set("db", a="2")
    await until(lambda: node.read(alloc, "web/local/conf") == "2", "the file")
    assert kinds(node, alloc)[-1] == "Started"


async def test_one_that_is_rendered_once_stays(node, server):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A, once=True))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    asked = len(server.asked)
    server.set("db", a="2")
    await asyncio.sleep(0.2)
    assert node.read(alloc, "web/local/conf") == "1"
    assert len(server.asked) == asked


async def test_a_variable_that_is_gone_leaves_the_file_as_it_was(node, server):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    server.set("db")
    await until(lambda: server.asked[-1].after >= 3, "the next question")
    assert node.read(alloc, "web/local/conf") == "1"
    assert node.status(alloc) is ClientStatus.RUNNING


@pytest.mark.parametrize(("value", "starts"), [("1", 1), ("2", 2)])
async def test_a_new_agent_acts_on_what_changed_and_on_nothing_else(node, server, value, starts):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    await node.stop()
    server.set("db", a=value)
    asked = len(server.asked)
    await node.start(ask=server)
    await until(lambda: len(server.asked) > asked + 1, "the next question")
    await until(lambda: kinds(node, alloc).count("Started") == starts, "its starts")
    assert node.read(alloc, "web/local/conf") == value


async def test_a_task_that_ended_is_followed_no_more(node, server):
    server.set("db", a="1")
    alloc, job = work(Template(embedded_tmpl=SHOW_A))
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    node.host.update(alloc.changed(desired_status=DesiredStatus.STOP), job)
    await node.reach(alloc, ClientStatus.COMPLETE)
    asked = len(server.asked)
    server.set("db", a="2")
    await asyncio.sleep(0.1)
    assert len(server.asked) == asked
