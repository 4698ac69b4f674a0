"""Namespaces, and the quotas they may share."""

from django.db import models


class NamespaceRow(models.Model):
    """A room for jobs."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    class Meta:
        db_table = "namespace"

    def __str__(self) -> str:
        return self.name


class QuotaRow(models.Model):
    """Limits on what the namespaces that name it take together."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    class Meta:
        db_table = "quota"

    def __str__(self) -> str:
        return self.name
