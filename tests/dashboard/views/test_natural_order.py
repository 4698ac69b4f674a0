"""Names of allocations in lists stand as people count: `[5]` before `[10]`."""

import re

import pytest

from cluster.operations.nodes import DrainRequest, drain_node
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.node import DrainStrategy
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node
from tests.callers import MANAGER

EVALUATION, NODE = make_evaluation(1), make_node()
COUNT = 12
NAMED = [f"[{number}]" for number in range(COUNT)]


@pytest.fixture
def twelve(store, ids):
    """Of one group, made at once on one node; in the order of their ids they are no row."""
    job = make_job()

    def work(change):
        write_job(change, job)
        for value in (NODE, EVALUATION):
            put_found(change, value)
        for number in range(COUNT):
            alloc = make_allocation(
                job, number, id=f"bbbbbbbb-0000-0000-0000-{7 * number % COUNT:012x}",
                eval_id=EVALUATION.id, client_status=ClientStatus.RUNNING,
            )  # fmt: skip
            put_found(change, alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    asked = DrainRequest(strategy=DrainStrategy())
    drain_node(store, NODE.id, asked, by=MANAGER, now=SOME_MOMENT, ids=ids)


@pytest.mark.parametrize(
    ("path", "begins"),
    [
        pytest.param(f"/nodes/{NODE.id}/", 'id="node-body"', id="node"),
        pytest.param(f"/drains/{NODE.id}/", "<main", id="drain"),
        pytest.param("/jobs/default/web/", 'class="alloc-grid"', id="job"),
        pytest.param(f"/evaluations/{EVALUATION.id}/", "<main", id="evaluation"),
        pytest.param(f"/topology/?node={NODE.id}", 'id="selected-runs"', id="topology"),
    ],
)
def test_the_second_stands_before_the_tenth(twelve, browser, path, begins):
    text = browser.get(path).text.partition(begins)[2]
    names = list(dict.fromkeys(re.findall(r"web\.web(\[\d+\])", text)))
    assert names
    assert names == NAMED[: len(names)]
    assert len(names) > 2


def test_a_group_of_a_thousand_is_folded_to_ten_lines_and_its_exceptions(store, browser):
    job = make_job()

    def work(change):
        write_job(change, job)
        put_found(change, NODE)
        for number in range(1000):
            state = ClientStatus.PENDING if number in {2, 10, 433} else ClientStatus.RUNNING
            # Ids go the other way round than names.
            identity = f"bbbbbbbb-0000-0000-0000-{1000 - number:012x}"
            put_found(change, make_allocation(job, number, id=identity, client_status=state))

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    text = browser.get("/jobs/default/web/").text
    panel = text.partition('id="job-groups"')[2].partition("</section>")[0]
    assert re.findall(r'title="web\.web(\[\d+\])', panel) == ["[2]", "[10]", "[433]"]
    assert re.findall(r"<li><a [^>]*><span>([^<]*)</span>", panel) == [
        f"[{first}] to [{first + 99}]" for first in range(0, 1000, 100)
    ]
    assert "<strong>99 running, 1 pending</strong>" in panel
    assert "<span>100 running</span>" in panel
    # As drawn in the design: some 60 elements for a thousand.
    assert len(re.findall(r"<(?:li|rect|path|svg)", panel)) < 70


def test_a_page_that_draws_only_some_says_so(twelve, browser, monkeypatch):
    said = "Only 11 of its open allocations are drawn."
    monkeypatch.setattr("dashboard.queries.job_groups.MAX_OPEN", 11)
    assert said in browser.get("/jobs/default/web/").text
    monkeypatch.setattr("dashboard.queries.job_groups.MAX_OPEN", 12)
    assert "open allocations are drawn" not in browser.get("/jobs/default/web/").text


def test_the_list_of_all_sorts_those_of_a_job_as_people_count(twelve, browser):
    for sort, names in (("job", NAMED), ("-job", NAMED[::-1])):
        rows = browser.get("/allocations/", sort=sort).context["list"].contexts
        assert [row["alloc"].name.removeprefix("web.web") for row in rows] == names
