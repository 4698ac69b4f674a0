"""Lists over the tables: filters asked of columns, cursors, and what is not read at all."""

import pytest
from django.db import connections

from cluster.operations.filter_columns import _COLUMNS, is_in_columns, known_columns
from cluster.operations.filter_expression import compile_filter
from scheduler.state import nouns
from scheduler.state.found_rows import put_found
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.cluster.api.clients import put

ROWS = [
    pytest.param(nouns.JOBS, make_job(parent_id="above"), id="jobs"),
    pytest.param(nouns.ALLOCATIONS, make_allocation(deployment_id="d"), id="allocations"),
    pytest.param(
        nouns.EVALUATIONS, make_evaluation(previous_eval="p", deployment_id="d"), id="evaluations"
    ),
    pytest.param(nouns.DEPLOYMENTS, Deployment(id="d", job_id="web"), id="deployments"),
    pytest.param(nouns.NODES, make_node(), id="nodes"),
]


@pytest.fixture
def five(store):
    """Evaluations 1 to 5 of the job `web`, the even ones complete."""

    def work(change):
        for number in range(1, 6):
            status = EvalStatus.PENDING if number % 2 else EvalStatus.COMPLETE
            put_found(change, make_evaluation(number, status=status, create_index=number))
        put_found(change, make_evaluation(6, namespace="team", create_index=6))

    put(store, work)
    return store


async def numbers(api, **query):
    answer = await api.get("/v1/evaluations", **query)
    assert answer.status == 200, answer.text
    return [int(item["ID"][-1]) for item in answer.json], answer.headers.get("X-Nomad-NextToken")


def token(number):
    return f"{number}.{make_evaluation(number).id}"


@pytest.mark.parametrize(("noun", "row"), ROWS)
def test_a_column_of_a_filter_holds_its_field(noun, row):
    values = dict(zip(noun.column_names, noun.row(row, int), strict=True))
    for field, column in _COLUMNS[noun].items():
        assert compile_filter(f'{field} == "{values[column]}"').wants(row), field


@pytest.mark.parametrize(
    ("text", "known", "is_exact"),
    [
        pytest.param('JobID == "a"', [("job_id", "a")], True, id="one"),
        pytest.param('JobID == a and (Status == b)', [("job_id", "a"), ("status", "b")], True,
                     id="both"),
        pytest.param('JobID == a and Priority == 5', [("job_id", "a")], False, id="no-column"),
        pytest.param('Priority == 5 and JobID == a', [], False, id="behind-what-may-fail"),
        pytest.param('Wait != 5 and JobID == a', [], False, id="behind-another-operator"),
        pytest.param('(JobID == a and Wait != 5) and Status == b', [("job_id", "a")], False,
                     id="in-parentheses"),
        pytest.param('JobID == a or Status == b', [], False, id="either"),
        pytest.param('not JobID == a', [], False, id="not"),
        pytest.param('any ClassEligibility as JobID { JobID == a }', [], False, id="bound"),
        pytest.param('JobID == "a\\u0000"', [], False, id="not-to-be-asked"),
    ],
)  # fmt: skip
def test_what_a_filter_says_about_columns(text, known, is_exact):
    given = compile_filter(text)
    found = list(known_columns(nouns.EVALUATIONS, given))
    assert (found, is_in_columns(nouns.EVALUATIONS, given)) == (known, is_exact)


@pytest.mark.parametrize(
    ("query", "pages"),
    [
        pytest.param({}, [[1, 2], [3, 4], [5]], id="forwards"),
        pytest.param({"reverse": "true"}, [[5, 4], [3, 2], [1]], id="backwards"),
        pytest.param({"filter": 'Status == "pending"'}, [[1, 3], [5]], id="column"),
        pytest.param({"filter": "Priority == 50 and Status != complete"}, [[1, 3], [5]],
                     id="no-column"),
        pytest.param({"status": "complete"}, [[2, 4]], id="status"),
        pytest.param({"job": "web", "namespace": "*"}, [[1, 2], [3, 4], [5, 6]],
                     id="job-everywhere"),
        pytest.param({"prefix": "cc", "reverse": "true"}, [[5, 4], [3, 2], [1]], id="prefix"),
        pytest.param({"filter": "JobID == a and JobID == b"}, [[]], id="contradiction"),
    ],
)  # fmt: skip
async def test_pages_follow_each_other(api, five, query, pages):
    found, after = [], ""
    while after is not None:
        page, after = await numbers(api, per_page="2", next_token=after, **query)
        found.append(page)
    assert found == pages


async def test_both_forms_of_a_cursor_and_too_great_ones_are_taken(api, five):
    plain = make_evaluation(4).id
    assert await numbers(api, next_token=token(4)) == ([4, 5], None)
    assert await numbers(api, prefix="cc", next_token=plain) == ([4, 5], None)
    assert await numbers(api, prefix="cc", next_token=token(4)) == ([4, 5], None)
    assert await numbers(api, next_token=f"{10**19}.x") == ([], None)


@pytest.fixture
def spoilt(five):
    """The bodies of the last three cannot be read, so that whoever decodes one fails."""
    with connections[five.alias].cursor() as cursor:
        cursor.execute("UPDATE evaluation SET body = %s WHERE create_index > 3", [b"spoilt"])


async def test_rows_behind_a_page_and_rows_that_are_only_counted_are_not_read(api, spoilt):
    assert await numbers(api, per_page="2") == ([1, 2], token(3))
    assert await numbers(api, filter="Status == pending", per_page="1") == ([1], token(3))
    answer = await api.get("/v1/evaluations/count", filter='Status == "complete"')
    assert answer.json["Count"] == 2


async def test_a_filter_that_cannot_be_answered_is_told_so_before_rows_are_left_out(api, five):
    answer = await api.get("/v1/evaluations", filter="Nothing == x and JobID == none")
    assert (answer.status, "/Nothing at part 0" in answer.text) == (400, True)
    assert await numbers(api, filter="JobID == none and Nothing == x") == ([], None)


@pytest.mark.parametrize(
    ("filter_", "count"),
    [("", 5), ("Status == pending", 3), ("Priority == 50 and Status != pending", 2)],
)
async def test_evaluations_are_counted(api, five, filter_, count):
    answer = await api.get("/v1/evaluations/count", filter=filter_)
    assert answer.json["Count"] == count
