"""The node end of the HTTP calls: typed messages to a server and back.

In: messages of `protocol`. Out: answers, or `CallFailed`. Knows no loop and no retry.
"""

import ssl
from collections.abc import Callable
from typing import TypeVar

import httpx
import msgspec

from cluster.agent.protocol import (
    JOIN_HEADER,
    MSGPACK,
    NODE_HEADER,
    AwaitEnds,
    Beat,
    BeatAnswer,
    EmitEvents,
    Ended,
    Fetch,
    Fetched,
    Pulled,
    Refused,
    Register,
    Registered,
    Report,
    Reported,
    decode,
    encode,
)

Answer = TypeVar("Answer")

TIMEOUT_S = 15.0
#: Shorter, so that a heartbeat that is lost on its way is followed by others within the grace.
BEAT_TIMEOUT_S = 5.0
#: On top of what a blocking call asked to wait.
WAIT_MARGIN_S = 20.0


class CallFailed(Exception):
    """The server could not be reached, or refused; `status` 0: not reached."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class ServerLink:
    """Calls of one node."""

    def __init__(
        self,
        server: str,
        node_id: str,
        secret: str,
        *,
        now: Callable[[], int] = lambda: 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`now` is the node's clock; without one the server cannot say whether it is right."""
        self._now = now
        self.node_id = node_id
        self.secret = secret
        self._client = httpx.AsyncClient(
            base_url=f"{server.rstrip('/')}/v1/fleet/",
            headers={
                NODE_HEADER: node_id,
                "Authorization": f"Bearer {secret}",
                "Content-Type": MSGPACK,
            },
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=tls or _tls(server),
            limits=httpx.Limits(max_connections=5, max_keepalive_connections=5),
        )

    async def register(self, message: Register, join_token: str) -> Registered:
        """Join, or say what has changed."""
        headers = {JOIN_HEADER: join_token} if join_token else {}
        return await self._post("register", message, Registered, headers)

    async def beat(self) -> BeatAnswer:
        """Say that the node lives."""
        body = encode(Beat(sent_at=self._now()))
        return await self._call("POST", "beat", BeatAnswer, content=body, timeout=BEAT_TIMEOUT_S)

    async def pull(self, index: int, wait_s: float, *, known: int) -> Pulled:
        """Which allocations the node has.

        Blocks until something is newer than `index`, or one of the `known` ones is gone.
        """
        params = {"index": str(index), "wait": str(wait_s), "known": str(known)}
        timeout = wait_s + WAIT_MARGIN_S
        return await self._call("GET", "allocations", Pulled, params=params, timeout=timeout)

    async def fetch(self, ids: tuple[str, ...]) -> Fetched:
        """Whole allocations, those of this node."""
        return await self._post("allocations/fetch", Fetch(ids=ids), Fetched)

    async def ended(self, ids: tuple[str, ...], wait_s: float) -> Ended:
        """Which of these allocations of other nodes have ended; blocks until one has."""
        body = encode(AwaitEnds(ids=ids, wait_s=wait_s))
        timeout = wait_s + WAIT_MARGIN_S
        return await self._call("POST", "allocations/ended", Ended, content=body, timeout=timeout)

    async def report(self, message: Report) -> Reported:
        """What has become of allocations."""
        return await self._post("report", message, Reported)

    async def emit(self, message: EmitEvents) -> Reported:
        """Lines for the node's history."""
        return await self._post("events", message, Reported)

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(
        self,
        path: str,
        message: object,
        answer: type[Answer],
        headers: dict[str, str] | None = None,
    ) -> Answer:
        body = encode(message)
        return await self._call("POST", path, answer, content=body, headers=headers or {})

    async def _call(
        self, method: str, path: str, answer: type[Answer], **options: object
    ) -> Answer:
        try:
            response = await self._client.request(method, path, **options)  # type: ignore[arg-type] # httpx's own words
        except httpx.HTTPError as problem:
            raise CallFailed(f"{type(problem).__name__}: {problem}") from problem
        if response.status_code >= 400:
            raise CallFailed(_reason(response), response.status_code)
        try:
            return decode(response.content, answer)
        except msgspec.MsgspecError as problem:
            raise CallFailed(f"not an answer of the server: {problem}") from problem


def _tls(server: str) -> bool:
    """Making a context costs 20 ms, which a plain connection need not pay."""
    return server.startswith("https")


def _reason(response: httpx.Response) -> str:
    try:
        return decode(response.content, Refused).error
    except msgspec.MsgspecError:
        return f"HTTP status {response.status_code}"
