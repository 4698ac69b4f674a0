"""Deployments."""

from typing import Self

from django.db import models
from django.urls import reverse

from cluster.models.fields import choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.deployment import DEPLOYMENT_ACTIVE, Deployment, DeploymentStatus


class DeploymentQuerySet(ReadOnlyQuerySet["DeploymentRow"]):
    """Questions to deployments."""

    def active(self) -> Self:
        """Those that have not ended."""
        return self.filter(status__in=DEPLOYMENT_ACTIVE)

    def waiting_for_promotion(self) -> Self:
        """Those with canaries that somebody must promote, or that promote themselves."""
        return self.filter(waits_for_promotion=True)

    def of_job(self, namespace: str, job_id: str) -> Self:
        """Those of one job, of its earlier incarnations as well."""
        return self.filter(namespace=namespace, job_id=job_id)


class DeploymentRow(ReadOnlyRow):
    """A rollout of one job version."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField("job")
    status = models.TextField(choices=choices_of(DeploymentStatus))
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    created_at = models.DateTimeField("created", null=True)
    modified_at = models.DateTimeField("modified", null=True)
    waits_for_promotion = models.BooleanField(
        db_default=False, help_text="It is active, and a group has canaries without promotion."
    )
    story_id = models.CharField("story", max_length=36, db_default="")
    body = models.BinaryField()

    objects = DeploymentQuerySet.as_manager()
    put_by = (
        "cluster.operations.deployments.promote_deployment",
        "cluster.operations.deployments.pause_deployment",
        "cluster.operations.deployments.fail_deployment",
    )
    removed_by = ("cluster.operations.garbage.reap",)

    class Meta:
        db_table = "deployment"
        verbose_name = "deployment"
        indexes = [
            models.Index(fields=["namespace", "job_id", "create_index"], name="deployment_of_job"),
            models.Index(fields=["create_index", "id"], name="deployment_by_creation"),
            models.Index(
                fields=["modify_index", "create_index", "id"], name="deployment_by_change"
            ),
            models.Index(fields=["status", "namespace"], name="deployment_counted"),
            models.Index(
                fields=["status"],
                name="deployment_open",
                condition=models.Q(status__in=sorted(DEPLOYMENT_ACTIVE)),
            ),
            models.Index(
                fields=["story_id"],
                name="deployment_of_story",
                condition=~models.Q(story_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.id

    def get_absolute_url(self) -> str:
        """The page of the rollout."""
        return reverse("deployment", args=[self.id])

    @property
    def value(self) -> Deployment:
        """The whole deployment, decoded anew at each call."""
        return nouns.DEPLOYMENTS.decode(self.body)
