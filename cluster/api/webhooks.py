"""Webhooks: write, delete, try; what became of what they were told. Ours alone."""

from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_reads, require_writes
from cluster.operations.webhooks import NO_WEBHOOK, delete_webhook, put_webhook, send_test
from cluster.store.ports import RecordReader
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.webhook import Webhook

_TABLE = WEBHOOK_DELIVERIES.table_index


def webhook_form(webhook: Webhook) -> dict[str, Any]:
    """Without its address, of which the host is told, and its secret, of which whether it is."""
    return {**to_plain(webhook), "IsSigned": bool(webhook.sealed_secret)}


async def write_webhook(call: Call, name: str) -> HttpResponse:
    """PUT /v1/webhook/<name>; what is kept of address and secret stays where none is given."""
    require_writes(call.caller, "operator")
    body = call.body("Webhook")
    if body.text("Name") != name:
        raise OperationRefused("Webhook name does not match request path")
    usual = Webhook().blocked_after
    webhook = Webhook(
        name=name,
        description=body.text("Description"),
        kinds=body.list_of_texts("Kinds"),
        blocked_after=body.duration("BlockedAfter") if body.has("BlockedAfter") else usual,
        is_paused=body.flag("IsPaused"),
    )
    index = await call.write(
        put_webhook, webhook, url=body.text("URL"), secret=body.text("Secret"), ids=False
    )
    return answer_write(call.request, None, index)


async def remove_webhook(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/webhook/<name>."""
    index = await call.write(delete_webhook, name, ids=False)
    return answer_write(call.request, None, index)


async def test_webhook(call: Call, name: str) -> HttpResponse:
    """PUT /v1/webhook/<name>/test: it is told a word within seconds."""
    index, delivery_id = await call.write(send_test, name)
    return answer_write(call.request, {"DeliveryID": delivery_id, "Index": index}, index)


async def list_deliveries(call: Call, name: str) -> HttpResponse:
    """GET /v1/webhook/<name>/deliveries: the newest first."""
    require_reads(call.caller, "operator")

    def work(reader: RecordReader) -> Found:
        index = reader.table_index(_TABLE)
        if reader.get(WEBHOOKS, name) is None:
            return Found(index=index, missing=NO_WEBHOOK)
        found = sorted(
            reader.list_by(WEBHOOK_DELIVERIES, "webhook", name),
            key=lambda each: (each.create_index, each.id),
            reverse=True,
        )
        return Found(index=index, body=[to_plain(each) for each in found])

    return await answer_read(call, work, watch_table(_TABLE))
