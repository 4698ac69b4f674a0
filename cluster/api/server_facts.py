"""What the server says of itself: status, members, regions (http-api.md 3.8, 5.7).

In: settings. Out: plain objects. There is one logical server; its address stands for leader, peer
and member alike, so that clients which match them find them equal.
"""

import os
import platform
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse

from cluster.api.agent_config import empty_config
from cluster.api.local_node import local_node_id
from cluster.api.request import Call
from cluster.api.respond import answer_json
from cluster.operations.rights import require_reads
from cluster.versions import REFERENCE_VERSION, VERSION
from scheduler.state.writes.jobs import KEPT_VERSIONS

DATACENTER = "dc1"
SECOND = 1_000_000_000
_SERVER_NAME = "bivouac"
_RPC_PORT = 4647
SCHEDULERS = ("service", "batch", "system", "sysbatch", "_core")


async def leader(call: Call) -> HttpResponse:
    """GET /v1/status/leader."""
    return answer_json(call.request, rpc_address())


async def peers(call: Call) -> HttpResponse:
    """GET /v1/status/peers."""
    return answer_json(call.request, [rpc_address()])


async def servers(call: Call) -> HttpResponse:
    """GET /v1/agent/servers."""
    require_reads(call.caller, "agent")
    return await peers(call)


async def regions(call: Call) -> HttpResponse:
    """GET /v1/regions."""
    return answer_json(call.request, [settings.BIVOUAC_REGION])


async def agent_self(call: Call) -> HttpResponse:
    """GET /v1/agent/self: the reference's version where clients compare it, ours in `stats`."""
    require_reads(call.caller, "agent")
    stats = _stats()
    if node_id := local_node_id():
        # Clients look here for the node of this machine.
        stats["client"] = {"node_id": node_id}
    return answer_json(call.request, {"config": _config(), "member": _member(), "stats": stats})


async def members(call: Call) -> HttpResponse:
    """GET /v1/agent/members."""
    require_reads(call.caller, "node")
    body = {
        "ServerName": _SERVER_NAME,
        "ServerRegion": settings.BIVOUAC_REGION,
        "ServerDC": DATACENTER,
        "Members": [_member()],
    }
    return answer_json(call.request, body)


async def schedulers(call: Call) -> HttpResponse:
    """GET /v1/agent/schedulers/config."""
    require_reads(call.caller, "agent")
    body = {
        "server_id": server_name(),
        "num_schedulers": settings.BIVOUAC_WORKERS,
        "enabled_schedulers": SCHEDULERS,
    }
    return answer_json(call.request, body)


def server_info() -> dict[str, Any]:
    """The server as answers to node writes list it."""
    return {
        "Datacenter": DATACENTER,
        "RPCAdvertiseAddr": rpc_address(),
        "RPCMajorVersion": 1,
        "RPCMinorVersion": 1,
    }


def _address() -> tuple[str, int]:
    public = urlsplit(settings.BIVOUAC_PUBLIC_URL)
    return public.hostname or "127.0.0.1", public.port or (443 if public.scheme == "https" else 80)


def server_name() -> str:
    """What the one server is called."""
    return f"{_SERVER_NAME}.{settings.BIVOUAC_REGION}"


def rpc_address() -> str:
    """What leader, peer and member are called by: the host, and the reference's usual RPC port.

    A name only: nothing listens there, and no client of the API connects to it.
    """
    host, _ = _address()
    return f"{host}:{_RPC_PORT}"


def _member() -> dict[str, Any]:
    host, port = _address()
    return {
        "Name": server_name(),
        "Addr": host,
        "Port": port,
        "Tags": {
            "id": _SERVER_NAME,
            "role": "nomad",
            "region": settings.BIVOUAC_REGION,
            "dc": DATACENTER,
            "build": REFERENCE_VERSION,
            "revision": "",
            "vsn": "1",
            "raft_vsn": "3",
            "port": str(_RPC_PORT),
            "rpc_addr": host,
            "bootstrap": "1",
            "expect": "1",
        },
        "Status": "alive",
        "ProtocolMin": 1,
        "ProtocolMax": 5,
        "ProtocolCur": 2,
        "DelegateMin": 2,
        "DelegateMax": 5,
        "DelegateCur": 4,
    }


def _config() -> dict[str, Any]:
    host, port = _address()
    address = f"{host}:{port}"
    told = empty_config()
    told.update(
        Region=settings.BIVOUAC_REGION,
        Datacenter=DATACENTER,
        NodeName=_SERVER_NAME,
        BindAddr=host,
        AdvertiseAddrs={"HTTP": address, "RPC": rpc_address(), "Serf": address},
        Ports={"HTTP": port, "RPC": _RPC_PORT, "Serf": port},
    )
    told["Version"].update(Version=REFERENCE_VERSION, VersionMetadata="bivouac")
    told["ACL"]["Enabled"] = True
    told["UI"].update(Enabled=True, ShowCLIHints=True)
    told["Server"].update(
        Enabled=True,
        EnableEventBroker=True,
        HeartbeatGrace=round(settings.BIVOUAC_HEARTBEAT_GRACE * SECOND),
        MinHeartbeatTTL=round(settings.BIVOUAC_MIN_HEARTBEAT_TTL * SECOND),
        FailoverHeartbeatTTL=round(settings.BIVOUAC_FAILOVER_HEARTBEAT_TTL * SECOND),
        JobTrackedVersions=KEPT_VERSIONS,
        PlanRejectionTracker={
            "Enabled": settings.BIVOUAC_PLAN_REJECTION_TRACKER,
            "NodeThreshold": settings.BIVOUAC_PLAN_REJECTION_THRESHOLD,
            "NodeWindow": round(settings.BIVOUAC_PLAN_REJECTION_WINDOW * SECOND),
        },
    )
    return told


def _stats() -> dict[str, dict[str, str]]:
    return {
        "nomad": {
            "server": "true",
            "leader": "true",
            "leader_addr": rpc_address(),
            "bootstrap": "true",
            "known_regions": "1",
        },
        "bivouac": {"version": VERSION},
        "raft": {},
        "serf": {"members": "1", "failed": "0", "left": "0"},
        "runtime": {
            "arch": platform.machine(),
            "cpu_count": str(os.cpu_count() or 1),
            "max_procs": str(settings.BIVOUAC_WORKERS),
            "goroutines": "0",
            "kernel.name": platform.system().lower(),
            "version": f"python{platform.python_version()}",
        },
    }
