"""What the store says to PostgreSQL in few messages is what it would have said in many."""

import os
import signal
import threading
from time import sleep

import pytest
from django.db import (
    DataError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connections,
    transaction,
)

from cluster.runtime.clock import SystemClock
from cluster.store.leases import LeaseKeeper
from cluster.store.plain_cursor import begin_reading, end_reading, later, plain_cursor
from cluster.store.postgresql.cursor import PostgresCursor
from cluster.store.postgresql.line import KEPT, plainly
from cluster.store.transactions import read_transaction, write_transaction
from cluster.store.writer import lock_index
from scheduler.errors import Fenced
from scheduler.state.events import WriteKind
from tests.builders import make_node
from tests.cluster.store.test_query_plans import statements_of

_PUT = "INSERT INTO listener (name, signs, signed_at) VALUES (%s, %s, %s)"
_NAMES = "SELECT name FROM listener ORDER BY name"


@pytest.fixture
def connection(postgres_store):
    return connections[postgres_store.alias]


def names(connection):
    with connection.cursor() as cursor:
        cursor.execute(_NAMES)
        return [name for (name,) in cursor.fetchall()]


def put(connection, *wanted):
    with plain_cursor(connection) as cursor:
        for name in wanted:
            later(cursor)(_PUT, (name, 1, 5))


def look_and_refuse(connection, found):
    assert names(connection) == found
    put_and_refuse(connection, "e")


def put_and_refuse(connection, name):
    put(connection, name)
    raise ZeroDivisionError


def waiting(connection):
    return [each.statement for each in connection.line()._waiting]


def test_it_reads_and_writes_as_djangos(connection):
    with plain_cursor(connection) as cursor:
        assert isinstance(cursor, PostgresCursor)
        cursor.executemany(_PUT, [("a", 1, 5), ("b", 2, 6), ("c", 3, 7)])
        cursor.execute("UPDATE listener SET signs = signs WHERE signed_at > %s", (5,))
        assert cursor.rowcount == 2
        # Said again it is prepared; it answers the same.
        for _ in range(3):
            cursor.execute("SELECT name, signs FROM listener WHERE signed_at > %s", (5,))
            assert [name for (name,) in cursor.description] == ["name", "signs"]
            assert cursor.fetchone() == ("b", 2)
            assert cursor.fetchmany(5) == [("c", 3)]
            assert cursor.fetchall() == []
            assert cursor.fetchone() is None


def test_every_type_of_a_column_is_what_djangos_cursor_gives(connection):
    asked = (
        "SELECT CAST(%s AS bigint), CAST(%s AS text), CAST(%s AS boolean),"
        " CAST(%s AS timestamptz), CAST(%s AS double precision), CAST(%s AS text),"
        " SUM(signs), COUNT(*) FROM listener"
    )
    values = (2**40, "Größe 'x'", True, "2026-11-23 06:00:00.123456", 1.5, None)
    with connection.cursor() as cursor:
        cursor.execute(asked, values)
        theirs = cursor.fetchall()
    with plain_cursor(connection) as cursor:
        cursor.execute(asked, values)
        assert cursor.fetchall() == theirs
        cursor.execute("SELECT body FROM event WHERE body = %s OR size > %s", (b"\0\xff", -1))
        assert all(isinstance(body, bytes) for (body,) in cursor.fetchall())


def test_its_errors_are_djangos_and_leave_the_connection_usable(connection):
    cursor = plain_cursor(connection)
    with pytest.raises(ProgrammingError, match="does not exist"):
        cursor.execute("SELECT 1 FROM nowhere")
    with pytest.raises(IntegrityError):
        cursor.execute(_PUT, ("a", None, 1))
    with pytest.raises(DataError, match="NUL"):
        cursor.execute(_PUT, ("a\0", 1, 1))
    with pytest.raises(IntegrityError):
        cursor.executemany(_PUT, [("a", 1, 1), ("a", 1, 1)])
    assert names(connection) == []


def test_what_waits_is_there_for_whoever_looks_next(connection):
    with write_transaction(connection):
        put(connection, "a", "b")
        assert waiting(connection) == [_PUT, _PUT]
        with plain_cursor(connection) as cursor:
            cursor.execute(_NAMES)
            assert cursor.fetchall() == [("a",), ("b",)]
        put(connection, "c")
        assert names(connection) == ["a", "b", "c"], "a cursor of Django's lets it go first"
        assert waiting(connection) == []
        put(connection, "d")
    assert names(connection) == ["a", "b", "c", "d"]


def test_nothing_that_waits_is_said_when_its_transaction_is_undone(connection):
    with pytest.raises(ZeroDivisionError), write_transaction(connection):
        put_and_refuse(connection, "a")
    assert names(connection) == []


def test_errors_of_what_waits_come_with_the_commit(connection):
    def write():
        with write_transaction(connection):
            put(connection, "a", "a")

    with pytest.raises(IntegrityError):
        write()
    assert names(connection) == []


def test_errors_of_what_waits_belong_to_their_savepoint(connection):
    with write_transaction(connection):
        put(connection, "a")
        with pytest.raises(IntegrityError), transaction.atomic(using=connection.alias):
            put(connection, "b", "a")
        with transaction.atomic(using=connection.alias):
            put(connection, "c")
        assert waiting(connection) == []
        with pytest.raises(ZeroDivisionError), transaction.atomic(using=connection.alias):
            put_and_refuse(connection, "d")
        with transaction.atomic(using=connection.alias):
            pass
        with pytest.raises(ZeroDivisionError), transaction.atomic(using=connection.alias):
            look_and_refuse(connection, ["a", "c"])
    assert names(connection) == ["a", "c"]


def test_a_reading_transaction_sees_one_state_and_does_not_stay_open(connection, postgres_store):
    with read_transaction(connection):
        assert names(connection) == []
        thread = threading.Thread(target=put_beside, args=(postgres_store.alias, "a"))
        thread.start()
        thread.join()
        assert names(connection) == []
    assert names(connection) == ["a"]
    begin_reading(connection)
    end_reading(connection)
    assert connection.line()._line.transaction_status == 0, "one that reads nothing is not begun"


def put_beside(alias, *wanted):
    with write_transaction(connections[alias]):
        put(connections[alias], *wanted)
    connections[alias].close()


@pytest.mark.parametrize("moment", ["before the first statement", "with rows that wait"])
def test_a_connection_that_the_server_ends_fails_the_write_and_is_replaced(connection, moment):
    def write():
        with write_transaction(connection):
            if moment == "with rows that wait":
                assert names(connection) == []
                put(connection, "a")
            end_from_beside(connection)

    names(connection)
    if moment == "with rows that wait":
        with pytest.raises(OperationalError):
            write()
    else:
        write()
    # As after a restart of the server: whoever comes next is told once at most.
    for _ in range(2):
        try:
            with read_transaction(connection):
                found = names(connection)
        except OperationalError:
            continue
    assert found == []


def end_from_beside(connection):
    number = connection.connection.info.backend_pid
    beside = connection.copy()
    with beside.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", (number,))
    beside.close()


def test_a_lease_lost_while_a_write_waits_for_the_lock_is_seen(connection, postgres_store):
    keeper = LeaseKeeper("applier", "one", alias=postgres_store.alias)
    held = keeper.step(0.0)
    told = []

    def write_under_it():
        try:
            postgres_store.write(WriteKind.PLAN_RESULT, put_node, now=1, fence=held)
        except Fenced as error:
            told.append(error)
        finally:
            connections[postgres_store.alias].close()

    waiting = threading.Thread(target=write_under_it)
    with write_transaction(connection):
        before = lock_index(connection)
        waiting.start()
        until_somebody_waits(connection)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE lease SET epoch = epoch + 1 WHERE name = 'applier'")
    waiting.join()
    assert len(told) == 1
    # Taking the lock moves the counter, which this transaction did and nobody else.
    assert postgres_store.index == before + 1


def test_a_lease_is_not_taken_over_before_what_is_written_under_it_is_there(
    connection, postgres_store
):
    keeper = LeaseKeeper("applier", "one", alias=postgres_store.alias)
    held = keeper.step(0.0)
    beside = connection.copy()

    def take_over(change):
        put_node(change)
        with beside.cursor() as cursor:
            cursor.execute("SET lock_timeout = 200")
            with pytest.raises(OperationalError, match="lock timeout"):
                cursor.execute("UPDATE lease SET epoch = epoch + 1 WHERE name = 'applier'")

    try:
        postgres_store.write(WriteKind.PLAN_RESULT, take_over, now=1, fence=held)
        with beside.cursor() as cursor:
            cursor.execute("UPDATE lease SET epoch = epoch + 1 WHERE name = 'applier'")
            assert cursor.rowcount == 1
    finally:
        beside.close()


def put_node(change):
    change.put_node(make_node(1))


def until_somebody_waits(connection):
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute("SELECT COUNT(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
            sleep(0.01)
    pytest.fail("nobody waits for the lock")


def test_a_signal_ends_the_wait_for_a_long_statement(connection):
    class Called(Exception):
        pass

    def answer(*_):
        raise Called

    before = signal.signal(signal.SIGUSR1, answer)
    began = SystemClock().monotonic()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        with pytest.raises(Called), plain_cursor(connection) as cursor:
            cursor.execute("SELECT pg_sleep(%s)", (20,))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert SystemClock().monotonic() - began < 10
    # What its answer would have been is nobody else's.
    connection.close()
    assert names(connection) == []


def test_it_remembers_so_many_statements_and_no_more(connection):
    line = connection.line()
    with plain_cursor(connection) as cursor:
        for number in range(KEPT + 20):
            for _ in range(2):
                cursor.execute(f"SELECT {number} + CAST(%s AS integer)", (number,))
                assert cursor.fetchone() == (2 * number,)
        cursor.execute("SELECT COUNT(*) FROM pg_prepared_statements")
        assert cursor.fetchone()[0] <= KEPT
    assert len(line._known) <= KEPT


def test_more_than_fits_into_one_message_is_said_in_several(connection):
    with write_transaction(connection):
        put(connection, *(f"n{number:04}" for number in range(1000)))
        assert len(waiting(connection)) < 300
    assert len(names(connection)) == 1000


def test_words_of_transactions_are_not_kept(connection):
    line = connection.line()
    for _ in range(3):
        line.ask(plainly("SELECT 1"))
    assert "SELECT 1" not in line._known


def test_who_listens_to_statements_hears_them(postgres_store):
    with statements_of(connections[postgres_store.alias]) as found:
        postgres_store.read(lambda reader: reader.evaluation("e"))
    assert any("FROM evaluation" in sql for sql, _ in found)
