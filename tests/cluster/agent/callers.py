"""Agents as the server sees them: calls with a node's name and secret."""

from types import SimpleNamespace

import msgspec
from django.test import AsyncClient

from cluster.agent.protocol import JSON, AllocationReport, Beat, Register, Report
from scheduler.state.events import WriteKind
from scheduler.structs.node import NodeStatus
from tests.builders import make_allocation, make_job, make_node

JOIN_TOKEN = "let-me-in"
NOW = 1_750_000_000_000_000_000


class AgentCaller:
    """Node `number`. Answers have `status` and `json`."""

    def __init__(self, number, *, secret=None):
        self.node = make_node(number, status=NodeStatus.INITIALIZING)
        self.secret = secret or f"secret-{number}"
        self._client = AsyncClient()

    async def call(self, method, path, message=None, *, node_id=None, **headers):
        headers = {
            "X-Bivouac-Node": node_id or self.node.id,
            "Authorization": f"Bearer {self.secret}",
        } | headers
        # An empty body would lose its content type in the test client.
        body = message if isinstance(message, bytes) else msgspec.json.encode(message)
        body = body or b"{}"
        response = await self._client.generic(
            method, f"/v1/fleet/{path}", body, content_type=JSON, headers=headers
        )
        return SimpleNamespace(
            status=response.status_code, json=msgspec.json.decode(response.content)
        )

    async def register(self, join_token=JOIN_TOKEN, **changes):
        node = msgspec.structs.replace(self.node, **changes)
        headers = {"X-Bivouac-Join-Token": join_token}
        return await self.call("POST", "register", Register(node=node), **headers)

    async def join(self):
        assert (await self.register()).status == 200
        assert (await self.call("POST", "beat", Beat())).json["Status"] == "ready"

    async def report(self, alloc_id, status="running", **fields):
        report = AllocationReport(id=alloc_id, client_status=status, **fields)
        return await self.call("POST", "report", Report(allocations=(report,)))


def place(store, node_id, number=0, **fields):
    """Put a job and an allocation of it on the node, as a plan would."""

    def work(change):
        index = change.index
        job = make_job(create_index=index, modify_index=index, job_modify_index=index)
        job = change.job(job.key) or job
        indexes = dict.fromkeys(("create_index", "modify_index", "alloc_modify_index"), index)
        alloc = make_allocation(job, number, node_id=node_id, **(indexes | fields))
        change.put_job(job)
        change.put_allocation(alloc)
        return alloc

    return store.write(WriteKind.PLAN_RESULT, work, now=NOW)[1]


def collect(store, alloc):
    """Delete an allocation, as a purge of its job would."""
    return store.write(
        WriteKind.JOB_DEREGISTERED, lambda change: change.delete_allocation(alloc.id), now=NOW
    )
