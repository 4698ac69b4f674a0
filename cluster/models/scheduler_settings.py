"""The operator's settings of the schedulers."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.scheduler_settings import SchedulerSettings


class SchedulerSettingsRow(ReadOnlyRow):
    """A single row, absent until someone changes a setting."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["SchedulerSettingsRow"].as_manager()
    put_by = ("cluster.operations.scheduler_settings.set_scheduler_settings",)
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
