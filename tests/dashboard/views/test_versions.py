"""The versions of a job: listed, compared by choice, and kept current while the page is open."""

import pytest

from cluster.operations.jobs import JobRegistration, register_job
from cluster.page_addresses import job_url
from dashboard.panels import feed_for
from dashboard.rights import ACTIONS, NODE_READ
from dashboard.subscription import Subscription
from dashboard.wording import MINUS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSubmission
from tests.builders import SOME_MOMENT, make_job, make_task_group
from tests.callers import MANAGER
from tests.dashboard.views.conftest import one_line

PAGE = "/jobs/default/web/"
MAY = frozenset({*ACTIONS, NODE_READ})


@pytest.fixture
def register(store, ids):
    def register(submission=None, **fields):
        job = make_job(**({"id": "web"} | fields))
        request = JobRegistration(job=job, submission=submission)
        return register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)

    return register


@pytest.fixture
def three(register):
    """Versions 0 to 2, of different priority."""
    for priority in (50, 60, 70):
        register(priority=priority)


def lines(answer):
    return [line.text for line in answer.context["comparison"].lines]


def test_each_version_says_what_it_changed(browser, three):
    answer = browser.get(PAGE, tab="versions")
    told = [(line.job.version, line.word, line.told) for line in answer.context["versions"]]
    assert told == [
        (2, "current", "1 change: Priority"),
        (1, "not stable", "1 change: Priority"),
        (0, "not stable", "the oldest kept"),
    ]


def test_the_newest_two_are_compared_until_somebody_chooses(browser, three):
    answer = browser.get(PAGE, tab="versions")
    assert lines(answer) == [f"{MINUS} Priority = 60", "+ Priority = 70"]
    assert 'id="job-difference"' in answer.text


@pytest.mark.parametrize(
    ("older", "newer", "found"),
    [
        pytest.param("0", "2", [f"{MINUS} Priority = 50", "+ Priority = 70"], id="any-two"),
        pytest.param("2", "0", [f"{MINUS} Priority = 70", "+ Priority = 50"], id="backwards"),
        pytest.param("1", "1", [], id="one-twice"),
    ],
)
def test_any_two_versions_are_compared(browser, three, older, newer, found):
    answer = browser.get(PAGE, tab="versions", **{"from": older, "to": newer})
    assert lines(answer) == found
    chosen = [
        (line.job.version, line.is_from, line.is_to)
        for line in answer.context["versions"]
        if line.is_from or line.is_to
    ]
    assert {(version, True) for version, is_from, _ in chosen if is_from} == {(int(older), True)}
    assert {(version, True) for version, _, is_to in chosen if is_to} == {(int(newer), True)}
    # What was chosen is not exchanged when a newer version comes.
    assert 'id="chosen-difference"' in answer.text


def test_two_versions_are_shown_as_whole_files(browser, register):
    for count in (2, 5):
        text = f'job "web" {{\n  count = {count}\n}}\n'
        register(submission=JobSubmission(source=text, format="hcl2"), priority=50 + count)
    page = browser.get(PAGE, tab="versions", **{"from": "0", "to": "1", "as": "file"})
    assert lines(page) == [
        '  job "web" {', f"{MINUS}   count = 2", "+   count = 5", "  }",
    ]  # fmt: skip
    assert 'id="chosen-difference"' in page.text
    # Turned round it stays the same view, and so it does for the next two that are chosen.
    turned = page.context["comparison"].turned
    assert "from=1&to=0&as=file" in turned
    assert '<input type="hidden" name="as" value="file">' in page.text
    one = browser.get(page.context["versions"][0].url)
    assert lines(one) == ['  job "web" {', "    count = 5", "  }"]


def test_two_versions_are_shown_as_json_without_what_the_record_says(browser, three):
    page = browser.get(PAGE, tab="versions", **{"from": "0", "to": "2", "as": "json"})
    marked = [line for line in lines(page) if line[0] != " "]
    assert marked == [f'{MINUS}     "Priority": 50,', '+     "Priority": 70,']
    assert "ModifyIndex" not in "".join(lines(page))
    file = browser.get(PAGE, tab="versions", **{"from": "0", "to": "2", "as": "file"})
    assert lines(file) == []
    assert "The text that v0 came as was not kept." in file.text


@pytest.mark.parametrize("asked", ["9", "", "x", "-1", "1\x00", "9" * 40])
def test_a_version_that_is_not_there_is_said_to_be_missing(browser, three, asked):
    answer = browser.get(PAGE, tab="versions", **{"from": asked, "to": "1"})
    assert answer.status == 200
    assert answer.context["comparison"] is None
    assert "one of those asked for is not there" in answer.text


def test_a_single_version_has_nothing_to_be_compared_with(browser, register):
    register()
    answer = browser.get(PAGE, tab="versions")
    assert "a second one can be compared with it" in answer.text
    assert ">Compare</button>" not in answer.text


def test_the_form_leads_back_to_a_job_whose_id_no_path_can_hold(browser, register):
    register(id="a//b")
    register(id="a//b", priority=60)
    key = JobKey("default", "a//b")
    page = browser.get(job_url(key, tab="versions"))
    assert page.context["compare"] == {
        "path": "/jobs/named/",
        "fields": [("namespace", "default"), ("id", "a//b"), ("tab", "versions")],
    }
    fields = dict(page.context["compare"]["fields"]) | {"from": "1", "to": "0"}
    assert browser.get("/jobs/named/", **fields).context["is_chosen"]


def test_an_open_page_shows_a_new_version_as_a_fresh_one_does(browser, three, register, store):
    feed = feed_for(Subscription("versions", "default/web", frozenset({"default"}), MAY))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    register(priority=80)
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    assert {piece.target for piece in pieces} == {"job-versions", "job-difference"}
    page = browser.get(PAGE, tab="versions").text
    for piece in pieces:
        assert one_line(piece.html) in page


FIELDS = {"namespace": "default", "job": "web"}
KEY = JobKey("default", "web")


def current(store):
    return store.read(lambda reader: reader.job(KEY))


def version(store, number):
    return store.read(
        lambda reader: next(each for each in reader.job_versions(KEY) if each.version == number)
    )


def test_going_back_stores_an_older_version_again(browser, three, store):
    answer = browser.post("/jobs/revert/", **FIELDS, version="0", prior="2")
    newest = store.read(lambda reader: reader.evaluations_by_job(KEY))[-1]
    assert answer.headers["Location"] == f"/evaluations/{newest.id}/"
    assert (current(store).version, current(store).priority) == (3, 50)


def test_going_back_may_keep_the_counts_of_now(browser, register, store):
    for count, other in ((2, "gone"), (7, "new")):
        groups = (make_task_group(name="api", count=count), make_task_group(name=other))
        register(task_groups=groups, priority=50 + count)
    (line,) = browser.get(PAGE, tab="versions").context["versions"][1:]
    assert line.counts == "api 7"
    browser.post("/jobs/revert/", **FIELDS, version="0", prior="1", keep="yes")
    kept = [(group.name, group.count) for group in current(store).task_groups]
    assert (kept, current(store).priority) == ([("api", 7), ("gone", 1)], 52)
    browser.post("/jobs/revert/", **FIELDS, version="0", prior="2")
    assert current(store).task_group("api").count == 2


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"version": "2", "prior": "2"}, "revert to current version", id="current"),
        pytest.param({"version": "9", "prior": "2"}, "not found", id="unknown"),
        pytest.param({"version": "0", "prior": "1"}, "enforcing version 1", id="moved-on"),
        pytest.param({"version": "x", "prior": "2"}, "names no version", id="no-number"),
        pytest.param({"version": "0"}, "names no version", id="no-prior"),
    ],
)
def test_going_back_that_cannot_be_says_why(browser, three, store, fields, told):
    answer = browser.post("/jobs/revert/", **FIELDS, **fields)
    assert answer.headers["Location"] == f"{PAGE}?tab=versions"
    assert told in browser.get(PAGE, tab="versions").text
    assert current(store).version == 2


def test_what_going_back_would_do_is_rehearsed_and_nothing_is_changed(browser, three, store):
    page = browser.get(PAGE, tab="versions")
    assert "What would going back to v1 do?" in page.text
    fields = {"namespace": "default", "job": "web", "version": "1", "prior": "2"}
    answer = browser.post("/jobs/revert/", **fields, keep="yes", rehearse="1")
    assert current(store).version == 2
    (row,) = store.read(lambda reader: list(reader.list_all(REHEARSALS)))
    assert answer.headers["Location"] == f"/what-if/{row.id}/"
    shown = browser.get(f"/what-if/{row.id}/")
    assert "Take web back to version 1" in shown.text
    act = shown.context["rehearsal"]["act"]
    assert act.verb == "Go back to v1"
    browser.post(act.url, **dict(act.fields))
    assert (current(store).version, current(store).priority) == (3, 60)


OWN = """job "web" {
  priority = 55
  group "web" {
    task "main" {
      driver = "mock_driver"
    }
  }
}
"""


def test_a_text_of_mine_is_compared_with_the_registered_version_and_planned(browser, three, store):
    listed = browser.get(PAGE, tab="versions")
    assert 'id="own-text"' not in listed.text
    assert "Compare with a text of mine</a>" in listed.text
    assert 'id="own-text"' in browser.get(PAGE, tab="versions", own="1").text
    answer = browser.post("/jobs/compare/", namespace="default", job="web", text=OWN)
    assert answer.status == 200
    told = answer.context["own_text"].review
    assert (f"{MINUS} Priority = 70", "+ Priority = 55") == tuple(
        line.text for line in told.lines if "Priority" in line.text
    )
    assert "to the stored job" in answer.text
    assert OWN.strip().splitlines()[1].strip() in answer.text
    assert current(store).version == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            OWN.replace('"web" {', '"other" {', 1), "The text is of default/other", id="another"
        ),
        pytest.param("", "The job file is empty", id="empty"),
        pytest.param(OWN.replace("55", "500"), "priority", id="wrong"),
    ],
)
def test_a_text_that_cannot_be_compared_stays_and_says_why(browser, three, text, told):
    answer = browser.post("/jobs/compare/", namespace="default", job="web", text=text)
    assert (answer.status, answer.context["own_text"].review) == (400, None)
    assert told in answer.text
    assert answer.context["own_text"].text == text


def test_a_version_is_called_stable_and_not_stable_again(browser, three, store):
    browser.post("/jobs/stable/", **FIELDS, version="1")
    assert version(store, 1).stable
    line = browser.get(PAGE, tab="versions").context["versions"][1]
    assert (line.job.version, line.word) == (1, "stable")
    browser.post("/jobs/stable/", **FIELDS, version="1", stable="no")
    assert not version(store, 1).stable


def test_a_version_is_tagged_and_untagged(browser, three, store):
    browser.post("/jobs/tag/", **FIELDS, version="0", name=" good ", description="before <b>")
    tag = version(store, 0).version_tag
    assert (tag.name, tag.description) == ("good", "before <b>")
    page = browser.get(PAGE, tab="versions")
    assert page.context["kept"] == "3 versions kept, 1 tagged"
    assert "<b>" not in page.text
    browser.post("/jobs/untag/", **FIELDS, name="good")
    assert version(store, 0).version_tag is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"version": "1", "name": "good"}, "already exists", id="taken"),
        pytest.param({"version": "1", "name": ""}, "is missing", id="no-name"),
        pytest.param({"version": "9", "name": "x"}, "not found", id="no-version"),
        pytest.param({"version": "", "name": "x"}, "names no version", id="no-number"),
        pytest.param({"version": "1", "name": "a\nb"}, "control character", id="control"),
    ],
)
def test_a_refused_tag_keeps_what_was_typed(browser, three, store, fields, told):
    browser.post("/jobs/tag/", **FIELDS, version="0", name="good")
    answer = browser.post("/jobs/tag/", **FIELDS, **fields, description="my <b>note</b>")
    assert answer.status == 400
    assert told in answer.context["tag_form"]["error"]
    assert 'value="my &lt;b&gt;note&lt;/b&gt;"' in answer.text
    assert [each.version_tag is not None for each in (version(store, 1), version(store, 0))] == [
        False,
        True,
    ]


def test_an_unknown_tag_is_said_to_be_unknown(browser, three):
    browser.post("/jobs/untag/", **FIELDS, name="no")
    assert "tag &quot;no&quot; not found" in browser.get(PAGE, tab="versions").text


def test_a_tag_reaches_an_open_page(browser, three, store):
    feed = feed_for(Subscription("versions", "default/web", frozenset({"default"}), MAY))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    browser.post("/jobs/tag/", **FIELDS, version="0", name="good")
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: one_line(piece.html) for piece in pieces}
    page = browser.get(PAGE, tab="versions").text
    assert "good" in told["job-versions"]
    for html in told.values():
        assert html in page
