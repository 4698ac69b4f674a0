"""Quotas: limits on what namespaces take together (http-api.md 5.8), in two forms of one noun.

The reference's form has a list of limits by region; ours, a plain object, is asked for with
`form=plain`. Writes take either.
"""

import base64
import hashlib
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from msgspec.structs import asdict

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.paging import BY_NAME, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_table
from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.quotas import QuotaUsage, delete_quota, put_quota, quota_usage
from cluster.operations.rights import require_reads
from scheduler.ports import StateReader
from scheduler.state.nouns import QUOTAS
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.wire import wire_name

NO_QUOTA = "quota not found"
#: The `form` that asks for limits and use as plain objects.
PLAIN = "plain"
#: What moves the use of a quota.
_USE_TABLES = ("quotas", "namespaces", "allocations")
#: What the reference's limits may name and nothing here counts, by whether it is a list.
_NUMBERS = ("SecretsMB", "IOPS")
_LISTS = ("Devices", "Networks")


def quota_form(quota: QuotaSpec) -> dict[str, Any]:
    """A quota as the reference shows it; without any limit, its list is empty."""
    limit = _region_limit(quota.limits)
    own = {"Hash": _hash_of((quota.name, quota.description, limit["Hash"]))}
    limits = [limit] if quota.limits != QuotaAmounts() else []
    return to_plain(quota) | {"Limits": limits} | own


def _usage_form(quota: QuotaSpec, usage: QuotaUsage) -> dict[str, Any]:
    """The use under the hash of the limit that it is counted against."""
    limit = _region_limit(quota.limits)
    used = _region_limit(usage.used) | {"Hash": limit["Hash"]}
    return {
        "Name": quota.name,
        "Used": {limit["Hash"]: used},
        "Namespaces": list(usage.namespaces),
        "CreateIndex": quota.create_index,
        "ModifyIndex": quota.modify_index,
    }


def _region_limit(amounts: QuotaAmounts) -> dict[str, Any]:
    region = settings.BIVOUAC_REGION
    return {
        "Region": region,
        "RegionLimit": {
            **{wire_name(field): amount for field, amount in asdict(amounts).items()},
            "IOPS": 0,
            "SecretsMB": 0,
            "Devices": None,
            "Networks": None,
            "NUMA": None,
            "Storage": {"VariablesMB": 0, "HostVolumesMB": 0},
        },
        "VariablesLimit": 0,
        "Hash": _hash_of((region, *asdict(amounts).values())),
    }


def _hash_of(said: tuple[object, ...]) -> str:
    return base64.b64encode(hashlib.sha256(repr(said).encode()).digest()).decode()


async def read_usage(call: Call, name: str) -> HttpResponse:
    """GET /v1/quota/usage/<name>."""
    require_reads(call.caller, "quota")

    def work(reader: StateReader) -> Found:
        index = max(map(reader.table_index, _USE_TABLES))
        quota = reader.get(QUOTAS, name)
        if quota is None:
            return Found(index=index, missing=NO_QUOTA)
        return Found(index=index, body=_usage(call, reader, quota))

    return await answer_read(call, work, *map(watch_table, _USE_TABLES))


async def list_usages(call: Call) -> HttpResponse:
    """GET /v1/quota-usages."""
    require_reads(call.caller, "quota")
    listing = read_listing(call.query)

    def work(reader: StateReader) -> Found:
        wanted = (
            quota for quota in reader.list_all(QUOTAS) if quota.name.startswith(listing.prefix)
        )
        page = page_of(wanted, listing, BY_NAME)
        return Found(
            index=max(map(reader.table_index, _USE_TABLES)),
            body=[_usage(call, reader, quota) for quota in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, *map(watch_table, _USE_TABLES))


def _usage(call: Call, reader: StateReader, quota: QuotaSpec) -> dict[str, Any]:
    usage = quota_usage(reader, quota.name)
    is_plain = call.query.get("form") == PLAIN
    return to_plain(usage) if is_plain else _usage_form(quota, usage)


async def write_quota(call: Call, name: str | None = None) -> HttpResponse:
    """PUT /v1/quota and /v1/quota/<name>: replaces all of it."""
    body = call.body("QuotaSpec")
    if name is not None and body.text("Name") != name:
        raise OperationRefused("Quota name does not match request path")
    quota = QuotaSpec(
        name=body.text("Name"),
        description=body.text("Description"),
        limits=_limits_of(body),
    )
    index = await call.write(put_quota, quota, ids=False)
    return answer_write(call.request, None, index)


async def remove_quota(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/quota/<name>."""
    index = await call.write(delete_quota, name, ids=False)
    return answer_write(call.request, None, index)


def _limits_of(body: Body) -> QuotaAmounts:
    """The limits in either form. Raises for what this cluster cannot keep to."""
    if not body.is_list("Limits"):
        return _amounts_of(body.nested("Limits") or Body({}, "Limits"))
    entries = body.objects("Limits")
    problems = [problem for entry in entries for problem in _problems_of(entry)]
    if len(entries) > 1:
        problems.append(f"{len(entries)} limits where there is one region")
    if problems:
        raise OperationRefused(f'Invalid quota "{body.text("Name")}": {error_text(problems)}')
    limit = entries[0].nested("RegionLimit") if entries else None
    return QuotaAmounts() if limit is None else _amounts_of(limit)


def _amounts_of(limits: Body) -> QuotaAmounts:
    return QuotaAmounts(
        **{field: limits.number(wire_name(field)) for field in asdict(QuotaAmounts())}
    )


def _problems_of(entry: Body) -> list[str]:
    """What of one region's limit cannot be kept here, by name."""
    region, limit = entry.text("Region"), entry.nested("RegionLimit") or Body({}, "RegionLimit")
    problems = []
    if region not in {"", settings.BIVOUAC_REGION}:
        problems.append(
            f'limit of region "{region}": this cluster is region "{settings.BIVOUAC_REGION}"'
        )
    storage = limit.nested("Storage") or Body({}, "Storage")
    given = {
        **{field: limit.number(field) for field in _NUMBERS},
        **{field: limit.objects(field) for field in _LISTS},
        "NUMA": limit.has("NUMA"),
        "Storage.VariablesMB": storage.number("VariablesMB"),
        "Storage.HostVolumesMB": storage.number("HostVolumesMB"),
        "VariablesLimit": entry.number("VariablesLimit"),
    }
    return [
        *problems,
        *(f"limit of {field} is not counted here" for field, value in given.items() if value),
    ]
