"""The one counter that every write advances, and the last index of each table."""

from django.db import models


class StateIndexRow(models.Model):
    """A single row. Its lock is what makes writes come one after another."""

    id = models.SmallIntegerField(primary_key=True)
    value = models.BigIntegerField()
    #: Events below it were trimmed; a reader that needs them loads everything again.
    oldest_event = models.BigIntegerField()

    class Meta:
        db_table = "state_index"

    def __str__(self) -> str:
        return f"index {self.value}"


class TableIndexRow(models.Model):
    """The index of the last write to one table."""

    name = models.TextField(primary_key=True)
    value = models.BigIntegerField()

    class Meta:
        db_table = "table_index"

    def __str__(self) -> str:
        return f"{self.name} at {self.value}"
