"""The operator's settings of the schedulers."""

from django.db import models


class SchedulerSettingsRow(models.Model):
    """A single row, absent until someone changes a setting."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    class Meta:
        db_table = "scheduler_settings"

    def __str__(self) -> str:
        return self.name
