"""Why nodes were not chosen, for the newest evaluations of each job."""

from django.db import models


class ExplanationRow(models.Model):
    """One task group of one evaluation."""

    eval_id = models.CharField(max_length=36)
    task_group = models.TextField()
    namespace = models.TextField()
    job_id = models.TextField()
    stored_index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "explanation"
        constraints = [
            models.UniqueConstraint(fields=["eval_id", "task_group"], name="explanation_key")
        ]
        indexes = [models.Index(fields=["namespace", "job_id"], name="explanation_of_job")]

    def __str__(self) -> str:
        return f"{self.task_group} of {self.eval_id}"
