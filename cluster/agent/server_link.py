"""The node end of the HTTP calls: typed messages to a server and back.

In: messages of `protocol`. Out: answers, or `CallFailed`. Knows no loop and no retry.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import httpx
import msgspec
from msgspec.structs import replace

from cluster.agent.node_identity import NodeIdentity
from cluster.agent.protocol import (
    JOIN_HEADER,
    MSGPACK,
    NODE_HEADER,
    AskIdentity,
    AwaitEnds,
    Beat,
    BeatAnswer,
    Drained,
    DrainMe,
    EmitEvents,
    Ended,
    Fetch,
    Fetched,
    GivenIdentity,
    LookedUp,
    Lookup,
    Pulled,
    Refused,
    Register,
    Registered,
    Report,
    Reported,
    ReportServices,
    decode,
    encode,
)

Answer = TypeVar("Answer")
Told = TypeVar("Told", Registered, BeatAnswer)

TIMEOUT_S = 15.0
#: Shorter, so that a heartbeat that is lost on its way is followed by others within the grace.
BEAT_TIMEOUT_S = 5.0
#: On top of what a blocking call asked to wait.
WAIT_MARGIN_S = 20.0
_FORBIDDEN = 403


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
        identity: NodeIdentity | None = None,
    ) -> None:
        """`now` is the node's clock; without one the server cannot say whether it is right.

        With `identity`, the node shows one wherever it has one.
        """
        self.identity = identity
        self._now = now
        self.node_id = node_id
        self.secret = secret
        self._client = httpx.AsyncClient(
            base_url=f"{server.rstrip('/')}/v1/fleet/",
            headers={
                NODE_HEADER: node_id,
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
        headers["Authorization"] = f"Bearer {self.secret}"
        if self.identity is not None:
            message = replace(message, takes_identity=True)
        answer = await self._post("register", message, Registered, headers)
        return self._taken(answer)

    async def beat(self, used: tuple[int, int] | None = None) -> BeatAnswer:
        """Say that the node lives, and what its tasks use together: MHz and MiB."""
        beat = Beat(sent_at=self._now())
        if used is not None:
            beat = replace(beat, used_cpu_mhz=used[0], used_memory_mb=used[1])
        if self.identity is not None:
            asked = self.identity.renewal_asked
            beat = replace(beat, takes_identity=True, renews_identity=asked)
        answer = await self._call(
            "POST", "beat", BeatAnswer, content=encode(beat), timeout=BEAT_TIMEOUT_S
        )
        return self._taken(answer)

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

    async def drain_me(self, deadline: int, *, ignore_system_jobs: bool) -> Drained:
        """Begin the drain of this node; `deadline` in ns."""
        message = DrainMe(deadline=deadline, ignore_system_jobs=ignore_system_jobs)
        return await self._post("drain", message, Drained)

    async def is_draining(self) -> bool:
        """Whether that drain is still under way."""
        return (await self._call("GET", "drain/status", Drained)).is_draining

    async def services(self, message: ReportServices) -> Reported:
        """Where services of this node's allocations listen."""
        return await self._post("services", message, Reported)

    async def identity_of(self, alloc_id: str, task: str, name: str) -> str:
        """An identity of a task by its name; "": the one that every task has."""
        message = AskIdentity(alloc_id=alloc_id, task=task, name=name)
        return (await self._post("identity", message, GivenIdentity)).token

    async def look_up(self, message: Lookup) -> LookedUp:
        """What a task's templates ask for; blocks as the message says."""
        body = encode(message)
        timeout = message.wait_s + WAIT_MARGIN_S
        return await self._call("POST", "lookups", LookedUp, content=body, timeout=timeout)

    async def data_of(self, alloc_id: str) -> AsyncIterator[bytes]:
        """The archive of what the allocation before left on another node. Raises CallFailed."""
        shown = self.identity.shown if self.identity is not None else self.secret
        headers = {"Authorization": f"Bearer {shown}"}
        try:
            async with self._client.stream("GET", f"data/{alloc_id}", headers=headers) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                    raise CallFailed(_reason(answer), answer.status_code)
                async for piece in answer.aiter_bytes():
                    yield piece
        except httpx.HTTPError as problem:
            raise CallFailed(f"{type(problem).__name__}: {problem}") from problem

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
        shown = self.identity.shown if self.identity is not None else self.secret
        response = await self._sent(method, path, shown, options)
        if response.status_code == _FORBIDDEN and self.identity and self.identity.refused(shown):
            response = await self._sent(method, path, self.secret, options)
        if response.status_code >= 400:
            raise CallFailed(_reason(response), response.status_code)
        try:
            return decode(response.content, answer)
        except msgspec.MsgspecError as problem:
            raise CallFailed(f"not an answer of the server: {problem}") from problem

    async def _sent(
        self, method: str, path: str, shown: str, options: dict[str, object]
    ) -> httpx.Response:
        given = options.get("headers")
        headers = {
            "Authorization": f"Bearer {shown}",
            **(given if isinstance(given, dict) else {}),
        }
        try:
            return await self._client.request(method, path, **{**options, "headers": headers})  # type: ignore[arg-type] # httpx's own words
        except httpx.HTTPError as problem:
            raise CallFailed(f"{type(problem).__name__}: {problem}") from problem

    def _taken(self, answer: Told) -> Told:
        """The answer, once the identity in it is in use."""
        if self.identity is not None:
            self.identity.take(answer.identity)
        return answer


def _tls(server: str) -> bool:
    """Making a context costs 20 ms, which a plain connection need not pay."""
    return server.startswith("https")


def _reason(response: httpx.Response) -> str:
    try:
        return decode(response.content, Refused).error
    except msgspec.MsgspecError:
        return f"HTTP status {response.status_code}"
