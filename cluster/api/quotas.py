"""Quotas: limits on what namespaces take together (http-api.md 5.8)."""

import msgspec
from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.paging import BY_NAME, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_row, watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.quotas import delete_quota, put_quota, quota_usage
from scheduler.ports import StateReader
from scheduler.structs.quota import QuotaAmounts, QuotaSpec

_NO_QUOTA = "quota not found"
#: What moves the use of a quota.
_USE_TABLES = ("quotas", "namespaces", "allocations")


async def list_quotas(call: Call) -> HttpResponse:
    """GET /v1/quotas."""
    call.caller.require_cluster()
    listing = msgspec.structs.replace(read_listing(call.query), per_page=0)

    def work(reader: StateReader) -> Found:
        wanted = (quota for quota in reader.quotas() if quota.name.startswith(listing.prefix))
        page = page_of(wanted, listing, BY_NAME)
        index = reader.table_index("quotas")
        return Found(index=index, body=[to_plain(quota) for quota in page.items])

    return await answer_read(call, work, watch_table("quotas"))


async def read_quota(call: Call, name: str) -> HttpResponse:
    """GET /v1/quota/<name>."""
    call.caller.require_cluster()

    def work(reader: StateReader) -> Found:
        quota = reader.quota(name)
        if quota is None:
            return Found(index=reader.table_index("quotas"), missing=_NO_QUOTA)
        return Found(index=quota.modify_index, body=to_plain(quota))

    return await answer_read(call, work, watch_row("quotas", name))


async def read_usage(call: Call, name: str) -> HttpResponse:
    """GET /v1/quota/usage/<name>."""
    call.caller.require_cluster()

    def work(reader: StateReader) -> Found:
        index = max(map(reader.table_index, _USE_TABLES))
        if reader.quota(name) is None:
            return Found(index=index, missing=_NO_QUOTA)
        return Found(index=index, body=to_plain(quota_usage(reader, name)))

    return await answer_read(call, work, *map(watch_table, _USE_TABLES))


async def write_quota(call: Call, name: str) -> HttpResponse:
    """PUT /v1/quota/<name>: replaces all of it."""
    call.caller.require_management()
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
    call.caller.require_management()
    index = await call.write(delete_quota, name, ids=False)
    return answer_write(call.request, None, index)
