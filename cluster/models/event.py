"""The event log: one frame per index."""

from django.db import models


class EventRow(models.Model):
    """Everything one write changed, in the coding of `cluster.store.codec`."""

    index = models.BigIntegerField(primary_key=True)
    at = models.BigIntegerField()
    kind = models.TextField()
    body = models.BinaryField()
    #: Bytes of the body, so that the log's size needs no reading of it.
    size = models.IntegerField()

    class Meta:
        db_table = "event"

    def __str__(self) -> str:
        return f"{self.kind} at {self.index}"
