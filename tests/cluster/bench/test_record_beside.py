"""Counting in the file of a stack's record, beside its servers."""

import sqlite3
from contextlib import closing

from cluster.bench.record_beside import PostgresBeside, record_beside


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
