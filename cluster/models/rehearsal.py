"""Rehearsals, kept for a while."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal


class RehearsalRow(ReadOnlyRow):
    """One rehearsal; what it found is in its body, packed."""

    id = models.CharField(primary_key=True, max_length=36)
    status = models.TextField(choices=[(each.value, each.value) for each in RehearsalStatus])
    asked_at = models.DateTimeField("asked for", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["RehearsalRow"].as_manager()
    put_by = (
        "cluster.operations.rehearsals.ask_rehearsal",
        "cluster.operations.rehearsals.begin_rehearsal",
        "cluster.operations.rehearsals.note_rehearsal",
        "cluster.operations.rehearsals.end_rehearsal",
    )
    removed_by = ("cluster.operations.rehearsals.cancel_rehearsal",)

    class Meta:
        db_table = "rehearsal"
        verbose_name = "rehearsal"

    def __str__(self) -> str:
        return self.id

    @property
    def value(self) -> StoredRehearsal:
        """The rehearsal, decoded anew at each call."""
        return REHEARSALS.decode(self.body)
