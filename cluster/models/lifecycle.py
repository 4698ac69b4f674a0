"""The steps in the lives of evaluations."""

from django.db import models


class LifecycleRow(models.Model):
    """One step, quasi-statuses included."""

    eval_id = models.CharField(max_length=36)
    number = models.IntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "lifecycle"
        constraints = [models.UniqueConstraint(fields=["eval_id", "number"], name="lifecycle_key")]

    def __str__(self) -> str:
        return f"step {self.number} of {self.eval_id}"
