"""Leases: which process may act as the leader, which as the applier."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow


class LeaseRow(ReadOnlyRow):
    """A lease. `epoch` grows with each holder and fences the ones before."""

    name = models.TextField(primary_key=True)
    holder = models.TextField(help_text="The process; empty where it was given up.")
    epoch = models.BigIntegerField(help_text="How many holders there have been.")
    renewals = models.BigIntegerField(
        help_text="Counts up while the holder lives; stands still long enough: another takes over."
    )
    followed_index = models.BigIntegerField(
        default=0, help_text="Up to here its holders have taken in what was committed."
    )

    objects = ReadOnlyQuerySet["LeaseRow"].as_manager()
    put_by = ("cluster.store.leases.LeaseKeeper.step",)
    removed_by = ("cluster.store.leases.LeaseKeeper.release",)

    class Meta:
        db_table = "lease"
        verbose_name = "lease"

    def __str__(self) -> str:
        return f"{self.name}, epoch {self.epoch}"
