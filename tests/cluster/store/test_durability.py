"""A writer killed at any moment: what it acknowledged is there, nothing is there by half."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.store.writer import DjangoStateStore
from scheduler.state.node_use import node_use_of
from tests.record_databases import database, sqlite_settings

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("writing_process.py")
#: How many acknowledgements to wait for; where in the next write the kill hits is up to chance.
MOMENTS = (1, 2, 7, 23, 40, 58)


def acknowledged_before_a_kill(path: Path, lines: int, at_once: int) -> list[int]:
    """Let a process write and kill it after so many acknowledgements; every line it got out."""
    process = subprocess.Popen(
        [sys.executable, PROGRAM, path, str(at_once)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process, process.stdout as output:
        seen = [int(output.readline()) for _ in range(lines)]
        # The next write is under way by now, somewhere.
        process.kill()
        return seen + [int(line) for line in output.read().splitlines() if line]


@pytest.mark.parametrize(
    ("lines", "at_once"), [*((lines, 1) for lines in MOMENTS[:3]), *((n, 8) for n in MOMENTS[2:])]
)
def test_every_acknowledged_index_exists_and_none_by_half(
    lines, at_once, sqlite_template, tmp_path, django_db_blocker
):
    path = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, path)
    acknowledged = acknowledged_before_a_kill(path, lines, at_once)
    with django_db_blocker.unblock(), database(sqlite_settings(path)) as alias:
        store = DjangoStateStore(alias)
        index = store.index
        frames = list(store.frames_since(1, limit=10_000))
        assert acknowledged == list(range(2, acknowledged[-1] + 1))
        assert index >= acknowledged[-1]
        assert [frame.index for frame in frames] == list(range(2, index + 1))

        def check(reader):
            assert len(list(reader.nodes())) == index - 1
            for node in reader.nodes():
                allocs = reader.allocations_by_node(node.id)
                assert len(allocs) == 20
                assert reader.node_use(node.id) == node_use_of(node.id, allocs)

        store.read(check)
