"""The one counter that every write advances, and the last index of each table."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow

_WRITE = "cluster.store.writer.DjangoStateStore.write"


class StateIndexRow(ReadOnlyRow):
    """A single row. Its lock is what makes writes come one after another."""

    id = models.SmallIntegerField(primary_key=True)
    value = models.BigIntegerField("index", help_text="Of the newest write.")
    #: A reader that needs those below it loads everything again.
    oldest_event = models.BigIntegerField(
        help_text="Events below this index were removed from the log."
    )

    objects = ReadOnlyQuerySet["StateIndexRow"].as_manager()
    put_by = (_WRITE,)
    removed_by = ()

    class Meta:
        db_table = "state_index"
        verbose_name = "index of the record"
        verbose_name_plural = "index of the record"

    def __str__(self) -> str:
        return f"index {self.value}"


class TableIndexRow(ReadOnlyRow):
    """The index of the last write to one table."""

    name = models.TextField("table", primary_key=True)
    value = models.BigIntegerField("index", help_text="Of the newest write to it.")

    objects = ReadOnlyQuerySet["TableIndexRow"].as_manager()
    put_by = (_WRITE,)
    removed_by = ()

    class Meta:
        db_table = "table_index"
        verbose_name = "index of a table"
        verbose_name_plural = "indexes of tables"

    def __str__(self) -> str:
        return f"{self.name} at {self.value}"
