"""A record in a database that chains can be played on as on the one in memory.

In: a store and its snapshots. Out: the same questions answered at once, each in a read of its own,
so that agents and outcomes need not know where the rows are.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from cluster.store.snapshot_cache import SnapshotCache
from cluster.store.writer import DjangoStateStore
from scheduler.ports import StateReader


class DatabaseRecord:
    """A store, asked without opening a read first."""

    def __init__(self, store: DjangoStateStore) -> None:
        self._store = store
        self._snapshots = SnapshotCache(store.alias)
        self._batch = ExitStack()
        self.write = store.write
        self.read = store.read
        self.frames_since = store.frames_since

    @property
    def index(self) -> int:
        return self._store.index

    def begin_batch(self) -> None:
        """The evaluations before are done with: their snapshots end."""
        self._batch.close()
        self._batch.enter_context(self._snapshots.batch())

    def snapshot_at(self, index: int):
        return self._snapshots.snapshot_at(index)

    def close(self) -> None:
        self._batch.close()
        self._snapshots.close()

    def __getattr__(self, name: str):
        if not hasattr(StateReader, name):
            raise AttributeError(name)

        def ask(*arguments, **options):
            return self._store.read(
                lambda reader: _whole(getattr(reader, name)(*arguments, **options))
            )

        return ask


@contextmanager
def opened(store: DjangoStateStore) -> Iterator[DatabaseRecord]:
    """The record of a store, its connections closed at the end."""
    record = DatabaseRecord(store)
    try:
        yield record
    finally:
        record.close()


def _whole(answer):
    """Rows that are read while they are looked at must be read before the read ends."""
    return list(answer) if isinstance(answer, Iterator) else answer
