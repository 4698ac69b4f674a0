"""One table in memory with indexes on it; a frozen copy costs nothing until the next write.

In: keys, immutable values, and functions that give a value's place in each index. Out: lookups.
Knows nothing of what the values are.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Table(Generic[Key, Value]):
    """Rows by key. `places` gives, per index name, a value's bucket; None: it is in none."""

    def __init__(self, places: Mapping[str, Callable[[Value], Hashable]] | None = None) -> None:
        self._places = dict(places or {})
        self._rows: dict[Key, Value] = {}
        self._buckets: dict[str, dict[Hashable, dict[Key, None]]] = {
            name: {} for name in self._places
        }
        #: Buckets made since the last copy; all others may be shared with a frozen table.
        self._owned: set[tuple[str, Hashable]] = set()
        self._is_shared = False

    def frozen(self) -> "Table[Key, Value]":
        """The table as it is now; later puts into this one do not reach it."""
        twin: Table[Key, Value] = Table(self._places)
        twin._rows, twin._buckets = self._rows, self._buckets
        twin._is_shared = self._is_shared = True
        return twin

    def get(self, key: Key) -> Value | None:
        """The row, or None."""
        return self._rows.get(key)

    def values(self) -> Iterable[Value]:
        return self._rows.values()

    def bucket(self, index: str, place: Hashable) -> list[Value]:
        """The rows whose place in an index is this one."""
        rows = self._rows
        return [rows[key] for key in self._buckets[index].get(place, ())]

    def put(self, key: Key, value: Value) -> None:
        """Store a row, replacing the one of that key."""
        self._unshare()
        before = self._rows.get(key)
        self._rows[key] = value
        for name, place_of in self._places.items():
            place = place_of(value)
            if before is not None:
                old_place = place_of(before)
                if old_place == place:
                    continue
                if old_place is not None:
                    self._bucket_for_writing(name, old_place).pop(key, None)
            if place is not None:
                self._bucket_for_writing(name, place)[key] = None

    def remove(self, key: Key) -> Value | None:
        """Take a row out; None when it was not there."""
        self._unshare()
        before = self._rows.pop(key, None)
        if before is not None:
            for name, place_of in self._places.items():
                place = place_of(before)
                if place is not None:
                    self._bucket_for_writing(name, place).pop(key, None)
        return before

    def _unshare(self) -> None:
        if self._is_shared:
            self._rows = self._rows.copy()
            self._buckets = {name: buckets.copy() for name, buckets in self._buckets.items()}
            self._owned = set()
            self._is_shared = False

    def _bucket_for_writing(self, name: str, place: Hashable) -> dict[Key, None]:
        buckets = self._buckets[name]
        if (name, place) not in self._owned:
            buckets[place] = dict(buckets.get(place, {}))
            self._owned.add((name, place))
        return buckets[place]
