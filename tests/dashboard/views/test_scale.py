"""Scaling by the page of a job: bounds shown, refusals told beside the number, history drawn."""

import pytest

from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.rehearsals import begin_rehearsal
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.runtime.rehearsal_process import carry_out
from dashboard.panels import feed_for
from dashboard.rights import ACTIONS, NODE_READ
from dashboard.subscription import Subscription
from scheduler.access.caller import CLUSTER
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.identity import JobKey
from scheduler.structs.task_group import ScalingPolicy
from tests.builders import SOME_MOMENT, make_job, make_task_group
from tests.callers import MANAGER
from tests.dashboard.views.conftest import one_line

KEY = JobKey("default", "web")
PAGE = "/jobs/default/web/"
BOUNDS = ScalingPolicy(
    type="horizontal",
    target={"Namespace": "default", "Job": "web", "Group": "api"},
    min=1,
    max=4,
)
FIELDS = {"namespace": "default", "job": "web"}


@pytest.fixture
def job(store, ids):
    """Two groups, one of them with bounds."""
    groups = (
        make_task_group(name="api", count=2, scaling=BOUNDS),
        make_task_group(name="we b&<i>", count=1),
    )
    job = make_job(id="web", task_groups=groups)
    register_job(store, JobRegistration(job=job), by=MANAGER, now=SOME_MOMENT, ids=ids)
    return job


def counts(store):
    return [group.count for group in store.read(lambda reader: reader.job(KEY)).task_groups]


def scale(store, ids, count, **fields):
    asked = ScalingRequest(task_group="api", count=count, **fields)
    return scale_job(store, KEY, asked, by=MANAGER, now=SOME_MOMENT, ids=ids)


def test_the_page_shows_number_and_bounds_of_each_group(browser, job):
    answer = browser.get(PAGE)
    told = [
        (line.group.name, line.shown, line.bounds) for line in answer.context["scale"]["groups"]
    ]
    assert told == [
        ("api", "2", "1 to 4, set by the job file; an autoscaler may change it again"),
        ("we b&<i>", "1", "any number: its job file sets no bounds"),
    ]
    assert "<i>" not in answer.text


def test_the_group_whose_button_is_pressed_is_scaled(browser, job, store):
    fields = {
        "count.api": "3",
        "count.we%20b%26%3Ci%3E": "5",
        "group": "we b&<i>",
        "message": "Friday",
    }
    answer = browser.post("/jobs/scale/", **FIELDS, **fields)
    newest = store.read(lambda reader: reader.evaluations_by_job(KEY))[-1]
    assert answer.headers["Location"] == f"/evaluations/{newest.id}/"
    assert counts(store) == [2, 5]
    (line,) = browser.get(PAGE).context["scale"]["events"]
    assert (line.told, line.event.message) == ("1 → 5", "Friday")
    who = store.read(lambda reader: reader.story(newest.story_id)).actor
    assert line.event.actor == who != ""
    assert f'<td class="nowrap">{who}</td>' in browser.get(PAGE).text


@pytest.mark.parametrize(
    ("group", "count", "told"),
    [
        pytest.param("api", "9", "greater than scaling policy maximum: 9 > 4", id="above"),
        pytest.param("api", "0", "less than scaling policy minimum: 0 < 1", id="below"),
        pytest.param("api", "-1", "negative", id="negative"),
        pytest.param("api", "many", "give a whole number", id="no-number"),
        pytest.param("api", "9" * 40, "give a whole number", id="huge"),
        pytest.param("", "3", "press the button beside the group that you mean", id="no-button"),
        pytest.param("gone", "3", "give a whole number", id="no-such-group"),
    ],
)
def test_a_refused_number_is_told_beside_it_and_stays(browser, job, store, group, count, told):
    fields = {"count.api": count, "group": group, "message": "why <b>"}
    answer = browser.post("/jobs/scale/", **FIELDS, **fields)
    assert answer.status == 400
    assert told in answer.context["scale"]["typed"].error
    api, other = answer.context["scale"]["groups"]
    assert (api.shown, api.is_wrong, other.is_wrong) == (count, group == "api", False)
    assert ('aria-invalid="true" autofocus>' in answer.text) == api.is_wrong
    assert 'value="why &lt;b&gt;"' in answer.text
    # No frame may exchange what was typed.
    assert 'id="job-scale"' not in answer.text
    assert counts(store) == [2, 1]


def test_the_history_is_drawn_once_there_is_one(browser, job, store, ids):
    assert browser.get(PAGE).context["scale"]["groups"][0].chart is None
    scale(store, ids, 4)
    scale(store, ids, 3)
    scale(store, ids, None, message="no metrics", error=True)
    scaled = browser.get(PAGE).context["scale"]
    assert scaled["groups"][0].chart.numbers == (2, 4, 3, 3)
    assert scaled["groups"][1].chart is None
    assert [(line.told, line.is_refused) for line in scaled["events"]] == [
        ("failure at 3", True),
        ("4 → 3", False),
        ("2 → 4", False),
    ]


@pytest.mark.parametrize(
    "fields",
    [{"type": "system"}, {"type": "sysbatch"}, {"stop": True}],
    ids=str,
)
def test_what_has_no_number_is_not_scaled(browser, store, ids, fields):
    request = JobRegistration(job=make_job(id="web", **fields))
    register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)
    assert browser.get(PAGE).context["scale"] is None


def test_an_open_page_follows_who_scales(browser, job, store, ids):
    may = frozenset({*ACTIONS, NODE_READ})
    feed = feed_for(Subscription("job", "default/web", frozenset({"default"}), may))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    scale(store, ids, 4, message="more")
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: one_line(piece.html) for piece in pieces if hasattr(piece, "html")}
    assert told["job-scale"] in browser.get(PAGE).text
    assert "2 → 4" in told["job-scale"]


def test_what_it_would_do_is_told_beside_the_number(browser, job, store):
    fields = {"count.api": "3", "rehearse": "api", "part": "1"}
    asked = browser.post("/jobs/scale/", **FIELDS, **fields)
    (row,) = store.read(lambda reader: list(reader.list_all(REHEARSALS)))
    assert asked.headers["Location"] == f"/jobs/rehearsed/{row.id}/"
    waiting = browser.get(asked.headers["Location"])
    assert "Scaling api to 3 is being rehearsed." in waiting.text
    assert (
        f'id="rehearsed-api" role="status" data-look="/jobs/rehearsed/{row.id}/"' in waiting.text
    )
    begin_rehearsal(store, row.id, "web", by=CLUSTER, now=SOME_MOMENT)
    carry_out(row.id)
    told = browser.get(asked.headers["Location"])
    # There is no node in this record.
    assert "With 3: 0 of" in told.text
    assert "Those that wait lack" in told.text
    assert f'<a href="/what-if/{row.id}/">See where they go</a>' in told.text
    assert "data-look" not in told.text
    assert counts(store) == [2, 1]


@pytest.mark.parametrize(("count", "group"), [("many", "api"), ("3", ""), ("99", "api")])
def test_a_refused_rehearsal_is_told_beside_the_number(browser, job, store, count, group):
    fields = {"count.api": count, "rehearse": group, "part": "1"}
    answer = browser.post("/jobs/scale/", **FIELDS, **fields)
    assert answer.status == 400
    assert "Not rehearsed: " in answer.text
    assert "Changes[" not in answer.text
    assert store.read(lambda reader: list(reader.list_all(REHEARSALS))) == []


def test_what_scales_no_group_is_not_told_beside_a_number(browser, job, store):
    browser.post("/jobs/stop/", **FIELDS, rehearse="1")
    (row,) = store.read(lambda reader: list(reader.list_all(REHEARSALS)))
    assert browser.get(f"/jobs/rehearsed/{row.id}/").status == 404
