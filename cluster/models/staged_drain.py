"""Drains of many nodes, a few at a time."""

from django.db import models

from cluster.models.fields import choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.staged_drain_noun import STAGED_DRAINS
from scheduler.structs.staged_drain import StagedDrain, StagedDrainStatus

_START = "cluster.operations.staged_drains.start_staged_drain"


class StagedDrainRow(ReadOnlyRow):
    """One staged drain; its nodes are in its body."""

    id = models.CharField(primary_key=True, max_length=36)
    status = models.TextField(choices=choices_of(StagedDrainStatus))
    created_at = models.DateTimeField("began", null=True)
    modified_at = models.DateTimeField("changed", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["StagedDrainRow"].as_manager()
    put_by = (
        _START,
        "cluster.operations.staged_drains.advance_staged_drain",
        "cluster.operations.staged_drains.cancel_staged_drain",
    )
    removed_by = (_START,)

    class Meta:
        db_table = "staged_drain"
        verbose_name = "staged drain"
        indexes = [models.Index(fields=["status"], name="staged_drain_of_status")]

    def __str__(self) -> str:
        return self.id

    @property
    def value(self) -> StagedDrain:
        """The staged drain, decoded anew at each call."""
        return STAGED_DRAINS.decode(self.body)
