"""The list of rollouts, and the page of one: what stands there, for whom, and live."""

import re
from functools import partial

import pytest
from msgspec.structs import replace

from cluster.operations.job_versions import mark_job_stable
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.namespaces import put_namespace
from dashboard.panels import feed_for
from dashboard.rights import ACTIONS
from dashboard.subscription import Subscription
from scheduler.state.events import EventFrame, WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    GroupRollout,
    RolloutAct,
    RolloutVerb,
)
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.job import Namespace
from scheduler.structs.resources import Resources
from scheduler.structs.story import Story
from tests.builders import (
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_task,
    make_task_group,
)
from tests.callers import MANAGER
from tests.dashboard.views.conftest import listed

S = 1_000_000_000
WAITING = GroupRollout(
    desired_canaries=1, placed_canaries=("c",), desired_total=3, placed_allocs=1, healthy_allocs=1
)
MOVING = GroupRollout(desired_total=4, healthy_allocs=1, placed_allocs=2)
PAGE = "/deployments/d/"


@pytest.fixture
def put(store):
    """Deployments as they are given."""

    def put(*deployments):
        def work(change):
            for number, each in enumerate(deployments):
                at = SOME_MOMENT + number * S
                put_found(change, replace(each, create_time=at, modify_time=at + 90 * S))

        store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)

    return put


@pytest.fixture
def job(store, ids):
    """A job with two versions; the first is stable."""
    key = make_job(id="web").key
    for cpu in (100, 200):
        task = make_task(resources=Resources(cpu=cpu, memory_mb=64))
        wanted = make_job(id="web", task_groups=(make_task_group(tasks=(task,)),))
        register_job(store, JobRegistration(job=wanted), by=MANAGER, now=SOME_MOMENT, ids=ids)
        if cpu == 100:
            mark_job_stable(store, key, 0, stable=True, by=MANAGER, now=SOME_MOMENT)
    return store.read(lambda reader: reader.job(key))


def of(number, status=DeploymentStatus.RUNNING, **fields):
    fields.setdefault("task_groups", {"web": MOVING})
    return Deployment(id=f"{number:08x}", job_id=f"job-{number}", status=status, **fields)


def test_the_list_ranks_what_is_under_way_and_keeps_what_has_ended_apart(browser, put):
    put(
        of(1, DeploymentStatus.PAUSED), of(2), of(3, task_groups={"web": WAITING}),
        of(4, DeploymentStatus.FAILED, status_description="Failed due to progress deadline"),
    )  # fmt: skip
    page = browser.get("/deployments/")
    assert [line.standing for line in page.context["running"]] == ["canary", "running", "paused"]
    assert ended(page) == ["job-4"]
    assert "<strong>1 rollout needs a person</strong>: job-3 v0 has healthy canaries" in page.text
    assert "no progress was made in time" in page.text


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param({"q": "job-2"}, ["job-2"], id="job"),
        pytest.param({"q": "00000003"}, ["job-3"], id="beginning-of-id"),
        pytest.param({"status": "cancelled"}, ["job-3"], id="state"),
        pytest.param({"status": "wrong"}, ["job-3", "job-2", "job-1"], id="unknown-state"),
        pytest.param({"q": "nothing"}, [], id="none"),
        pytest.param({"namespace": "team"}, [], id="namespace"),
    ],
)
def test_ended_ones_are_found_by_job_id_and_state(browser, put, asked, found):
    put(
        of(1, DeploymentStatus.FAILED), of(2, DeploymentStatus.SUCCESSFUL),
        of(3, DeploymentStatus.CANCELLED),
    )  # fmt: skip
    page = browser.get("/deployments/", **asked)
    assert ended(page) == found
    assert ("No ended rollout in what you may see fits this now." in page.text) is (not found)


def test_ended_ones_come_a_page_at_a_time(browser, put):
    put(*(of(number, DeploymentStatus.SUCCESSFUL) for number in range(1, 41)))
    first = browser.get("/deployments/")
    second = browser.get(first.context["list"].next_url)
    shown = [*listed(first), *listed(second)]
    assert len(shown) == len(set(shown)) == 40


def test_the_page_of_one_names_its_phases_groups_and_steps(browser, store, put, job):
    put(
        Deployment(
            id="d", job_id="web", job_version=1, job_create_index=job.create_index,
            task_groups={job.task_groups[0].name: WAITING},
        )
    )  # fmt: skip
    name = job.task_groups[0].name
    evaluation = make_evaluation(3, job_id="web", status=EvalStatus.COMPLETE)
    stranger = make_evaluation(4, job_id="web", status=EvalStatus.COMPLETE)
    canary = make_allocation(
        id="c", job=job, task_group=name, deployment_id="d", eval_id=evaluation.id,
        client_status=ClientStatus.RUNNING,
        deployment_status=DeploymentHealth(canary=True, healthy=True, timestamp=SOME_MOMENT),
    )  # fmt: skip

    def work(change):
        for each in (evaluation, stranger, canary):
            put_found(change, each)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    page = browser.get(PAGE)
    titles = [phase.title for phase in page.context["phases"]]
    assert titles == ["1 canary placed", "1 canary healthy", "Promote", "2 more", "Done"]
    assert [line.evaluation.id for line in page.context["steps"]] == [evaluation.id]
    assert f'href="/evaluations/{evaluation.id}/"' in page.text
    assert 'href="/allocations/c/"' in page.text
    assert "1 of 1 canary healthy." in page.text
    assert f"2 of {name} are rolled out next" in page.text
    assert page.context["changed"]
    (group,) = page.context["groups"]
    for url in (group.placed_url, group.healthy_url):
        assert [row["alloc"].id for row in browser.get(url).context["list"].contexts] == ["c"]
        assert url.replace("&", "&amp;") in page.text
    assert browser.get(group.unhealthy_url).context["list"].contexts == []
    assert [(way.job.version, way.word) for way in page.context["ways_back"]] == [(0, "stable")]


def test_a_version_is_gone_back_to_from_its_page(browser, store, put, job):
    put(
        Deployment(
            id="d", job_id="web", job_version=1, job_create_index=job.create_index,
            task_groups={"web": MOVING},
        )
    )  # fmt: skip
    assert 'data-confirm="revert-rollout"' in browser.get(PAGE).text
    browser.post("/jobs/revert/", namespace="default", job="web", version="0", prior="1")
    assert store.read(lambda reader: reader.job(job.key)).version == 2


def test_what_one_may_not_do_is_greyed_with_the_right_it_needs(browser, store, put, job):
    from tests.dashboard.views.conftest import Browser
    from tests.people import account

    put(Deployment(id="d", job_id="web", job_version=1, task_groups={"web": WAITING}))
    text = Browser(account(store, "viewer", "looks")).get(PAGE).text
    for action in ("promote-rollout", "pause-rollout", "fail-rollout", "revert-rollout"):
        assert f'data-confirm="{action}"' not in text
        assert f'data-confirm="{action}"' in browser.get(PAGE).text
    assert text.count('aria-disabled="true"') == 4
    assert "needs submit-job in default" in text


@pytest.mark.parametrize("path", [PAGE, "/deployments/?namespace=secret", "/search/?q=0000"])
def test_rollouts_of_hidden_namespaces_are_not_there(guest, store, put, path):
    put_namespace(store, Namespace(name="secret"), by=MANAGER, now=SOME_MOMENT)
    put(
        Deployment(id="d", namespace="secret", job_id="hidden-job", task_groups={"web": MOVING}),
        of(1, namespace="secret", status_description="hidden-job"),
    )
    page = guest.get(path)
    assert "hidden-job" not in page.text
    assert (page.status == 404) is (path == PAGE)


def test_search_finds_rollouts_by_the_beginning_of_their_id(browser, put):
    put(of(0xABC), of(0xABD))
    assert 'href="/deployments/00000abc/"' in browser.get("/search/", q="00000ab").text
    assert browser.get("/search/", q="00000abc").headers["Location"] == "/deployments/00000abc/"


def test_one_that_was_collected_leaves_an_open_page_that_says_so(store, put):
    put(Deployment(id="d", job_id="web", task_groups={"web": MOVING}))
    feed = feed_for(Subscription("deployment", "d", frozenset({"default"}), frozenset()))
    store.read(feed.load)
    store.write(
        WriteKind.PLAN_RESULT, lambda change: change.delete_deployment("d"), now=SOME_MOMENT
    )
    told = flushed(store, feed)
    assert "This rollout is gone." in told["deployment-head"]
    assert "hidden" in told["deployment-phases"]


def flushed(store, feed, now=SOME_MOMENT):
    """What the feed tells of all that was written; its panels by target."""

    def flush(reader):
        for frame in reader.frames_after(reader.index - 1, 10):
            feed.observe(frame)
        feed.is_due(now)
        return feed.flush(reader, now)

    return {piece.target: piece.html for piece in store.read(flush)}


def ended(page):
    return [row["line"].deployment.job_id for row in page.context["list"].contexts]


def test_an_open_list_moves_one_that_ends_to_the_others(store, put):
    put(of(1))
    feed = feed_for(Subscription("deployments", "", None))
    store.read(feed.load)
    put(replace(of(1), task_groups={"web": replace(MOVING, healthy_allocs=2)}))
    told = flushed(store, feed)
    assert "2 of 4 healthy" in told["deployments-running"]
    assert told["rollouts"] == {}
    put(of(1, DeploymentStatus.SUCCESSFUL))
    told = flushed(store, feed, SOME_MOMENT + S)
    assert "No rollout is under way." in told["deployments-told"]
    assert "job-1" in told["rollouts"][f"rollouts-{of(1).id}"]


def test_an_open_list_says_without_any_write_that_one_is_stuck(store, put):
    due = SOME_MOMENT + 60 * S
    slow = replace(MOVING, progress_deadline=60 * S, require_progress_by=due)
    put(of(1, task_groups={"web": slow}))
    feed = feed_for(Subscription("deployments", "", None))
    store.read(feed.load)
    assert not feed.is_due(SOME_MOMENT)
    assert feed.is_due(SOME_MOMENT + 31 * S)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT + 31 * S))
    assert any("stuck" in str(piece.html) for piece in pieces)


def test_one_whose_job_waits_for_room_says_why_on_its_page_and_in_an_open_list(
    browser, store, put
):
    put(of(1, task_groups={"web": replace(MOVING, placed_allocs=0, healthy_allocs=0)}))
    feed = feed_for(Subscription("deployments", "", None))
    store.read(feed.load)
    metric = AllocMetric(nodes_evaluated=3, dimension_exhausted={"memory": 3})
    waits = make_evaluation(
        7, job_id="job-1", status=EvalStatus.BLOCKED, failed_task_groups={"web": metric}
    )

    def write(evaluation):
        work = partial(put_found, row=evaluation)
        store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
        return flushed(store, feed)

    told = write(waits)
    assert "1 waits for room." in told["deployments-told"]
    assert (
        "0 of 4 healthy, none placed yet: memory is exhausted on 3 nodes"
        in (told["deployments-running"])
    )
    assert f"/evaluations/{waits.id}/#decision" in browser.get("/deployments/").text
    text = browser.get(f"/deployments/{of(1).id}/").text
    assert "waits for room" in text
    assert "0 of 4 healthy, waits for room" in text
    told = write(replace(waits, status=EvalStatus.CANCELED))
    assert "1 has nothing placed yet." in told["deployments-told"]


def test_reports_of_a_large_rollout_are_read_together(store, put):
    put(Deployment(id="d", job_id="web", task_groups={"web": MOVING}))
    feed = feed_for(Subscription("deployment", "d", frozenset({"default"}), frozenset()))
    store.read(feed.load)
    alloc = make_allocation(deployment_id="d")

    def report(change):
        put_found(change, alloc)

    moments = [SOME_MOMENT, SOME_MOMENT + S // 10, SOME_MOMENT + S]
    due = []
    for now in moments:
        store.write(WriteKind.PLAN_RESULT, report, now=now)
        frames = store.read(lambda reader: reader.frames_after(reader.index - 1, 1))
        assert isinstance(frames[0], EventFrame)
        feed.observe(frames[0])
        assert not feed.needs_reader
        due.append(feed.is_due(now))
        store.read(lambda reader, now=now: feed.flush(reader if due[-1] else None, now))
    assert due == [True, False, True]


STORY = "5" * 36


@pytest.mark.parametrize(
    ("story", "told"),
    [
        pytest.param({"actor": "kim-of-ops"}, "kim-of-ops", id="person"),
        pytest.param({"actor": ""}, '<span class="quiet">no person</span>', id="nobody"),
        pytest.param(
            {"job_id": "web", "job_version": 0, "actor": "kim"},
            '<span class="quiet">by itself: v0 failed</span>', id="revert-by-itself",
        ),
        pytest.param(None, '<span class="quiet">not known</span>', id="not-kept"),
    ],
)  # fmt: skip
def test_who_or_what_began_a_rollout_is_said_of_what_runs_what_ended_and_of_one(
    browser, store, story, told
):
    runs = Deployment(
        id="d", job_id="web", job_version=1, story_id=STORY, task_groups={"web": MOVING}
    )
    ended_one = replace(runs, id="e", status=DeploymentStatus.SUCCESSFUL)

    def work(change):
        for each in (runs, ended_one):
            put_found(change, each)
        if story is not None:
            change.put(STORIES, Story(id=STORY, namespace="default", **story))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    listing = browser.get("/deployments/").text
    assert listing.count(told) == 2
    assert told in browser.get(PAGE).text


def test_the_versions_of_a_rollout_lead_to_what_changed_between_them(browser, put):
    put(
        Deployment(id="d", job_id="web", job_version=42, task_groups={"web": MOVING}),
        of(1, DeploymentStatus.SUCCESSFUL),
    )
    text = browser.get("/deployments/").text
    (link,) = re.findall(r'<a href="([^"]*from=[^"]*)"', text)
    assert link == "/jobs/default/web/?tab=versions&amp;from=41&amp;to=42"
    assert re.search(r">v41 →\s+v42</a>", text)


def test_who_paused_a_rollout_is_named(browser, put):
    act = RolloutAct(verb=RolloutVerb.PAUSED, by="kim", at=SOME_MOMENT)
    put(of(1, DeploymentStatus.PAUSED, acts=(act,)))
    assert "paused by kim: 1 of 4 healthy" in browser.get("/deployments/").text


def test_ways_back_of_an_open_page_follow_the_versions_of_the_job(store, put, job):
    put(Deployment(id="d", job_id="web", job_version=1, task_groups={"web": WAITING}))
    feed = feed_for(Subscription("deployment", "d", frozenset({"default"}), frozenset(ACTIONS)))
    store.read(feed.load)
    newest = store.read(lambda reader: reader.job(job.key))
    store.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, replace(newest, priority=70)),
        now=SOME_MOMENT,
    )  # fmt: skip
    told = flushed(store, feed)["deployment-ways"]
    assert 'name="prior" value="2"' in told
    assert [f'value="{number}"' in told for number in (0, 1)] == [True, True]
