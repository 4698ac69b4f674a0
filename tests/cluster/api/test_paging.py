"""Pages, cursors and prefixes."""

import pytest
from django.http import QueryDict

from cluster.api.paging import (
    BY_CREATION,
    BY_ID,
    BY_JOB,
    check_uuid,
    page_of,
    read_listing,
    uuid_prefix,
)
from cluster.operations.errors import OperationRefused
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job

ID = "d2f4c0de-11aa-22bb-33cc-445566778899"


def listing(text):
    return read_listing(QueryDict(text))


EVALUATIONS = [
    Evaluation(id="c", create_index=9),
    Evaluation(id="a", create_index=10),
    Evaluation(id="b", create_index=10, job_id="other"),
    Evaluation(id="d", create_index=100),
]


def walk(query, order, items):
    """Every page of a list, by following its cursors."""
    pages = []
    token = ""
    while True:
        page = page_of(items, listing(f"{query}&next_token={token}"), order)
        pages.append([item.id for item in page.items])
        token = page.next_token
        if not token:
            return pages


@pytest.mark.parametrize(
    ("query", "order", "pages"),
    [
        pytest.param("per_page=2", BY_CREATION, [["c", "a"], ["b", "d"]], id="forwards"),
        pytest.param(
            "per_page=3&reverse=true", BY_CREATION, [["d", "b", "a"], ["c"]], id="backwards"
        ),
        pytest.param("per_page=3", BY_ID, [["a", "b", "c"], ["d"]], id="by-id"),
        pytest.param("per_page=0", BY_ID, [["a", "b", "c", "d"]], id="zero-is-everything"),
        pytest.param("per_page=-1", BY_ID, [["a", "b", "c", "d"]], id="negative-is-everything"),
        pytest.param(
            "per_page=1&filter=JobID+is+empty", BY_CREATION, [["c"], ["a"], ["d"]], id="filtered"
        ),
    ],
)
def test_pages_follow_each_other_without_gap_or_double(query, order, pages):
    assert walk(query, order, EVALUATIONS) == pages


def test_a_cursor_names_the_next_item_that_matches():
    page = page_of(EVALUATIONS, listing("per_page=1"), BY_CREATION)

    assert page.next_token == "10.a"


def test_jobs_are_ordered_by_namespace_first():
    jobs = [Job(id="a", namespace="two"), Job(id="b", namespace="one.x")]

    page = page_of(jobs, listing("per_page=1"), BY_JOB)

    assert [job.id for job in page.items] == ["b"]
    assert page.next_token == "two.a"


@pytest.mark.parametrize("text", ["abc", "1.5", "99999999999999999999", "\uff11"])
def test_a_page_size_that_is_no_number_is_refused(text):
    with pytest.raises(OperationRefused) as refused:
        listing(f"per_page={text}")

    assert str(refused.value) == "Expect a number for `per_page` query string parameter"


@pytest.mark.parametrize(
    ("prefix", "beginning"),
    [
        ("", ""),
        ("d2", "d2"),
        ("D2F4", "d2f4"),
        ("d2f4c0de", "d2f4c0de"),
        ("d2f4c0de-11", "d2f4c0de-11"),
        ("d2f4c0de11aa22bb33cc445566778899", ID),
        (ID, ID),
        ("d-2", "d2"),
    ],
)
def test_hyphens_do_not_matter_in_a_prefix(prefix, beginning):
    assert uuid_prefix(prefix, "eval lookup failed: ") == beginning


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [
        ("d2f", "Input (without hyphens) must be even length"),
        ("zz", "Invalid UUID: encoding/hex: invalid byte: U+007A 'z'"),
        ("d2----f4-", 'UUID should have maximum of 4 "-"; got 5'),
        ("a" * 40, "Invalid UUID length. UUID have 36 characters; got 40"),
    ],
)
def test_what_no_prefix_is(prefix, problem):
    with pytest.raises(OperationRefused) as refused:
        uuid_prefix(prefix, "eval lookup failed: ")

    assert str(refused.value) == f"eval lookup failed: index error: {problem}"


def test_a_single_object_needs_its_whole_id():
    with pytest.raises(OperationRefused, match="UUID must be 36 characters"):
        check_uuid("d2f4", "alloc lookup failed: ")
