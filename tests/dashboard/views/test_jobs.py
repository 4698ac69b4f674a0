"""The list of jobs, one job, and its buttons."""

import html
import re

import pytest

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.namespaces import put_namespace
from dashboard.feeds.pieces import Html
from dashboard.panels import feed_for
from dashboard.queries.jobs import group_counts
from dashboard.rights import ACTIONS
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.nouns import JOB_SUBMISSIONS, JOB_SUMMARIES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import (
    JobSubmission,
    JobSummary,
    Namespace,
    ParameterizedJob,
    Periodic,
    TaskGroupSummary,
)
from scheduler.structs.task_group import Artifact
from tests.builders import SOME_MOMENT, make_job, make_task, make_task_group
from tests.callers import MANAGER
from tests.dashboard.views.conftest import listed, one_line

KEY = JobKey("default", "web")
FIELDS = {"namespace": "default", "job": "web"}


def words(answer):
    return " ".join(html.unescape(answer.text).split())


@pytest.fixture
def register(store, ids):
    def register(**fields):
        source = fields.pop("source", "")
        request = JobRegistration(
            job=make_job(**({"id": "web"} | fields)),
            submission=JobSubmission(source=source, format="hcl2") if source else None,
        )
        return register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)

    return register


@pytest.fixture
def elsewhere(store, register):
    """A job in a namespace of its own."""
    put_namespace(store, Namespace(name="other"), by=MANAGER, now=SOME_MOMENT)
    return register(id="hidden", namespace="other")


def test_an_empty_list_teaches_the_first_step(browser):
    answer = browser.get("/jobs/")
    assert "No job yet" in answer.text
    assert 'href="/jobs/new/"' in answer.text


def test_the_list_shows_jobs_with_their_counts(browser, register):
    register()
    answer = browser.get("/jobs/")
    assert listed(answer) == ["default/web"]
    assert 'id="jobs-default/web"' in answer.text


def test_the_list_goes_on_after_a_page(browser, register):
    for number in range(101):
        register(id=f"job-{number:03}")
    first = browser.get("/jobs/")
    assert len(listed(first)) == 100
    assert listed(browser.get(first.context["list"].next_url)) == ["default/job-100"]


def test_the_list_takes_a_prefix(browser, register):
    register()
    register(id="api")
    assert listed(browser.get("/jobs/", q="a")) == ["default/api"]


def test_a_guest_sees_only_their_namespaces(guest, elsewhere):
    assert listed(guest.get("/jobs/")) == []
    assert guest.get("/jobs/other/hidden/").status == 404
    assert guest.get("/jobs/other/hidden/edit/").status == 404


def test_a_guest_cannot_stop_what_they_do_not_see(guest, elsewhere, store):
    guest.post("/jobs/purge/", namespace="other", job="hidden")
    assert store.read(lambda reader: reader.job(JobKey("other", "hidden"))) is not None


def test_the_page_of_a_job_says_how_it_stands(browser, register):
    register()
    answer = browser.get("/jobs/default/web/")
    assert answer.status == 200
    assert answer.context["strong"] == "0 of 1 running."
    assert "Changes replace all allocations at once" in words(answer)


@pytest.mark.parametrize(
    ("job", "group", "named"),
    [
        pytest.param(
            {"type": "system"},
            {"running": 3, "queued": 1, "complete": 2},
            (
                ("running", "running", 3, 4),
                ("blocked", "waiting", 1, 0),
                ("stopped", "stopped", 2, 0),
            ),
            id="system-wants-one-a-node",
        ),
        pytest.param(
            {"type": "batch"}, {"complete": 2}, (("complete", "complete", 2, 0),), id="batch-ends"
        ),
        pytest.param(
            {"type": "service"}, {"running": 2}, (("running", "running", 2, 0),), id="more-run"
        ),
        pytest.param(
            {"type": "service"}, {"running": 1}, (("running", "running", 1, 1),), id="all-run"
        ),
        pytest.param(
            {"type": "service", "stop": True},
            {"complete": 1},
            (("stopped", "stopped", 1, 0),),
            id="stopped",
        ),
    ],
)
def test_counts_are_told_by_what_the_kind_of_job_wants(job, group, named):
    summary = JobSummary(job_id="web", summary={"web": TaskGroupSummary(**group)})
    (counts,) = group_counts(make_job(**job), summary).values()
    assert counts.named == named


def test_an_unknown_job_is_404(browser):
    assert browser.get("/jobs/default/nothing/").status == 404


def test_a_job_id_may_hold_slashes_and_markup(browser, register):
    register(id="a/<b>")
    answer = browser.get("/jobs/default/a%2F%3Cb%3E/")
    assert answer.status == 200
    assert "<b>" not in answer.text


def test_the_definition_is_the_text_that_was_submitted(browser, register):
    register(source='job "web" {}\n')
    answer = browser.get("/jobs/default/web/", tab="definition")
    assert answer.context["source"] == 'job "web" {}\n'


def test_stop_leads_to_the_evaluation(browser, register, store):
    register()
    answer = browser.post("/jobs/stop/", **FIELDS)
    newest = store.read(lambda reader: reader.evaluations_by_job(KEY))[-1]
    assert answer.headers["Location"] == f"/evaluations/{newest.id}/"
    assert store.read(lambda reader: reader.job(KEY)).stop


def test_start_runs_a_stopped_job_again_with_its_text(browser, register, store, ids):
    register(source="# a text")
    deregister_job(store, KEY, by=MANAGER, now=SOME_MOMENT, ids=ids)
    browser.post("/jobs/start/", **FIELDS)
    job = store.read(lambda reader: reader.job(KEY))
    submission = store.read(lambda reader: reader.get(JOB_SUBMISSIONS, (KEY, job.version)))
    assert (job.stop, job.version, submission.source) == (False, 2, "# a text")


def test_purge_forgets_the_job(browser, register, store):
    register()
    browser.post("/jobs/purge/", **FIELDS)
    assert store.read(lambda reader: reader.job(KEY)) is None


def test_looking_again_makes_an_evaluation(browser, register, store):
    register()
    browser.post("/jobs/evaluate/", **FIELDS)
    assert len(store.read(lambda reader: reader.evaluations_by_job(KEY))) == 2


def test_a_button_on_a_job_that_is_gone_says_so(browser):
    answer = browser.post("/jobs/stop/", **FIELDS)
    assert (answer.status, answer.headers["Location"]) == (302, "/jobs/")


def test_buttons_take_no_get(browser):
    for verb in ("stop", "start", "purge", "evaluate"):
        assert browser.get(f"/jobs/{verb}/").status == 405


def test_search_finds_by_the_beginning_of_a_name(browser, register):
    register()
    register(id="worker")
    found = browser.get("/search/", q="w").context["found"]
    assert [[hit.title for hit in kind.hits] for kind in found] == [["web", "worker"]]


def test_one_hit_opens_at_once(browser, register):
    written = register()
    answer = browser.get("/search/", q=written.eval_id[:12])
    assert answer.headers["Location"] == f"/evaluations/{written.eval_id}/"


def test_search_shows_no_other_namespace(guest, elsewhere):
    assert guest.get("/search/", q="hid").context["found"] == ()
    assert guest.get("/search/", q=elsewhere.eval_id[:12]).context["found"] == ()


def test_what_a_stop_would_end_is_told_again_while_the_page_is_open(store, browser, register):
    register()
    feed = feed_for(Subscription("job", "default/web", frozenset({"default"})))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    summary = JobSummary(job_id="web", summary={"web": TaskGroupSummary(running=2)})
    store.write(
        WriteKind.ALLOCATION_UPDATED,
        lambda change: change.put(JOB_SUMMARIES, summary),
        now=SOME_MOMENT,
    )
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: one_line(piece.html) for piece in pieces}
    page = browser.get("/jobs/default/web/").text
    for target in ("stop-job-told", "purge-job-told"):
        assert "2 allocations will be stopped" in told[target]
        assert told[target] in page


def test_the_buttons_of_an_open_page_follow_who_stops_the_job(browser, register, store):
    register()
    feed = feed_for(Subscription("job", "default/web", None, frozenset(ACTIONS)))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    browser.post("/jobs/stop/", **FIELDS)
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    (told,) = [
        one_line(piece.html)
        for piece in pieces
        if isinstance(piece, Html) and piece.target == "job-actions"
    ]
    page = browser.get("/jobs/default/web/").text
    assert told in page
    assert 'data-confirm="start-job"' in told
    assert 'data-confirm="stop-job"' not in told
    assert '<dialog class="dialog" id="start-job"' in page


LEFT_OUT = 'artifact.source of task "web.web": only sources of http, https, git are fetched'


def test_a_job_says_what_of_it_is_not_carried_out(browser, register):
    task = make_task(artifacts=(Artifact(getter_source="s3::https://x/y"),))
    register(task_groups=(make_task_group(tasks=(task,)),))
    assert f"Not carried out: {LEFT_OUT}" in words(browser.get("/jobs/default/web/"))


def test_a_job_that_asks_for_nothing_in_vain_says_nothing(browser, register):
    register()
    assert "Not carried out" not in browser.get("/jobs/default/web/").text


@pytest.mark.parametrize(
    ("fields", "standing", "sentence"),
    [
        pytest.param(
            {"periodic": Periodic(specs=("* * * * *",))},
            "launches",
            r"Next launch 15:07 UTC: it is overdue\. None was due yet\.",
            id="periodic",
        ),
        pytest.param(
            {"periodic": Periodic(specs=("* * * * *",), enabled=False)},
            "off",
            r"Switched off in its job file: nothing is launched\. None was due yet\.",
            id="periodic-off",
        ),
        pytest.param(
            {"parameterized_job": ParameterizedJob()},
            "takes-work",
            r"It waits to be dispatched: by itself it runs nothing\. Nothing dispatched is kept\.",
            id="parameterized",
        ),
    ],
)
def test_a_job_that_launches_others_says_how(browser, register, fields, standing, sentence):
    register(type="batch", **fields)
    page = browser.get("/jobs/default/web/")
    assert page.context["standing"] == standing
    assert 'data-confirm="evaluate-job"' not in page.text
    assert "for each child" in words(page)
    assert "of 1 running" not in one_line(words(page) + words(browser.get("/jobs/")))
    told = one_line(re.sub(r"<[^>]*>", "", words(page)))
    assert re.search(sentence, told)
