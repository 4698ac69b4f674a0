"""What clients ask of a group of servers: one logical server here, over a shared database.

In: leases and health. Out: the reference's shapes, with the one server that clients know. There is
no Raft: what would change such a group is refused by a sentence (`not_built`).
"""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from cluster.api.request import Call
from cluster.api.respond import answer_empty, answer_json, refusal
from cluster.api.server_facts import SCHEDULERS, rpc_address, server_name
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management, require_reads, require_writes
from cluster.store.access import the_store
from cluster.store.health import HEALTH, LEADER, RECORD, ClusterPart
from cluster.store.leader_news import LeaderNews, read_news
from cluster.store.leases import read_lease
from cluster.versions import REFERENCE_VERSION

_UNHEALTHY = 429
_RAFT_PROTOCOL = "3"
_NO_GOSSIP = "servers share a database here, there is no gossip"


async def raft_configuration(call: Call) -> HttpResponse:
    """GET /v1/operator/raft/configuration: the one server that clients know of."""
    require_management(call.caller)
    index = await call.read(lambda reader: reader.index)
    server = {
        "ID": server_name(),
        "Node": server_name(),
        "Address": rpc_address(),
        "Leader": True,
        "Voter": True,
        "RaftProtocol": _RAFT_PROTOCOL,
    }
    return answer_json(call.request, {"Index": index, "Servers": [server]})


async def autopilot_configuration(call: Call) -> HttpResponse:
    """GET /v1/operator/autopilot/configuration: the reference's defaults, which rule nothing."""
    require_reads(call.caller, "operator")
    body = {
        "CleanupDeadServers": False,
        "CreateIndex": 0,
        "DisableUpgradeMigration": False,
        "EnableCustomUpgrades": False,
        "EnableRedundancyZones": False,
        "LastContactThreshold": "200ms",
        "MaxTrailingLogs": 250,
        "MinQuorum": 0,
        "ModifyIndex": 0,
        "ServerStabilizationTime": "10s",
    }
    return answer_json(call.request, body)


async def no_method(call: Call) -> HttpResponse:
    """What the reference knows nothing of below raft and autopilot, whatever its method."""
    _require_group(call)
    return refusal(404, "Invalid method")


async def empty_refusal(call: Call) -> HttpResponse:
    """Another method than GET of the configuration of Raft: without a word, as the reference."""
    _require_group(call)
    return answer_empty(405)


def _require_group(call: Call) -> None:
    if "/raft/" in call.request.path:
        require_management(call.caller)
    else:
        require_reads(call.caller, "operator")


def group_faults() -> list[ClusterPart]:
    """What of the record and the leader is missing; of others the group is well without."""
    return [part for part in HEALTH.faulty if part.name in {RECORD, LEADER}]


async def autopilot_health(call: Call) -> HttpResponse:
    """GET /v1/operator/autopilot/health: well while the record answers and somebody leads."""
    require_reads(call.caller, "operator")

    index = await call.read(lambda reader: reader.index)
    lease = await the_store().aread_call(lambda _store: read_lease("leader"))
    term = lease.epoch if lease is not None else 0
    faults = group_faults()
    since = max((part.since for part in HEALTH.parts), default=0)
    name = server_name()
    server = {
        "ID": name,
        "Name": name,
        "Address": rpc_address(),
        "SerfStatus": "alive",
        "Version": REFERENCE_VERSION,
        "Leader": True,
        "LastContact": "0s",
        "LastTerm": term,
        "LastIndex": index,
        "Healthy": not faults,
        "Voter": True,
        "StableSince": _instant(since),
    }
    body = {
        "Healthy": not faults,
        "FailureTolerance": 0,
        "Leader": name,
        "Voters": [name],
        "Servers": [server],
    }
    return answer_json(call.request, body, status=_UNHEALTHY if faults else 200)


async def join(call: Call) -> HttpResponse:
    """PUT /v1/agent/join: nobody is joined; the answer says why, as of a join that failed."""
    addresses = call.query.getlist("address")
    if not any(addresses):
        raise OperationRefused("missing address to join")
    told = "".join(f"\t* failed to join {each}: {_NO_GOSSIP}\n" for each in addresses)
    counted = "1 error" if len(addresses) == 1 else f"{len(addresses)} errors"
    error = f"{counted} occurred:\n{told}\n"
    return answer_json(call.request, {"num_joined": 0, "error": error, "warning": ""})


async def force_leave(call: Call) -> HttpResponse:
    """PUT /v1/agent/force-leave: no other member is here, so every other one has left."""
    require_writes(call.caller, "agent")
    node = call.query.get("node", "")
    if not node:
        raise OperationRefused("missing node to force leave")
    if node == server_name():
        raise OperationRefused(f"{node} answers this request and cannot be made to leave.")
    return answer_empty()


async def no_license(call: Call) -> HttpResponse:
    """GET /v1/operator/license: there is none, which is no failure."""
    del call
    return answer_empty(204)


async def schedulers(call: Call) -> HttpResponse:
    """GET /v1/agent/schedulers: the worker processes, as the leader last heard of them."""
    require_reads(call.caller, "agent")
    news = await call.read(lambda _reader: read_news(settings.BIVOUAC_REDIS_URL))
    body = {"server_id": server_name(), "schedulers": _workers(news)}
    return answer_json(call.request, body)


def _workers(news: LeaderNews | None) -> list[dict[str, Any]]:
    if news is None:
        return []
    return [
        {
            "id": worker.process,
            "enabled_schedulers": SCHEDULERS,
            # Since when it runs nobody notes; it did at this moment.
            "started": _instant(news.at),
            "status": "Started",
            "workload_status": "Scheduling" if worker.held else "WaitingToDequeue",
        }
        for worker in news.stats.workers
    ]


def _instant(at: int) -> str:
    return datetime.fromtimestamp(at // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
