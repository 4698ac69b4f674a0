"""A terminal inside a task, in a browser: typed, resized, left by keyboard, ended; and actions."""

import re

import pytest
from playwright.sync_api import expect

from tests.live.test_pages_accessible import findings
from tests.live.world import job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

GREET = {"Name": "greet", "Command": "/bin/sh", "Args": ["-c", "echo hello from $NOMAD_TASK_NAME"]}
ON_FIRST = [{"LTarget": "${node.unique.name}", "RTarget": "first", "Operand": "="}]


@pytest.fixture(scope="module")
def alloc(world, visitor):
    """One that runs; the visitor is signed in."""
    visitor.sign_in(world)
    world.open(world.node("first"))
    task = {"Config": {"command": "/bin/sleep", "args": ["600"]}, "Actions": [GREET]}
    world.register(job("entered", task=task, Constraints=ON_FIRST))
    yield world.running("entered", 1)[0]["ID"]
    world.purge("entered")


def test_a_shell_is_typed_into_resized_left_and_ended(alloc, page, world):
    page.goto(f"/allocations/{alloc}/")
    page.locator("#alloc-terminal").get_by_role("button", name="To the terminal").click()
    status, screen = page.locator("[data-terminal-status]"), page.locator(".xterm-rows")
    expect(status).to_have_text("not open")
    page.get_by_role("button", name="Open terminal").click()
    expect(status).to_have_text("open: /bin/sh in task")
    expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    page.keyboard.type("PS1=; echo in $NOMAD_TASK_NAME $((6 * 7)); stty size\n")
    expect(screen).to_contain_text("in task 42")
    # Colours of a program's own are set as properties: our policy takes no style attributes.
    page.keyboard.type(r"printf '\033[38;2;200;0;100m%s\033[0m\n' co''loured" + "\n")
    expect(screen.locator("span", has_text="coloured").last).to_have_css(
        "color", "rgb(200, 0, 100)"
    )
    expect(screen).to_contain_text(re.compile(r"24 \d+|2\d \d+"))
    before = page.evaluate("document.querySelectorAll('.xterm-rows > div').length")
    page.get_by_role("button", name="Larger").click()
    until(
        lambda: page.evaluate("document.querySelectorAll('.xterm-rows > div').length") > before,
        "more rows",
    )
    assert findings(page) == []
    page.keyboard.press("Control+Shift+Home")
    expect(page.get_by_label("Command")).to_be_focused()
    page.locator(".xterm-screen").click()
    page.keyboard.type("exit 3\n")
    expect(status).to_have_text(re.compile(r"ended after \d+ s: exit code 3"))
    page.goto("/audit/")
    expect(page.locator("tbody")).to_contain_text(re.compile(r"exit code 3 after [\d.]+ s"))
    expect(page.locator("tbody")).not_to_contain_text("echo in")


def test_an_action_is_run_from_the_jobs_page(alloc, page):
    page.goto("/jobs/default/entered/")
    page.get_by_role("link", name="Run greet").click()
    page.locator("[data-terminal-action=greet]").click()
    expect(page.locator(".xterm-rows")).to_contain_text("hello from task")
    expect(page.locator("[data-terminal-status]")).to_contain_text("exit code 0")


def test_a_terminal_ends_with_its_task(alloc, page, world):
    page.goto(f"/allocations/{alloc}/terminal/")
    page.get_by_role("button", name="Open terminal").click()
    status = page.locator("[data-terminal-status]")
    expect(status).to_have_text("open: /bin/sh in task")
    answer = world.api.put(f"/v1/client/allocation/{alloc}/restart", json={"TaskName": "task"})
    assert answer.is_success
    expect(status).to_contain_text("exit code 137")
