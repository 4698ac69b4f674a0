"""What a job launches, by its page: launch now, dispatch, the children, the list of jobs."""

import base64
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cluster.operations.job_dispatch import MAX_PAYLOAD, Dispatch, dispatch_job
from cluster.operations.jobs import JobRegistration, register_job
from cluster.operations.namespaces import put_namespace
from cluster.operations.periodic import force_launch
from dashboard.panels import feed_for
from dashboard.queries.launching import PANELS
from dashboard.rights import ACTIONS, NODE_READ
from dashboard.subscription import Subscription
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import (
    JobSummary,
    Namespace,
    ParameterizedJob,
    Periodic,
    TaskGroupSummary,
)
from scheduler.structs.periodic_launch import (
    KEPT_LAUNCHES,
    LaunchOutcome,
    PastLaunch,
    PeriodicLaunch,
)
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.callers import MANAGER
from tests.dashboard.views.conftest import one_line

KEY = JobKey("default", "web")
PAGE = "/jobs/default/web/"
FIELDS = {"namespace": "default", "job": "web"}
RULES = ParameterizedJob(payload="required", meta_required=("input",), meta_optional=("lang",))


@pytest.fixture
def register(store, ids):
    def register(**fields):
        job = make_job(**({"id": "web", "type": "batch"} | fields))
        request = JobRegistration(job=job)
        return register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)

    return register


@pytest.fixture
def periodic(register):
    register(periodic=Periodic(specs=("0 * * * *",), prohibit_overlap=True))


@pytest.fixture
def parameterized(register):
    register(parameterized_job=RULES)


def children(store):
    jobs = store.read(lambda reader: list(reader.jobs()))
    return [job for job in jobs if job.parent_id == "web"]


def kinds(browser):
    return {
        row["line"].job.id: row["line"].kind
        for row in browser.get("/jobs/").context["list"].contexts
    }


def test_launch_now_leads_to_the_evaluation_of_the_child(browser, periodic, store):
    answer = browser.post("/jobs/launch/", **FIELDS)
    (child,) = children(store)
    (evaluation,) = store.read(lambda reader: reader.evaluations_by_job(child.key))
    assert answer.headers["Location"] == f"/evaluations/{evaluation.id}/"
    launches = store.read(lambda reader: reader.get(PERIODIC_LAUNCHES, KEY))
    assert [each.outcome for each in launches.history] == [LaunchOutcome.FORCED]


def test_the_page_lists_the_launches_with_the_jobs_they_made(browser, periodic, store, ids):
    launched = force_launch(store, KEY, by=MANAGER, now=SOME_MOMENT, ids=ids)
    answer = browser.get(PAGE)
    (line,) = [each["line"] for each in answer.context["launches"]["lines"]]
    assert (line.child, line.state) == (launched.child_id, "pending")
    assert f'<a href="{PAGE.removesuffix("/")}/periodic-' in answer.text
    assert "Launch now" in answer.text
    assert answer.context["rest"] == "The last launch still runs."


def test_times_beside_each_other_are_told_alike(browser, periodic, store, ids):
    def told() -> list[str]:
        launches = browser.get(PAGE).context["launches"]
        return [launches["next_word"], *(each["due"] for each in launches["lines"])]

    minute = SOME_MOMENT - SOME_MOMENT % (60 * 10**9)
    force_launch(store, KEY, by=MANAGER, now=minute, ids=ids)
    assert {word.count(":") for word in told()} == {1}
    force_launch(store, KEY, by=MANAGER, now=minute + 67 * 10**9, ids=ids)
    assert {word.count(":") for word in told()} == {2}


def test_the_strip_goes_back_a_day_or_a_week_and_says_what_is_not_kept(browser, periodic, store):
    hour = 3600 * 10**9

    def keep(count):
        history = tuple(
            PastLaunch(due=SOME_MOMENT - back * hour, outcome=LaunchOutcome.MISSED)
            for back in range(count - 1, -1, -1)
        )
        launches = PeriodicLaunch(job_id="web", decided_to=SOME_MOMENT, history=history)
        store.write(
            "Test", lambda change: change.put(PERIODIC_LAUNCHES, launches), now=SOME_MOMENT
        )

    keep(30)
    shown = {}
    for choice in ("last", "day", "week"):
        page = browser.get(f"{PAGE}?launches={choice}")
        told = page.context["launches"]
        shown[choice] = told["shown"], told["kept_since"]
        topic = "job-launches" if choice == "last" else f"job-launches-{choice}"
        assert f"{topic}:default/web" in page.context["live_topics"].split(",")
    assert shown == {"last": (30, ""), "day": (25, ""), "week": (30, "")}
    assert "Launch it now" in page.text
    keep(KEPT_LAUNCHES)
    page = browser.get(f"{PAGE}?launches=week")
    assert page.context["launches"]["kept_since"]
    assert "are not kept" in page.text
    # The axis is a week long, so that what is kept stands at its end.
    assert page.context["launches"]["strip"].marks[0].x > 700


def test_what_was_skipped_or_failed_leads_to_why(browser, periodic, store, ids):
    ran = force_launch(store, KEY, by=MANAGER, now=SOME_MOMENT, ids=ids)
    skipped = PastLaunch(due=SOME_MOMENT + 1, outcome=LaunchOutcome.SKIPPED, child_id=ran.child_id)

    def work(change):
        before = change.get(PERIODIC_LAUNCHES, KEY)
        change.put(PERIODIC_LAUNCHES, replace(before, history=(*before.history, skipped)))
        child = change.job(JobKey("default", ran.child_id))
        alloc = make_allocation(job_id=child.id, job=child)
        put_found(change, alloc.changed(client_status=ClientStatus.FAILED))
        change.put_job(replace(child, status="dead"))
        counts = {"web": TaskGroupSummary(failed=1)}
        change.put(JOB_SUMMARIES, JobSummary(job_id=child.id, summary=counts))

    store.write("Test", work, now=SOME_MOMENT)
    whys = [each["why"] for each in browser.get(PAGE).context["launches"]["lines"]]
    child = f"/jobs/default/{ran.child_id}/"
    assert whys[0] == child
    (alloc,) = store.read(
        lambda reader: reader.allocations_by_job(JobKey("default", ran.child_id))
    )
    listed = browser.get(f"{child}?tab=allocations&status=failed")
    assert alloc.id in listed.text
    assert whys[1] == f"{child}?tab=allocations&status=failed"


def test_the_page_of_a_child_leads_to_its_parent(browser, periodic, store, ids):
    launched = force_launch(store, KEY, by=MANAGER, now=SOME_MOMENT, ids=ids)
    page = browser.get(f"/jobs/default/{launched.child_id}/")
    assert f'<dt>made by</dt><dd><a href="{PAGE}">web</a>' in page.text


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="not-periodic"),
        pytest.param({"periodic": Periodic(specs=("0 * * * *",), enabled=False)}, id="off"),
    ],
)
def test_what_cannot_be_launched_is_not_offered_and_says_why(browser, register, store, fields):
    register(**fields)
    assert 'data-confirm="launch-job"' not in browser.get(PAGE).text
    answer = browser.post("/jobs/launch/", **FIELDS)
    assert answer.headers["Location"] == PAGE
    assert "Nothing was changed: " in browser.get(PAGE).text
    assert children(store) == []


def test_the_list_says_what_launches_and_what_is_dispatched(browser, register, store, ids):
    register(id="clock", periodic=Periodic(specs=("0 3 * * *",)))
    register(id="calls", parameterized_job=ParameterizedJob())
    register(id="plain")
    force_launch(store, JobKey("default", "clock"), by=MANAGER, now=SOME_MOMENT, ids=ids)
    for _ in range(2):
        key = JobKey("default", "calls")
        dispatch_job(store, key, Dispatch(), by=MANAGER, now=SOME_MOMENT, ids=ids)
    told = kinds(browser)
    assert (told["calls"], told["plain"]) == ("parameterized, 2 dispatched", "")
    assert told["clock"].startswith("periodic, next ")
    assert told["clock"].endswith("03:00 UTC")


def test_a_dispatch_leads_to_the_evaluation_of_the_child(browser, parameterized, store):
    fields = {"meta.input": "a", "meta.lang": "", "payload": "line\r\nline", "prefix": "x"}
    answer = browser.post("/jobs/dispatch/", **FIELDS, **fields)
    (child,) = children(store)
    (evaluation,) = store.read(lambda reader: reader.evaluations_by_job(child.key))
    assert answer.headers["Location"] == f"/evaluations/{evaluation.id}/"
    assert child.meta == {"input": "a"}
    assert child.id.startswith("web/dispatch-x-")
    line = browser.get(PAGE).context["dispatched"]["lines"][0]
    assert (line.given, line.payload_bytes) == ((("input", "a"),), len(b"line\nline"))


def test_a_dispatch_says_who_made_it_and_is_found_by_its_state(browser, parameterized, store, ids):
    browser.post("/jobs/dispatch/", **FIELDS, **{"meta.input": "a", "payload": "x"})
    (child,) = children(store)
    whole = browser.get(PAGE)
    (line,) = whole.context["dispatched"]["lines"]
    assert line.author.is_person
    assert f'<td class="nowrap optional">{line.author.told}' in whole.text
    assert "job-dispatched:default/web" in whole.text
    for choice, found in (("running", [child.id]), ("failed", [])):
        page = browser.get(f"{PAGE}?dispatched={choice}")
        assert [each.job.id for each in page.context["dispatched"]["lines"]] == found
        topic = Subscription(f"job-dispatched-{choice}", "default/web", None)
        assert f"{topic.kind}:default/web" in page.text
        again = store.read(
            lambda reader, topic=topic: PANELS[topic.kind](reader, topic, SOME_MOMENT)
        )
        assert again["dispatched"] == page.context["dispatched"]
    assert "None of them is in that state." in page.text


def test_where_a_dispatch_would_run_is_rehearsed_and_nothing_is_dispatched(
    browser, parameterized, store
):
    form = {"meta.input": "a b", "payload": "line\r\nline", "prefix": "x", "priority": "70"}
    assert ">See where it would run</button>" in browser.get(PAGE).text
    wrong = browser.post("/jobs/dispatch/", **FIELDS, rehearse="1", payload="x")
    assert "Give a value; the job file asks for it" in wrong.text
    answer = browser.post("/jobs/dispatch/", **FIELDS, **form, rehearse="1")
    assert children(store) == []
    (row,) = store.read(lambda reader: list(reader.list_all(REHEARSALS)))
    assert answer.headers["Location"] == f"/what-if/{row.id}/"
    page = browser.get(f"/what-if/{row.id}/")
    assert "Dispatch web" in page.text
    act = dict(page.context["rehearsal"]["act"].fields)
    for _ in range(2):
        browser.post("/jobs/dispatch/", **act)
    (child,) = children(store)
    assert (child.meta, child.priority) == ({"input": "a b"}, 70)
    assert base64.b64decode(child.payload) == b"line\nline"


def test_a_file_is_dispatched_byte_by_byte(browser, parameterized, store):
    content = bytes(range(256))
    file = SimpleUploadedFile("request.bin", content)
    browser.post("/jobs/dispatch/", **FIELDS, **{"meta.input": "a", "file": file})
    assert browser.get(PAGE).context["dispatched"]["lines"][0].payload_bytes == len(content)


def test_a_form_that_is_sent_twice_is_dispatched_once(browser, parameterized, store):
    token = browser.get(PAGE).context["dispatch_token"]
    fields = {"meta.input": "a", "payload": "x", "token": token}
    for _ in range(2):
        answer = browser.post("/jobs/dispatch/", **FIELDS, **fields)
    (child,) = children(store)
    assert answer.headers["Location"] == f"/jobs/default/{child.id}/"
    # Another content is another job, though the page was never loaded anew.
    browser.post("/jobs/dispatch/", **FIELDS, **fields | {"meta.input": "b"})
    assert len(children(store)) == 2


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        pytest.param(
            {"payload": "x"}, "meta.input", "Give a value; the job file asks for it", id="no-meta"
        ),
        pytest.param({"meta.input": "a"}, "payload", "Payload is not provided", id="no-payload"),
        pytest.param(
            {"meta.input": "a", "payload": "x" * (MAX_PAYLOAD + 1)}, "payload",
            "Payload exceeds maximum size", id="too-large",
        ),
        pytest.param(
            {"meta.input": "a", "payload": "x", "priority": "high"}, "priority", "Give a number",
            id="priority-no-number",
        ),
        pytest.param(
            {"meta.input": "a", "payload": "x", "priority": "9999"}, "priority",
            "priority must be between", id="priority-too-high",
        ),
        pytest.param(
            {"meta.input": "a", "payload": "x", "prefix": "x\ny"}, "prefix", "control character",
            id="prefix",
        ),
        pytest.param(
            {"meta.input": "a", "payload": "x", "meta.gone": "1"}, "", "unpermitted metadata",
            id="unknown-meta",
        ),
    ],
)  # fmt: skip
def test_a_wrong_dispatch_is_told_at_its_field_and_keeps_the_text(
    browser, parameterized, store, fields, field, told
):
    answer = browser.post("/jobs/dispatch/", **FIELDS, **{"meta.lang": "<b>de</b>"} | fields)
    assert answer.status == 400
    # There the cursor is; a refusal of no field leaves it where it was.
    assert answer.context["dispatch"]["first_wrong"] == field
    wrong = answer.text.split('aria-invalid="true"')[1:]
    focused = [part.partition(">")[0].endswith(" autofocus") for part in wrong]
    assert focused == ([True] + [False] * (len(wrong) - 1) if field else [])
    typed = answer.context["dispatch"]["typed"]
    assert told in typed.errors[field]
    assert 'value="&lt;b&gt;de&lt;/b&gt;"' in answer.text
    assert typed.payload == fields.get("payload", "")
    # No frame may exchange what was typed.
    assert 'id="job-dispatch"' not in answer.text
    assert children(store) == []


def test_a_text_and_a_file_are_not_guessed_between(browser, parameterized, store):
    file = SimpleUploadedFile("a", b"a")
    fields = {"meta.input": "a", "payload": "x", "file": file}
    answer = browser.post("/jobs/dispatch/", **FIELDS, **fields)
    assert answer.context["dispatch"]["typed"].errors == {
        "payload": "Give a text or a file, not both"
    }
    assert children(store) == []


def test_a_file_too_large_is_refused(browser, parameterized, store):
    file = SimpleUploadedFile("a", b"x" * (MAX_PAYLOAD * 3))
    answer = browser.post("/jobs/dispatch/", **FIELDS, **{"meta.input": "a", "file": file})
    told = answer.context["dispatch"]["typed"].errors["payload"]
    assert told == f"Payload exceeds maximum size; {MAX_PAYLOAD * 3} > {MAX_PAYLOAD}"
    assert children(store) == []


def test_what_is_not_parameterized_is_not_dispatched(browser, register, store):
    register()
    answer = browser.post("/jobs/dispatch/", **FIELDS)
    assert answer.status == 400
    assert children(store) == []


def test_a_guest_without_the_right_sees_it_greyed(guest, store, ids):
    put_namespace(store, Namespace(name="team"), by=MANAGER, now=SOME_MOMENT)
    for name, fields in (
        ("clock", {"periodic": Periodic(specs=("0 * * * *",))}),
        ("calls", {"parameterized_job": RULES}),
    ):
        job = make_job(id=name, namespace="team", type="batch", **fields)
        register_job(store, JobRegistration(job=job), by=MANAGER, now=SOME_MOMENT, ids=ids)
    clock = guest.get("/jobs/team/clock/").text
    calls = guest.get("/jobs/team/calls/").text
    assert 'aria-disabled="true" title="needs submit-job"' in clock
    assert 'data-confirm="launch-job"' not in clock
    assert 'title="needs dispatch-job"' in calls
    assert 'form="dispatch-form">Dispatch</button>' not in calls


def told_after(store, browser, act):
    """By target, what an open page is told of an act."""
    before = browser.get(PAGE)
    now, topics = before.context["now"], before.context["live_topics"].split(",")
    may = frozenset({*ACTIONS, NODE_READ})
    feeds = [
        feed_for(Subscription(topic.partition(":")[0], "default/web", frozenset({"default"}), may))
        for topic in topics
    ]
    for feed in feeds:
        store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    act()
    for frame in store.frames_since(since):
        for feed in feeds:
            feed.observe(frame)
    pieces = [
        piece
        for feed in feeds
        for piece in store.read(lambda reader, feed=feed: feed.flush(reader, now))
    ]
    return {piece.target: one_line(piece.html) for piece in pieces if hasattr(piece, "html")}


#: What goes with the clock: ages, and where now is.
MOVING = r"<time [^>]*data-relative>[^<]*</time>|<g class=\"clock\">.*?</g>"


def still(html):
    return re.sub(MOVING, "", html)


@pytest.mark.parametrize("kind", ["periodic", "parameterized"])
def test_an_open_page_shows_what_is_launched_as_a_fresh_one_does(
    request, browser, store, ids, kind
):
    request.getfixturevalue(kind)

    def launch():
        if kind == "periodic":
            force_launch(store, KEY, by=MANAGER, now=SOME_MOMENT, ids=ids)
        else:
            asked = Dispatch(payload=b"x", meta={"input": "a"})
            dispatch_job(store, KEY, asked, by=MANAGER, now=SOME_MOMENT, ids=ids)

    told = told_after(store, browser, launch)
    target = "job-launches" if kind == "periodic" else "job-dispatched"
    assert target in told
    page = still(browser.get(PAGE).text)
    for name in (target, "job-standing"):
        assert still(told[name]) in page, name


def test_the_form_follows_the_rules_of_a_new_version(browser, parameterized, register, store):
    def change():
        register(parameterized_job=ParameterizedJob(meta_optional=("other",)))

    told = told_after(store, browser, change)
    assert 'name="meta.other"' in told["job-dispatch"]
    assert told["job-dispatch"] in browser.get(PAGE).text


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(keys=st.lists(NAMES, min_size=1, max_size=3, unique=True), value=NAMES)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_keys_of_any_letters_make_a_form_that_dispatches(browser, store, ids, keys, value):
    job = make_job(id="any", type="batch", parameterized_job=ParameterizedJob(meta_optional=keys))
    request = JobRegistration(job=job)
    register_job(store, request, by=MANAGER, now=SOME_MOMENT, ids=ids)
    page = browser.get("/jobs/default/any/")
    assert [field.key for field in page.context["dispatch"]["fields"]] == keys
    given = {field.name: value for field in page.context["dispatch"]["fields"]}
    answer = browser.post("/jobs/dispatch/", namespace="default", job="any", **given)
    assert answer.status == 302
    newest = browser.get("/jobs/default/any/").context["dispatched"]["lines"][0]
    assert newest.job.meta == dict.fromkeys(keys, value)
