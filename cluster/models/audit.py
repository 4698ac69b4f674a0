"""Who did what: rows that are added and, once old, collected; nothing ever changes one."""

from django.db import models
from django.db.models import Q

from cluster.models.fields import NanosecondsField
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow


class AuditRow(ReadOnlyRow):
    """One act, or as many of the same as were refused within a minute."""

    id = models.BigAutoField(primary_key=True)
    at = NanosecondsField("first")
    last_at = NanosecondsField("last", help_text="Of those that are counted together.")
    count = models.IntegerField(default=1, help_text="How many alike within a minute.")
    who_kind = models.TextField("kind of who", help_text="token, person, agent, command, nobody.")
    who_id = models.TextField("id of who")
    who_name = models.TextField("who")
    address = models.TextField("from")
    door = models.TextField("by", help_text="api, page, admin, agent, command.")
    act = models.TextField()
    namespace = models.TextField()
    target_kind = models.TextField("kind of target")
    target_id = models.TextField("target")
    result = models.TextField(help_text="done, refused, failed.")
    reason = models.TextField(help_text="Why not; more about what was done.")
    missing_right = models.TextField()
    made_index = models.BigIntegerField("index", help_text="Of the write; 0: none was made.")

    objects = ReadOnlyQuerySet["AuditRow"].as_manager()
    put_by = (
        "cluster.store.writer.DjangoStateStore.write",
        "cluster.store.audit_desk.AuditDesk.note",
    )
    removed_by = ("cluster.store.audit.trim_audit",)

    class Meta:
        db_table = "audit"
        verbose_name = "act"
        verbose_name_plural = "audit"
        indexes = [
            models.Index(fields=["at"], name="audit_at"),
            # Few of many, and what people look for.
            models.Index(
                fields=["id"], name="audit_not_done", condition=Q(result__in=("refused", "failed"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.who_name or self.who_kind}: {self.act} {self.target_id} {self.result}"
