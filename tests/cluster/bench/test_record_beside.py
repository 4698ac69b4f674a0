"""Counting in the file of a stack's record, beside its servers."""

import sqlite3
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest

from cluster.bench.own_database import DatabaseRefused, own_database
from cluster.bench.record_beside import PostgresBeside, record_beside
from tests.store_fixtures import postgres_database

__all__ = ["postgres_database"]


def test_a_file_is_asked_and_measured(tmp_path):
    with closing(sqlite3.connect(tmp_path / "state.sqlite3")) as record:
        record.execute("CREATE TABLE thing (name, kind)")
        record.executemany("INSERT INTO thing VALUES (?, ?)", [("a", 1), ("b", 2), ("c", 1)])
        record.commit()
    found = record_beside(tmp_path, {})
    assert found.rows("SELECT name FROM thing WHERE kind = %s ORDER BY name", [1]) == [
        ("a",),
        ("c",),
    ]
    assert 0 < found.size_mb() < 1


def test_the_record_is_the_one_the_stack_was_started_with(tmp_path):
    assert record_beside(tmp_path, {}) is None
    url = {"DATABASE_URL": "postgresql:///state"}
    assert isinstance(record_beside(tmp_path, url), PostgresBeside)


def test_a_run_has_a_database_of_its_own_which_goes_with_it(postgres_database):
    settings = postgres_database.settings
    url = f"postgresql://{settings['USER']}@{quote(str(settings['HOST']), safe='')}/record"
    with own_database(url) as own, closing(PostgresBeside(own)) as found:
        (name,) = found.rows("SELECT current_database()")[0]
        assert name.startswith("bivouac_bench_")
        assert found.rows("SELECT count(*) FROM pg_tables WHERE schemaname = %s", ["public"]) == [
            (0,)
        ]
    with psycopg.connect(url) as record:
        kept = record.execute("SELECT datname FROM pg_database").fetchall()
    assert (name,) not in kept
    with pytest.raises(DatabaseRefused, match="does not exist"), own_database(f"{url}x"):
        pass
