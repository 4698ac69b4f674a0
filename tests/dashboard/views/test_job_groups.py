"""A job of many allocations: folded lines, what is not as wanted, where to look further."""

from functools import partial

import pytest
from msgspec.structs import replace

from dashboard.feeds.pieces import Html
from dashboard.panels import feed_for
from dashboard.rights import ACTIONS
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.dashboard.views.conftest import one_line

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
    assert [each.name for each in line.hundreds.lines] == ["[0] to [99]", "[100] to [129]"]
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
        feed = feed_for(Subscription("job", "default/web", None, frozenset(may)))
        store.read(feed.load)
        since = store.read(lambda reader: reader.index)
        place(120, waiting=(3,))
        for frame in store.frames_since(since):
            feed.observe(frame)
        pieces = store.read(partial(feed.flush, now=SOME_MOMENT))
        (seen[name],) = [
            one_line(each.html)
            for each in pieces
            if isinstance(each, Html) and each.target == "job-groups"
        ]
        if name == "all":
            assert seen[name] in page(browser).text
    assert [MAP in text for text in seen.values()] == [True, False]
    assert all(TABLE in text for text in seen.values())


def test_a_job_of_which_nothing_runs_leads_nowhere(browser, place):
    place(0)
    answer = page(browser)
    assert TABLE not in answer.text
    assert MAP not in answer.text
