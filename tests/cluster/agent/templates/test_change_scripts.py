"""Scripts that run inside a task when its templates change: ends, failures, time, first starts."""

import pytest

from scheduler.structs.allocation import ClientStatus
from scheduler.structs.task_group import ChangeScript, Template
from tests.cluster.agent.deadline import until
from tests.cluster.agent.templates.test_template_keeper import (
    HEARS,
    kinds,
    lines,
    node,
    server,
    work,
)

__all__ = ["node", "server"]
TEXT = '{{ with nomadVar "a" }}{{ .k }}{{ end }}'
SECOND = 1_000_000_000


def scripted(*args, command="/bin/sh", **options):
    script = ChangeScript(command=command, args=args, **options)
    return Template(embedded_tmpl=TEXT, change_mode="script", change_script=script)


async def begun(node, server, *templates):
    """A task that runs with what its templates gave first."""
    server.set("a", k="1")
    alloc, job = work(*templates, config=HEARS)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    return alloc


async def ended(node, alloc, kind):
    await until(lambda: kind in kinds(node, alloc), kind)
    return next(text for each, text in lines(node, alloc) if each == kind)


async def test_a_script_sees_the_new_file_and_the_variables_of_its_task(node, server):
    told = "echo $NOMAD_TASK_NAME $(cat local/conf) ${NOMAD_TASK_DIR} > local/told"
    alloc = await begun(node, server, scripted("-c", told))
    assert "Task hook message" not in kinds(node, alloc)
    server.set("a", k="2")
    text = await ended(node, alloc, "Task hook message")
    assert text.startswith("Template successfully ran script /bin/sh with arguments [-c echo ")
    assert text.endswith("Exit code: 0")
    directory = node.storage.directories(alloc.id).root / "web" / "local"
    assert node.read(alloc, "web/local/told") == f"web 2 {directory}\n"
    assert node.status(alloc) is ClientStatus.RUNNING


async def test_a_script_that_fails_is_told_and_the_task_goes_on(node, server):
    alloc = await begun(node, server, scripted("-c", "exit 3"))
    server.set("a", k="2")
    assert await ended(node, alloc, "Task hook failed") == (
        "Template ran script /bin/sh with arguments [-c exit 3] on change"
        " but it exited with code: 3"
    )
    assert node.status(alloc) is ClientStatus.RUNNING


async def test_a_script_that_must_not_fail_ends_the_task(node, server):
    alloc = await begun(node, server, scripted("-c", "exit 3", fail_on_error=True))
    server.set("a", k="2")
    await node.reach(alloc, ClientStatus.FAILED)
    assert ("Killing", "Template script failed, task is being killed") in lines(node, alloc)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (
            scripted(command="/nonexist"),
            "failed to start command: fork/exec /nonexist: no such file or directory",
        ),
        (scripted("-c", "sleep 600", timeout=SECOND // 10), "it took longer than 100ms"),
    ],
)
async def test_a_script_that_cannot_run_or_takes_too_long_says_why(node, server, template, why):
    alloc = await begun(node, server, template)
    server.set("a", k="2")
    text = await ended(node, alloc, "Task hook failed")
    assert text.startswith("Template failed to run script ")
    assert text.endswith(f"on change: {why}. Exit code: 0")


async def test_a_script_of_the_first_rendering_runs_once_the_task_has_begun(node, server):
    counted = scripted("-c", "echo once >> local/told", run_on_first_render=True)
    alloc = await begun(node, server, counted)
    await ended(node, alloc, "Task hook message")
    node.host.restart(alloc.id, "web", all_tasks=False)
    await until(lambda: kinds(node, alloc).count("Started") == 2)
    assert node.read(alloc, "web/local/told") == "once\n"
