"""Quotas: limits on what namespaces take together (http-api.md 5.8)."""

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.quotas import delete_quota, put_quota, quota_usage
from cluster.operations.rights import require_reads
from scheduler.ports import StateReader
from scheduler.state.nouns import QUOTAS
from scheduler.structs.quota import QuotaAmounts, QuotaSpec

NO_QUOTA = "quota not found"
#: What moves the use of a quota.
_USE_TABLES = ("quotas", "namespaces", "allocations")


async def read_usage(call: Call, name: str) -> HttpResponse:
    """GET /v1/quota/usage/<name>."""
    require_reads(call.caller, "quota")

    def work(reader: StateReader) -> Found:
        index = max(map(reader.table_index, _USE_TABLES))
        if reader.get(QUOTAS, name) is None:
            return Found(index=index, missing=NO_QUOTA)
        return Found(index=index, body=to_plain(quota_usage(reader, name)))

    return await answer_read(call, work, *map(watch_table, _USE_TABLES))


async def write_quota(call: Call, name: str) -> HttpResponse:
    """PUT /v1/quota/<name>: replaces all of it."""
    body = call.body("QuotaSpec")
    if body.text("Name") != name:
        raise OperationRefused("Quota name does not match request path")
    limits = body.nested("Limits") or Body({}, "Limits")
    quota = QuotaSpec(
        name=name,
        description=body.text("Description"),
        limits=QuotaAmounts(
            cpu=limits.number("CPU"),
            memory_mb=limits.number("MemoryMB"),
            disk_mb=limits.number("DiskMB"),
            allocations=limits.number("Allocations"),
        ),
    )
    index = await call.write(put_quota, quota, ids=False)
    return answer_write(call.request, None, index)


async def remove_quota(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/quota/<name>."""
    index = await call.write(delete_quota, name, ids=False)
    return answer_write(call.request, None, index)
