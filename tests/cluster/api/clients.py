"""Programs that call the API, and what they send."""

from types import SimpleNamespace

import msgspec
from django.test import AsyncClient

from cluster.operations.acl_tokens import put_new_token
from cluster.store.tokens import new_secret
from scheduler.state.events import WriteKind
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclToken, TokenType
from tests.cluster.api.conformance import differences

NOW = 1_750_000_000_000_000_000


class Client:
    """A program with a token. Answers have `status`, `text`, `json`, `headers`."""

    def __init__(self, secret):
        self._client = AsyncClient()
        self._headers = {"X-Nomad-Token": secret} if secret else {}

    async def send(self, method, path, body=None, /, headers=None, **query):
        content = body if isinstance(body, bytes) else b""
        if body is not None and not isinstance(body, bytes):
            content = msgspec.json.encode(body)
        response = await self._client.generic(
            method,
            path,
            content,
            content_type="application/json",
            query_params=query,
            headers=self._headers | (headers or {}),
        )
        # Whatever a test asks for, its answer is one that the API's document knows.
        assert differences(method, path.partition("?")[0], response) == []
        if response.streaming:
            return response
        return SimpleNamespace(
            status=response.status_code,
            headers=response.headers,
            content=response.content,
            text=response.content.decode("utf-8", "replace"),
            json=msgspec.json.decode(response.content)
            if response.headers.get("Content-Type") == "application/json"
            and "Content-Encoding" not in response.headers
            else None,
        )

    async def get(self, path, /, **query):
        return await self.send("GET", path, **query)

    async def put(self, path, body=None, /, **query):
        return await self.send("PUT", path, body, **query)

    async def delete(self, path, /, **query):
        return await self.send("DELETE", path, **query)


async def first_lines(answer, count):
    """So many lines of a stream, decoded."""
    lines = []
    async for line in answer.streaming_content:
        lines.append(msgspec.json.decode(line))
        if len(lines) == count:
            break
    return lines


def make_token(store, name, expires=0, **rights):
    """A token's secret: of a manager, or with `read` or `write` in namespaces and no more.

    Every such token may look at the cluster, as those could that were made before policies.
    """
    secret = new_secret()
    policies = [AclPolicy(name=f"of-{name}", rules=rules_of(rights))] if rights else []
    token = AclToken(
        accessor_id=accessor_of(name),
        name=name,
        type=TokenType.CLIENT if rights else TokenType.MANAGEMENT,
        policies=tuple(policy.name for policy in policies),
        create_time=NOW,
        expiration_time=expires,
    )

    def work(change):
        for policy in policies:
            change.put(ACL_POLICIES, policy)
        put_new_token(change, token, secret)

    put(store, work)
    return secret


def accessor_of(name):
    """The accessor of a token made here."""
    return f"accessor-{name}"


def rules_of(rights):
    """The text of a policy that gives levels in namespaces, and a look at the cluster."""
    blocks = [f'namespace "{name}" {{ policy = "{level}" }}' for name, level in rights.items()]
    look = ("node", "agent", "operator", "quota", "plugin")
    blocks += [f'{block} {{ policy = "read" }}' for block in look]
    if "write" in rights.values():
        blocks.append('host_volume "*" { policy = "write" }')
    return "\n".join([*blocks, 'node_pool "*" { policy = "read" }'])


def put(store, work, kind=WriteKind.PLAN_RESULT):
    """Write rows past the operations; returns the index."""
    return store.write(kind, work, now=NOW)[0]


def document(**fields):
    """A job as a program sends it."""
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Count": 2, "Tasks": [task]}
    return {"ID": "web", "Type": "batch", "TaskGroups": [group], **fields}
