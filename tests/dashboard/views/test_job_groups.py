"""A job of many allocations: folded lines, what is not as wanted, where to look further."""

import html
from functools import partial

import pytest
from msgspec.structs import replace

from dashboard.panels import feed_for
from dashboard.queries.job_groups import VIEWS
from dashboard.rights import ACTIONS
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import JobSummary, TaskGroupSummary
from scheduler.structs.service import Service
from tests.builders import SOME_MOMENT, make_allocation, make_job, make_task_group
from tests.dashboard.views.conftest import one_line

PAGE = "/jobs/default/web/"
TABLE = 'href="/jobs/default/web/?tab=allocations">As a table'
MAP = "/topology/?namespace=default&amp;job=web"


@pytest.fixture
def place(store, node, ids):
    """Store so many allocations of the job `web`, those of `waiting` not started yet."""

    def place(count, waiting=()):
        def fill(change):
            job = write_job(change, make_job(id="web"))
            for number in range(count):
                status = ClientStatus.PENDING if number in waiting else ClientStatus.RUNNING
                alloc = make_allocation(
                    job, number, id=ids.next_id(), node_id=node.id, node_name=node.name,
                    job_create_index=job.create_index, client_status=status,
                )  # fmt: skip
                put_found(
                    change, replace(alloc, create_index=change.index, modify_index=change.index)
                )

        store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)

    return place


def page(browser):
    answer = browser.get("/jobs/default/web/")
    assert answer.status == 200
    return answer


def test_many_are_folded_and_lead_to_the_table(browser, place):
    place(130, waiting=(7, 110))
    answer = page(browser)
    (line,) = answer.context["groups"]
    assert [each.line.name for each in line.lines] == ["[0] to [99]", "[100] to [129]"]
    assert "not as wanted, worst first: 2" in one_line(answer.text)
    assert answer.text.count(TABLE) == 1


def test_few_are_shown_one_by_one_and_lead_to_map_and_table(browser, place):
    place(3)
    answer = page(browser)
    assert "3 allocations, those that stop included" in one_line(answer.text)
    assert "not as wanted" not in answer.text
    assert (answer.text.count(TABLE), answer.text.count(MAP)) == (1, 1)


def test_what_stands_there_follows_while_the_page_is_open(store, browser, place):
    place(1)
    seen = {}
    for name, may in (("all", {*ACTIONS, "node:read"}), ("none", set())):
        feed = feed_for(Subscription("job-by-number", "default/web", None, frozenset(may)))
        store.read(feed.load)
        since = store.read(lambda reader: reader.index)
        place(120, waiting=(3,))
        for frame in store.frames_since(since):
            feed.observe(frame)
        pieces = store.read(partial(feed.flush, now=SOME_MOMENT))
        (seen[name],) = [one_line(each.html) for each in pieces]
        if name == "all":
            assert seen[name] in page(browser).text
    assert [MAP in text for text in seen.values()] == [True, False]
    assert all(TABLE in text for text in seen.values())


def test_a_job_of_which_nothing_runs_leads_nowhere(browser, place):
    place(0)
    answer = page(browser)
    assert TABLE not in answer.text
    assert MAP not in answer.text


def test_a_line_opens_the_list_at_its_first(browser, place):
    place(230, waiting=(150,))
    (line,) = page(browser).context["groups"]
    assert [each.line.told for each in line.lines] == [
        "100 running",
        "99 running, 1 pending",
        "30 running",
    ]
    answer = browser.get(line.lines[1].url)
    assert [row["place"] for row in answer.context["list"].contexts] == [
        f"web[{number}]" for number in range(100, 200)
    ]
    assert f'href="{html.escape(line.lines[1].url)}"' in page(browser).text


def test_a_count_leads_to_what_it_counts(store, browser, place):
    place(12, waiting=(3, 7))
    counted = {"web": TaskGroupSummary(running=10, starting=2)}
    summary = JobSummary(job_id="web", namespace="default", summary=counted)
    store.write(
        WriteKind.PLAN_RESULT, lambda change: change.put(JOB_SUMMARIES, summary), now=SOME_MOMENT
    )
    (line,) = page(browser).context["groups"]
    assert [each.word for each in line.links] == ["running", "starting"]
    for each, shown in zip(line.links, (10, 2), strict=True):
        listed = browser.get(each.url).context["list"]
        assert (each.count, len(listed.rows)) == (shown, shown)


@pytest.mark.parametrize("count", [3, 40, 130])
@pytest.mark.parametrize("view", list(VIEWS))
def test_every_order_shows_all_and_an_open_page_follows_it(store, browser, place, view, count):
    topic, _ = VIEWS[view]
    place(count, waiting=(2,))
    answer = browser.get(PAGE, groups=view)
    assert f"{topic}:default/web" in answer.context["live_topics"]
    feed = feed_for(Subscription(topic, "default/web", None, frozenset({*ACTIONS, "node:read"})))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    place(1, waiting=(0,))
    for frame in store.frames_since(since):
        feed.observe(frame)
    (piece,) = store.read(partial(feed.flush, now=SOME_MOMENT))
    assert one_line(piece.html) in browser.get(PAGE, groups=view).text


def test_by_state_the_worst_is_first_and_by_node_each_node_has_a_line(browser, place, node):
    place(130, waiting=(80,))
    (line,) = browser.get(PAGE, groups="state").context["groups"]
    assert [each.line.name for each in line.lines] == ["1 to 100", "101 to 130"]
    assert line.lines[0].line.told == "99 running, 1 pending"
    (line,) = browser.get(PAGE, groups="node").context["groups"]
    (alone,) = line.lines
    assert (alone.line.name, alone.line.told) == (node.name, "129 running, 1 pending")
    assert len(browser.get(alone.url).context["list"].rows) == 100


def test_more_than_a_few_are_behind_a_fold(browser, place):
    place(40, waiting=(5,))
    answer = page(browser)
    (line,) = answer.context["groups"]
    assert [cell["place"] for cell in line.cells] == ["[5]"]
    assert [cell["place"] for cell in line.folded] == [f"[{number}]" for number in range(40)]
    assert "Unfold all 40" in answer.text


def test_the_services_of_a_job_are_a_click_away(store, browser, place):
    place(1)
    assert "/services/?" not in page(browser).text
    group = make_task_group(name="web", services=(Service(name="web", provider="nomad"),))
    job = make_job(id="web", task_groups=(group,))
    store.write(WriteKind.JOB_REGISTERED, lambda change: write_job(change, job), now=SOME_MOMENT)
    assert "/services/?namespace=default&amp;job=web" in page(browser).text
