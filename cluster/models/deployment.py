"""Deployments."""

from django.db import models


class DeploymentRow(models.Model):
    """A rollout of one job version."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField()
    status = models.TextField()
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "deployment"
        indexes = [
            models.Index(fields=["namespace", "job_id", "create_index"], name="deployment_of_job"),
            models.Index(fields=["create_index", "id"], name="deployment_by_creation"),
        ]

    def __str__(self) -> str:
        return self.id
