"""Whom the cluster tells what may need a person, and what became of each telling."""

from django.db import models

from cluster.models.fields import choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.webhook import DeliveryState, Webhook, WebhookDelivery

_PUTS = "cluster.operations.webhooks.put_webhook"
_DELETES = "cluster.operations.webhooks.delete_webhook"


class WebhookRow(ReadOnlyRow):
    """An address that is told; the address is sealed in the body."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["WebhookRow"].as_manager()
    put_by = (_PUTS,)
    removed_by = (_DELETES,)

    class Meta:
        db_table = "webhook"
        verbose_name = "webhook"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> Webhook:
        """The whole webhook, decoded anew at each call."""
        return WEBHOOKS.decode(self.body)


class WebhookDeliveryRow(ReadOnlyRow):
    """One message to one webhook, and how its attempts went."""

    id = models.CharField(primary_key=True, max_length=36)
    webhook = models.TextField()
    state = models.TextField(choices=choices_of(DeliveryState))
    created_at = models.DateTimeField("created", null=True)
    modified_at = models.DateTimeField("newest attempt", null=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["WebhookDeliveryRow"].as_manager()
    put_by = (
        "cluster.operations.webhooks.queue_deliveries",
        "cluster.operations.webhooks.note_attempts",
        "cluster.operations.webhooks.send_test",
    )
    removed_by = (_DELETES, "cluster.operations.webhooks.queue_deliveries")

    class Meta:
        db_table = "webhook_delivery"
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        indexes = [models.Index(fields=["webhook"], name="webhook_delivery_of_webhook")]

    def __str__(self) -> str:
        return self.id

    @property
    def value(self) -> WebhookDelivery:
        """The whole delivery, decoded anew at each call."""
        return WEBHOOK_DELIVERIES.decode(self.body)
