"""The parts of a job's page: each a list of this job alone, counted, addressed, live."""

import html
import re
from functools import partial

import pytest
from msgspec.structs import replace

from dashboard.feeds.pieces import Facts
from dashboard.panels import feed_for
from dashboard.queries import job_tabs
from dashboard.queries.job_lists import JOB_LISTS
from dashboard.rights import ACTIONS
from dashboard.subscription import Subscription
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Namespace
from scheduler.structs.story import Story, StoryKind
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job
from tests.dashboard.views.conftest import Browser
from tests.people import account

PAGE = "/jobs/default/web/"
KEY = JobKey("default", "web")
#: As many as two pages hold of allocations, and more than one of evaluations.
COUNT = 130
ID = "{:08x}-0000-0000-0000-000000000000"
OTHERS = (("default", "web-2"), ("team", "web"))


@pytest.fixture
def filled(store):
    """A job of many rows, one of nearly its name, and one of its name in another namespace."""

    def work(change):
        change.put(nouns.NAMESPACES, Namespace(name="team"))
        for place, (space, name) in enumerate((("default", "web"), *OTHERS)):
            job = write_job(change, make_job(id=name, namespace=space))
            for number in range(COUNT if not place else 3):
                mine = 1000 * place + number
                status = ClientStatus.FAILED if number % 10 == 3 else ClientStatus.RUNNING
                put_found(change, make_allocation(
                    job, number, id=ID.format(7 * mine % 5003), client_status=status,
                    create_index=change.index, modify_index=change.index,
                ))  # fmt: skip
                put_found(change, make_evaluation(
                    mine, namespace=space, job_id=name, story_id=f"{mine:08}-story",
                    create_index=change.index,
                ))  # fmt: skip
                change.put(STORIES, Story(
                    id=f"{mine:08}-story", kind=StoryKind.ROLLOUT, namespace=space,
                    job_id=name, create_index=change.index,
                ))  # fmt: skip
                put_found(change, Deployment(
                    id=ID.format(mine), namespace=space, job_id=name,
                    status=(DeploymentStatus.RUNNING, DeploymentStatus.FAILED)[number % 2],
                    create_index=change.index,
                ))  # fmt: skip

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def counts(text):
    """By the name of a part, the count beside it."""
    return dict(re.findall(r'data-fact="job-tab-(\w+)">([^<]*)<', text))


def names(answer):
    """Of allocations, in their order."""
    return [context["place"] for context in answer.context["list"].contexts]


COUNTED = {
    "allocations": str(COUNT), "deployments": str(COUNT), "evaluations": str(COUNT),
    "stories": str(COUNT), "versions": "1",
}  # fmt: skip


@pytest.mark.parametrize("tab", ["", "versions", "definition", "nonsense", *JOB_LISTS])
def test_every_part_counts_all_of_them(browser, filled, tab):
    answer = browser.get(PAGE, tab=tab)
    assert counts(answer.text) == COUNTED
    chosen = tab if tab in {"versions", "definition", *JOB_LISTS} else "overview"
    (current,) = re.findall(r'<a href="([^"]*)"\s+aria-current="page">', answer.text)
    assert current == f"{PAGE}?tab={chosen}"


@pytest.mark.parametrize("tab", JOB_LISTS)
def test_a_part_holds_what_is_of_this_job_and_nothing_else(browser, filled, store, tab):
    kind = JOB_LISTS[tab]
    found, answer = [], browser.get(PAGE, tab=tab)
    while True:
        page = answer.context["list"]
        found += [key for key, row in page.rows.items() if "group" not in row]
        if not page.next_url:
            break
        assert page.next_url.startswith(f"{PAGE}?tab={tab}&")
        answer = browser.get(page.next_url)
    rows = store.read(lambda reader: [reader.get(kind.noun, key) for key in found])
    assert len(found) == len(set(found)) == COUNT
    assert {(row.namespace, row.job_id) for row in rows} == {("default", "web")}


def test_stories_of_a_job_with_very_many_evaluations_are_not_counted(
    browser, filled, store, monkeypatch
):
    monkeypatch.setattr(job_tabs, "MOST_COUNTED", COUNT - 1)
    shown = counts(browser.get(PAGE).text)
    assert shown == {name: count for name, count in COUNTED.items() if name != "stories"}
    levels = frozenset(ACTIONS)
    read = store.read(lambda reader: job_tabs.tab_counts(reader, KEY, levels))
    # A page that showed a count before shows none from then on.
    assert job_tabs.tab_facts(read)["job-tab-stories"] == ""


def test_allocations_stand_as_people_count(browser, filled):
    first = browser.get(PAGE, tab="allocations", sort="name")
    second = browser.get(first.context["list"].next_url)
    assert names(first) + names(second) == [f"web[{number}]" for number in range(COUNT)]
    down = browser.get(PAGE, tab="allocations", sort="-name")
    assert names(down) == [f"web[{number}]" for number in range(COUNT)][::-1][:100]


def test_what_narrows_a_part_keeps_the_job_and_the_part(browser, filled):
    answer = browser.get(PAGE, tab="allocations", status="failed", sort="name")
    page = answer.context["list"]
    assert names(answer) == [f"web[{number}]" for number in range(3, COUNT, 10)]
    assert page.told == "13 of 130 fit"
    assert page.all_url == f"{PAGE}?tab=allocations&sort=name"
    urls = [choice.url for facet in page.facets for choice in facet.choices]
    urls += [head.url for head in page.heads if head.url]
    assert len(urls) > 8
    assert all(url.startswith(f"{PAGE}?tab=allocations") for url in urls)
    # A GET form loses the query of its address.
    form = answer.text[answer.text.index('<form class="toolbar"') :].partition("</form>")[0]
    assert f'action="{PAGE}"' in form
    fields = dict(re.findall(r'type="hidden" name="([^"]*)"\s+value="([^"]*)"', form))
    assert fields == {"tab": "allocations", "sort": "name", "status": "failed"}
    expression = browser.get(PAGE, **fields, filter='Name contains "[3]"')
    assert names(expression) == ["web[3]"]
    none = browser.get(PAGE, tab="allocations", status="lost")
    assert "No match" in none.text
    assert f'href="{PAGE}?tab=allocations"' in html.unescape(none.text)


def test_a_job_that_no_path_can_hold_has_the_same_parts(browser, store):
    name = f"a/{'x' * 400}/edit"
    store.write(
        WriteKind.PLAN_RESULT,
        lambda change: (
            write_job(change, job := make_job(id=name)),
            put_found(change, make_allocation(job, 4)),
        ),
        now=SOME_MOMENT,
    )
    answer = browser.get("/jobs/named/", namespace="default", id=name, tab="allocations")
    assert names(answer) == ["web[4]"]
    url = answer.context["list"].heads[1].url
    assert url.startswith("/jobs/named/?namespace=default&id=a%2Fxxx")
    assert names(browser.get(url)) == ["web[4]"]
    fields = dict(answer.context["list"].carried)
    assert fields == {"namespace": "default", "id": name, "tab": "allocations"}


def test_rollouts_that_run_and_that_ended_say_where_they_are(browser, filled):
    page = browser.get(PAGE, tab="deployments").context["list"]
    lines = [row["line"] for row in page.contexts]
    assert {line.standing for line in lines} == {"running", "failed"}
    assert [choice.value for choice in page.facets[0].choices] == ["", "running", "failed"]


def test_counts_of_an_open_page_follow_the_record(browser, filled, store):
    feed = feed_for(Subscription("job", "default/web", None, frozenset({*ACTIONS, "node:read"})))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)

    def more(change):
        put_found(change, make_evaluation(900, job_id="web"))
        job = change.get(nouns.JOBS, make_job().key)
        put_found(change, replace(make_allocation(job, 500), id=ID.format(9000)))

    store.write(WriteKind.PLAN_RESULT, more, now=SOME_MOMENT)
    for frame in store.frames_since(since):
        feed.observe(frame)
    assert feed.needs_reader
    pieces = store.read(partial(feed.flush, now=SOME_MOMENT))
    (told,) = [piece.values for piece in pieces if isinstance(piece, Facts)]
    fresh = counts(browser.get(PAGE).text)
    assert {f"job-tab-{name}": count for name, count in fresh.items()} == told
    assert (fresh["evaluations"], fresh["allocations"]) == ("131", "131")


def test_one_who_may_not_see_the_job_sees_none_of_its_parts(store, filled):
    submitter = Browser(account(store, "submitter", "sam"))
    for tab in JOB_LISTS:
        assert submitter.get("/jobs/team/web/", tab=tab).status == 404
        assert submitter.get(PAGE, tab=tab).status == 200
