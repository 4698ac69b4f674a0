"""Pages of usage: what the agents tell, drawn; what they do not tell, said."""

import re
from contextlib import contextmanager

import msgspec
import pytest
from msgspec.structs import replace

from cluster.operations.agent_calls import LINKS
from cluster.operations.usage_rows import AllocationRows, Columns, NodeRows, SumRows, Sums
from cluster.runtime.clock import SystemClock
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.resources import (
    AllocatedCpu,
    AllocatedMemory,
    AllocatedResources,
    AllocatedTaskResources,
)
from tests.builders import SOME_MOMENT, make_allocation, make_job

MIB = 1 << 20
SECOND = 1_000_000_000
END = 1_750_000_000
AT = tuple(range(END - 600, END + 10, 10))
ROWS = Columns(
    at=AT,
    cpu_ticks=(None, *(float(100 + number) for number in range(60))),
    memory_bytes=tuple(200 * MIB + number for number in range(61)),
    throttled_percent=(None, *(0.5 for _ in range(60))),
)


class Agent:
    def __init__(self, told):
        self.told = told

    async def call(self, _node_id, verb, _body, _given=None):
        yield msgspec.json.encode(self.told.get(verb, {}))


@contextmanager
def connected(node, **told):
    agent = Agent({verb.replace("_", "."): rows for verb, rows in told.items()})
    LINKS.add((node.id,), agent)
    yield
    LINKS.remove(agent)


@pytest.fixture
def alloc(store, node):
    held = AllocatedTaskResources(
        cpu=AllocatedCpu(cpu_shares=300), memory=AllocatedMemory(memory_mb=256)
    )

    def fill(change):
        job = write_job(change, make_job(id="web"))
        alloc = make_allocation(
            job, node_id=node.id, node_name=node.name, job_create_index=job.create_index,
            client_status=ClientStatus.RUNNING,
            allocated_resources=AllocatedResources(tasks={"web": held}),
        )  # fmt: skip
        put_found(change, replace(alloc, create_index=change.index, modify_index=change.index))
        return alloc

    return store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)[1]


def rows_of(alloc, **tasks):
    return AllocationRows(
        alloc_id=alloc.id, since=(END - 300) * SECOND, now=END * SECOND, tasks=tasks
    )


def test_what_an_allocation_uses_is_drawn_with_what_is_reserved(browser, node, alloc):
    with connected(node, alloc_usage=rows_of(alloc, web=ROWS)):
        text = browser.get(f"/allocations/{alloc.id}/usage/").text
    assert "CPU, 159\N{NO-BREAK SPACE}MHz" in text
    assert "of 300\N{NO-BREAK SPACE}MHz reserved; held back 0.5 % of the time" in text
    assert "Memory, 200\N{NO-BREAK SPACE}MiB" in text
    assert "of 256\N{NO-BREAK SPACE}MiB reserved" in text
    assert len(re.findall(r'<path class="line" d="M[^"]', text)) >= 2
    assert "Nothing before" in text
    assert text.count("<tr>") == 1 + 16


def test_what_each_task_used_last_is_there_for_the_table_of_tasks(browser, node, alloc):
    unknown = Columns(at=AT, cpu_ticks=(None,) * len(AT), memory_bytes=(MIB + 1,) * len(AT))
    with connected(node, alloc_usage=rows_of(alloc, web=ROWS, side=unknown)):
        text = browser.get(f"/allocations/{alloc.id}/usage/", part="1", task="side").text
    told = re.findall(r'data-used="([^"]+)">([^<]+)<', text)
    assert told == [("memory side", "2"), ("cpu web", "159"), ("memory web", "201")]


def check(status, **fields):
    return {
        "Check": "alive", "Service": "web-http", "Status": status, "Mode": "healthiness",
        "Timestamp": END, **fields,
    }  # fmt: skip


def test_what_the_checks_found_stands_below_those_that_fail_first(browser, node, alloc):
    found = {
        "a": check("success", StatusCode=200, Output="nomad: http ok"),
        "b": check("failure", Check="missing", StatusCode=404, Output="<html>never</html>"),
        "c": check("failure", Check="port", Mode="readiness", Output="dial: refused\nmore"),
        "d": check("pending", Check="slow", Output="nomad: waiting to run", Task="side"),
    }
    usage = rows_of(alloc, web=ROWS)
    with connected(node, alloc_usage=usage, alloc_checks=found):
        text = browser.get(f"/allocations/{alloc.id}/usage/", part="1").text
    assert text.startswith('<div class="stack" id="usage"')
    assert "1 of 4 pass" in text
    checks = text[text.index('id="checks-title"') :]
    names = re.findall(r'<th scope="row">(\w+)', checks)
    assert names == ["missing", "port", "slow", "alive"]
    assert "answered 404" in checks
    assert "never" not in checks
    assert "dial: refused" in checks
    assert "more" not in checks
    assert "waiting to run" not in checks
    assert "of web-http, task side" in checks
    assert checks.count("has to pass before the allocation counts as healthy") == 3
    assert checks.count("says only whether it takes requests") == 1


@pytest.mark.parametrize("found", [{}, [], {"a": {"Check": 1}}])
def test_no_checks_or_no_word_of_them_leave_no_panel(browser, node, alloc, found):
    with connected(node, alloc_usage=rows_of(alloc, web=ROWS), alloc_checks=found):
        text = browser.get(f"/allocations/{alloc.id}/usage/").text
    assert "checks-title" not in text
    assert "CPU, 159" in text


def test_one_of_several_tasks_can_be_looked_at(browser, node, alloc):
    both = rows_of(alloc, web=ROWS, side=ROWS)
    with connected(node, alloc_usage=both):
        every = browser.get(f"/allocations/{alloc.id}/usage/").text
        one = browser.get(f"/allocations/{alloc.id}/usage/", task="side", span="1h").text
    assert "CPU, 318\N{NO-BREAK SPACE}MHz" in every
    assert "CPU, 159\N{NO-BREAK SPACE}MHz" in one
    assert "task=side" in every


def test_the_panel_alone_is_asked_for_by_the_page(browser, node, alloc):
    with connected(node, alloc_usage=rows_of(alloc, web=ROWS)):
        text = browser.get(f"/allocations/{alloc.id}/usage/", part="1").text
    assert text.startswith('<section class="panel" id="usage"')
    page = browser.get(f"/allocations/{alloc.id}/").text
    assert f'data-usage="/allocations/{alloc.id}/usage/"' in page


def test_an_agent_that_is_away_is_said_and_nothing_is_drawn(browser, alloc, node):
    text = browser.get(f"/allocations/{alloc.id}/usage/").text
    assert f"Node {node.name} does not answer." in text
    assert 'data-usage-problem="away"' in text
    assert "<figure" not in text


def test_a_simulated_node_is_said(browser, node, alloc):
    with connected(node, alloc_usage=AllocationRows(alloc_id=alloc.id)):
        text = browser.get(f"/allocations/{alloc.id}/usage/").text
    assert "is simulated.</strong> Nothing runs for real, so nothing is measured." in text


def test_an_agent_that_has_no_row_yet_says_when_one_comes(browser, node, alloc):
    with connected(node, alloc_usage=rows_of(alloc)):
        text = browser.get(f"/allocations/{alloc.id}/usage/").text
    assert "Nothing was measured in this time.</strong> A row is noted each ten seconds" in text


def test_a_machine_is_drawn_against_the_whole_of_it(browser, node):
    told = NodeRows(since=1, now=END * SECOND, machine=ROWS)
    with connected(node, host_usage=told):
        text = browser.get(f"/nodes/{node.id}/usage/").text
    assert "What the machine uses" in text
    assert "Memory, 200\N{NO-BREAK SPACE}MiB" in text


def test_a_job_is_the_sum_of_what_runs_of_it(browser, node, alloc):
    # By the clock of the server: the nodes have one each.
    now = SystemClock().now() // SECOND
    sums = Sums(at=(now - 10,), cpu_ticks=(150.0,), memory_bytes=(MIB,), counted=(1,))
    told = SumRows(since=1, now=now * SECOND, sums=sums)
    with connected(node, allocs_usage=told):
        text = browser.get("/jobs/usage/", namespace="default", id="web").text
    assert "1 running allocation together" in text
    assert "of 300\N{NO-BREAK SPACE}MHz reserved" in text


def test_a_job_whose_node_is_away_says_so(browser, alloc):
    text = browser.get("/jobs/usage/", namespace="default", id="web").text
    assert "No node of this job answers." in text


def test_a_job_that_is_not_there_is_none(browser):
    assert browser.get("/jobs/usage/", namespace="default", id="none").status == 404
