"""Evaluations, and what is left of collected ones."""

from django.db import models

OPEN_STATUSES = ("pending", "blocked")


class EvaluationColumns(models.Model):
    """What both kinds can be found by."""

    id = models.CharField(primary_key=True, max_length=36)
    namespace = models.TextField()
    job_id = models.TextField()
    type = models.TextField()
    triggered_by = models.TextField()
    status = models.TextField()
    previous_eval = models.CharField(max_length=36)
    deployment_id = models.CharField(max_length=36)
    cause_kind = models.TextField()
    cause_id = models.TextField()
    create_index = models.BigIntegerField()
    modify_index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        abstract = True


class EvaluationRow(EvaluationColumns):
    """An evaluation of the record."""

    class Meta:
        db_table = "evaluation"
        indexes = [
            models.Index(fields=["namespace", "job_id", "create_index"], name="eval_of_job"),
            models.Index(fields=["create_index", "id"], name="eval_by_creation"),
            models.Index(
                fields=["status"],
                name="eval_open",
                condition=models.Q(status__in=OPEN_STATUSES),
            ),
            models.Index(
                fields=["previous_eval"],
                name="eval_of_previous",
                condition=~models.Q(previous_eval=""),
            ),
            models.Index(
                fields=["cause_id"], name="eval_of_cause", condition=~models.Q(cause_id="")
            ),
        ]

    def __str__(self) -> str:
        return self.id


class EvaluationStubRow(EvaluationColumns):
    """A collected evaluation without its explanations: chains keep their root."""

    class Meta:
        db_table = "evaluation_stub"
        indexes = [
            models.Index(fields=["namespace", "job_id"], name="eval_stub_of_job"),
            models.Index(fields=["modify_index"], name="eval_stub_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.id}, collected"
