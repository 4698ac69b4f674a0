"""The store's own cursor says what Django's would, and fails as it does."""

import pytest
from django.db import IntegrityError, OperationalError, connections

from cluster.store.plain_cursor import PlainCursor, plain_cursor
from tests.cluster.store.test_query_plans import statements_of


def test_it_reads_and_writes_as_djangos(sqlite_store):
    connection = connections[sqlite_store.alias]
    with plain_cursor(connection) as cursor:
        assert isinstance(cursor, PlainCursor)
        cursor.executemany(
            "INSERT INTO listener (name, signs, signed_at) VALUES (%s, %s, %s)",
            [("a", 1, 5), ("b", 2, 6)],
        )
        cursor.execute("SELECT name, signs FROM listener WHERE signed_at > %s", (5,))
        assert cursor.description[0][0] == "name"
        mine = cursor.fetchall()
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, signs FROM listener WHERE signed_at > %s", (5,))
        assert cursor.fetchall() == mine == [("b", 2)]


def test_its_errors_are_djangos(sqlite_store):
    cursor = plain_cursor(connections[sqlite_store.alias])
    with pytest.raises(OperationalError, match="no such table"):
        cursor.execute("SELECT 1 FROM nowhere")
    with pytest.raises(IntegrityError):
        cursor.execute("INSERT INTO listener (name, signs, signed_at) VALUES ('a', NULL, 1)")
    with pytest.raises(IntegrityError):
        cursor.executemany("INSERT INTO listener (name, signs) VALUES (%s, %s)", [("a", None)])


@pytest.mark.parametrize("fetch", ["fetchone", "fetchall", "fetchmany"])
def test_so_are_those_that_come_with_a_later_row(sqlite_store, fetch):
    cursor = plain_cursor(connections[sqlite_store.alias])
    # The first two rows come, with `execute` already; the third cannot be made.
    cursor.execute(
        "SELECT CASE value WHEN 3 THEN json('{') ELSE value END FROM json_each('[1,2,3]')"
    )
    arguments = (5,) if fetch == "fetchmany" else ()
    if fetch == "fetchone":
        assert cursor.fetchone() == (1,)
    with pytest.raises(OperationalError, match="malformed JSON"):
        getattr(cursor, fetch)(*arguments)


def test_who_listens_to_statements_hears_them(sqlite_store):
    with statements_of(connections[sqlite_store.alias]) as found:
        sqlite_store.read(lambda reader: reader.evaluation("e"))
    assert any("FROM evaluation" in sql for sql, _ in found)
