"""What work uses, its files and its output in a browser; an agent that dies meanwhile."""

import re
import signal
from pathlib import Path

import httpx
import psutil
import pytest
from playwright.sync_api import expect

from tests.live.test_pages_accessible import findings
from tests.live.world import AgentProcess, job, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

#: Writes files of several kinds, then a line with its time each half second.
SCRIPT = r"""
mkdir -p local/certs; echo '<b>hello</b>' > local/app.toml; printf '\177ELF\0\0' > local/program
echo hidden > secrets/key; truncate -s 300M local/huge; echo first > local/grows
n=0; while :; do n=$((n+1)); w=ok; [ $((n % 5)) = 0 ] && w=retry
echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) request $n $w"; echo line $n >> local/grows; sleep 0.5; done
"""
ON_SECOND = [{"LTarget": "${node.unique.name}", "RTarget": "second", "Operand": "="}]
HUGE = 300 * 1024 * 1024


@pytest.fixture(scope="module")
def second(world):
    """Another real agent, which may die."""
    agent = AgentProcess(world.stack, "second")
    agent.start()
    # The node of an earlier journey, which may have left it drained.
    world.open(world.node("second"))
    yield agent
    agent.kill()
    kill_tasks_below(str(world.stack.data_dir / "second"))


@pytest.fixture(scope="module")
def alloc(world, second, visitor):
    """One that runs on it; the visitor is signed in."""
    visitor.sign_in(world)
    task = {"Config": {"command": "/bin/sh", "args": ["-c", SCRIPT]}}
    world.register(job("measured", task=task, Constraints=ON_SECOND))
    found = world.running("measured", 1)[0]
    until(lambda: "retry" in world.output(found["ID"]), "some output")
    yield found["ID"]
    world.purge("measured")


def test_what_is_used_is_drawn_live_and_stands_in_a_table(alloc, page, world):
    page.goto(f"/allocations/{alloc}/")
    panel = page.locator("#usage")
    # The first row is noted at the next full ten seconds, and the page asks as often.
    expect(panel.locator("figure")).to_have_count(2)
    expect(panel.locator("figcaption").first).to_contain_text(re.compile(r"CPU, [\d.]+.MHz"))
    panel.get_by_text("The same as a table").click()
    rows = panel.locator("tbody tr")
    before = rows.count()
    expect(rows).not_to_have_count(before)
    expect(panel.locator("details")).to_have_attribute("open", "")
    panel.get_by_role("link", name="1 h").click()
    expect(panel.get_by_role("link", name="1 h")).to_have_attribute("aria-current", "true")
    expect(panel.get_by_role("link", name="1 h")).to_be_focused()
    assert page.url.endswith(f"/allocations/{alloc}/")
    assert findings(page) == []
    told = world.get(f"client/allocation/{alloc}/usage")["Tasks"]["task"]
    assert told["MemoryBytes"][-1] > 0
    for path in ("/jobs/default/measured/", f"/nodes/{world.node('second')['ID']}/"):
        page.goto(path)
        expect(page.locator("#usage figure")).to_have_count(2)


def test_output_is_searched_while_it_is_followed_by_keyboard_too(alloc, page):
    page.goto(f"/allocations/{alloc}/")
    expect(page.locator("[data-logs-text]")).to_contain_text("request 15 retry")
    told = page.locator("[data-logs-found]")
    find = page.get_by_label("Find in the output")
    find.fill("RETRY")
    expect(told).to_have_text(re.compile(r"^(\d+) of \1 matches$"))
    find.press("Shift+Enter")
    count = int(told.inner_text().split()[2])
    # The next one may have come meanwhile.
    expect(told).to_have_text(re.compile(rf"^{count - 1} of \d+ matches$"))
    expect(told).to_have_text(re.compile(rf"of {count + 1} matches$"))
    find.press("Enter")
    expect(told).to_have_text(re.compile(rf"^{count} of \d+ matches$"))
    marked = "CSS.highlights.get('found').size"
    assert page.evaluate(marked) >= count
    find.fill("nobody wrote this")
    expect(told).to_have_text("not in what is shown")
    page.get_by_label("Go to the time").fill("00:00:01")
    page.get_by_label("Go to the time").press("Enter")
    expect(told).to_have_text(re.compile(r"^at \d\d:\d\d:\d\d$"))
    expect(page.get_by_label("Follow")).not_to_be_checked()
    find.fill("request 5 retry")
    page.get_by_role("button", name="Search all that is kept").click()
    expect(page.locator("mark")).to_have_text("request 5 retry")
    assert findings(page) == []
    with page.expect_download() as kept:
        page.get_by_role("link", name="Download").click()
    assert kept.value.suggested_filename == "task.stdout.log"
    assert Path(kept.value.path()).read_text().startswith("20")


def test_files_are_read_without_scripts_and_followed_with_them(alloc, page, visitor):
    page.goto(f"/allocations/{alloc}/")
    page.locator("#alloc-tabs").get_by_role("link", name="Files").click()
    for name in ("task", "local", "app.toml"):
        page.locator(".file-list").get_by_role("link", name=name).click()
    expect(page.locator(".file-text")).to_have_text("<b>hello</b>\n")
    assert findings(page) == []
    assert page.url.endswith(f"/allocations/{alloc}/#files-title"), "it stays beside the facts"
    page.get_by_role("link", name="On a page of its own").click()
    expect(page.locator(".file-text")).to_have_text("<b>hello</b>\n")
    assert findings(page) == []
    page.locator(".file-list").get_by_role("link", name="program").click()
    expect(page.get_by_text("This is no text")).to_be_visible()
    page.locator(".file-list").get_by_role("link", name="grows").click()
    page.get_by_role("button", name="Follow").click()
    log = page.locator("[data-logs-text]")
    expect(log).to_contain_text("first\n")
    shown = log.inner_text().count("line")
    expect(log).to_contain_text(f"line {shown + 3}")
    with visitor.forgiving("403", "secret"):
        page.goto(f"/allocations/{alloc}/files/?path=/task/secrets/key")
        expect(page.get_by_text("Reading secret file prohibited")).to_be_visible()
        assert findings(page) == []


def held_by_web(world):
    return psutil.Process(world.stack.pids["web"]).memory_info().rss


def cookies_of(visitor):
    return {each["name"]: each["value"] for each in visitor.context.cookies()}


def test_a_huge_file_is_kept_whole_and_costs_the_server_no_memory(alloc, world, visitor):
    before = held_by_web(world)
    path = f"/allocations/{alloc}/file?path=/task/local/huge"
    size = 0
    with (
        httpx.Client(base_url=world.stack.address, cookies=cookies_of(visitor)) as client,
        client.stream("GET", path, timeout=60) as answer,
    ):
        assert answer.headers["Content-Length"] == str(HUGE)
        for piece in answer.iter_raw():
            size += len(piece)
    assert size == HUGE
    assert held_by_web(world) - before < 64 * 1024 * 1024


def test_an_agent_that_dies_while_a_file_streams_is_noticed_and_said(
    alloc, world, second, page, visitor
):
    path = f"/allocations/{alloc}/file?path=/task/local/huge"
    with (
        httpx.Client(base_url=world.stack.address, cookies=cookies_of(visitor)) as client,
        client.stream("GET", path, timeout=30) as answer,
    ):
        pieces = answer.iter_raw()
        next(pieces)
        second.kill(signal.SIGKILL)
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            list(pieces)
    page.goto(f"/allocations/{alloc}/")
    expect(page.locator("#usage")).to_contain_text("Node second does not answer.")
    assert findings(page) == []
    page.goto(f"/allocations/{alloc}/files/")
    expect(page.get_by_text("Its node does not answer")).to_be_visible()
    second.start()
    node = world.node("second")
    page.goto(f"/nodes/{node['ID']}/usage/")
    expect(page.locator("#usage")).to_contain_text("the agent was started then")


#: Keeps what a browser would show, and whether it was asked for leave.
_NOTIFICATIONS = """
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = localStorage.getItem("leave") ?? "default";
  static async requestPermission() {
    localStorage.setItem("leave", "granted");
    return (Notification.permission = "granted");
  }
  constructor(title, options) { super(); window.shown.push([title, options.body, options.tag]); }
};
"""


def test_a_browser_tells_of_a_lost_node_once_it_was_allowed_by_a_click(
    world, second, alloc, page, visitor
):
    page.add_init_script(_NOTIFICATIONS)
    page.goto("/account/")
    panel = page.locator("[data-notices]")
    expect(panel.get_by_role("status")).to_have_text("off in this browser")
    assert page.evaluate("[Notification.permission, window.shown]") == ["default", []]
    panel.get_by_label("a node is lost").check()
    panel.get_by_role("button", name="Save").click()
    expect(page.locator("body")).to_contain_text("You are told of 1 kind of trouble.")
    assert findings(page) == []
    panel.get_by_role("button", name="Turn on in this browser").click()
    expect(panel.get_by_role("status")).to_contain_text("on in this browser")
    page.goto("/jobs/")
    second.kill()
    world.node("second", status="down")
    until(lambda: page.evaluate("window.shown.length"), "a notification", 40)
    shown = page.evaluate("window.shown")
    assert [each[0] for each in shown] == ["Node lost"]
    assert "second" in shown[0][1]
    other = visitor.context.new_page()
    other.goto("/nodes/")
    assert other.evaluate("window.shown ?? []") == []
    other.close()
    page.reload()
    page.wait_for_timeout(1500)
    assert page.evaluate("window.shown") == []
    second.start()
    world.node("second")
