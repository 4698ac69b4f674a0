"""The buttons of a rollout on a job's page."""

import re

import pytest
from msgspec.structs import replace

from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.namespaces import put_namespace
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.deployment import Deployment, DeploymentStatus, GroupRollout
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Namespace
from scheduler.structs.story import version_story_id
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.callers import MANAGER
from tests.dashboard.views.conftest import Browser
from tests.people import account

JOB = "/jobs/default/web/"
PAGE = "/deployments/d/"
WAITING = GroupRollout(
    desired_canaries=1, placed_canaries=("c",), desired_total=3, placed_allocs=1, healthy_allocs=1
)
PAUSE = 'data-confirm="pause-rollout" data-fill-deployment="d" data-fill-version="0"'
PROMOTE = 'data-confirm="promote-rollout" data-fill-deployment="d" data-fill-version="0"'


@pytest.fixture
def deploy(store, ids):
    """A job whose version 0 rolls out, with a healthy canary of group `web`."""

    def deploy(*, healthy=True, namespace="default", **fields):
        put_namespace(store, Namespace(name=namespace), by=MANAGER, now=SOME_MOMENT)
        job = make_job(id="web", namespace=namespace)
        register_job(store, JobRegistration(job=job), by=MANAGER, now=SOME_MOMENT, ids=ids)
        group = replace(WAITING, **fields)
        deployment = Deployment(
            id="d", namespace=namespace, job_id="web", task_groups={"web": group}
        )
        canary = make_allocation(
            id="c",
            job=job,
            task_group="web",
            deployment_id="d",
            client_status=ClientStatus.RUNNING,
            deployment_status=DeploymentHealth(canary=True, healthy=healthy),
        )

        def work(change):
            put_found(change, deployment)
            put_found(change, canary)

        store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)

    return deploy


def deployment_of(store):
    return store.read(lambda reader: reader.deployment("d"))


def said(browser, answer):
    """What the page says to which the answer leads, and where that is."""
    where = answer.headers["Location"]
    return browser.get(where).text, where


def test_healthy_canaries_are_promoted_by_a_button(browser, store, deploy):
    deploy()
    assert PROMOTE in browser.get(JOB).text
    text, where = said(browser, browser.post("/deployments/promote/", deployment="d"))
    assert deployment_of(store).task_groups["web"].promoted
    assert where == PAGE
    assert "The canaries of version 0 were promoted." in text
    assert PROMOTE not in browser.get(JOB).text


def test_canaries_that_are_not_healthy_have_no_button_and_are_refused(browser, store, deploy):
    deploy(healthy=False, healthy_allocs=0)
    assert PROMOTE not in browser.get(JOB).text
    text, where = said(browser, browser.post("/deployments/promote/", deployment="d"))
    assert where == PAGE
    assert "Task group &quot;web&quot; has 0/1 healthy allocations" in text
    assert not deployment_of(store).task_groups["web"].promoted


def test_canaries_that_promote_themselves_need_no_button(browser, deploy):
    deploy(auto_promote=True)
    assert PROMOTE not in browser.get(JOB).text


def test_a_rollout_is_paused_and_goes_on(browser, store, deploy):
    deploy()
    assert PAUSE in browser.get(JOB).text
    text, where = said(browser, browser.post("/deployments/pause/", pause="d"))
    assert (deployment_of(store).status, where) == (DeploymentStatus.PAUSED, PAGE)
    assert 'name="resume" value="d"' in text
    text, where = said(browser, browser.post("/deployments/pause/", resume="d"))
    assert deployment_of(store).status is DeploymentStatus.RUNNING
    assert where == PAGE


@pytest.mark.parametrize(
    ("auto_revert", "told"),
    [
        pytest.param(True, "No other stable version is kept to go back to", id="goes-back"),
        pytest.param(False, "Nothing is brought back", id="stays"),
    ],
)
def test_failing_a_rollout_says_first_what_comes_of_it(browser, store, deploy, auto_revert, told):
    deploy(auto_revert=auto_revert)
    fail = browser.get(JOB).text.partition('data-confirm="fail-rollout"')[2]
    assert f'data-fill-consequence="1 allocation of this version was placed. {told}' in fail
    browser.post("/deployments/fail/", deployment="d")
    assert deployment_of(store).status is DeploymentStatus.FAILED
    assert 'form="rollout-form"' not in browser.get(JOB).text


@pytest.mark.parametrize("button", ["promote", "fail"])
def test_rollouts_of_others_are_not_there(guest, store, deploy, button):
    deploy(namespace="secret")
    before = deployment_of(store)
    answer = guest.post(f"/deployments/{button}/", deployment="d")
    assert answer.headers["Location"] == "/deployments/"
    assert deployment_of(store) == before


@pytest.fixture
def story(store, deploy):
    """The page of the story of that rollout."""
    deploy()
    job = store.read(lambda reader: reader.job(JobKey("default", "web")))
    name = version_story_id(job.key, job.create_index, job.version)

    def work(change):
        change.put_deployment(replace(change.deployment("d"), story_id=name))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    return f"/stories/{name}/"


def test_the_page_of_its_story_has_the_same_buttons_with_the_same_words(browser, story):
    told = re.findall(r'data-fill-consequence="([^"]*)"', browser.get(PAGE).text)
    assert len(told) == 3
    text = browser.get(story).text
    assert re.findall(r'data-fill-consequence="([^"]*)"', text) == told
    for dialog in ("promote-rollout", "pause-rollout", "fail-rollout"):
        assert f'<dialog class="dialog" id="{dialog}"' in text


def test_what_is_done_on_the_story_leads_back_to_it_and_names_who_did_it(browser, store, story):
    name = story.split("/")[2]
    text, where = said(browser, browser.post("/deployments/pause/", pause="d", story=name))
    assert where == story
    assert "Paused by kim: 1 of 3 run v0." in text
    assert 'name="resume" value="d"' in text
    said(browser, browser.post("/deployments/pause/", resume="d", story=name))
    text, where = said(browser, browser.post("/deployments/promote/", deployment="d", story=name))
    assert where == story
    assert "Promoted by kim." in text
    text, where = said(browser, browser.post("/deployments/fail/", deployment="d", story=name))
    assert where == story
    assert "Failed by kim." in text
    assert 'data-confirm="fail-rollout"' not in text
    verbs = [(act.verb.value, act.by) for act in deployment_of(store).acts]
    assert verbs == [
        ("paused", "kim"), ("resumed", "kim"), ("promoted", "kim"), ("failed", "kim"),
    ]  # fmt: skip


def test_a_story_that_is_not_the_rollouts_is_not_led_to(browser, story):
    answer = browser.post("/deployments/pause/", pause="d", story="https://elsewhere")
    assert answer.headers["Location"] == PAGE


def test_who_may_only_look_finds_the_buttons_greyed_on_the_story(store, story):
    text = Browser(account(store, "viewer", "lena")).get(story).text
    assert 'data-confirm="pause-rollout"' not in text
    assert 'id="rollout-pause-denied"' in text


def test_of_the_past_nothing_is_offered(browser, story):
    assert 'data-confirm="pause-rollout"' not in browser.get(story, at=1).text
