"""Evaluations: the list, the page of one, its chain, and what happens now."""

import html
import json
import re

import pytest

from dashboard.graphs.drawing import DrawnGraph
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.evaluation import Cause, CauseKind, EvalStatus, LifecycleStep, Step
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations
from scheduler.structs.story import Story, StoryKind
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.dashboard.views.conftest import listed, one_line

NODE = make_node()
#: What one evaluation found: no memory for two of three.
EXHAUSTED = AllocMetric(
    nodes_evaluated=9,
    nodes_filtered=2,
    nodes_exhausted=7,
    constraint_filtered={"${attr.cpu.arch} = arm64": 2},
    dimension_exhausted={"memory": 7},
    coalesced_failures=1,
)
SCORED = AllocMetric(
    nodes_evaluated=9,
    score_meta_data=(NodeScore(node_id=NODE.id, scores={"binpack": 0.5}, norm_score=0.5),),
)
FIRST = "eeeeeeee-0000-0000-0000-000000000001"
WAITS = "eeeeeeee-0000-0000-0000-000000000002"

WHY = "memory is exhausted on 7 nodes and 2 nodes are filtered, for it asks for cpu.arch = arm64"


def words(answer):
    return " ".join(html.unescape(answer.text).split())


def rows_of(shown):
    return getattr(shown, "contexts", shown)


def step(number, name, **fields):
    at = SOME_MOMENT + number * SECOND
    return LifecycleStep(eval_id=FIRST, number=number, step=name, at=at, **fields)


@pytest.fixture
def chain(store):
    """An evaluation that placed one of three, and the one that waits for the rest."""
    first = make_evaluation(
        id=FIRST,
        status=EvalStatus.COMPLETE,
        triggered_by="job-register",
        blocked_eval=WAITS,
        queued_allocations={"web": 2},
        failed_task_groups={"web": EXHAUSTED},
        plan_annotations=PlanAnnotations(desired_updates={"web": DesiredUpdates(place=3)}),
        create_index=2,
        create_time=SOME_MOMENT,
        modify_time=SOME_MOMENT + 5 * SECOND,
    )
    waits = make_evaluation(
        id=WAITS,
        status=EvalStatus.BLOCKED,
        triggered_by="queued-allocs",
        previous_eval=FIRST,
        failed_task_groups={"web": EXHAUSTED},
        create_index=2,
        create_time=SOME_MOMENT + SECOND,
        cause=Cause(kind=CauseKind.EVALUATION, id=FIRST),
    )
    names = (Step.CREATED, Step.ENQUEUED, Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED)

    def work(change):
        put_found(change, NODE)
        put_found(change, make_allocation(eval_id=FIRST, metrics=SCORED))
        put_found(change, first)
        put_found(change, waits)
        for number, name in enumerate((*names, Step.COMPLETE), 1):
            change.put(LIFECYCLE_STEPS, step(number, name))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    return first, waits


@pytest.fixture
def collected(store, chain):
    """The first one is collected; its stub stays."""
    store.write(
        WriteKind.COLLECTED, lambda change: change.delete_evaluation(FIRST), now=SOME_MOMENT
    )


def test_the_page_says_outcome_first_then_why(browser, chain):
    told = words(browser.get(f"/evaluations/{FIRST}/"))
    assert "Complete: 1 of 3 placed.</strong> 2 wait: memory is exhausted on 7 nodes" in told
    assert "7 nodes exhausted: <strong>memory" in told
    assert "2 nodes filtered: <code>${attr.cpu.arch} = arm64" in told


def test_every_page_says_the_same_outcome_and_time_of_one_evaluation(store, browser, chain):
    store.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, make_job()), now=SOME_MOMENT
    )
    rows = {
        path: [
            (row["evaluation"].id, row["outcome"], row["took"])
            for row in rows_of(browser.get(path).context["list"])
        ]
        for path in ("/evaluations/", "/jobs/default/web/?tab=evaluations")
    }
    of_all, of_job = rows.values()
    assert of_all == [
        (WAITS, f"2 wait: {WHY}", 0),
        (FIRST, f"1 of 3 placed, 2 wait: {WHY}", 6 * SECOND),
    ]
    assert of_job == of_all
    listed = browser.get(f"/chains/{FIRST}/").context["rows"]
    assert [(row["evaluation"].id, row["told"], row["took"]) for row in listed] == [
        *reversed(of_all)
    ]
    lives = browser.get(f"/chains/{FIRST}/", view="timeline").context["lives"]
    assert [life["took"] for life in lives] == [6 * SECOND, 0]
    assert browser.get(f"/evaluations/{FIRST}/").context["took"] == 6 * SECOND


@pytest.mark.parametrize(
    ("namespace", "shown"),
    [
        pytest.param("default", "Rollout of web v3", id="of-its-job"),
        pytest.param("", "55555555", id="of-the-cluster-which-not-all-may-see"),
    ],
)
def test_the_facts_name_the_story(store, browser, namespace, shown):
    story = Story(
        id="5" * 36, kind=StoryKind.ROLLOUT, namespace=namespace, job_id="web", job_version=3
    )
    evaluation = make_evaluation(9, job_id="web", story_id=story.id)

    def work(change):
        put_found(change, evaluation)
        change.put(STORIES, story)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    told = words(browser.get(f"/evaluations/{evaluation.id}/"))
    assert re.search(rf'<dd><a [^>]*href="/stories/{story.id}/"[^>]*>{shown}</a>', told)


def test_a_delayed_evaluation_is_told_as_such_with_its_stored_status(store, browser):
    later = make_evaluation(id=FIRST, create_index=2, wait_until=SOME_MOMENT + 10**9 * SECOND)
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: put_found(change, later), now=SOME_MOMENT
    )
    assert 'title="stored as pending"' in browser.get("/evaluations/").text


def test_the_steps_say_what_they_did(store, browser, chain):
    seen = chain[0].changed(snapshot_index=62)
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: put_found(change, seen), now=SOME_MOMENT
    )
    told = browser.get(f"/evaluations/{FIRST}/").context["rows"]
    assert [row.reason.partition(":")[0] for row in told] == [
        "", "made", "saw the cluster at index 62", "a plan of 1 placement", "committed",
        "1 of 3 placed, 2 wait",
    ]  # fmt: skip


def test_the_page_draws_the_path_with_numbers(browser, chain):
    answer = browser.get(f"/evaluations/{FIRST}/")
    assert [(row.number, row.state) for row in answer.context["rows"]] == [
        (1, "pending"),
        (2, "blocked"),
        (3, "scheduling"),
        (4, "applying"),
        (5, "scheduling"),
        (6, "complete"),
    ]
    assert f'data-graph="life-{FIRST}"' in answer.text
    assert "flowchart LR" in answer.text
    assert f'data-live="evaluation:{FIRST},chain:{FIRST},navigation:*"' in answer.text


def test_the_page_shows_scores_of_what_was_placed(browser, chain):
    told = words(browser.get(f"/evaluations/{FIRST}/"))
    assert "binpack" in told
    assert "<strong>chosen</strong>" in told
    assert f"on {NODE.name}" in told


def test_a_collected_evaluation_keeps_a_page(browser, collected):
    answer = browser.get(f"/evaluations/{FIRST}/")
    assert answer.status == 404
    assert "This evaluation was collected." in answer.text
    assert "data-tombstone" in answer.text


def test_an_unknown_evaluation_is_not_found(browser):
    answer = browser.get("/evaluations/eeeeeeee-0000-0000-0000-00000000ffff/")
    assert answer.status == 404
    assert "Nothing that you may see has the address" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/", id="now"),
        pytest.param("/evaluations/", id="list"),
        pytest.param(f"/evaluations/{FIRST}/", id="one"),
        pytest.param(f"/chains/{FIRST}/", id="chain"),
        pytest.param(f"/chains/{FIRST}.json", id="file"),
        pytest.param("/nodes/", id="nodes"),
        pytest.param("/drains/", id="drains"),
        pytest.param("/help/states/", id="states"),
    ],
)
def test_nobody_looks_without_signing_in(stranger, chain, path):
    answer = stranger.get(path)
    assert (answer.status, answer.headers["Location"][:7]) == (302, "/login/")


def test_a_capsule_is_for_those_who_see_everything(store, browser, guest, chain):
    decided = make_evaluation(id=WAITS[:-1] + "8", status=EvalStatus.COMPLETE, create_index=3)
    decided = decided.changed(snapshot_index=store.index)
    store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: put_found(change, decided),
        now=SOME_MOMENT,
    )
    path = f"/evaluations/{decided.id}/capsule.json"
    answer = browser.get(path)
    assert (answer.status, json.loads(answer.text)["Evaluation"]["ID"]) == (200, decided.id)
    assert browser.get(f"/evaluations/{FIRST[:-1]}f/capsule.json").status == 404
    assert guest.get(path).status == 403


def test_other_namespaces_do_not_exist_for_a_guest(store, guest, chain):
    secret = make_evaluation(
        id=WAITS[:-1] + "9", namespace="other", job_id="sealed-job", create_index=3
    )
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: put_found(change, secret), now=SOME_MOMENT
    )
    assert guest.get(f"/evaluations/{secret.id}/").status == 404
    assert guest.get(f"/chains/{secret.id}/").status == 404
    assert guest.get(f"/chains/{secret.id}.json").status == 404
    assert "sealed-job" not in guest.get("/evaluations/").text
    assert "sealed-job" not in guest.get("/").text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param({}, [WAITS, FIRST], id="all-newest-first"),
        pytest.param({"status": "blocked"}, [WAITS], id="stored-status"),
        pytest.param({"status": "scheduling"}, [], id="quasi-status"),
        pytest.param({"trigger": "job-register"}, [FIRST], id="trigger"),
        pytest.param({"job": "nothing"}, [], id="job"),
        pytest.param({"prefix": WAITS[:36]}, [WAITS], id="prefix"),
        pytest.param({"namespace": "other"}, [], id="namespace"),
        pytest.param({"after": f'[2,"{FIRST}"]'}, [FIRST], id="cursor"),
        pytest.param({"after": "nonsense"}, [WAITS, FIRST], id="broken-cursor"),
    ],
)
def test_the_list_is_narrowed_by_its_address(browser, chain, query, found):
    assert listed(browser.get("/evaluations/", **query)) == found


def test_collected_ones_are_listed_when_asked_for(browser, collected):
    assert listed(browser.get("/evaluations/", status="deleted")) == [FIRST]


def test_an_empty_list_teaches(browser):
    assert "No evaluations yet" in browser.get("/evaluations/").text


def test_a_chain_is_drawn_listed_and_told(browser, chain):
    answer = browser.get(f"/chains/{FIRST}/")
    assert answer.context["strong"] == "2 evaluations for 1 job."
    assert answer.context["rest"] == "1 blocked and 1 complete."
    assert [row["evaluation"].id for row in answer.context["rows"]] == [FIRST, WAITS]
    assert f'data-key="{WAITS}"' in answer.text


def test_a_chain_is_shown_over_time(browser, chain):
    answer = browser.get(f"/chains/{FIRST}/", view="timeline")
    assert [
        [(segment.state, segment.lasted // SECOND) for segment in life["segments"]]
        for life in answer.context["lives"]
    ] == [
        [
            ("pending", 2), ("scheduling", 1), ("applying", 1), ("scheduling", 1), ("complete", 0),
        ],
        [("blocked", answer.context["lives"][1]["segments"][0].lasted // SECOND)],
    ]  # fmt: skip
    assert "so far" in answer.text
    assert [life["is_open"] for life in answer.context["lives"]] == [False, True]
    assert f'data-live="timeline:{FIRST},navigation:*"' in answer.text


def test_a_tidied_chain_is_a_graph_of_its_own(store, browser, chain):
    answer = browser.get(f"/chains/{FIRST}/", layout="tidy")
    assert f'data-graph="chain-tidy-{FIRST}"' in answer.text
    assert f'data-live="tidy:{FIRST},navigation:*"' in answer.text
    feed = feed_for(Subscription("tidy", FIRST, frozenset({"default"})))
    store.read(feed.load)
    drawing, _tree = feed.standing(SOME_MOMENT)
    assert drawing.graph == DrawnGraph(answer.context["graph"]).whole()


DRAWN = ("chain-sentence", "chain-rows", "chain-facts", "chain-chosen", "graph", "tree")


def test_a_chain_says_beside_its_drawing_why_what_it_is_about_waits(browser, chain):
    page = words(browser.get(f"/chains/{WAITS}/"))
    assert f"Selected: {WAITS[:8]}" in page
    assert "Why it waits" in page
    assert "Memory is exhausted on 7 nodes and 2 nodes are filtered" in page
    assert f'href="/explain/{WAITS}/#unblock"' in page
    assert "What it did" in words(browser.get(f"/chains/{FIRST}/"))
    assert "Selected:" not in words(browser.get(f"/chains/{WAITS}/?view=timeline"))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("chain", [*DRAWN], id="graph"),
        pytest.param("tidy", [*DRAWN], id="tidied"),
        pytest.param(
            "timeline", ["chain-sentence", "chain-timeline", "chain-facts"], id="timeline"
        ),
    ],
)
def test_each_way_of_showing_a_chain_brings_what_its_page_has(store, chain, kind, expected):
    feed = feed_for(Subscription(kind, FIRST, frozenset({"default"})))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: put_found(change, chain[1].changed(status=EvalStatus.CANCELED)),
        now=SOME_MOMENT,
    )
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT + 9 * SECOND))
    told = {getattr(piece, "target", "graph"): piece for piece in pieces}
    assert list(told) == expected
    assert "1 complete and 1 canceled." in one_line(told["chain-sentence"].html)
    assert 'data-state="canceled"' in one_line(told[expected[1]].html)
    assert "<dt>ended</dt>" in one_line(told["chain-facts"].html)


def test_a_chain_is_there_for_scripts(browser, chain):
    assert browser.get(f"/chains/{FIRST}.mmd").text.startswith("flowchart LR\n")
    told = json.loads(browser.get(f"/chains/{WAITS}.json").text)
    assert [item["ID"] for item in told["Evaluations"]] == [WAITS, FIRST]
    assert browser.get(f"/chains/{FIRST}.exe").status == 404


def test_a_chain_keeps_its_collected_root(browser, collected):
    answer = browser.get(f"/chains/{WAITS}/")
    assert [row["state"] for row in answer.context["rows"]] == ["collected", "blocked"]


def test_now_counts_and_says_who_waits(browser, chain):
    answer = browser.get("/")
    counts = {state: count for state, count in answer.context["counts"].items() if count}
    assert counts == {"blocked": 1, "complete": 1}
    told = answer.context["waiting"]
    assert [(item.strong, item.reason) for item in told] == [
        (
            "2 allocations wait",
            WHY,
        )
    ]
    figures = {figure.key: figure.value for figure in answer.context["figures"]}
    assert figures["ready"] == "1"
    assert answer.context["waiting_allocations"] == 2


@pytest.mark.parametrize(
    ("window", "told"),
    [("", "last minute"), ("5m", "last 5 minutes"), ("1h", "last hour"), ("2y", "last minute")],
)
def test_moves_on_now_are_counted_over_the_stretch_that_was_chosen(browser, chain, window, told):
    answer = browser.get("/", moved=window)
    assert f"moves in the {told}" in answer.text
    known = window if window in {"5m", "1h"} else ""
    chosen = f'<a href="/{f"?moved={known}" if known else ""}#lifecycle-map" aria-current="true"'
    assert chosen in answer.text
    assert answer.context["live_topics"] == (f"overview:*/{known}" if known else "overview:*")


def test_now_of_an_empty_cluster_teaches(browser):
    told = browser.get("/").text
    assert "No node has joined yet." in told
    assert "Submit job" in told


def test_names_from_jobs_are_text(store, browser):
    nasty = make_evaluation(id=FIRST, job_id='<img src=x onerror="a()">', create_index=2)
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: put_found(change, nasty), now=SOME_MOMENT
    )
    for path in ("/", "/evaluations/", f"/evaluations/{FIRST}/", f"/chains/{FIRST}/"):
        assert "<img" not in browser.get(path).text
