"""Things that wait for a moment, earliest first.

In: a key and when it is due, as a number of whatever clock the owner uses. Out: the keys that are
due. It reads no clock and does not know what waits.
"""

import heapq


class DelayHeap:
    """A set of keys, each due at one moment. Pushing a key again moves it."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: object) -> bool:
        return key in self._due

    def push(self, key: str, due: float) -> None:
        """Let `key` wait until `due`, whatever it waited for before."""
        self._due[key] = due
        heapq.heappush(self._heap, (due, key))

    def remove(self, key: str) -> bool:
        """Forget a key; whether it was waiting."""
        return self._due.pop(key, None) is not None

    def due_at(self, key: str) -> float | None:
        """When `key` is due."""
        return self._due.get(key)

    def next_due(self) -> float | None:
        """The earliest moment anything is due."""
        # A key that was moved or removed leaves its old entry behind until it surfaces here.
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, at: float) -> list[str]:
        """Remove and return every key due at or before `at`, earliest first."""
        keys = []
        while (due := self.next_due()) is not None and due <= at:
            key = heapq.heappop(self._heap)[1]
            del self._due[key]
            keys.append(key)
        return keys

    def clear(self) -> None:
        self._due.clear()
        self._heap.clear()
