"""Change the settings of the schedulers.

In: a store and new settings, which replace the stored ones whole, except for what closes disputed
nodes: that is set by itself. Out: whether they were taken.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_writes
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.state.writes.stories import cluster_story
from scheduler.structs.scheduler_settings import (
    REFUSALS_BOUNDS,
    WINDOW_BOUNDS,
    NodeRejection,
    SchedulerAlgorithm,
    SchedulerSettings,
)
from scheduler.structs.story import StoryKind

_SECOND = 1_000_000_000
_BOUNDS_TOLD = {
    "refusals": f"refusals must be from {REFUSALS_BOUNDS[0]} to {REFUSALS_BOUNDS[1]}",
    "window": f"window must be from {WINDOW_BOUNDS[0] // _SECOND} s to"
    f" {WINDOW_BOUNDS[1] // (3_600 * _SECOND)} h",
}


class SettingsWritten(msgspec.Struct, frozen=True, kw_only=True):
    """`updated` is False when the compared index had moved on; then nothing was written."""

    index: int
    updated: bool


def set_scheduler_settings(
    store: StateStore,
    settings: SchedulerSettings,
    *,
    by: Caller,
    expected_index: int | None = None,
    now: int,
) -> SettingsWritten:
    """Store the settings; with `expected_index` only if that is still the stored ModifyIndex.

    Their `node_rejection` is left as it is stored: programs of others do not know it, and would
    take it back unasked.
    """
    require_writes(by, "operator")
    if settings.scheduler_algorithm not in set(SchedulerAlgorithm):
        raise OperationRefused(f"invalid scheduler algorithm: {settings.scheduler_algorithm}")

    def changed(stored: SchedulerSettings) -> SchedulerSettings:
        return replace(settings, node_rejection=stored.node_rejection)

    told = "the scheduler configuration was set"
    return _write(store, changed, told, by=by, expected_index=expected_index, now=now)


def set_node_rejection(
    store: StateStore,
    rejection: NodeRejection | None,
    *,
    by: Caller,
    expected_index: int | None = None,
    now: int,
) -> SettingsWritten:
    """Store when a disputed node is closed; None for what the servers were started with.

    The applier goes by it from the next refusal on. With `expected_index` as the settings. Raises
    OperationRefused, which names every value out of bounds.
    """
    require_writes(by, "operator")
    if rejection is not None and (wrong := rejection.out_of_bounds):
        raise OperationRefused("; ".join(_BOUNDS_TOLD[field] for field in wrong))

    def changed(stored: SchedulerSettings) -> SchedulerSettings:
        return replace(stored, node_rejection=rejection)

    told = "when a disputed node is closed was set"
    return _write(store, changed, told, by=by, expected_index=expected_index, now=now)


def _write(
    store: StateStore,
    changed: Callable[[SchedulerSettings], SchedulerSettings],
    told: str,
    *,
    by: Caller,
    expected_index: int | None,
    now: int,
) -> SettingsWritten:
    def work(change: Change) -> bool:
        stored = change.scheduler_settings()
        if expected_index is not None and stored.modify_index != expected_index:
            return False
        created = stored.create_index or change.index
        change.put(
            SCHEDULER_SETTINGS,
            replace(changed(stored), create_index=created, modify_index=change.index),
        )
        cluster_story(change, StoryKind.CONFIGURATION, told)
        return True

    index, updated = store.write(WriteKind.SCHEDULER_SETTINGS_UPDATED, work, now=now, by=by)
    return SettingsWritten(index=index, updated=updated)
