"""Change the settings of the schedulers.

In: a store and new settings, which replace the stored ones whole. Out: whether they were taken.
"""

import msgspec
from msgspec.structs import replace

from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_writes
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.events import WriteKind
from scheduler.state.nouns import SCHEDULER_SETTINGS
from scheduler.state.writes.stories import cluster_story
from scheduler.structs.scheduler_settings import SchedulerAlgorithm, SchedulerSettings
from scheduler.structs.story import StoryKind


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
    """Store the settings; with `expected_index` only if that is still the stored ModifyIndex."""
    require_writes(by, "operator")
    if settings.scheduler_algorithm not in set(SchedulerAlgorithm):
        raise OperationRefused(f"invalid scheduler algorithm: {settings.scheduler_algorithm}")

    def work(change: Change) -> bool:
        stored = change.scheduler_settings()
        if expected_index is not None and stored.modify_index != expected_index:
            return False
        created = stored.create_index or change.index
        change.put(
            SCHEDULER_SETTINGS, replace(settings, create_index=created, modify_index=change.index)
        )
        cluster_story(change, StoryKind.CONFIGURATION, "the scheduler configuration was set")
        return True

    index, updated = store.write(WriteKind.SCHEDULER_SETTINGS_UPDATED, work, now=now, by=by)
    return SettingsWritten(index=index, updated=updated)
