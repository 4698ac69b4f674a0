"""Namespaces."""

from django.db import models


class NamespaceRow(models.Model):
    """A room for jobs."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    class Meta:
        db_table = "namespace"

    def __str__(self) -> str:
        return self.name
