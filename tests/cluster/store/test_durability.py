"""A writer killed at any moment: what it acknowledged is there, nothing is there by half."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connections

from cluster.store.transactions import write_transaction
from cluster.store.writer import DjangoStateStore, lock_index
from scheduler.ports import StateReader
from scheduler.state.node_use import node_use_of
from tests.postgres_server import PostgresServer, find_programs
from tests.record_databases import PostgresDatabase, database, sqlite_settings

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("writing_process.py")
#: How many acknowledgements to wait for; where in the next write the kill hits is up to chance.
MOMENTS = (1, 2, 7, 23, 40, 58)


def acknowledged_before_the_end(
    place: Path, lines: int, at_once: int, end: Callable[["subprocess.Popen[str]"], None]
) -> list[int]:
    """Let a process write and end it after so many acknowledgements; every line it got out."""
    process = subprocess.Popen(
        [sys.executable, PROGRAM, place, str(at_once)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process, process.stdout as output:
        seen = [int(output.readline()) for _ in range(lines)]
        # The next write is under way by now, somewhere.
        end(process)
        return seen + [int(line) for line in output.read().splitlines() if line]


def killed(process: "subprocess.Popen[str]") -> None:
    process.kill()


def check_record(settings: dict[str, object], acknowledged: list[int]) -> None:
    """That all of it is there, and nothing by half."""
    with database(settings) as alias:
        store = DjangoStateStore(alias)
        index = store.index
        frames = list(store.frames_since(1, limit=10_000))
        assert acknowledged == list(range(2, acknowledged[-1] + 1))
        assert index >= acknowledged[-1]
        assert [frame.index for frame in frames] == list(range(2, index + 1))

        def check(reader: StateReader) -> None:
            assert len(list(reader.nodes())) == index - 1
            for node in reader.nodes():
                allocs = reader.allocations_by_node(node.id)
                assert len(allocs) == 20
                assert reader.node_use(node.id) == node_use_of(node.id, allocs)

        store.read(check)


@pytest.mark.parametrize(
    ("lines", "at_once"), [*((lines, 1) for lines in MOMENTS[:3]), *((n, 8) for n in MOMENTS[2:])]
)
def test_every_acknowledged_index_exists_and_none_by_half(
    lines, at_once, sqlite_template, tmp_path, django_db_blocker
):
    path = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, path)
    acknowledged = acknowledged_before_the_end(path, lines, at_once, killed)
    with django_db_blocker.unblock():
        check_record(sqlite_settings(path), acknowledged)


@pytest.mark.parametrize(("lines", "at_once"), [(2, 1), (23, 8), (40, 8)])
def test_so_it_is_on_postgresql(lines, at_once, postgres_database, postgres_store):
    place = Path(str(postgres_database.settings["HOST"]))
    acknowledged = acknowledged_before_the_end(place, lines, at_once, killed)
    wait_for_the_last_one(postgres_store.alias)
    check_record(postgres_database.settings, acknowledged)


@pytest.mark.parametrize(("lines", "at_once"), [(1, 1), (23, 8)])
def test_so_it_is_when_postgresql_itself_is_killed(lines, at_once, django_db_blocker):
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL on this machine, and no wheel of it")
    server = PostgresServer(programs)
    server.start()
    try:
        with django_db_blocker.unblock():
            settings = PostgresDatabase(server).settings
            acknowledged = acknowledged_before_the_end(
                server.directory, lines, at_once, lambda _: server.go_away()
            )
            server.come_back()
            check_record(settings, acknowledged)
    finally:
        server.stop()


def wait_for_the_last_one(alias: str) -> None:
    """The killed writer's transaction holds the index's lock until the server has ended it."""
    with write_transaction(connections[alias]):
        lock_index(connections[alias])
        connections[alias].set_rollback(True)
