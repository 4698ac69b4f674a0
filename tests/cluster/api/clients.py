"""Programs that call the API, and what they send."""

from types import SimpleNamespace

import msgspec
from django.test import AsyncClient

from cluster.store.tokens import CLIENT, MANAGEMENT, ApiToken, create_api_token
from scheduler.state.events import WriteKind

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


def make_token(store, name, expires=0, **capabilities):
    """A token's secret: of a manager, or with capabilities of a program that has only those."""
    kind = CLIENT if capabilities else MANAGEMENT
    token = ApiToken(f"accessor-{name}", name, kind, capabilities, NOW, expires)
    return create_api_token(store, token)


def put(store, work, kind=WriteKind.PLAN_RESULT):
    """Write rows past the operations; returns the index."""
    return store.write(kind, work, now=NOW)[0]


def document(**fields):
    """A job as a program sends it."""
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Count": 2, "Tasks": [task]}
    return {"ID": "web", "Type": "batch", "TaskGroups": [group], **fields}
