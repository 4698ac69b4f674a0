"""Many new rows are copied into PostgreSQL, and are what statements would have put."""

import pytest
from django.db import IntegrityError, connections

from cluster.store import row_writer
from cluster.store.postgresql.cursor import PostgresCursor
from scheduler.state.events import WriteKind
from tests.builders import make_allocation, make_evaluation, make_node

KIND = WriteKind.PLAN_RESULT
MANY = row_writer.COPIED_FROM


@pytest.fixture
def copied(monkeypatch):
    """The tables that rows were copied into, with their numbers."""
    found = []
    copy = PostgresCursor.copy_new

    def copying(cursor, table, columns, put, rows):
        listed = list(rows)
        found.append((table, len(listed)))
        copy(cursor, table, columns, put, listed)

    monkeypatch.setattr(PostgresCursor, "copy_new", copying)
    return found


def rows_of(store, table):
    with connections[store.alias].cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY id")  # noqa: S608 - names of our own tables only
        return cursor.fetchall()


def put(store, values, index=None):
    """Allocations and evaluations, as made by this write or by an earlier one."""

    def work(change):
        change.put_node(make_node(1))
        for value in values:
            made = value.changed(create_index=index or change.index)
            if hasattr(value, "node_id") and hasattr(value, "client_status"):
                change.put_allocation(made)
            else:
                change.put_evaluation(made)
        return change.index

    return store.write(KIND, work, now=1_700_000_000_123_456_789)[1]


def allocations(count, **changes):
    node_id = make_node(1).id
    return [make_allocation(number=n, node_id=node_id, **changes) for n in range(count)]


def test_copied_rows_are_what_statements_would_have_put(postgres_store, copied, monkeypatch):
    evaluations = [make_evaluation(number=n, priority=n) for n in range(MANY)]
    values = [
        *allocations(MANY, name="größe\t\\N.web[0]\n'x'", create_time=1_700_000_000_987_654_321),
        *evaluations,
    ]
    index = put(postgres_store, values)
    assert copied == [("allocation", MANY), ("evaluation", MANY)]
    tables = ("allocation", "evaluation")
    found = {table: rows_of(postgres_store, table) for table in tables}
    monkeypatch.setattr(row_writer, "COPIED_FROM", 10**9)
    put(postgres_store, values, index)
    again = {table: rows_of(postgres_store, table) for table in tables}
    assert copied == [("allocation", MANY), ("evaluation", MANY)]
    assert [len(found[table]) for table in tables] == [MANY, MANY]
    assert found == again


def test_few_rows_and_rows_that_are_there_are_not_copied(postgres_store, copied):
    index = put(postgres_store, allocations(MANY - 1))
    assert copied == []
    put(postgres_store, allocations(MANY - 1), index)
    put(postgres_store, [*allocations(2 * MANY)[MANY:]])
    assert copied == [("allocation", MANY)]
    assert len(rows_of(postgres_store, "allocation")) == 2 * MANY - 1


def test_rows_that_cannot_be_copied_leave_nothing_behind(postgres_store, copied):
    put(postgres_store, allocations(1))
    before = postgres_store.index
    with pytest.raises(IntegrityError, match="allocation"):
        # One is there already, which no operation would call new.
        put(postgres_store, allocations(MANY))
    assert copied == [("allocation", MANY)]
    assert postgres_store.index == before
    assert len(rows_of(postgres_store, "allocation")) == 1
    put(postgres_store, allocations(MANY + 1)[1:])
    assert len(rows_of(postgres_store, "allocation")) == MANY + 1


def test_sqlite_is_told_rows_one_by_one(sqlite_store, copied):
    put(sqlite_store, allocations(2 * MANY))
    assert copied == []
    assert len(rows_of(sqlite_store, "allocation")) == 2 * MANY
