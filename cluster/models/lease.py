"""Leases: which process may act as the leader, which as the applier."""

from django.db import models


class LeaseRow(models.Model):
    """A lease. `epoch` grows with each holder and fences the ones before."""

    name = models.TextField(primary_key=True)
    holder = models.TextField()
    epoch = models.BigIntegerField()
    #: Counts up while the holder lives; who sees it stand still long enough takes over.
    renewals = models.BigIntegerField()
    #: Up to here its holders have taken in what was committed; 0 where that means nothing.
    followed_index = models.BigIntegerField(default=0)

    class Meta:
        db_table = "lease"

    def __str__(self) -> str:
        return f"{self.name}, epoch {self.epoch}"
