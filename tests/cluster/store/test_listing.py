"""Pages of lists: prefix, namespaces, cursor, order; the same from both databases."""

import msgspec
import pytest
from django.db import connections

from cluster.store.ports import Listing
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.scaling_nouns import SCALING_POLICIES
from scheduler.structs.task_group import ScalingPolicy
from tests.builders import make_evaluation, make_job, make_node


@pytest.fixture
def filled(record):
    """Evaluations `1a`..`3a` of namespace `default`, created in this order, and `1b` of `team`."""

    def work(change):
        for place, name in enumerate(("3a", "1a", "2a")):
            change.put_evaluation(make_evaluation(id=name, create_index=10 + place))
        change.put_evaluation(make_evaluation(id="1b", create_index=9, namespace="team"))
        for namespace, job_id in (("team", "a"), ("default", "web"), ("default", "we_b")):
            change.put_job(make_job(namespace=namespace, id=job_id))
        change.put_job(make_job(namespace="team", id="late", modify_index=12))
        for policy_id, job_id in (("5d-2", "b"), ("5d-1", "a")):
            target = {"Namespace": "default", "Job": job_id, "Group": "g"}
            change.put(SCALING_POLICIES, ScalingPolicy(id=policy_id, target=target))
        change.put_node(make_node(id="f00d"))
        change.put_node(make_node(id="beef"))

    record.write(WriteKind.EVALUATION_UPDATED, work, now=1)
    return record


PAGES = [
    pytest.param(nouns.EVALUATIONS, {}, ["1b", "3a", "1a", "2a"], id="in-order-of-creation"),
    pytest.param(nouns.EVALUATIONS, {"reverse": True}, ["2a", "1a", "3a", "1b"], id="reversed"),
    pytest.param(nouns.EVALUATIONS, {"prefix": "1"}, ["1b", "1a"], id="prefix"),
    pytest.param(nouns.EVALUATIONS, {"namespaces": ["team"]}, ["1b"], id="namespace"),
    pytest.param(nouns.EVALUATIONS, {"namespaces": []}, [], id="no-namespace"),
    pytest.param(nouns.EVALUATIONS, {"after": (11, "1a")}, ["1a", "2a"], id="cursor-is-inclusive"),
    pytest.param(nouns.EVALUATIONS, {"after": (11, "1a"), "reverse": True}, ["1a", "3a", "1b"],
                 id="cursor-reversed"),
    pytest.param(nouns.EVALUATIONS, {"limit": 2}, ["1b", "3a", "1a"],
                 id="one-more-than-the-limit"),
    pytest.param(nouns.JOBS, {}, ["we_b", "web", "a", "late"], id="jobs-by-key"),
    pytest.param(nouns.JOBS, {"by_id": True}, ["a", "late", "we_b", "web"], id="jobs-by-id"),
    pytest.param(nouns.JOBS, {"prefix": "we_"}, ["we_b"], id="no-wildcards-in-a-prefix"),
    pytest.param(nouns.JOBS, {"by_change": True}, ["we_b", "web", "a", "late"], id="by-change"),
    pytest.param(nouns.JOBS, {"by_change": True, "reverse": True, "after": (10, "team", "a")},
                 ["a", "web", "we_b"], id="by-change-reversed-from-within-a-write"),
    pytest.param(nouns.JOBS, {"by_change": True, "reverse": True, "after": (13, "", "")},
                 ["late", "a", "web", "we_b"], id="by-change-from-an-index"),
    pytest.param(nouns.JOBS, {"by_change": True, "namespaces": ["team"]}, ["a", "late"],
                 id="by-change-of-a-namespace"),
    pytest.param(SCALING_POLICIES, {}, ["5d-1", "5d-2"], id="policies"),
    pytest.param(SCALING_POLICIES, {"prefix": "5d-2"}, ["5d-2"], id="policies-by-prefix"),
    pytest.param(SCALING_POLICIES, {"prefix": "-"}, [], id="no-policy-begins-so"),
    pytest.param(SCALING_POLICIES, {"equals": {"job_id": "b"}}, ["5d-2"], id="policies-of-a-job"),
    pytest.param(nouns.NODES, {"namespaces": ["team"], "limit": 1}, ["beef", "f00d"],
                 id="nodes-have-no-namespace"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "fields", "ids"), PAGES)
def test_a_page_holds_the_rows_asked_for(filled, table, fields, ids):
    assert [row.id for row in filled.read(lambda r: r.page(table, Listing(**fields)))] == ids


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        pytest.param({}, ["1b", "3a", "1a", "2a"], id="in-order-of-creation"),
        pytest.param({"reverse": True}, ["2a", "1a", "3a", "1b"], id="reversed"),
        pytest.param({"by_id": True}, ["1a", "1b", "2a", "3a"], id="by-id"),
        pytest.param({"by_id": True, "prefix": "1", "reverse": True}, ["1b", "1a"],
                     id="prefix-by-id-reversed"),
        pytest.param({"after": (11, "1a")}, ["1a", "2a"], id="from-a-cursor-on"),
        pytest.param({"equals": {"status": "pending"}, "namespaces": ["default"]},
                     ["3a", "1a", "2a"], id="open-ones-of-a-namespace"),
        pytest.param({"equals": {"job_id": "web"}, "namespaces": ["team"]}, ["1b"], id="of-a-job"),
        pytest.param({"equals": {"id": "2a"}}, ["2a"], id="one-id"),
        pytest.param({"equals": {"status": "complete"}}, [], id="none"),
        pytest.param({"namespaces": []}, [], id="no-namespace"),
    ],
)  # fmt: skip
def test_a_walk_sees_every_row_once_in_order_whatever_it_reads_at_once(filled, fields, ids):
    for limit in (0, 1, 2, 100):
        listing = Listing(limit=limit, **fields)
        found = filled.read(lambda r, asked=listing: list(r.walk(nouns.EVALUATIONS, asked)))
        assert [row.id for row in found] == ids


@pytest.mark.parametrize(
    ("table", "fields", "number"),
    [
        pytest.param(nouns.EVALUATIONS, {}, 4, id="all"),
        pytest.param(nouns.EVALUATIONS, {"namespaces": ["default"]}, 3, id="namespace"),
        pytest.param(nouns.EVALUATIONS, {"equals": {"status": "blocked"}}, 0, id="status"),
        pytest.param(nouns.EVALUATIONS, {"prefix": "1"}, 2, id="prefix"),
        pytest.param(nouns.EVALUATIONS, {"namespaces": []}, 0, id="no-namespace"),
        pytest.param(nouns.NODES, {}, 2, id="nodes"),
    ],
)
def test_rows_are_counted(filled, table, fields, number):
    assert filled.read(lambda r: r.count(table, Listing(**fields))) == number


def test_first_ids_come_in_their_own_order(filled):
    def ids(table, **fields):
        return filled.read(lambda r: r.first_ids(table, Listing(**fields)))

    assert ids(nouns.EVALUATIONS, limit=2) == ["1a", "1b", "2a"]
    assert ids(nouns.JOBS, prefix="w", namespaces=["default"], limit=5) == ["we_b", "web"]
    assert ids(nouns.EVALUATIONS, namespaces=[], limit=5) == []


def spoil(record, table, where):
    """Make bodies of rows unreadable, so that whoever decodes one fails."""
    with connections[record.alias].cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET body = %s WHERE {where}", [b"spoilt"])  # noqa: S608 - the test's own names


def test_rows_behind_the_page_are_not_decoded(filled):
    spoil(filled, "evaluation", "id = '2a'")

    shown = filled.read(lambda r: r.page(nouns.EVALUATIONS, Listing(limit=2)))
    assert [row.id for row in shown] == ["1b", "3a", "1a"]
    with pytest.raises(msgspec.ValidationError):
        filled.read(lambda r: r.page(nouns.EVALUATIONS, Listing(limit=3)))
    assert filled.read(lambda r: next(r.walk(nouns.EVALUATIONS, Listing(limit=2)))).id == "1b"
    assert filled.read(lambda r: r.count(nouns.EVALUATIONS, Listing())) == 4


@pytest.mark.parametrize(
    ("fields", "index"),
    [
        pytest.param({"namespaces": ["default"]}, "eval_by_creation", id="great-namespace"),
        pytest.param({"namespaces": ["team"]}, "eval_of_job", id="small-namespace"),
        pytest.param({"namespaces": ["default"], "equals": {"job_id": "web"}}, "eval_of_job",
                     id="job"),
        pytest.param({"equals": {"status": "complete"}}, "eval_counted", id="few-ended"),
        pytest.param({"equals": {"status": "blocked"}}, "eval_open", id="few-open"),
        pytest.param({"namespaces": ["default"], "prefix": "1", "by_id": True},
                     "sqlite_autoindex_evaluation_1", id="prefix"),
    ],
)  # fmt: skip
def test_a_page_of_a_great_table_is_read_along_an_index(sqlite_store, fields, index):
    assert f"INDEX {index}" in plan_of_page(sqlite_store, "EXPLAIN QUERY PLAN", fields)


def test_postgresql_reads_along_the_order_by_what_it_knows_of_the_values(postgres_store):
    plan = plan_of_page(postgres_store, "EXPLAIN", {"namespaces": ["default"]})
    assert "Index Scan using eval_by_creation" in plan


def plan_of_page(store, explain, fields):
    """How the database reads a page of 1,200 evaluations in `default` and one in `team`."""

    def fill(change):
        for number in range(1_200):
            change.put_evaluation(make_evaluation(number, create_index=number))
        change.put_evaluation(make_evaluation(1_200, namespace="team"))

    store.write(WriteKind.EVALUATION_UPDATED, fill, now=1)
    seen = []

    def note(execute, sql, params, many, context):
        seen.append((sql, params))
        return execute(sql, params, many, context)

    connection = connections[store.alias]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE evaluation" if connection.vendor == "postgresql" else "SELECT 1")
    with connection.execute_wrapper(note):
        store.read(lambda r: r.page(nouns.EVALUATIONS, Listing(limit=10, **fields)))
    statement, parameters = next(item for item in seen if item[0].startswith("SELECT body"))
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {statement}", parameters)
        return " ".join(row[-1] for row in cursor.fetchall())
