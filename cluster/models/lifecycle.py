"""The steps in the lives of evaluations."""

from typing import Self

from django.db import models
from django.urls import reverse

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.evaluation import LifecycleStep


class LifecycleQuerySet(ReadOnlyQuerySet["LifecycleRow"]):
    """Questions to lives."""

    def of(self, eval_id: str) -> Self:
        """The steps of one evaluation, in their order."""
        return self.filter(eval_id=eval_id).order_by("number")


class LifecycleRow(ReadOnlyRow):
    """One step, quasi-statuses included."""

    eval_id = models.CharField("evaluation", max_length=36)
    number = models.IntegerField(help_text="Counts up from 1.")
    body = models.BinaryField()

    objects = LifecycleQuerySet.as_manager()
    put_by = ("cluster.operations.jobs.evaluate_job",)
    removed_by = ("cluster.operations.evaluations.delete_evaluations",)

    class Meta:
        db_table = "lifecycle"
        verbose_name = "step of an evaluation"
        verbose_name_plural = "steps of evaluations"
        constraints = [models.UniqueConstraint(fields=["eval_id", "number"], name="lifecycle_key")]

    def __str__(self) -> str:
        return f"step {self.number} of {self.eval_id}"

    def get_absolute_url(self) -> str:
        """The page of the evaluation."""
        return reverse("evaluation", args=[self.eval_id])

    @property
    def value(self) -> LifecycleStep:
        """The whole step, decoded anew at each call."""
        return nouns.LIFECYCLE_STEPS.decode(self.body)
