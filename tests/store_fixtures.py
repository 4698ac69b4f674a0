"""Fixtures of stores, each fresh for every test that asks for one."""

import pytest

from cluster.store.writer import DjangoStateStore
from scheduler.state.memory_store import MemoryStateStore
from tests.postgres_server import PostgresServer, find_programs
from tests.record_databases import (
    PostgresDatabase,
    copy_sqlite,
    database,
    migrate,
    sqlite_settings,
)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory, django_db_blocker):
    path = tmp_path_factory.mktemp("record") / "template.sqlite3"
    with django_db_blocker.unblock():
        migrate(sqlite_settings(path))
    return path


@pytest.fixture(scope="session")
def postgres_database(django_db_blocker):
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL on this machine, and no wheel of it")
    server = PostgresServer(programs)
    server.start()
    try:
        with django_db_blocker.unblock():
            yield PostgresDatabase(server)
    finally:
        server.stop()


@pytest.fixture
def sqlite_store(sqlite_template, tmp_path, django_db_blocker):
    settings = copy_sqlite(sqlite_template, tmp_path / "state.sqlite3")
    with django_db_blocker.unblock(), database(settings) as alias:
        yield DjangoStateStore(alias)


@pytest.fixture
def postgres_store(postgres_database, django_db_blocker):
    with (
        django_db_blocker.unblock(),
        database(postgres_database.settings) as alias,
    ):
        postgres_database.reset()
        yield DjangoStateStore(alias)


@pytest.fixture
def memory_store():
    return MemoryStateStore()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request):
    return request.getfixturevalue(f"{request.param}_store")
