"""What `up` finds outside: each bad thing is one sentence, and what may come yet is waited for."""

import os
import shutil
import subprocess
import sys
import threading

import pytest
from django.conf import settings
from django.db import connections

from cluster.environment import database_from
from cluster.runtime import first_steps
from cluster.runtime.data_lock import CannotStart
from cluster.runtime.first_steps import await_record, await_redis
from cluster.store.backup.tables import applied_migrations, known_migrations
from tests.live.side_process import RedisProcess
from tests.postgres_server import PostgresServer, find_programs
from tests.record_databases import database, postgres_settings, sqlite_settings
from tests.store_fixtures import postgres_database

__all__ = ["postgres_database"]


@pytest.fixture(autouse=True)
def unblocked(django_db_blocker, monkeypatch):
    monkeypatch.setattr(first_steps, "TRY_AGAIN_S", 0.1)
    with django_db_blocker.unblock():
        yield


def refused(described):
    """The sentence with which a start on this database is refused."""
    with database(described) as alias, pytest.raises(CannotStart) as caught:
        await_record(lambda _line: None, alias)
    told = str(caught.value)
    assert "\n" not in told
    return told


def test_a_record_of_a_newer_version_is_refused_by_what_it_has(sqlite_template, tmp_path):
    file = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, file)
    with database(sqlite_settings(file)) as alias, connections[alias].cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('cluster', '9999_from_the_future', '2030-01-01')"
        )
    before = file.read_bytes()
    told = refused(sqlite_settings(file))
    assert f"{file} was brought up to date by a newer Bivouac" in told
    assert "cluster.9999_from_the_future" in told
    assert file.read_bytes() == before


def nonsense(file):
    file.write_bytes(b"no database at all" * 500)


def torn(file):
    """A page in the middle was lost."""
    body = bytearray(file.read_bytes())
    body[4096 : 4096 * 8] = bytes(4096 * 7)
    file.write_bytes(body)


@pytest.mark.parametrize("spoil", [nonsense, torn])
def test_a_damaged_record_is_called_so_with_what_to_do(sqlite_template, tmp_path, spoil):
    file = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, file)
    spoil(file)
    told = refused(sqlite_settings(file))
    assert f"The record in {file} is damaged: " in told
    assert "manage.py restore FILE --replace" in told


def in_background(work):
    """Runs beside the test, and closes what it opened."""

    def run():
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_a_postgresql_that_is_not_there_yet_is_waited_for():
    programs = find_programs()
    assert programs is not None, "`make test` brings a PostgreSQL"
    server = PostgresServer(programs)
    lines, heard = [], threading.Event()

    def write(line):
        lines.append(line)
        heard.set()

    with database(postgres_settings(server, "postgres")) as alias:
        waiting = in_background(lambda: await_record(write, alias))
        try:
            assert heard.wait(20)
            server.start()
            waiting.join(60)
            assert not waiting.is_alive()
            assert applied_migrations(alias) == known_migrations()
        finally:
            connections[alias].close()
            server.stop()
    assert lines[0].startswith(
        f"PostgreSQL at {server.directory}:5432, database postgres does not"
    )
    assert lines[-1] == "It answers now."


def test_a_name_that_postgresql_does_not_know_is_refused(postgres_database):
    told = refused(postgres_database.settings | {"NAME": "nowhere"})
    assert 'database "nowhere" does not exist' in told


def test_two_first_starts_on_one_empty_postgresql_both_come_through(postgres_database):
    described = postgres_database.settings
    with (
        database(described | {"NAME": "postgres"}) as alias,
        connections[alias].cursor() as cursor,
    ):
        cursor.execute("CREATE DATABASE two_starts")
    url = f"postgresql://{described['USER']}@{described['HOST'].replace('/', '%2F')}/two_starts"
    assert database_from(url, settings.BASE_DIR)["HOST"] == described["HOST"]
    start = "import django; django.setup(); import cluster.store.upgrade as u; u.upgrade_record()"
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
    }
    both = [
        subprocess.Popen(
            [sys.executable, "-c", start], cwd=settings.BASE_DIR, env=environment,
            stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    ends = [(each.communicate(timeout=100)[1], each.returncode) for each in both]
    assert ends == [("", 0), ("", 0)]
    with database(described | {"NAME": "two_starts"}) as alias:
        assert applied_migrations(alias) == known_migrations()


def test_a_redis_that_is_not_there_yet_is_waited_for(tmp_path):
    redis = RedisProcess(tmp_path)
    lines, heard = [], threading.Event()

    def write(line):
        lines.append(line)
        heard.set()

    waiting = in_background(lambda: await_redis(redis.url, write))
    try:
        assert heard.wait(20)
        redis.start()
        waiting.join(30)
        assert not waiting.is_alive()
    finally:
        redis.end()
    assert "does not answer" in lines[0]
    assert "REDIS_URL" in lines[0]
    password = redis.url.partition("://:")[2].partition("@")[0]
    assert password not in str(lines)
    assert lines[-1] == "It answers now."


def test_a_wrong_password_of_redis_is_not_waited_out(tmp_path):
    redis = RedisProcess(tmp_path)
    redis.start()
    host = redis.url.rpartition("@")[2]
    try:
        # It may take a moment until it listens.
        with pytest.raises(CannotStart, match="refuses"):
            await_redis(f"redis://:wrong@{host}", lambda _line: None)
    finally:
        redis.end()
