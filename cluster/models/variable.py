"""What paths hold for jobs and people, sealed; and when locks on them run out."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.variable_nouns import LOCK_TIMERS, VARIABLES
from scheduler.structs.variable import LockTimer, SealedVariable

_PUTS = "cluster.operations.variables.put_variable"
_DELETES = "cluster.operations.variables.delete_variable"
_ACQUIRES = "cluster.operations.variable_locks.acquire_lock"
_RENEWS = "cluster.operations.variable_locks.renew_lock"
_RELEASES = "cluster.operations.variable_locks.release_lock"
_ENDS = "cluster.operations.variable_locks.end_overdue_locks"


class VariableRow(ReadOnlyRow):
    """A path of a namespace; its items are sealed in the body."""

    namespace = models.TextField()
    path = models.TextField()
    key_id = models.CharField("sealed under", max_length=36)
    is_locked = models.BooleanField("locked")
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    created_at = models.DateTimeField("created", null=True)
    modified_at = models.DateTimeField("modified", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["VariableRow"].as_manager()
    put_by = (_PUTS, _ACQUIRES, _RELEASES)
    removed_by = (_DELETES,)

    class Meta:
        db_table = "variable"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "path"], name="variable_key"),
        ]
        indexes = [
            models.Index(fields=["key_id"], name="variable_of_root_key"),
            # What the list is sorted by; the last one holds all that it is counted by.
            models.Index(fields=["modify_index", "namespace", "path"], name="variable_by_change"),
            models.Index(
                fields=["create_index", "namespace", "path"], name="variable_by_creation"
            ),
            models.Index(fields=["is_locked", "namespace", "path"], name="variable_counted"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.path}"

    @property
    def value(self) -> SealedVariable:
        """The whole variable, sealed as it is, decoded anew at each call."""
        return VARIABLES.decode(self.body)


class LockTimerRow(ReadOnlyRow):
    """A lock on a variable, and when it runs out."""

    namespace = models.TextField()
    path = models.TextField()
    ends_at = models.DateTimeField("runs out", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["LockTimerRow"].as_manager()
    put_by = (_ACQUIRES, _RENEWS, "cluster.operations.variable_locks.rearm_locks")
    removed_by = (_RELEASES, _ENDS)

    class Meta:
        db_table = "variable_lock"
        verbose_name = "variable lock"
        constraints = [
            models.UniqueConstraint(fields=["namespace", "path"], name="variable_lock_key"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.path}"

    @property
    def value(self) -> LockTimer:
        """The whole timer, decoded anew at each call."""
        return LOCK_TIMERS.decode(self.body)
