"""A node's metadata: what its configuration says, and what was said since (node-agent-2.md 12).

In: the configured pairs, changes, a place to keep them. Out: the pairs that the node registers. A
removed pair of the configuration stays removed; changes outlive the agent where anything does.
"""

from collections.abc import Callable, Mapping

from cluster.agent.agent_state import Storage
from scheduler.structs.wire import Wire

#: Bytes of all changes together, keys and values.
MOST = 64 * 1024


class MetadataRefused(Exception):
    """The change cannot be kept; the text says why."""


class MetadataTold(Wire, frozen=True):
    """What is told of a node's metadata."""

    #: None: the configured pair of this key does not count.
    dynamic: dict[str, str | None]
    #: What counts.
    meta: dict[str, str]
    static: dict[str, str]


class NodeMetadata:
    """The pairs of one node."""

    def __init__(
        self, static: Mapping[str, str], storage: Storage, changed: Callable[[], None]
    ) -> None:
        self._static = static
        self._storage = storage
        self._changed = changed
        self._dynamic = storage.load_metadata()

    @property
    def meta(self) -> dict[str, str]:
        """What counts: the configuration, overlaid by the changes."""
        both = {**self._static, **self._dynamic}
        return {key: value for key, value in both.items() if value is not None}

    @property
    def told(self) -> MetadataTold:
        """All of it."""
        return MetadataTold(
            dynamic=dict(sorted(self._dynamic.items())), meta=self.meta, static=dict(self._static)
        )

    def change(self, given: Mapping[str, str | None]) -> None:
        """Set pairs; None takes one away. Raises MetadataRefused, and then nothing is changed."""
        dynamic = {**self._dynamic, **given}
        for key, value in given.items():
            if value is None and key not in self._static:
                del dynamic[key]
        size = sum(
            len(key.encode()) + len((value or "").encode()) for key, value in dynamic.items()
        )
        if size > MOST:
            raise MetadataRefused(f"metadata is limited to {MOST // 1024}KiB in total size")
        if dynamic == self._dynamic:
            return
        self._storage.save_metadata(dynamic)
        self._dynamic = dynamic
        self._changed()
