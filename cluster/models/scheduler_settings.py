"""The operator's settings of the schedulers and of collection, and what was last collected."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.state.collection_noun import COLLECTION_OVERRIDES, COLLECTIONS
from scheduler.structs.collection import Collection, CollectionOverrides
from scheduler.structs.scheduler_settings import SchedulerSettings


class SchedulerSettingsRow(ReadOnlyRow):
    """A single row, absent until someone changes a setting."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["SchedulerSettingsRow"].as_manager()
    put_by = (
        "cluster.operations.scheduler_settings.set_scheduler_settings",
        "cluster.operations.scheduler_settings.set_node_rejection",
    )
    removed_by = ()

    class Meta:
        db_table = "scheduler_settings"
        verbose_name = "scheduler settings"
        verbose_name_plural = "scheduler settings"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> SchedulerSettings:
        """All settings, decoded anew at each call."""
        return nouns.SCHEDULER_SETTINGS.decode(self.body)


class CollectionRow(ReadOnlyRow):
    """The newest run of a core job; absent until it has run once."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["CollectionRow"].as_manager()
    put_by = ("cluster.operations.garbage.reap", "cluster.operations.garbage.demand_collection")
    removed_by = ()

    class Meta:
        db_table = "collection"
        verbose_name = "collection"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> Collection:
        """What it did, decoded anew at each call."""
        return COLLECTIONS.decode(self.body)


class CollectionOverridesRow(ReadOnlyRow):
    """A single row, absent until someone changes when is collected."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["CollectionOverridesRow"].as_manager()
    put_by = ("cluster.operations.garbage.set_collection_overrides",)
    removed_by = ()

    class Meta:
        db_table = "collection_overrides"
        verbose_name = "collection overrides"
        verbose_name_plural = "collection overrides"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> CollectionOverrides:
        """What stands in place of the environment's settings, decoded anew at each call."""
        return COLLECTION_OVERRIDES.decode(self.body)
