"""What an evaluation's page says of each node: kept, borrowed from a newer one, or forgotten."""

import html
import re
from zlib import crc32

import pytest
from msgspec.structs import replace

from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.explanations import write_explanations
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.explanation import (
    GroupExplanation,
    RefusedNodes,
    Shortfall,
    StoredExplanation,
    pack,
)
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_node
from tests.dashboard.views.conftest import one_line

NODES = tuple(make_node(number) for number in range(1, 4))
SCORES = (
    NodeScore(node_id=NODES[0].id, scores={"binpack": 0.75}, norm_score=0.75),
    NodeScore(node_id=NODES[1].id, scores={"binpack": 0.5}, norm_score=0.5),
)
FAILED = AllocMetric(nodes_evaluated=3, nodes_exhausted=3, dimension_exhausted={"memory": 3})
HOSTILE = "<img src=x onerror=a()>"
WAITS = GroupExplanation(
    task_group=HOSTILE,
    candidates=80,
    exhausted=(Shortfall(dimension="memory", count=1, node_ids=(NODES[2].id,), missing=(200,)),),
    refused=(
        RefusedNodes(
            reason="${attr.kernel.name} = <b>linux</b>",
            count=79,
            node_ids=tuple(make_node(number).id for number in range(100, 175)),
        ),
    ),
    failed=2,
    nearest_miss="1 node lacks 200 MiB of memory; "
    "79 nodes fail ${attr.kernel.name} = <b>linux</b>",
)
WHOLE = GroupExplanation(task_group="web", candidates=2, with_room=2, best=SCORES)
DECIDED = make_evaluation(
    1,
    status=EvalStatus.COMPLETE,
    create_index=2,
    failed_task_groups={HOSTILE: FAILED},
    queued_allocations={HOSTILE: 2},
)
BLOCKED = make_evaluation(
    2,
    status=EvalStatus.BLOCKED,
    create_index=2,
    previous_eval=DECIDED.id,
    failed_task_groups={HOSTILE: FAILED},
)


def stored(evaluation, group):
    return StoredExplanation(
        eval_id=evaluation.id,
        task_group=group.task_group,
        namespace=evaluation.namespace,
        job_id=evaluation.job_id,
        packed=pack(group),
    )


def write(store, *evaluations, explained=(), kind=WriteKind.EVALUATION_UPDATED):
    def work(change):
        for node in NODES:
            put_found(change, node)
        for evaluation in evaluations:
            put_found(change, evaluation)
        put_found(
            change,
            make_allocation(
                eval_id=DECIDED.id,
                node_id=NODES[0].id,
                task_group="web",
                metrics=AllocMetric(nodes_evaluated=2, score_meta_data=SCORES),
            ),
        )
        write_explanations(change, explained)

    return store.write(kind, work, now=SOME_MOMENT)


def words(text):
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def decision(text):
    return text[text.index('id="decision"') : text.index('id="facts"')]


def page(browser, evaluation):
    return decision(browser.get(f"/evaluations/{evaluation.id}/").text)


def test_a_group_that_waits_is_told_node_by_node(store, browser):
    write(store, DECIDED, explained=[stored(DECIDED, WAITS)])
    told = page(browser, DECIDED)
    said = html.unescape(words(told))
    assert f"Why does {HOSTILE} wait? 80 nodes: 1 exhausted, 79 filtered." in said
    assert (
        "Nearest miss 1 node lacks 200 MiB of memory; "
        "79 nodes fail ${attr.kernel.name} = <b>linux</b>." in said
    )
    assert f"{NODES[2].name} 200 MiB short" in said.replace("\u00a0", " ")
    assert f'<a href="/nodes/{NODES[2].id}/">{NODES[2].name}</a>' in told
    assert "and 19 more" in said
    # What jobs are called, and what they ask for, is text.
    assert "<img" not in told
    assert "<b>" not in told
    # A reason keeps its name in the page when their order changes.
    assert re.findall(r'<details[^>]* id="(waits[^"]+)"', told) == [
        f"waits-1-{kind}-{crc32(reason.encode()):08x}"
        for kind, reason in (("exhausted", "memory"), ("filtered", WAITS.refused[0].reason))
    ]


def test_a_group_placed_whole_shows_its_scores_with_the_chosen_node(store, browser):
    write(store, DECIDED, explained=[stored(DECIDED, WHOLE), stored(DECIDED, WAITS)])
    told = page(browser, DECIDED)
    group = told[told.index('id="group-1"') : told.index('id="placed"')]
    said = words(group)
    assert f"Why {NODES[0].name} for" in said
    assert "2 nodes: 2 with room for one more." in said
    assert f"{NODES[0].name} 0.75 0.75 chosen" in said
    assert f"{NODES[1].name} 0.50 0.50 \N{MINUS SIGN}0.25" in said


def test_of_many_groups_fewer_nodes_are_named_under_each_reason(store, browser):
    groups = [
        GroupExplanation(task_group=f"g{place}", candidates=79, refused=WAITS.refused)
        for place in range(100)
    ]
    write(store, DECIDED, explained=[stored(DECIDED, group) for group in groups])
    told = page(browser, DECIDED)
    assert told.count("and 67 more") == 100


def test_what_waits_shows_what_its_job_found_last(store, browser):
    write(store, DECIDED, BLOCKED, explained=[stored(DECIDED, WAITS)])
    said = words(page(browser, BLOCKED))
    assert "Nearest miss 1 node lacks 200 MiB of memory" in said
    assert f"as {DECIDED.id[:8]} found it" in said


def test_what_waits_shows_what_its_maker_found_where_newer_runs_asked_for_other_groups(
    store, browser
):
    newer = make_evaluation(3, status=EvalStatus.COMPLETE, create_index=2)
    write(store, DECIDED, BLOCKED, explained=[stored(DECIDED, WAITS)])
    write(store, newer, explained=[stored(newer, WHOLE)])
    said = words(page(browser, BLOCKED))
    assert "Nearest miss 1 node lacks 200 MiB of memory" in said
    assert f"as {DECIDED.id[:8]} found it" in said


def test_what_a_later_run_found_is_told_with_that_runs_index(store, browser):
    waits = replace(BLOCKED, snapshot_index=3, failed_task_groups={HOSTILE: FAILED})
    write(store, waits)
    index, _ = store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: write_explanations(change, [stored(waits, WAITS)]),
        now=SOME_MOMENT,
    )
    said = words(page(browser, waits))
    assert f"stored at index {index}, after what that run placed" in said
    assert "as seen at index 3" not in said
    assert "pool default" not in said


@pytest.mark.parametrize("newer", [pytest.param(True, id="newer"), pytest.param(False, id="none")])
def test_an_older_evaluation_says_that_only_counts_are_left(store, browser, newer):
    other = make_evaluation(3, status=EvalStatus.COMPLETE, create_index=2)
    write(store, DECIDED, other, explained=[stored(other, WHOLE)] if newer else [])
    told = page(browser, DECIDED)
    assert "Counts only." in told
    assert ("this one is not among them" in told) is newer
    assert ("Which node failed which check was not kept." in told) is not newer
    assert "3 nodes exhausted: <strong>memory</strong>" in told
    assert (f'<a class="button" href="/evaluations/{other.id}/">' in told) is newer


@pytest.mark.parametrize(
    "evaluation",
    [
        pytest.param(make_evaluation(4, create_index=2), id="not-run-yet"),
        pytest.param(
            make_evaluation(4, status=EvalStatus.COMPLETE, create_index=2), id="changed-nothing"
        ),
    ],
)
def test_an_evaluation_without_decisions_misses_nothing(store, browser, evaluation):
    write(store, evaluation)
    assert "Counts only." not in page(browser, evaluation)


def test_a_group_that_a_quota_holds_says_so_before_the_nodes(store, browser):
    limit = "cpu exhausted (600 needed > 500 limit)"
    held = GroupExplanation(
        task_group=HOSTILE, candidates=20, with_room=20, quota_exhausted=(limit,), failed=1,
        nearest_miss=f"quota: {limit}",
    )  # fmt: skip
    write(store, DECIDED, explained=[stored(DECIDED, held)])
    said = html.unescape(words(page(browser, DECIDED)))
    assert f"wait? Quota reached: {limit}. 20 nodes: 20 with room for one more." in said
    assert f"Quota Cpu{limit[3:]}." in said
    assert "Nearest miss" not in said


def followed(store, evaluation, *writes):
    """What an open page of the evaluation is told after each write."""
    feed = feed_for(Subscription("evaluation", evaluation.id, frozenset({"default"})))
    store.read(feed.load)
    for make in writes:
        since = store.index
        make()
        for frame in store.frames_since(since):
            feed.observe(frame)
        pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
        yield {getattr(p, "target", ""): one_line(getattr(p, "html", "")) for p in pieces}


def test_an_open_page_of_what_waits_follows_what_its_job_finds(store):
    write(store, DECIDED, BLOCKED, explained=[stored(DECIDED, WAITS)])
    newer = make_evaluation(3, status=EvalStatus.COMPLETE, create_index=2)
    nearer = replace(WAITS, nearest_miss="1 node lacks 20 MiB of memory")
    (told,) = followed(
        store, BLOCKED, lambda: write(store, newer, explained=[stored(newer, nearer)])
    )
    assert "1 node lacks 20 MiB of memory." in told["decision"]
    assert f"/evaluations/{newer.id}/" in told["decision"]


def test_a_change_of_its_allocations_resends_only_what_it_changes(store):
    write(store, DECIDED, explained=[stored(DECIDED, WAITS)])
    alloc = make_allocation(eval_id=DECIDED.id, node_id=NODES[0].id, task_group="web")
    first, second = followed(
        store,
        DECIDED,
        *(
            lambda status=status: store.write(
                WriteKind.ALLOCATION_UPDATED,
                lambda change: put_found(change, replace(alloc, client_status=status)),
                now=SOME_MOMENT,
            )
            for status in (ClientStatus.RUNNING, ClientStatus.COMPLETE)
        ),
    )
    assert ("decision" in first, "decision" in second) == (True, False)
    assert "raw" not in first | second


def test_what_another_evaluation_keeps_in_place_leaves_an_open_page(store):
    alloc = make_allocation(id="kept", eval_id=DECIDED.id, create_index=9)
    write(store, DECIDED, alloc)
    (told,) = followed(
        store,
        DECIDED,
        lambda: store.write(
            WriteKind.PLAN_RESULT,
            lambda change: put_found(change, replace(alloc, eval_id="later")),
            now=SOME_MOMENT,
        ),
    )
    assert 'href="/allocations/kept/"' not in told["decision"]


def test_the_explanation_comes_with_the_frame_that_ends_the_evaluation(store):
    pending = DECIDED.changed(status=EvalStatus.PENDING, failed_task_groups={})
    write(store, pending)
    feed = feed_for(Subscription("evaluation", DECIDED.id, frozenset({"default"})))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    write(store, DECIDED, explained=[stored(DECIDED, WAITS)])
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {getattr(p, "target", ""): one_line(getattr(p, "html", "")) for p in pieces}
    assert "Nearest miss" in told["decision"]
    assert f"/nodes/{NODES[2].id}/" in told["decision"]
