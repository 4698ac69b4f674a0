"""What one small job costs on PostgreSQL, counted: messages that are waited for.

The same job as in `test_small_job_cost`, by the same parts.
"""

import psycopg
import pytest
from django.db import connections

from cluster.store.postgresql.line import PostgresLine
from scheduler.state.events import WriteKind
from tests.builders import make_node
from tests.cluster.runtime.test_small_job_cost import CLOCK, Cluster, one_job
from tests.store_fixtures import postgres_database, postgres_store

__all__ = ["postgres_database", "postgres_store"]

#: What the counts may be at most; where one is lower for good, write the lower one here.
MOST_ROUND_TRIPS = {"register": 3, "leader": 6, "worker": 3, "applier": 6}


@pytest.fixture
def cluster(postgres_store, redis_url):
    def join(change):
        for number in range(10):
            change.put_node(make_node(number))

    postgres_store.write(WriteKind.NODE_REGISTRATION, join, now=CLOCK.now())
    opened = Cluster(postgres_store, redis_url)
    yield opened
    opened.close()


class Counted:
    """Messages to the server that were waited for, by who was at work."""

    def __init__(self, monkeypatch):
        self.by = {}
        self.commits = 0
        self.who = ""
        exchange, ask, wait = PostgresLine._exchange, PostgresLine.ask, psycopg.Connection.wait
        prepare = PostgresLine._prepare

        def exchanging(line, everything):
            self._note("; ".join(each.statement for each in everything))
            return exchange(line, everything)

        def asking(line, what):
            if not line._waiting and not line._is_unread and not line._has_to_begin():
                self._note(what.statement)
            return ask(line, what)

        def preparing(line, known):
            self._note("PREPARE")
            return prepare(line, known)

        def waiting(connection, generator, *args, **options):
            # Psycopg's switch of autocommit goes this way as well, and says nothing.
            if generator.__name__ != "_set_autocommit_gen":
                self._note("a cursor of Django's")
            return wait(connection, generator, *args, **options)

        monkeypatch.setattr(PostgresLine, "_exchange", exchanging)
        monkeypatch.setattr(PostgresLine, "ask", asking)
        monkeypatch.setattr(PostgresLine, "_prepare", preparing)
        monkeypatch.setattr(psycopg.Connection, "wait", waiting)

    def _note(self, said):
        self.commits += "COMMIT" in said
        self.by.setdefault(self.who, []).append(said)

    def during(self, who, work, *args):
        self.who = who
        return work(*args)


def test_one_small_job_costs_few_round_trips(cluster, monkeypatch):
    counted = Counted(monkeypatch)
    cluster.ask_for_work()
    cluster.ask_for_plans()
    cluster.lead(2)
    # The first one fills caches, and the second has its statements prepared.
    for number in (1, 2, 3):
        one_job(cluster, counted, number)
    index = cluster.store.index
    counted.by.clear()
    counted.commits = 0
    one_job(cluster, counted, 4)
    found = {who: len(said) for who, said in counted.by.items()}
    assert {who: n for who, n in found.items() if n > MOST_ROUND_TRIPS.get(who, 0)} == {}, found
    assert (cluster.store.index - index, counted.commits) == (2, 2)
    with connections[cluster.store.alias].cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM allocation")
        assert cursor.fetchone() == (4,)
