"""The nouns of webhooks: whom the cluster tells, and what became of each telling.

In: their structs. Out: their declarations, which `nouns` takes into its list with all others.
"""

from scheduler.state.noun import Index, Noun
from scheduler.structs.webhook import Webhook, WebhookDelivery

WEBHOOKS: Noun[str, Webhook] = Noun(
    struct=Webhook,
    topic="Webhook",
    table="webhook",
    key=lambda webhook: webhook.name,
    table_index="webhooks",
)
WEBHOOK_DELIVERIES: Noun[str, WebhookDelivery] = Noun(
    struct=WebhookDelivery,
    topic="WebhookDelivery",
    table="webhook_delivery",
    key=lambda delivery: delivery.id,
    key_columns=("id",),
    columns={
        "webhook": lambda delivery: delivery.webhook,
        "state": lambda delivery: delivery.state,
    },
    instants={
        "created_at": lambda delivery: delivery.create_time,
        "modified_at": lambda delivery: delivery.modify_time,
    },
    indexes={"webhook": Index(lambda delivery: delivery.webhook, ("webhook",))},
    table_index="webhook_deliveries",
)
