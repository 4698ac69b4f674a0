"""Stories on pages: who sees which, what was, and files that hold whatever people wrote."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from cluster.runtime.clock import SystemClock
from dashboard.feeds.stories import StoriesFeed
from dashboard.live.topics import BadTopic, Looker, authorise
from dashboard.people import person_of
from dashboard.queries.stories import WHEN
from dashboard.stories.gathered import ALL_READ
from dashboard.subscription import topic_text
from dashboard.viewer import visible_namespaces
from dashboard.wording import full_time
from scheduler.state.events import StateEvent, Topic, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.writes.nodes import write_node
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations
from scheduler.structs.story import Story, StoryKind, StoryNode, story_id
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


def test_a_node_of_the_drawing_is_selected_first_and_opened_then(told, browser):
    done, waits = (make_evaluation(number).id for number in (1, 2))
    page = browser.get(f"/stories/{OURS.id}/").text
    assert f'href="?eval={done}#story-chosen" tabindex' in page
    assert re.search(rf'aria-current="true" href="/evaluations/{waits}/" tabindex', page)
    chosen = browser.get(f"/stories/{OURS.id}/?eval={done}&at=16").text
    assert re.search(rf'aria-current="true" href="/evaluations/{done}/" tabindex', chosen)
    assert f'href="?at=16&amp;eval={waits}#story-chosen" tabindex' in chosen
    assert "#story-chosen" not in browser.get(f"/stories/{OURS.id}.svg").text


def test_a_row_of_the_list_leads_to_its_evaluations_and_says_what_they_did(told, browser):
    page = browser.get("/stories/").text
    assert f'href="/stories/{OURS.id}/?view=table">2</a>' in page
    assert "Nothing had to change" in page
    assert "has ended" not in page
    assert 'href="/evaluations/?status=blocked"' in page


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


def test_the_one_that_waits_is_selected_and_any_other_can_be(told, browser):
    page = f"/stories/{OURS.id}/"
    first, waits = make_evaluation(1).id, make_evaluation(2).id
    answer = browser.get(page)
    chosen = answer.context["chosen"]
    assert (chosen.evaluation.id, chosen.heading) == (waits, "Why it waits")
    assert chosen.why.strong == "Memory is exhausted on 3 nodes."
    assert [(want.group, want.count) for want in chosen.wants] == [("web", 1)]
    assert (chosen.before_url, chosen.after_url) == (f"?eval={first}#story-chosen", "")
    ringed = [node.key for node in answer.context["graph"].nodes if node.is_selected]
    assert ringed == [waits]
    other = browser.get(page, eval=first)
    assert other.context["chosen"].heading == "What it did"
    assert other.context["live_topics"] == topic_text("story", f"{OURS.id}/eval:{first}")
    assert browser.get(page, eval="unknown").context["chosen"].evaluation.id == waits
    assert "is_selected" not in browser.get(f"/stories/{OURS.id}.json").text
    assert 'aria-current="true"' not in browser.get(f"/stories/{OURS.id}.svg").text


def test_what_came_next_is_what_the_record_says_of_later(told, store, browser):
    page = f"/stories/{OURS.id}/"
    then = browser.get(page, at=12)
    assert [line.told for line in then.context["later_lines"]] == [
        "1 evaluation that was on the way ended.",
        "1 more evaluation waits for room.",
    ]
    assert "What came next" in then.text
    assert browser.get(page).context["later_lines"] == []
    taken = Story(
        id=story_id("preemption", make_evaluation(1).id), kind=StoryKind.PREEMPTION,
        namespace="default", job_id="web", parent_id=OURS.id,
        create_time=SOME_MOMENT + 14 * SECOND, create_index=14,
    )  # fmt: skip
    store.write(WriteKind.PLAN_RESULT, lambda change: change.put(STORIES, taken), now=SOME_MOMENT)
    (line,) = browser.get(page).context["later_lines"]
    assert (line.told, line.url) == ("Preemption by web", f"/stories/{taken.id}/")
    assert "Scaling of web" in browser.get(f"/stories/{taken.id}/").text


def test_of_a_wait_that_is_over_nobody_knows_why_it_was(told, store, browser):
    waits = evaluation(
        7, 20, status=EvalStatus.COMPLETE, modify_index=40, triggered_by="queued-allocs"
    )

    def work(change):
        put_found(change, waits)
        for number, step, index in ((1, Step.BLOCKED, 20), (2, Step.COMPLETE, 40)):
            change.put(
                LIFECYCLE_STEPS,
                LifecycleStep(
                    eval_id=waits.id, number=number, step=step, index=index,
                    at=SOME_MOMENT + index * SECOND,
                ),
            )  # fmt: skip

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    then = browser.get(f"/stories/{OURS.id}/", at=30, eval=waits.id).context
    assert then["chosen"].heading == "Why it waited"
    assert then["chosen"].why.rest == "What the nodes lacked then is not known any more."
    assert "1 evaluation that waited for room ran again." in [
        line.told for line in then["later_lines"]
    ]


def test_the_list_is_narrowed_to_what_began_of_late_and_unfolded(store, browser):
    """Of sixty launches, one each hour, those of a day; each by itself when that is asked for."""
    now = SystemClock().now()
    hour = 3_600 * SECOND
    made = [
        Story(
            id=f"{number:08}-launch", kind=StoryKind.LAUNCH, namespace="default",
            parent_job_id="cron", create_time=now - number * hour - SECOND,
            create_index=100 - number,
        )
        for number in range(60)
    ]  # fmt: skip

    def work(change):
        for story in made:
            change.put(STORIES, story)

    store.write(WriteKind.PLAN_RESULT, work, now=now)
    counts = {word: browser.get("/stories/", when=word).context["list"].fitting for word in WHEN}
    assert counts == {"hour": 1, "day": 24, "week": 60}
    assert browser.get("/stories/", when="nonsense").context["list"].told.startswith("all shown")
    day = browser.get("/stories/", when="day")
    assert '<option value="day" selected>' in day.text
    assert [row["fold"].title for row in day.context["list"].contexts[1:]] == [
        "24 launches of cron"
    ]
    each = browser.get("/stories/", when="day", each="1")
    assert len(each.context["list"].contexts) == 25
    box = re.search(r'<input type="checkbox" name="each"[^>]*>', each.text)
    assert box is not None
    assert "checked" in box[0]


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


def test_a_story_without_evaluations_is_drawn_whole(told, store, browser):
    alone = replace(CLUSTER, id="e" * 8 + "-alone", kind=StoryKind.CONFIGURATION, node_count=0)
    store.write(WriteKind.PLAN_RESULT, lambda change: change.put(STORIES, alone), now=SOME_MOMENT)
    graph = browser.get(f"/stories/{alone.id}/").context["graph"]
    (cause,) = graph.nodes
    assert cause.y + cause.height / 2 < graph.view[3]
    note = browser.get(f"/stories/{alone.id}.md").text
    assert f"| Ended | {full_time(SOME_MOMENT)} |" in note
    assert "not over" not in note
    assert "## Figures" not in note
    assert "3 wait for memory" in browser.get("/stories/").text


def test_the_tries_that_failed_are_those_of_now(told, store, browser):
    """How many had failed at a moment of the past nobody knows."""
    rollout = Deployment(
        id=f"{9:036}", job_id="web", story_id=OURS.id, status=DeploymentStatus.RUNNING,
        create_index=11, modify_index=30, create_time=SOME_MOMENT,
        task_groups={"web": GroupRollout(desired_total=2, unhealthy_allocs=5)},
    )  # fmt: skip
    ended = evaluation(2, 14, status=EvalStatus.COMPLETE, modify_index=15)

    def work(change):
        put_found(change, ended)
        put_found(change, rollout)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    page = f"/stories/{OURS.id}/"
    assert "0 of 2 run v0 and 5 did not become healthy." in browser.get(page).text
    then = browser.get(page, at=13).text
    assert "0 of 2 run v0." in then
    assert "did not become healthy" not in then


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
    assert listed_rows(context) == ["running", OURS.id, "ended", CLUSTER.id, THEIRS.id]
    assert context["strong"] == "1 story runs; 1 may need a person."


def listed_rows(context):
    return [*context["list"].rows]


def test_the_list_is_sorted_by_its_heads_and_counted_by_its_facets(told, browser, guest):
    context = browser.get("/stories/", sort="began").context
    assert listed_rows(context) == [OURS.id, THEIRS.id, CLUSTER.id]
    facets = {facet.name: facet for facet in context["list"].facets}
    told = {choice.word: choice.count for choice in facets["kind"].choices}
    assert told == {"all": 3, "Drain": 1, "Scaling": 2}
    counts = [choice.count for choice in facets["status"].choices]
    assert counts == [3, 1, 2]
    seen = guest.get("/stories/").context["list"]
    assert seen.facets[0].choices[0].count == seen.total == 2


def test_a_namespace_is_shown_with_what_the_cluster_did(told, browser):
    context = browser.get("/stories/", namespace="secret", sort="began").context
    assert listed_rows(context) == [THEIRS.id, CLUSTER.id]
    assert context["list"].told == "2 of 2 fit"


def test_nobody_learns_of_a_hidden_job_by_asking_for_its_stories(told, guest):
    assert CLUSTER.id in guest.get("/stories/").text
    assert CLUSTER.id not in guest.get("/stories/", job="secret/hidden-job").text


def test_a_node_is_asked_for_by_its_name_or_id(told, store, browser):
    link = StoryNode(story_id=CLUSTER.id, node_id=make_node().id, kind=StoryKind.DRAIN)

    def work(change):
        write_node(change, make_node(name="one"))
        change.put(STORY_NODES, link)

    store.write(WriteKind.NODE_REGISTRATION, work, now=SOME_MOMENT)
    for asked in ("one", make_node().id):
        context = browser.get("/stories/", node=asked).context
        assert listed_rows(context) == ["ended", CLUSTER.id]
    assert listed_rows(browser.get("/stories/", node="two").context) == []


def test_a_large_story_is_told_from_its_columns_and_unfolds(told, store, browser):
    loss = Story(id="d" * 8 + "-loss", kind=StoryKind.LOSS, create_time=SOME_MOMENT)
    count = ALL_READ + 20
    placed = PlanAnnotations(desired_updates={"web": DesiredUpdates(place=2)})

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
                    plan_annotations=placed,
                ),
            )

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    address = f"/stories/{loss.id}/"
    answer = browser.get(address)
    nodes = answer.context["graph"].nodes
    assert answer.context["facts"].evaluations == count
    assert len(nodes) <= 60
    # What the few did that are read is not told of all.
    assert not any("placed" in lane.name for lane in answer.context["graph"].lanes)
    assert not any("placed" in row.row.told for row in answer.context["lanes"])
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
    assert "all shown; 60 folded into 1 row" in answer.text
    assert "and 30 more: each in a row of" in " ".join(answer.text.split())
    (fold,) = [row for row in answer.context["list"].contexts if row.get("fold")]
    each = browser.get(fold["each_url"]).context["list"]
    assert (len(each.rows), each.shown, each.told) == (51, 50, "60 of 60 fit")
    last = browser.get(each.next_url).context["list"]
    assert (len(last.rows), last.next_url) == (11, "")
    alone = browser.get("/stories/", each="1").context["list"]
    assert not [row for row in alone.contexts if row.get("fold")]


def test_a_page_of_folds_goes_on_behind_the_last_that_it_stands_for(store, browser):
    """Four hundred launches are a row on this page and a row on the next."""
    made = [
        Story(id=f"{number:08}-launch", kind=StoryKind.LAUNCH, namespace="default",
              parent_job_id="cron", create_time=SOME_MOMENT, create_index=100 + number)
        for number in range(400)
    ]  # fmt: skip

    def work(change):
        for story in made:
            change.put(STORIES, story)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    first = browser.get("/stories/").context["list"]
    second = browser.get(first.next_url).context["list"]
    stand_for = [row["fold"].lines for page in (first, second) for row in page.contexts[1:]]
    ids = [line.story.id for lines in stand_for for line in lines]
    assert ids == [story.id for story in reversed(made)]
    assert (first.told, second.next_url) == ("300 shown; 300 folded into 1 row", "")


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


SET_UP = replace(CLUSTER, id="d" * 8 + "-setup", kind=StoryKind.CONFIGURATION, node_count=0)
#: What somebody may read beside every namespace, and the cluster's stories that exist then.
OF_THE_CLUSTER = {
    "": [],
    'node { policy = "read" }': [CLUSTER],
    'operator { policy = "read" }': [SET_UP],
    'node { policy = "read" } operator { policy = "read" }': [CLUSTER, SET_UP],
}


@pytest.mark.parametrize(("rules", "shown"), OF_THE_CLUSTER.items())
def test_every_namespace_opens_no_story_of_the_cluster(told, store, rules, shown):
    with_set_up = replace(SET_UP, create_index=7)
    store.write(
        WriteKind.PLAN_RESULT, lambda change: change.put(STORIES, with_set_up), now=SOME_MOMENT
    )
    user = account_with(store, 'namespace "*" { policy = "read" } ' + rules)
    browser, access = Browser(user), person_of(user).access
    wanted = {story.id for story in shown}

    context = browser.get("/stories/", each="1").context
    listed = {row["row"].story.id for row in context["list"].rows.values() if "row" in row}
    assert listed & {CLUSTER.id, SET_UP.id} == wanted
    assert context["total"] == 2 + len(shown)
    for story in (CLUSTER, SET_UP):
        for path in ("/", ".mmd", ".svg", ".json", ".md"):
            status = browser.get(f"/stories/{story.id}{path}").status
            assert status == (200 if story.id in wanted else 404), (story.kind, path)

    def follow(reader):
        looker = Looker(access, visible_namespaces(reader, access))
        subscription = authorise("stories", "*", looker, reader)
        for story in (CLUSTER, SET_UP):
            if story.id in wanted:
                authorise("story", story.id, looker, reader)
            else:
                with pytest.raises(BadTopic):
                    authorise("story", story.id, looker, reader)
        event = StateEvent(topic=Topic.STORY, key=CLUSTER.id, namespace="", value=CLUSTER)
        return [
            StoriesFeed(subscription).concerns(replace(event, key=story.id, value=story))
            for story in (CLUSTER, SET_UP)
        ]

    assert store.read(follow) == [story.id in wanted for story in (CLUSTER, SET_UP)]


def test_stories_that_say_the_same_stand_on_now_after_those_that_do_not(store, browser):
    def alike(number, **fields):
        return Story(
            id=f"{number}" * 36, kind=StoryKind.ROLLOUT, namespace="default", job_id=f"j{number}",
            create_index=number, **fields,
        )  # fmt: skip

    stories = [alike(5), alike(6), alike(7), replace(alike(4), kind=StoryKind.STOP)]

    def work(change):
        for number, story in enumerate(stories):
            change.put(STORIES, story)
            put_found(change, make_evaluation(number, job_id=story.job_id, story_id=story.id))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    shown = [line.story.id[0] for line in browser.get("/").context["running_stories"]]
    assert shown == ["7", "4", "6", "5"]


def test_stories_that_run_stand_on_now_with_how_far_they_are(told, browser, guest):
    seen = browser.get("/")
    line, *others = seen.context["running_stories"]
    assert (line.story.id, line.way) == (OURS.id, (1, 2, "1 of 2 evaluations ended"))
    assert seen.context["running_count"] == 1 + len(others)
    assert f'href="/stories/{OURS.id}/"' in seen.text
    assert 'aria-label="1 of 2 evaluations ended"' in seen.text
    theirs = [line.story.id for line in guest.get("/").context["running_stories"]]
    assert THEIRS.id not in theirs
