"""The page of terminals, the way to it, and the actions of a job's page."""

import re

import pytest
from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus, TaskState
from scheduler.structs.resources import TaskLifecycle
from scheduler.structs.task_group import Action
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_task, make_task_group
from tests.dashboard.views.conftest import Browser
from tests.people import account_with

GREET = Action(name="greet", command="/bin/echo", args=("hello", "you"))
RUNS = TaskState(state="running")


@pytest.fixture
def alloc(store, node):
    return stored(store, node, main=RUNS, raw=RUNS, done=TaskState(state="dead"))


def stored(store, node, **states):
    def fill(change):
        tasks = (
            make_task(name="main", driver="exec", actions=(GREET,)),
            make_task(name="raw", driver="raw_exec", actions=(replace(GREET, name="shout"),)),
            make_task(name="done", driver="exec"),
        )
        job = write_job(change, make_job(task_groups=(make_task_group(tasks=tasks),)))
        alloc = make_allocation(
            job, node_id=node.id, job_create_index=job.create_index, task_states=states,
            client_status=ClientStatus.RUNNING,
        )  # fmt: skip
        put_found(change, replace(alloc, create_index=change.index, modify_index=change.index))
        return alloc

    return store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)[1]


def plain(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text))


def test_the_page_offers_tasks_that_run_and_the_shell(browser, alloc):
    answer = browser.get(f"/allocations/{alloc.id}/terminal/")
    assert answer.status == 200
    assert 'value="main" selected' in re.sub(r"\s+", " ", answer.text)
    assert "done (does not run)" in plain(answer)
    assert 'value="/bin/sh"' in answer.text
    assert f'data-terminal="/allocations/{alloc.id}/terminal/socket"' in answer.text
    assert re.search(r"style-src 'self' 'nonce-", answer.headers["Content-Security-Policy"])


def test_an_action_is_chosen_and_not_run_by_its_address(browser, alloc):
    answer = browser.get(f"/allocations/{alloc.id}/terminal/", task="main", action="greet")
    [button] = re.findall(r"<button[^>]*data-terminal-action=\"greet\"[^>]*>", answer.text)
    assert "button-primary" in button
    assert 'title="/bin/echo hello you"' in button


def test_other_pages_keep_the_policy_without_a_nonce(browser, alloc):
    answer = browser.get(f"/allocations/{alloc.id}/")
    assert "nonce" not in answer.headers["Content-Security-Policy"]
    assert f"/allocations/{alloc.id}/terminal/" in answer.text


def panel(browser, alloc):
    """The terminal's place on the page of the allocation."""
    page = browser.get(f"/allocations/{alloc.id}/").text
    return page.partition('id="alloc-terminal"')[2].partition("</section>")[0]


def test_the_page_of_the_allocation_leads_to_a_terminal_by_a_form(browser, alloc):
    place = panel(browser, alloc)
    assert "2 of 3 tasks can be entered" in place
    assert f'action="/allocations/{alloc.id}/terminal/"' in place
    assert '<option value="main" selected>' in place
    assert '<option value="done" disabled>' in place
    assert f"/allocations/{alloc.id}/terminal/?task=main&amp;action=greet" in place
    assert "data-nonce" not in place
    led = browser.get(f"/allocations/{alloc.id}/terminal/", task="raw", command="/bin/date")
    assert '<option value="raw" selected>' in led.text
    assert 'value="/bin/date"' in led.text


def test_main_tasks_are_offered_before_those_beside_them(browser, store, node):
    def fill(change):
        beside = TaskLifecycle(hook="prestart", sidecar=True)
        tasks = (make_task(name="side", lifecycle=beside), make_task(name="main"))
        job = write_job(change, make_job(task_groups=(make_task_group(tasks=tasks),)))
        alloc = make_allocation(
            job, node_id=node.id, job_create_index=job.create_index,
            task_states={"side": RUNS, "main": RUNS}, client_status=ClientStatus.RUNNING,
        )  # fmt: skip
        put_found(change, alloc)
        return alloc

    alloc = store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)[1]
    assert '<option value="main" selected>' in panel(browser, alloc)


def test_where_no_task_runs_there_is_nothing_to_enter(browser, store, node):
    dead = TaskState(state="dead")
    place = panel(browser, stored(store, node, main=dead, raw=dead, done=dead))
    assert "no task of it runs" in place
    assert "<form" not in place


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        pytest.param("read", "alloc-exec", id="may-look"),
        pytest.param(
            "write", "to enter a task needs alloc-node-exec in namespace default", id="not-on-host"
        ),
    ],
)
def test_who_may_enter_none_is_told_the_right(store, node, policy, told):
    alloc = stored(store, node, raw=RUNS)
    somebody = Browser(account_with(store, f'namespace "default" {{ policy = "{policy}" }}'))
    place = panel(somebody, alloc)
    assert told in place
    assert "<form" not in place


def test_without_isolation_another_right_is_asked_for(store, node, alloc):
    somebody = Browser(account_with(store, 'namespace "default" { policy = "write" }'))
    told = plain(somebody.get(f"/allocations/{alloc.id}/terminal/"))
    assert "raw (needs alloc-node-exec in namespace default)" in told
    assert "You may not enter raw. Its driver raw_exec has no isolation" in told
    assert "shout" not in told


def test_a_job_lists_what_its_tasks_offer(browser, alloc):
    answer = browser.get("/jobs/default/web/")
    assert "/bin/echo hello you" in answer.text
    assert f"/allocations/{alloc.id}/terminal/?task=main&amp;action=greet" in answer.text


def test_an_action_of_a_task_that_does_not_run_says_so(browser, store, node):
    stored(store, node, main=TaskState(state="dead"), raw=RUNS, done=RUNS)
    assert "no task of it runs" in plain(browser.get("/jobs/default/web/"))


def test_nothing_is_there_for_who_may_not_see_it(browser, alloc):
    assert browser.get("/allocations/none/terminal/").status == 404
