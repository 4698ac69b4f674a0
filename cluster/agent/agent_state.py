"""What an agent remembers over a restart: who it is, its metadata, its allocations.

Kept in the state directory: two identity files and one small database (node-agent.md 13). Knows of
no server.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from cluster.agent.alloc_directories import AllocDirectories, make_way
from cluster.agent.drivers.driver import Handle
from cluster.agent.protocol import AllocationReport
from cluster.agent.secret_mounts import secret_mounts
from scheduler.ports import IDSource
from scheduler.structs.allocation import Allocation, DeploymentHealth, TaskState
from scheduler.structs.host_volume import DynamicVolume
from scheduler.structs.job import Job

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class StoredTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task as the agent left it."""

    state: TaskState
    phase: str
    wake_at: int = 0
    kill_asked: bool = False
    restart_asked: bool = False
    restart_count: int = 0
    interval_start: int = 0
    #: Keys of the artifacts that are in place.
    fetched: tuple[str, ...] = ()
    handle: Handle | None = None


class StoredAlloc(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation as the agent left it."""

    alloc: Allocation
    job: Job
    tasks: dict[str, StoredTask]
    deployment_status: DeploymentHealth | None = None
    acknowledged: AllocationReport | None = None


class Storage(Protocol):
    """Where allocations live on this node, if anywhere. Writing raises OSError."""

    @property
    def remembers(self) -> bool:
        """Whether anything outlives the agent."""

    @property
    def alloc_dir(self) -> Path | None:
        """Where the directories of allocations are; None on a node without files."""

    def save(self, stored: StoredAlloc) -> None:
        """Keep this state of the allocation."""

    def delete(self, alloc_id: str) -> None:
        """Nothing was kept."""

    def load(self) -> list[StoredAlloc]:
        """Everything kept, in no order."""

    def save_metadata(self, dynamic: Mapping[str, str | None]) -> None:
        """Keep these changes of the node's metadata, instead of those kept before."""

    def load_metadata(self) -> dict[str, str | None]:
        """The changes kept."""

    def save_identity(self, token: str) -> None:
        """Keep this identity instead of the one before; "": none."""

    def load_identity(self) -> str:
        """The identity kept; "": none."""

    def save_volume(self, volume: DynamicVolume) -> None:
        """Keep this state of a volume that was made here."""

    def delete_volume(self, volume_id: str) -> None:
        """It is gone."""

    def load_volumes(self) -> list[DynamicVolume]:
        """The volumes kept, in no order."""

    def save_network(self, record: bytes, alloc_id: str) -> None:
        """Keep this of the allocation's network."""

    def delete_network(self, alloc_id: str) -> None:
        """It is gone."""

    def load_networks(self) -> list[bytes]:
        """What is kept of networks, in no order."""

    def directories(self, alloc_id: str) -> AllocDirectories | None:
        """Its directories; None on a node without files."""


class NoStorage:
    """A simulated node: it remembers nothing and has no files."""

    remembers = False
    alloc_dir: Path | None = None

    def save(self, stored: StoredAlloc) -> None:
        """Nothing is kept."""

    def delete(self, alloc_id: str) -> None:
        """Nothing was kept."""

    def load(self) -> list[StoredAlloc]:
        """Nothing was ever stored."""
        return []

    def save_metadata(self, dynamic: Mapping[str, str | None]) -> None:
        """Nothing is kept."""

    def load_metadata(self) -> dict[str, str | None]:
        """Nothing was ever stored."""
        return {}

    def save_identity(self, token: str) -> None:
        """Nothing is kept."""

    def load_identity(self) -> str:
        """Nothing was ever stored."""
        return ""

    def save_volume(self, volume: DynamicVolume) -> None:
        """Nothing is kept."""

    def delete_volume(self, volume_id: str) -> None:
        """Nothing was kept."""

    def load_volumes(self) -> list[DynamicVolume]:
        """Nothing was ever stored."""
        return []

    def save_network(self, record: bytes, alloc_id: str) -> None:
        """Nothing is kept."""

    def delete_network(self, alloc_id: str) -> None:
        """Nothing was kept."""

    def load_networks(self) -> list[bytes]:
        """Nothing was ever stored."""
        return []

    def directories(self, alloc_id: str) -> AllocDirectories | None:
        """None: nothing lies on a disk."""
        return None


class DiskStorage:
    """The state directory and the allocation directory of a real node."""

    remembers = True

    def __init__(self, state_dir: Path, alloc_dir: Path) -> None:
        make_way(alloc_dir)
        #: How secrets of tasks are kept.
        self.secrets = secret_mounts(alloc_dir)
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.state_dir = state_dir
        self.alloc_dir: Path = alloc_dir
        file = state_dir / "agent.sqlite3"
        self._is_new = not file.exists()
        # Environments of tasks stand in it; SQLite gives its companions the same mode.
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        self._database = sqlite3.connect(file, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS allocation (id TEXT PRIMARY KEY, state BLOB NOT NULL)"
        )
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS metadata (key TEXT PRIMARY KEY, value TEXT)"
        )
        self._database.execute("CREATE TABLE IF NOT EXISTS identity (token TEXT NOT NULL)")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS volume (id TEXT PRIMARY KEY, state BLOB NOT NULL)"
        )
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS network (alloc_id TEXT PRIMARY KEY, state BLOB NOT NULL)"
        )

    def close(self) -> None:
        """Let go of the files."""
        self._database.close()

    def save(self, stored: StoredAlloc) -> None:
        """One small write; a process that dies afterwards finds it again."""
        with _as_os_error():
            self._database.execute(
                "INSERT OR REPLACE INTO allocation (id, state) VALUES (?, ?)",
                (stored.alloc.id, msgspec.msgpack.encode(stored)),
            )

    def delete(self, alloc_id: str) -> None:
        with _as_os_error():
            self._database.execute("DELETE FROM allocation WHERE id = ?", (alloc_id,))

    def load(self) -> list[StoredAlloc]:
        rows = self._database.execute("SELECT state FROM allocation").fetchall()
        return [msgspec.msgpack.decode(row[0], type=StoredAlloc) for row in rows]

    def save_metadata(self, dynamic: Mapping[str, str | None]) -> None:
        """All or nothing: who dies meanwhile finds what was kept before."""
        with _as_os_error(), self._database:
            self._database.execute("BEGIN")
            self._database.execute("DELETE FROM metadata")
            self._database.executemany("INSERT INTO metadata VALUES (?, ?)", dynamic.items())

    def load_metadata(self) -> dict[str, str | None]:
        """The changes kept; a new directory has none."""
        return dict(self._database.execute("SELECT key, value FROM metadata"))

    def save_identity(self, token: str) -> None:
        """One row, or none."""
        with _as_os_error(), self._database:
            self._database.execute("BEGIN")
            self._database.execute("DELETE FROM identity")
            if token:
                self._database.execute("INSERT INTO identity VALUES (?)", (token,))

    def load_identity(self) -> str:
        """The newest one; a new directory has none."""
        row = self._database.execute("SELECT token FROM identity").fetchone()
        return str(row[0]) if row else ""

    def save_volume(self, volume: DynamicVolume) -> None:
        """One small write."""
        with _as_os_error():
            self._database.execute(
                "INSERT OR REPLACE INTO volume (id, state) VALUES (?, ?)",
                (volume.id, msgspec.msgpack.encode(volume)),
            )

    def delete_volume(self, volume_id: str) -> None:
        with _as_os_error():
            self._database.execute("DELETE FROM volume WHERE id = ?", (volume_id,))

    def load_volumes(self) -> list[DynamicVolume]:
        rows = self._database.execute("SELECT state FROM volume").fetchall()
        return [msgspec.msgpack.decode(row[0], type=DynamicVolume) for row in rows]

    def save_network(self, record: bytes, alloc_id: str) -> None:
        """One small write. Raises OSError where there is no room for it."""
        with _as_os_error():
            self._database.execute(
                "INSERT OR REPLACE INTO network (alloc_id, state) VALUES (?, ?)",
                (alloc_id, record),
            )

    def delete_network(self, alloc_id: str) -> None:
        """Raises OSError where there is no room to write."""
        with _as_os_error():
            self._database.execute("DELETE FROM network WHERE alloc_id = ?", (alloc_id,))

    def load_networks(self) -> list[bytes]:
        return [row[0] for row in self._database.execute("SELECT state FROM network")]

    def directories(self, alloc_id: str) -> AllocDirectories:
        """Below the allocation directory."""
        return AllocDirectories(self.alloc_dir, alloc_id, self.secrets)

    def left_over(self) -> list[AllocDirectories]:
        """Directories of allocations that nothing is known of: whoever removed them was ended.

        None where nothing is known of any: then it is the record that was lost.
        """
        if self._is_new:
            return []
        known = {row[0] for row in self._database.execute("SELECT id FROM allocation")}
        names = {place.name for place in self.alloc_dir.iterdir() if place.is_dir()}
        return [self.directories(name) for name in sorted(names - known) if _ID.fullmatch(name)]


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """A database that cannot be written is a disk that cannot be written."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        raise OSError(f"the agent's state cannot be written: {problem}") from problem


def identity(state_dir: Path, ids: IDSource) -> tuple[str, str]:
    """The node's id and secret, made at the first start and used ever after."""
    make_way(state_dir.parent)
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    return _kept(state_dir / "client-id", ids), _kept(state_dir / "secret-id", ids)


def _kept(path: Path, ids: IDSource) -> str:
    if not path.exists():
        draft = path.with_suffix(".new")
        descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(ids.next_id())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    return path.read_text().strip()
