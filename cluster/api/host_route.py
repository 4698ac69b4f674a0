"""GET /v1/agent/host: facts about the machine of this server, or of a node's agent (doors.md 13).

In: a node or a server by name, or neither. Out: what that process sees itself. Who asks may read
agents: an environment tells much, even without its secrets.
"""

import asyncio

from django.http import HttpResponse

from cluster.api.client_proxy import node_id_of
from cluster.api.request import Call
from cluster.api.respond import answer_json
from cluster.api.server_facts import server_name
from cluster.host_facts import host_facts
from cluster.operations import agent_calls as operations
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require_reads


async def read_host(call: Call) -> HttpResponse:
    """GET /v1/agent/host."""
    require_reads(call.caller, "agent")
    node_id, server_id = call.query.get("node_id", ""), call.query.get("server_id", "")
    if node_id and server_id:
        raise OperationRefused("Cannot target node and server simultaneously")
    if server_id not in {"", "leader", server_name()}:
        raise OperationRefused(f"unknown Nomad server {server_id[:128]}")
    if node_id:
        node_id = await node_id_of(call, node_id, NotFound)
        told = await operations.host_facts_of(node_id, by=call.caller)
        return answer_json(call.request, {"AgentID": node_id, "HostData": told})
    facts = await asyncio.to_thread(host_facts)
    if server_id:
        return answer_json(call.request, {"AgentID": server_name(), "HostData": facts})
    return answer_json(call.request, facts)
