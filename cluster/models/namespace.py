"""Namespaces, and the quotas they may share."""

from django.db import models
from django.urls import reverse

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.job import Namespace
from scheduler.structs.quota import NamespaceUse, QuotaSpec


class NamespaceRow(ReadOnlyRow):
    """What the ids of jobs are unique in, and rights and quotas are given for."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["NamespaceRow"].as_manager()
    put_by = ("cluster.operations.namespaces.put_namespace",)
    removed_by = ("cluster.operations.namespaces.delete_namespace",)

    class Meta:
        db_table = "namespace"
        verbose_name = "namespace"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The page of the same name."""
        return reverse("namespace", args=[self.name])

    @property
    def value(self) -> Namespace:
        """The whole namespace, decoded anew at each call."""
        return nouns.NAMESPACES.decode(self.body)


class NamespaceUseRow(ReadOnlyRow):
    """What a namespace holds; beside it, so that its index does not move with every allocation."""

    namespace = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["NamespaceUseRow"].as_manager()
    put_by = (
        "cluster.operations.jobs.register_job",
        "cluster.operations.allocations.report_from_client",
    )
    removed_by = ()

    class Meta:
        db_table = "namespace_use"
        verbose_name = "use of a namespace"
        verbose_name_plural = "use of namespaces"

    def __str__(self) -> str:
        return f"use of {self.namespace}"

    def get_absolute_url(self) -> str:
        """The page of the namespace."""
        return reverse("namespace", args=[self.namespace])

    @property
    def value(self) -> NamespaceUse:
        """What it holds, decoded anew at each call."""
        return nouns.NAMESPACE_USES.decode(self.body)


class QuotaRow(ReadOnlyRow):
    """Limits on what the namespaces that name it take together."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["QuotaRow"].as_manager()
    put_by = ("cluster.operations.quotas.put_quota",)
    removed_by = ("cluster.operations.quotas.delete_quota",)

    class Meta:
        db_table = "quota"
        verbose_name = "quota"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The page of the same name."""
        return reverse("quota", args=[self.name])

    @property
    def value(self) -> QuotaSpec:
        """The whole quota, decoded anew at each call."""
        return nouns.QUOTAS.decode(self.body)
