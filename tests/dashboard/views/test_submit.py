"""The submit page: problems, plan, run what was reviewed."""

import html
import json
from html.parser import HTMLParser

import pytest
from django.test import Client
from msgspec.structs import replace

from cluster.jobspec.parse import parse_text
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from scheduler.state.nouns import JOB_SUBMISSIONS
from scheduler.structs.identity import JobKey
from tests.builders import SOME_MOMENT
from tests.callers import MANAGER
from tests.dashboard.views.conftest import Browser
from tests.people import account

KEY = JobKey("default", "web")
TEXT = """job "web" {
  group "web" {
    count = 2
    task "web" {
      driver = "mock_driver"
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
"""


def stored(**changes):
    """The job of `TEXT`, as a program would register it."""
    return replace(parse_text(TEXT).job, **changes)


def plan(browser, text=TEXT, path="/jobs/new/", **fields):
    answer = browser.post(path, text=text, step="plan", **fields)
    review = answer.context["review"]
    return answer, review, answer.context["sheet"].digest


def run(browser, text=TEXT, path="/jobs/new/", **fields):
    return browser.post(path, text=text, step="run", **fields)


def words(answer):
    return " ".join(html.unescape(answer.text).split())


def test_the_form_opens_with_an_example_that_has_no_problems(browser, node):
    answer = browser.get("/jobs/new/")
    assert answer.status == 200
    assert answer.context["draft"].problems == ()
    assert "'nonce-" in answer.headers["Content-Security-Policy"]


def test_a_plan_names_changes_nodes_and_scores_and_stores_nothing(browser, node, store):
    answer, review, _ = plan(browser)
    assert answer.status == 200
    assert [(group.name, group.changes) for group in review.groups] == [("web", (("place", 2),))]
    assert {placement.node_name for placement in review.placements} == {node.name}
    assert review.strong == "The plan fits: 2 created."
    assert store.read(lambda reader: reader.job(KEY)) is None


def test_a_page_that_answers_a_form_says_so(browser, node):
    opened, (planned, _, _) = browser.get("/jobs/new/"), plan(browser)
    assert [" data-posted" in answer.text for answer in (opened, planned)] == [False, True]


def test_a_plan_refuses_what_could_not_take_the_place_of_the_stored_job(browser, node, store, ids):
    job = parse_text(TEXT).job
    register_job(store, JobRegistration(job=job), by=MANAGER, now=SOME_MOMENT, ids=ids)
    text = TEXT.replace('job "web" {', 'job "web" {\n  type = "batch"')
    answer = browser.post("/jobs/new/", text=text, step="plan")
    assert "cannot update job from type" in words(answer)


class Children(HTMLParser):
    """What stands directly within the notice above a plan."""

    def __init__(self):
        super().__init__()
        self.depth, self.names = 0, []

    def handle_starttag(self, tag, attrs):
        if self.depth == 1:
            self.names.append(tag)
        if self.depth or ("class", "notice") in attrs:
            self.depth += 1

    def handle_endtag(self, tag):
        self.depth -= bool(self.depth)


def test_what_runs_a_plan_stands_in_one_line_with_what_it_runs(browser, node):
    answer, *_ = plan(browser)
    found = Children()
    found.feed(answer.text)
    # A notice has three columns: a button of its own would fall into that of the icon.
    assert found.names == ["svg", "p", "span"]


def test_a_plan_counts_up(browser, node):
    _, review, _ = plan(browser, TEXT.replace("count = 2", "count = 11"))
    names = [placement.name for placement in review.placements]
    assert names == [f"web.web[{place}]" for place in range(11)]


def test_the_place_of_a_problem_is_said_once(browser, node):
    answer = browser.post("/jobs/new/", text=TEXT.replace("count", "cuont"), step="plan")
    (problem,) = answer.context["draft"].problems
    assert (problem.line, problem.message[:21]) == (3, "Unsupported argument;")


def test_what_was_reviewed_is_run_and_leads_to_its_evaluation(browser, node, store):
    _, review, digest = plan(browser)
    answer = run(browser, index=review.job_modify_index, digest=digest)
    evaluation = store.read(lambda reader: reader.evaluations_by_job(KEY))[0]
    assert (answer.status, answer.headers["Location"]) == (302, f"/evaluations/{evaluation.id}/")
    submission = store.read(lambda reader: reader.get(JOB_SUBMISSIONS, (KEY, 0)))
    assert (submission.source, submission.format) == (TEXT, "hcl2")


def test_a_text_that_changed_since_the_plan_is_planned_instead_of_run(browser, node, store):
    _, review, digest = plan(browser)
    changed = TEXT.replace("count = 2", "count = 3")
    answer = run(browser, changed, index=review.job_modify_index, digest=digest)
    assert answer.status == 409
    assert "Not run: the text changed since your plan." in words(answer)
    assert store.read(lambda reader: reader.job(KEY)) is None


def test_a_job_that_changed_since_the_plan_is_not_run(browser, node, store, ids):
    register_job(store, JobRegistration(job=stored()), by=MANAGER, now=SOME_MOMENT, ids=ids)
    _, review, digest = plan(browser, path="/jobs/default/web/edit/")
    meanwhile = stored(priority=70)
    register_job(store, JobRegistration(job=meanwhile), by=MANAGER, now=SOME_MOMENT, ids=ids)
    answer = run(browser, index=review.job_modify_index, digest=digest)
    assert answer.status == 409
    assert "Not run: the job changed since your plan." in words(answer)
    assert "Version 1 was stored at" in words(answer)
    assert "Priority = 70" in words(answer)
    assert store.read(lambda reader: reader.job(KEY)).version == 1


def test_a_job_that_was_purged_since_the_plan_is_not_run(browser, node, store, ids):
    register_job(store, JobRegistration(job=stored()), by=MANAGER, now=SOME_MOMENT, ids=ids)
    _, review, digest = plan(browser)
    deregister_job(store, KEY, purge=True, by=MANAGER, now=SOME_MOMENT, ids=ids)
    answer = run(browser, index=review.job_modify_index, digest=digest)
    assert "Meanwhile it was purged." in words(answer)
    assert store.read(lambda reader: reader.job(KEY)) is None


def test_what_does_not_fit_says_how_many_and_why(browser, node):
    _, review, _ = plan(browser, TEXT.replace("memory = 64", "memory = 99999999"))
    assert (review.unplaced, review.groups[0].why.exhausted_count) == (2, 1)
    assert review.strong == "The plan does not fit: 0 of 2 find a place."


BAD = [
    pytest.param("", 400, "The job file is empty", id="nothing"),
    pytest.param('job "web" {', 400, "Line 1", id="a-brace-is-missing"),
    pytest.param(TEXT.replace("count", "cuont"), 400, "Line 3", id="an-unknown-attribute"),
    pytest.param(TEXT.replace("group", "grupp"), 400, "Line 2", id="an-unknown-block"),
    pytest.param(TEXT.replace("= 2", "= -1"), 400, "Line 3", id="a-negative-count"),
    pytest.param('{"Job": {"ID": }}', 400, "invalid JSON", id="not-json"),
    pytest.param("x" * (1 << 20) + "y", 413, "larger than 1 MiB", id="too-long"),
    pytest.param(
        TEXT.replace("{\n", '{\n  namespace = "nowhere"\n', 1),
        400,
        'nonexistent namespace "nowhere"',
        id="an-unknown-namespace",
    ),
    pytest.param(
        TEXT.replace("{\n", '{\n  region = "moon"\n', 1), 400, 'no path to region "moon"',
        id="another-region",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "status", "told"), BAD)
def test_a_bad_text_is_refused_with_its_place(browser, node, store, text, status, told):
    answer = browser.post("/jobs/new/", text=text, step="run")
    assert answer.status == status
    assert told in words(answer)
    assert answer.context["review"] is None
    assert list(store.read(lambda reader: reader.jobs())) == []


def test_a_body_over_four_mebibytes_is_413(browser, store):
    answer = browser.post("/jobs/new/", text="x" * (4 * 1024 * 1024 + 1))
    assert answer.status == 413


WARNED = [
    pytest.param(
        TEXT.replace("mock_driver", "warp"), 'No node has the driver "warp"', 5, id="driver"
    ),
    pytest.param(
        '{"Job": {"ID": "web", "Colour": "red", "TaskGroups": [{"Name": "web", "Tasks":'
        ' [{"Name": "web", "Driver": "mock_driver"}]}]}}',
        "unknown field Colour is ignored",
        1,
        id="unknown-json-field",
    ),
    pytest.param(
        TEXT.replace(
            "      resources {", '      artifact { source = "s3::https://x/y" }\n      resources {'
        ),
        'Not carried out: artifact.source of task "web.web"',
        6,
        id="what-is-not-carried-out",
    ),
    pytest.param(
        TEXT + "#" * 1_000_000, "its text is not kept", None, id="a-submission-that-is-dropped"
    ),
]


@pytest.mark.parametrize(("text", "told", "line"), WARNED)
def test_a_warning_is_told_and_keeps_nobody_from_planning(browser, node, text, told, line):
    answer = browser.post("/jobs/check/", text=text)
    found = json.loads(answer.text)["problems"]
    warned = [(each["severity"], each["line"]) for each in found if told in each["message"]]
    assert warned == [("warning", line)]
    assert (plan(browser, text))[0].status == 200


def test_edit_opens_the_text_that_was_submitted(browser, node):
    _, review, digest = plan(browser)
    run(browser, index=review.job_modify_index, digest=digest)
    answer = browser.get("/jobs/default/web/edit/")
    assert answer.context["sheet"].text == TEXT


def test_edit_opens_json_that_can_be_planned_where_no_text_was_kept(browser, node, store, ids):
    register_job(store, JobRegistration(job=stored()), by=MANAGER, now=SOME_MOMENT, ids=ids)
    opened = browser.get("/jobs/default/web/edit/")
    _, review, _ = plan(browser, opened.context["sheet"].text)
    assert opened.context["draft"].findings == ()
    assert review.is_unchanged


def test_nobody_runs_a_job_where_they_see_nothing(guest, node, store):
    text = TEXT.replace("{\n", '{\n  namespace = "other"\n', 1)
    answer = guest.post("/jobs/new/", text=text, step="run")
    assert answer.status == 400
    assert list(store.read(lambda reader: reader.jobs())) == []


def test_a_stranger_is_sent_to_sign_in(stranger):
    for path in ("/jobs/", "/jobs/new/", "/jobs/default/web/", "/search/", "/allocations/"):
        answer = stranger.get(path)
        assert (answer.status, answer.headers["Location"][:7]) == (302, "/login/")


def test_a_check_answers_programs_as_data_whoever_asks(store, stranger):
    user = account(store, "viewer")
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(user)
    sent = {"text": TEXT}
    signed_out = stranger.post("/jobs/check/", **sent)
    without_right = Browser(user).post("/jobs/check/", **sent)
    without_token = forged.post("/jobs/check/", sent)
    assert (signed_out.status, json.loads(signed_out.text)) == (
        401,
        {"error": "Your session has ended. Nothing was changed. What you wrote is here."},
    )
    assert (without_right.status, json.loads(without_right.text)) == (
        403,
        {"error": "You may not do this: submit-job is needed."},
    )
    assert without_token.status_code == 403
    assert "error" in without_token.json()
