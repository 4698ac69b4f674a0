"""Canaries beside what runs of earlier versions: what is measured, counted, or not known."""

import re
from contextlib import contextmanager

import msgspec
import pytest
from msgspec.structs import replace

from cluster.operations.agent_calls import LINKS
from cluster.operations.usage_rows import SumRows, Used
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus, DesiredStatus, TaskState
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.resources import (
    AllocatedMemory,
    AllocatedResources,
    AllocatedTaskResources,
)
from scheduler.structs.service import Check, Service
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_task_group
from tests.dashboard.views.test_deployments import flushed
from tests.dashboard.views.test_usage import check

MIB = 1 << 20
PAGE = "/deployments/d/compared/"
PASSES, FAILS = {"a": check("success")}, {"a": check("failure")}
OLD, CANARIES = ("old-0", "old-1", "old-2"), ("new-0", "new-1")
USED = {
    "old-0": Used(cpu_ticks=300.0, memory_bytes=380 * MIB),
    "old-1": Used(cpu_ticks=310.0, memory_bytes=402 * MIB),
    "old-2": Used(cpu_ticks=900.0, memory_bytes=390 * MIB),
    "new-0": Used(cpu_ticks=330.0, memory_bytes=440 * MIB),
    "new-1": Used(cpu_ticks=346.0, memory_bytes=447 * MIB),
}


class Agent:
    """Tells of the allocations that it is asked about."""

    def __init__(self, used, checks, since):
        self.used, self.checks, self.since = used, checks, since
        self.asked = {}

    async def call(self, _node_id, verb, body, _given=None):
        self.asked[verb] = body
        ids = body["AllocIDs"]
        if verb == "allocs.checks":
            yield msgspec.json.encode({key: self.checks.get(key, {}) for key in ids})
        else:
            each = {key: self.used[key] for key in ids if key in self.used}
            yield msgspec.json.encode(SumRows(since=self.since, each=each))


@contextmanager
def connected(node, used=USED, checks=(), *, since=1):
    agent = Agent(dict(used), dict(checks), since)
    LINKS.add((node.id,), agent)
    yield agent
    LINKS.remove(agent)


@pytest.fixture
def place(store, node):
    """A rollout of `web` v1 with two canaries in each group, beside three of v0."""

    def place(*, groups=("web",), restarts=(), version=0, limit=512, **changed):
        rollout = Deployment(
            id="d", job_id="web", job_version=1,
            task_groups={group: canaries_of(named(group, groups)) for group in groups},
        )  # fmt: skip
        held = AllocatedTaskResources(memory=AllocatedMemory(memory_mb=limit))

        def fill(change):
            checks = (Service(name="http", provider="nomad", checks=(Check(name="alive"),)),)
            wanted = make_job(
                id="web",
                task_groups=tuple(make_task_group(name=each, services=checks) for each in groups),
            )
            job = write_job(change, wanted)
            for group in groups:
                for name in (*OLD, *CANARIES):
                    is_new = name in CANARIES
                    put_found(
                        change,
                        make_allocation(
                            job, id=named(group, groups) + name, task_group=group,
                            name=f"web.{group}[0]", node_id=node.id, node_name=node.name,
                            job_create_index=job.create_index, job_version=int(is_new),
                            deployment_id="d" if is_new else "", client_status=RUNS,
                            task_states={"t": TaskState(restarts=dict(restarts).get(name, 0))},
                            allocated_resources=AllocatedResources(tasks={"t": held}),
                        ),
                    )  # fmt: skip
            put_found(change, replace(rollout, job_create_index=job.create_index, **changed))

        store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)

    return place


RUNS = ClientStatus.RUNNING


def named(group, groups):
    """What the ids of a group's allocations begin with."""
    return f"{group}-" if len(groups) > 1 else ""


def canaries_of(prefix, **changed):
    wanted = GroupRollout(
        desired_canaries=2, desired_total=3, placed_canaries=[prefix + name for name in CANARIES]
    )
    return replace(wanted, **changed)


def end(store, *ids):
    """As when their nodes say that they are over."""

    def fill(change):
        for key in ids:
            alloc = change.allocation(key)
            put_found(
                change,
                replace(
                    alloc, client_status=ClientStatus.COMPLETE, desired_status=DesiredStatus.STOP
                ),
            )

    store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)


def told(answer):
    """Each row: measure, the others, the canaries, the difference."""
    return [
        (line.name, *(each.replace("\N{NO-BREAK SPACE}", " ") for each in (line.old, line.new)),
         line.told.replace("\N{NO-BREAK SPACE}", " "))
        for line in answer.context["lines"]
    ]  # fmt: skip


def sentence(answer):
    return answer.context["told"].replace("\N{NO-BREAK SPACE}", " ")


def test_canaries_stand_beside_the_others_measure_by_measure(browser, node, place):
    place(restarts={"old-1": 3})
    with connected(node, checks=dict.fromkeys((*OLD, *CANARIES), PASSES)) as agent:
        answer = browser.get(PAGE)
    assert told(answer) == [
        ("Checks that fail now", "0", "0", "none"),
        ("Restarts", "3 in 3", "0 in 2", "none of a canary"),
        ("CPU, median", "310 MHz", "338 MHz", "9 % more"),
        ("Memory, highest", "402 MiB", "447 MiB", "11 % more; at most 512 MiB allowed"),
    ]
    said = "no check fails on a canary; 11 % more memory, 65.0 MiB below what is allowed"
    assert sentence(answer) == said
    assert ">v0, 3</th>" in answer.text
    assert "canaries of v1, 2</th>" in answer.text
    assert (
        "data-state=" not in answer.text[answer.text.index("<tbody>") :].partition("</table>")[0]
    )
    assert agent.asked["allocs.usage"]["EachOver"] == 600
    # Canaries first: beyond the most that are asked, others are left out.
    assert agent.asked["allocs.usage"]["AllocIDs"][:2] == [*CANARIES]


@pytest.mark.parametrize(
    ("failing", "row", "said"),
    [
        pytest.param(
            ("new-0", "new-1"), ("0", "2", "on canaries alone"), "2 checks fail on canaries",
            id="canaries",
        ),
        pytest.param(
            ("old-0", "new-1"), ("1", "1", "on both"), "1 check fails on a canary", id="both"
        ),
        pytest.param(
            ("old-0",), ("1", "0", "none on a canary"), "no check fails on a canary", id="others"
        ),
    ],
)  # fmt: skip
def test_checks_that_fail_say_on_which_side(browser, node, place, failing, row, said):
    place()
    found = dict.fromkeys((*OLD, *CANARIES), PASSES) | dict.fromkeys(failing, FAILS)
    with connected(node, checks=found):
        answer = browser.get(PAGE)
    assert told(answer)[0] == ("Checks that fail now", *row)
    assert answer.context["lines"][0].tone == ("failed" if row[1] != "0" else "")
    assert sentence(answer).startswith(f"{said}; ")


@pytest.mark.parametrize(
    ("checks", "rows", "said"),
    [
        pytest.param({}, [], "what their checks found is not known; ", id="none-begun"),
        pytest.param(
            {"old-0": PASSES}, [("Checks that fail now", "0", "not known", "not known")],
            "what their checks found is not known; ", id="not-of-canaries",
        ),
    ],
)  # fmt: skip
def test_a_check_that_was_not_begun_does_not_pass(browser, node, place, checks, rows, said):
    place()
    with connected(node, checks=checks):
        answer = browser.get(PAGE)
    assert [line for line in told(answer) if line[0].startswith("Checks")] == rows
    assert sentence(answer).startswith(said)


@pytest.mark.parametrize(
    ("restarts", "row", "tone"),
    [
        pytest.param({}, ("0 in 3", "0 in 2", "none"), "", id="none"),
        pytest.param({"new-0": 1}, ("0 in 3", "1 in 2", "more for each"), "failed", id="more"),
        pytest.param(
            {"old-0": 3, "new-0": 1}, ("3 in 3", "1 in 2", "fewer for each"), "", id="fewer"
        ),
        pytest.param(
            {"old-0": 3, "new-0": 2}, ("3 in 3", "2 in 2", "as many for each"), "", id="as-many"
        ),
    ],
)  # fmt: skip
def test_restarts_are_weighed_by_how_many_run(browser, node, place, restarts, row, tone):
    place(restarts=restarts)
    with connected(node):
        answer = browser.get(PAGE)
    (line,) = (line for line in answer.context["lines"] if line.name == "Restarts")
    assert (line.old, line.new, line.told, line.tone) == (*row, tone)


@pytest.mark.parametrize(
    ("limit", "tone", "said"),
    [
        pytest.param(512, "", "11 % more memory, 65.0 MiB below what is allowed", id="far"),
        pytest.param(460, "failed", "11 % more memory, 13.0 MiB below what is allowed", id="near"),
        pytest.param(
            440, "failed", "11 % more memory, 7.0 MiB above what is allowed", id="beyond"
        ),
    ],
)
def test_memory_near_its_limit_is_marked(browser, node, place, limit, tone, said):
    place(limit=limit)
    with connected(node):
        answer = browser.get(PAGE)
    assert answer.context["lines"][-1].tone == tone
    assert sentence(answer).partition("; ")[2] == said


@pytest.mark.parametrize(
    ("memory", "cpu", "apart"),
    [
        pytest.param(402 * MIB, 310.0, ("the same", "the same"), id="same"),
        pytest.param(201 * MIB, 155.0, ("50 % less", "50 % less"), id="less"),
        pytest.param(402 * MIB, None, ("not known", "the same"), id="one-look"),
    ],
)
def test_how_far_they_are_apart_is_a_share(browser, node, place, memory, cpu, apart):
    place()
    canary = Used(cpu_ticks=cpu, memory_bytes=memory)
    with connected(node, USED | dict.fromkeys(CANARIES, canary)):
        answer = browser.get(PAGE)
    assert [line[3].partition(";")[0] for line in told(answer)[-2:]] == [*apart]


def test_of_several_groups_the_sentence_tells_of_the_one_nearest_to_its_limit(
    browser, node, place
):
    place(groups=("api", "web"))
    used = {f"{group}-{name}": each for group in ("api", "web") for name, each in USED.items()}
    used["api-new-1"] = Used(cpu_ticks=1.0, memory_bytes=500 * MIB)
    with connected(node, used):
        answer = browser.get(PAGE)
    assert [line.group for line in answer.context["lines"]] == ["api"] * 3 + ["web"] * 3
    assert "api: 24 % more memory, 12.0 MiB below" in sentence(answer)
    assert '<th scope="col">Group</th>' in answer.text


def test_nodes_that_do_not_answer_or_measure_nothing_are_told(browser, node, place):
    place()
    answer = browser.get(PAGE)
    assert f"5 allocations left out: {node.name} does not answer." in answer.text
    assert sentence(answer) == "what they use is not known"
    assert told(answer)[-1][1:3] == ("not known", "not known")
    with connected(node, {}, since=0):
        answer = browser.get(PAGE)
    assert "5 allocations on simulated nodes left out: nothing is measured there." in answer.text


def test_without_anything_to_compare_it_says_why(browser, node, store, place):
    place()
    end(store, *OLD)
    with connected(node):
        answer = browser.get(PAGE)
        assert "Nothing of an earlier version runs to compare them with." in answer.text
        end(store, *CANARIES)
        assert "No canary runs that is not promoted" in browser.get(PAGE).text


def test_the_panel_alone_is_asked_for_by_the_page_of_the_rollout(browser, node, place):
    place()
    assert f'data-usage="{PAGE}"' in browser.get("/deployments/d/").text
    with connected(node):
        text = browser.get(PAGE, part="1").text
    assert text.startswith('<section class="panel" id="compared"')
    assert re.search(r'id="compared"[^>]* data-usage-span=""', text)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"status": DeploymentStatus.FAILED}, id="over"),
        pytest.param({"task_groups": {"web": canaries_of("", promoted=True)}}, id="promoted"),
        pytest.param({"task_groups": {"web": GroupRollout(desired_total=3)}}, id="no-canaries"),
    ],
)
def test_a_rollout_without_canaries_to_judge_has_no_place_for_them(browser, place, changed):
    place(**changed)
    page = browser.get("/deployments/d/").text
    assert PAGE not in page
    assert 'id="deployment-compared" hidden' in page
    assert "No canary runs that is not promoted" in browser.get(PAGE).text


def test_an_open_page_loses_the_panel_with_the_promotion(store, place):
    place()
    feed = feed_for(Subscription("deployment", "d", frozenset({"default"}), frozenset()))
    store.read(feed.load)

    def promote(change):
        groups = {"web": canaries_of("", promoted=True)}
        put_found(change, replace(change.deployment("d"), task_groups=groups))

    store.write(WriteKind.PLAN_RESULT, promote, now=SOME_MOMENT)
    place_told = flushed(store, feed)["deployment-compared"]
    assert "hidden" in place_told
    assert PAGE not in place_told


def test_who_may_not_look_is_told_of_no_rollout(browser):
    assert browser.get("/deployments/none/compared/").status == 404
