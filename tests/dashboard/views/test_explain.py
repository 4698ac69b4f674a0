"""The page that explains a group: every node then and now, why not there, two beside another."""

import html
import re

import pytest
from msgspec.structs import replace

from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from dashboard.wording import clock_time
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.explanations import write_explanations
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import DesiredStatus
from scheduler.structs.evaluation import (
    Cause,
    CauseKind,
    EvalStatus,
    EvalTrigger,
    LifecycleStep,
    Step,
)
from scheduler.structs.explanation import (
    AskedAmounts,
    GroupExplanation,
    RefusedNodes,
    RunEnd,
    Shortfall,
    StoredExplanation,
    pack,
)
from scheduler.structs.job import Job
from scheduler.structs.node import NodeEligibility
from scheduler.structs.story import Story, StoryKind
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job
from tests.dashboard.views.conftest import Browser
from tests.people import account_with
from tests.scheduler.engine.scene import group_of, plain_node

FULL = plain_node(1, 4000, 1000, name="full")
NEAR = plain_node(2, 4000, 1800, name="near")
CLOSED = plain_node(
    3, 4000, 8000, name="closed", scheduling_eligibility=NodeEligibility.INELIGIBLE
)
AWAY = plain_node(4, 4000, 8000, name="away", datacenter="dc9")
NODES = (FULL, NEAR, CLOSED, AWAY)
JOB = make_job(task_groups=(group_of(500, 2048, count=3),), datacenters=("dc1",))
LOOKS = 'namespace "default" { capabilities = ["read-job"] }'
NODES_TOO = ' node { policy = "read" }'
SKIPPED = "\N{EN DASH}"
ASKS = AskedAmounts(cpu=500, memory_mb=2048, disk_mb=300)
WAITS = GroupExplanation(
    task_group="web",
    candidates=2,
    exhausted=(
        Shortfall(dimension="memory", count=2, node_ids=(NEAR.id, FULL.id), missing=(312, 1048)),
    ),
    not_asked=(
        RefusedNodes(check="datacenter", reason="in another datacenter", count=1),
        RefusedNodes(check="ready", reason="not eligible", count=1, node_ids=(CLOSED.id,)),
    ),
    asks=ASKS,
    failed=3,
)
EVALUATION = make_evaluation(
    1,
    status=EvalStatus.COMPLETE,
    create_index=2,
    failed_task_groups={"web": AllocMetric(nodes_evaluated=2, coalesced_failures=2)},
)


def stored(evaluation, group, ended=RunEnd.WAITS):
    return StoredExplanation(
        eval_id=evaluation.id,
        task_group=group.task_group,
        namespace=evaluation.namespace,
        job_id=evaluation.job_id,
        ended=ended,
        packed=pack(group),
    )


def write(store, *rows, explained=()):
    def work(change):
        for row in rows:
            if isinstance(row, Job):
                change.put_job(row)
            else:
                put_found(change, row)
        write_explanations(change, explained)

    return store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)[0]


@pytest.fixture
def waiting(store):
    def work(change):
        for node in NODES:
            put_found(change, node)
        change.put_job(JOB)
        put_found(change, EVALUATION)
        write_explanations(change, [stored(EVALUATION, WAITS)])

    store.write(WriteKind.JOB_REGISTERED, work, now=SOME_MOMENT)
    return store


def said(text):
    plain = html.unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))
    return plain.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def part(text, name):
    start = text.index(f'id="{name}"')
    return text[start : text.index("</section>", start)]


def open_page(browser, query="", evaluation=EVALUATION):
    answer = browser.get(f"/explain/{evaluation.id}/{query}")
    assert answer.status == 200
    return answer.text


def row_of(text, name):
    """The cells of a node's row, in words."""
    row = next(
        row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if f">{name}</a>" in row
    )
    return [said(cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)]


def test_it_says_how_many_wait_what_kept_each_node_out_and_who_came_near(waiting, browser):
    text = open_page(browser)
    told = said(text)
    assert "Why does web wait? 3 wait" in told
    assert "No node has room for one more: 3 allocations wait." in told
    assert "Of 4 nodes 2 have no room and 2 were not asked." in told
    assert "The nearest, near, lacked 312 MiB of memory." in told
    assert "asks 500 MHz, 2 048 MiB, 300 MiB disk" in told
    assert "kept as the newest run" in told
    table = part(text, "explain-then")
    assert "4 nodes: 2 + 2" in said(table)
    assert row_of(table, "near") == [
        *["passed"] * 7, "passed", "short 312", SKIPPED, "memory: short by 312 MiB nearest",
    ]  # fmt: skip
    assert row_of(table, "closed")[:3] == ["passed", "not eligible", SKIPPED]
    assert "No room now · 2 nodes" in said(table)


def test_against_now_each_node_says_what_is_different(waiting, browser):
    roomier = replace(
        NEAR,
        node_resources=replace(
            NEAR.node_resources, memory=replace(NEAR.node_resources.memory, memory_mb=1900)
        ),
    )
    write(waiting, roomier, replace(CLOSED, scheduling_eligibility=NodeEligibility.ELIGIBLE))
    table = part(open_page(browser, "?view=both"), "explain-now")
    assert row_of(table, "near")[-1] == "short 148 164 less"
    assert row_of(table, "full")[-1] == "short 1 048 same"
    assert row_of(table, "closed")[-1] == "has room takes one more"
    alone = part(open_page(browser, "?view=now"), "explain-now")
    assert "Room for one more · 1 node" in said(alone)
    assert row_of(alone, "near")[7:9] == ["4 000 free", "short 148"]


@pytest.mark.parametrize(
    ("node", "told"),
    [
        pytest.param("full", "full was asked and lacked 1 048 MiB of memory. Now it is the same.",
                     id="same"),
        pytest.param("closed", "closed was not asked: not eligible. Now it is the same.",
                     id="closed"),
        pytest.param("away", "away is not asked: in another datacenter. What kept it out then was"
                     " not kept.", id="away"),
        pytest.param("nobody", "No node is called nobody.", id="unknown"),
        pytest.param("ful", "No node is called ful. Perhaps full?", id="almost"),
    ],
)  # fmt: skip
def test_why_not_there_names_the_first_check_that_failed(waiting, browser, node, told):
    panel = said(part(open_page(browser, f"?node={node}"), "why-not"))
    assert told in panel.replace(" .", ".")


def test_why_not_there_lists_every_check_with_what_is_free(waiting, browser):
    panel = said(part(open_page(browser, "?node=full"), "why-not"))
    assert "Ready, eligible ready, eligible" in panel
    assert "CPU 4 000 MHz free, asks 500" in panel
    assert "Memory 1 000 MiB free, asks 2 048" in panel
    assert "It passes 12 checks before that and all that follow." in panel


def test_two_evaluations_stand_beside_each_other_the_better_value_strong(waiting, browser):
    other = make_evaluation(2, status=EvalStatus.COMPLETE, create_index=2)
    whole = replace(WAITS, candidates=2, with_room=2, exhausted=(), failed=0)
    write(waiting, other, explained=[stored(other, whole, RunEnd.PLACED)])
    text = part(open_page(browser), "beside")
    panel = said(text)
    assert "Nodes with room 2 0" in panel
    assert '<span class="better">2</span>' in text
    assert "No room 0 2" in panel
    assert "2 + 0 + 0 + 2 = 4; 0 + 2 + 0 + 2 = 4" in panel


def test_what_would_unblock_it_is_asked_on_demand_the_best_with_its_button(waiting, browser):
    other = make_job(id="other", task_groups=(group_of(100, 800),))
    larger = plain_node(2, 4000, 2600, name="near")
    write(waiting, larger, make_allocation(other, number=9, node_id=NEAR.id))
    assert "Ask" in said(part(open_page(browser), "unblock"))
    text = part(open_page(browser, "?unblock=1"), "unblock")
    panel = said(text)
    assert "1 Set closed eligible free there: 8 000 MiB of memory, 4 000 MHz of CPU" in panel
    assert "3 of 3 fit Set eligible" in panel
    assert "2 Allow datacenter dc9 as well 1 more node would be asked 3 of 3 fit Edit job" in panel
    assert f'action="/nodes/{CLOSED.id}/eligibility"' in text
    assert "Free 248 MiB of memory on near" in panel
    assert "1 of 3 fits" in panel


def test_what_a_viewer_may_not_do_or_see_is_not_offered(waiting, store):
    looker = account_with(store, LOOKS, "looker")
    text = open_page(Browser(looker), "?unblock=1&view=both&node=near")
    assert "Set closed eligible" not in text
    assert "node:read" in said(text)
    both = account_with(store, LOOKS + NODES_TOO)
    text = part(open_page(Browser(both), "?unblock=1"), "unblock")
    assert "Set closed eligible" in said(text)
    assert "<form" not in text
    assert "Edit job" not in said(text)
    assert "Copy text" in said(text)


def test_names_of_jobs_in_hidden_namespaces_stay_hidden(waiting, store):
    secret = make_job(id="secret-job", namespace="hidden")
    alloc = make_allocation(secret, number=5, node_id=FULL.id, name="secret-job.web[0]")
    write(store, alloc)
    both = account_with(store, LOOKS + NODES_TOO)
    text = open_page(Browser(both), "?unblock=1&view=both&node=full")
    assert "secret" not in text
    assert alloc.id not in text


def test_what_let_it_run_again_is_told(waiting, store, browser):
    blocked = make_evaluation(
        2, status=EvalStatus.BLOCKED, triggered_by=EvalTrigger.QUEUED_ALLOCS, create_index=2
    )

    def freed(change):
        put_found(change, blocked)
        put_found(change, replace(EVALUATION, blocked_eval=blocked.id))
        step = LifecycleStep(
            eval_id=blocked.id,
            number=2,
            step=Step.UNBLOCKED,
            at=SOME_MOMENT,
            reason="node held was set eligible",
        )
        change.put(LIFECYCLE_STEPS, step)

    store.write(WriteKind.EVALUATION_UPDATED, freed, now=SOME_MOMENT)
    told = f"Looked again at {clock_time(SOME_MOMENT)}: node held was set eligible."
    assert told in said(open_page(browser))
    assert told in said(open_page(browser, evaluation=blocked))
    assert "That was part of" not in said(open_page(browser))


@pytest.mark.parametrize(
    ("namespace", "title"), [("default", "Stop of high"), ("hidden", "story")]
)
def test_whose_room_let_it_run_again_is_told_with_its_story(
    waiting, store, browser, namespace, title
):
    high = make_job(id="high", namespace=namespace)
    gone = make_allocation(high, number=7, node_id=FULL.id, desired_status=DesiredStatus.STOP)
    story = Story(
        id="aaaaaaaa-0000-0000-0000-000000000009", kind=StoryKind.STOP, namespace=namespace,
        job_id="high", create_index=3, create_time=SOME_MOMENT,
    )  # fmt: skip
    blocked = make_evaluation(
        2, status=EvalStatus.BLOCKED, triggered_by=EvalTrigger.QUEUED_ALLOCS, create_index=2
    )
    by = Cause(kind=CauseKind.ALLOCATION, id=gone.id, index=9)
    step = LifecycleStep(
        eval_id=blocked.id, number=2, step=Step.UNBLOCKED, at=SOME_MOMENT, woken_by=by
    )

    def freed(change):
        for row in (gone, blocked, replace(EVALUATION, blocked_eval=blocked.id)):
            put_found(change, row)
        change.put(STORIES, story)
        change.put(LIFECYCLE_STEPS, step)

    store.write(WriteKind.EVALUATION_UPDATED, freed, now=SOME_MOMENT)
    address = f'<a href="/stories/{story.id}/">{title}'
    assert address in open_page(browser)
    page = browser.get(f"/evaluations/{blocked.id}/").text
    assert address in page
    assert f'href="/allocations/{gone.id}/"' in page
    assert ("Stop of high" in page) == (namespace == "default")


def test_many_nodes_stand_together_and_each_is_shown_on_demand(store, browser):
    nodes = [plain_node(number, 4000, 1000 + number, name=f"n{number}") for number in range(250)]
    lacking = tuple(2048 - 1000 - number for number in reversed(range(250)))
    found = replace(
        WAITS,
        candidates=250,
        not_asked=(),
        exhausted=(
            Shortfall(
                dimension="memory",
                count=250,
                node_ids=tuple(node.id for node in reversed(nodes)),
                missing=lacking,
            ),
        ),
    )
    write(store, *nodes, JOB, EVALUATION, explained=[stored(EVALUATION, found)])
    table = part(open_page(browser), "explain-then")
    assert "250 nodes" in said(table)
    assert table.count("<tr>") == 4
    assert row_of(table, "n249")[-1] == "memory: short by 799 MiB nearest"
    assert "225 nodes" in said(table)
    each = part(open_page(browser, "?rows=each"), "explain-then")
    assert each.count("<tr>") == 251
    assert row_of(each, "n0")[-1] == "memory: short by 1 048 MiB"


def test_nodes_that_fail_alike_stand_in_one_row_that_names_them(store, browser):
    nodes = [plain_node(number, 4000, 1000, name=f"n{number}") for number in range(40)]
    ids = tuple(node.id for node in nodes)
    reason = "${attr.kernel} = 6"
    refused = RefusedNodes(check="constraints", reason=reason, count=40, node_ids=ids)
    found = replace(WAITS, candidates=40, not_asked=(), exhausted=(), refused=(refused,))
    write(store, *nodes, JOB, EVALUATION, explained=[stored(EVALUATION, found)])
    folded = part(open_page(browser), "explain-then")
    assert folded.count("<tr>") == 2
    assert f"40 nodes {nodes[0].name} " in said(folded)
    assert said(folded).count("it asks for kernel = 6") == 1
    assert all(f'href="/nodes/{node.id}/"' in folded for node in nodes)
    each = part(open_page(browser, "?rows=each"), "explain-then")
    assert each.count("<tr>") == 41


def test_what_is_no_longer_kept_is_said_and_now_is_still_asked(store, browser):
    write(store, *NODES, JOB, EVALUATION)
    text = open_page(browser)
    assert "Which node failed which check was not kept" in said(text)
    assert "short 1 048" in said(open_page(browser, "?view=now"))


def test_a_job_that_is_gone_cannot_be_asked_about_now(store, browser):
    write(store, *NODES, EVALUATION, explained=[stored(EVALUATION, WAITS)])
    assert "Now cannot be asked: the job is gone." in said(open_page(browser, "?view=both"))


def test_an_open_page_follows_what_is_found_anew(waiting, browser):
    feed = feed_for(
        Subscription("explain", f"{EVALUATION.id}/group=web", frozenset({"default"}), frozenset())
    )
    waiting.read(feed.load)
    nearer = replace(
        WAITS,
        exhausted=(
            Shortfall(
                dimension="memory", count=2, node_ids=(NEAR.id, FULL.id), missing=(12, 1048)
            ),
        ),
    )
    index = write(waiting, explained=[stored(EVALUATION, nearer)])
    for frame in waiting.frames_since(index - 1):
        feed.observe(frame)
    pieces = {
        piece.target: said(piece.html)
        for piece in waiting.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    }
    assert "lacked 12 MiB of memory" in pieces["explain-head"]
    assert "short 12" in pieces["explain-then"]
    assert "Then Grouped Every node" in pieces["explain-then"], "it can still be asked otherwise"


def test_an_open_page_follows_what_lets_it_run_again(waiting):
    blocked = make_evaluation(
        2, status=EvalStatus.BLOCKED, triggered_by=EvalTrigger.QUEUED_ALLOCS, create_index=2
    )
    write(waiting, blocked, replace(EVALUATION, blocked_eval=blocked.id))
    key = f"{EVALUATION.id}/group=web"
    feed = feed_for(Subscription("explain", key, frozenset({"default"})))
    waiting.read(feed.load)
    step = LifecycleStep(
        eval_id=blocked.id, number=2, step=Step.UNBLOCKED, at=SOME_MOMENT, reason="room came"
    )
    index, _ = waiting.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: change.put(LIFECYCLE_STEPS, step),
        now=SOME_MOMENT,
    )
    for written in waiting.frames_since(index - 1):
        feed.observe(written)
    pieces = waiting.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: said(piece.html) for piece in pieces}
    assert "room came." in told["explain-head"]


def test_nobody_sees_what_belongs_to_a_hidden_namespace(waiting, browser):
    assert browser.get("/explain/unknown/").status == 404
