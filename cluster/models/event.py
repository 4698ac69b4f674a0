"""The event log: one frame per index."""

from typing import Self

from django.db import models

from cluster.models.fields import NanosecondsField
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow


class EventQuerySet(ReadOnlyQuerySet["EventRow"]):
    """Questions to the log."""

    def since(self, index: int) -> Self:
        """What was written after an index, in order."""
        return self.filter(index__gt=index).order_by("index")


class EventRow(ReadOnlyRow):
    """Everything one write changed, in the coding of `cluster.store.frame_codec`."""

    index = models.BigIntegerField(primary_key=True)
    at = NanosecondsField("written")
    kind = models.TextField(help_text="What the write was about.")
    body = models.BinaryField()
    #: So that the log's size needs no reading of it.
    size = models.IntegerField(help_text="Bytes of its body.")

    objects = EventQuerySet.as_manager()
    put_by = ("cluster.store.writer.DjangoStateStore.write",)
    removed_by = ("cluster.store.retention.trim_events",)

    class Meta:
        db_table = "event"
        verbose_name = "event"
        verbose_name_plural = "event log"

    def __str__(self) -> str:
        return f"{self.kind} at {self.index}"
