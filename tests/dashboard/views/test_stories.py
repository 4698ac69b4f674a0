"""Stories on pages: who sees which, what was, and files that hold whatever people wrote."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from dashboard.stories.gathered import ALL_READ
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.nodes import write_node
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.story import Story, StoryKind
from tests.builders import SECOND, SOME_MOMENT, make_evaluation, make_node
from tests.dashboard.views.conftest import Browser
from tests.people import account_with

HOSTILE = "<script>alert(1)</script> | [x](javascript:1) `\"' style classDef"
OURS = Story(
    id="a" * 8 + "-ours",
    kind=StoryKind.SCALING,
    namespace="default",
    job_id="web",
    actor=HOSTILE,
    create_time=SOME_MOMENT,
    create_index=5,
)
THEIRS = replace(OURS, id="b" * 8 + "-theirs", namespace="secret", job_id="hidden-job")
CLUSTER = Story(
    id="c" * 8 + "-drain",
    kind=StoryKind.DRAIN,
    reason=HOSTILE,
    node_count=3,
    create_time=SOME_MOMENT,
    create_index=6,
)


def evaluation(number, index, story=OURS, **fields):
    return make_evaluation(
        number,
        namespace=fields.pop("namespace", story.namespace or "default"),
        job_id=fields.pop("job_id", "web"),
        create_index=index,
        modify_index=fields.pop("modify_index", index),
        create_time=SOME_MOMENT + index * SECOND,
        story_id=story.id,
        **fields,
    )


@pytest.fixture
def told(store):
    """Three stories: one of ours, one of a namespace that the guest may not see, a drain."""

    def work(change):
        for story in (OURS, THEIRS, CLUSTER):
            change.put(STORIES, story)
        waiting = AllocMetric(dimension_exhausted={"memory": 3})
        for row in (
            evaluation(1, 10, status=EvalStatus.COMPLETE, modify_index=14, blocked_eval="x"),
            evaluation(
                2, 14, status=EvalStatus.BLOCKED, job_id=HOSTILE,
                failed_task_groups={"web": waiting}, queued_allocations={"web": 3},
            ),
            evaluation(3, 15, THEIRS, status=EvalStatus.COMPLETE),
            evaluation(4, 16, CLUSTER, status=EvalStatus.COMPLETE),
            evaluation(5, 17, CLUSTER, status=EvalStatus.COMPLETE, namespace="secret",
                       job_id="hidden-job"),
        ):  # fmt: skip
            put_found(change, row)
        for number, (step, index) in enumerate(
            ((Step.CREATED, 10), (Step.DEQUEUED, 12), (Step.COMPLETE, 14)), 1
        ):
            change.put(
                LIFECYCLE_STEPS,
                LifecycleStep(
                    eval_id=make_evaluation(1).id, number=number, step=step, index=index,
                    at=SOME_MOMENT + index * SECOND,
                ),
            )  # fmt: skip

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def test_what_waits_is_said_first_and_why(told, browser):
    answer = browser.get(f"/stories/{OURS.id}/")
    assert "<strong>3 wait for memory.</strong>" in answer.text
    assert "memory is exhausted on 3 nodes" in answer.text
    assert "held up" in answer.text


@pytest.mark.parametrize("view", ["lanes", "timeline", "list", "table"])
@pytest.mark.parametrize(
    "query", ["", "&by=place", "&at=12", "&at=0", "&open=fold:nothing", "&at=nonsense"]
)
def test_every_view_of_every_moment_is_a_page(told, browser, view, query):
    answer = browser.get(f"/stories/{OURS.id}/?view={view}{query}")
    assert answer.status == 200
    assert "<script>alert" not in answer.text


def test_the_past_is_as_it_was_and_says_what_came_later(told, browser):
    then = browser.get(f"/stories/{OURS.id}/?at=12")
    (node,) = [node for node in then.context["graph"].nodes if node.state != "event"]
    assert node.state == "scheduling"
    assert "You see the past: 15:06:52." in then.text
    assert "1 more came later." in then.text
    assert 'data-live="navigation:*"' in then.text
    before = browser.get(f"/stories/{OURS.id}/?at=11").context["graph"]
    assert [node.state for node in before.nodes if node.state != "event"] == ["pending"]
    after = browser.get(f"/stories/{OURS.id}/?at=14").context["graph"]
    now = browser.get(f"/stories/{OURS.id}/").context["graph"]
    assert [node.state for node in after.nodes] == [node.state for node in now.nodes]


def test_steps_that_are_gone_are_said_to_be_gone(told, store, browser):
    gone = evaluation(9, 20, status=EvalStatus.COMPLETE, modify_index=30)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, gone), now=SOME_MOMENT)
    told = browser.get(f"/stories/{OURS.id}/?at=25").text
    assert "How 1 evaluation stood then is not known any more" in told


def test_who_may_not_see_a_namespace_sees_none_of_its_stories(told, guest):
    listed = guest.get("/stories/").text
    assert THEIRS.id not in listed
    assert "hidden-job" not in listed
    assert OURS.id in listed
    for path in ("/", ".mmd", ".svg", ".json", ".md"):
        assert guest.get(f"/stories/{THEIRS.id}{path}").status == 404, path


def test_of_a_story_of_the_cluster_one_sees_what_is_of_ones_namespaces(told, guest, browser):
    everything = browser.get(f"/stories/{CLUSTER.id}/")
    assert everything.context["facts"].evaluations == 2
    for path in ("/", ".mmd", ".json", ".md", ".svg"):
        answer = guest.get(f"/stories/{CLUSTER.id}{path}")
        assert answer.status == 200
        assert "hidden-job" not in answer.text
        assert make_evaluation(5).id not in answer.text


def test_files_hold_hostile_names_as_text(told, browser):
    data = json.loads(browser.get(f"/stories/{OURS.id}.json").text)
    assert data["Story"]["Actor"] == HOSTILE
    assert len(data["Evaluations"]) == 2
    picture = browser.get(f"/stories/{OURS.id}.svg")
    root = ET.fromstring(picture.text)  # noqa: S314 - our own markup
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert "javascript:" not in " ".join(
        value for each in root.iter() for name, value in each.items() if name.endswith("href")
    )
    note = browser.get(f"/stories/{CLUSTER.id}.md").text
    assert "<script>" not in re.sub(r"\\.", "", note)
    assert "[x](" not in re.sub(r"\\.", "", note)
    assert f"/stories/{CLUSTER.id}/" in note
    assert browser.get(f"/stories/{OURS.id}.exe").status == 404


def test_the_list_narrows_by_kind_job_and_who(told, browser):
    def shown(**query):
        text = browser.get("/stories/", **query).text
        return {story.id for story in (OURS, THEIRS, CLUSTER) if story.id in text}

    assert shown() == {OURS.id, THEIRS.id, CLUSTER.id}
    assert shown(kind="drain") == {CLUSTER.id}
    assert shown(job="secret/hidden-job") == {THEIRS.id, CLUSTER.id}
    assert shown(who=HOSTILE) == {OURS.id, THEIRS.id}
    assert shown(who="nobody") == set()


def test_what_runs_stands_before_what_has_ended(told, browser):
    context = browser.get("/stories/").context
    assert [line.story.id for line in context["running"]] == [OURS.id]
    assert {each["row"].story.id for each in context["ended"]} == {THEIRS.id, CLUSTER.id}
    assert context["strong"] == "1 story runs; 1 may need a person."


def test_a_large_story_is_told_from_its_columns_and_unfolds(told, store, browser):
    loss = Story(id="d" * 8 + "-loss", kind=StoryKind.LOSS, create_time=SOME_MOMENT)
    count = ALL_READ + 20

    def work(change):
        change.put(STORIES, loss)
        for number in range(100, 100 + count):
            waits = number == 300
            put_found(
                change,
                evaluation(
                    number,
                    number // 10,
                    loss,
                    job_id=f"job-{number % 7}",
                    status=EvalStatus.BLOCKED if waits else EvalStatus.COMPLETE,
                ),
            )

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    address = f"/stories/{loss.id}/"
    answer = browser.get(address)
    nodes = answer.context["graph"].nodes
    assert answer.context["facts"].evaluations == count
    assert len(nodes) <= 60
    assert make_evaluation(300).id in {node.key for node in nodes}
    fold = next(node for node in nodes if node.is_folded)
    opened = browser.get(address + fold.href).context["graph"].nodes
    assert len(opened) > len(nodes)
    before = browser.get(f"{address}?at=20").context
    assert before["facts"].evaluations == 110
    assert before["past"].index == 20
    assert make_evaluation(300).id not in {node.key for node in before["graph"].nodes}


def test_alike_stories_are_one_row_that_unfolds_and_each_has_a_list(store, browser):
    made = [
        Story(
            id=f"{number:08}-launch", kind=StoryKind.LAUNCH, namespace="default",
            job_id=f"cron/periodic-{number}", parent_job_id="cron",
            create_time=SOME_MOMENT, create_index=100 + number,
        )
        for number in range(60)
    ]  # fmt: skip

    def work(change):
        for number, story in enumerate(made):
            change.put(STORIES, story)
            put_found(change, evaluation(1000 + number, 200, story, status=EvalStatus.COMPLETE))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    answer = browser.get("/stories/")
    assert "60 launches of cron" in answer.text
    assert "60 of 60 stories; 60 folded into 1 row" in answer.text
    assert "and 30 more: each in a row of" in " ".join(answer.text.split())
    (fold,) = [row for row in answer.context["ended"] if row.get("fold")]
    each = browser.get(fold["each_url"])
    assert len(each.context["ended"]) == 50
    assert browser.get("/stories/", each="1").context["ended"][0].get("fold") is None


def test_the_past_shows_the_cluster_as_it_was_to_those_who_may_see_nodes(told, store, browser):
    register = WriteKind.NODE_REGISTRATION
    store.write(register, lambda change: write_node(change, make_node()), now=SOME_MOMENT)
    index = store.read(lambda reader: reader.index)
    late = make_node(2)
    store.write(register, lambda change: write_node(change, late), now=SOME_MOMENT)
    then = browser.get(f"/stories/{OURS.id}/", at=index)
    assert "The cluster as it was" in then.text
    assert then.context["heat"]["nodes"] == 1
    assert "1 node joined later." in then.text
    assert "The cluster as it was" not in browser.get(f"/stories/{OURS.id}/").text
    few = Browser(account_with(store, 'namespace "default" { policy = "read" }'))
    assert "The cluster as it was" not in few.get(f"/stories/{OURS.id}/", at=index).text
