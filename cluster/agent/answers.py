"""What a node answers to calls on its channel: orders, statistics, metadata, logs and files.

In: a verb and its body. Out: bytes, in the shapes of the public API (http-api.md 3.3, 3.4).
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType

import msgspec

from cluster.agent.agent_state import Storage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import TaskRefused
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.collector import collect_now, collectable
from cluster.agent.exec_sessions import ExecSessions, nothing_given
from cluster.agent.file_answers import FileAnswers
from cluster.agent.hosted_alloc import HostedAlloc
from cluster.agent.log_rotation import log_numbers
from cluster.agent.log_stream import Window, framed, plain, read_logs
from cluster.agent.node_identity import NO_IDENTITY, NodeIdentity
from cluster.agent.node_metadata import MetadataRefused, NodeMetadata
from cluster.agent.usage_answers import UNMEASURED, Measured
from cluster.operations.agent_calls import EXEC, NOT_STARTED
from scheduler.ports import Clock
from scheduler.structs.wire import Wire

Body = dict[str, object]
#: Letters of an answer that are told of each of many checks.
_LINE = 200
NOT_COLLECTABLE = "No such allocation on client, or allocation not eligible for GC"


class LogCall(Wire, frozen=True):
    """What to show of a task's output."""

    alloc_id: str
    task: str = ""
    type: str = ""
    follow: bool = False
    plain: bool = False
    offset: int = 0
    origin: str = "start"


class RestartCall(Wire, frozen=True):
    """Which tasks to restart."""

    alloc_id: str
    task_name: str = ""
    all_tasks: bool = False


class SignalCall(Wire, frozen=True):
    """Which task to send which signal."""

    alloc_id: str
    task: str = ""
    signal: str = ""


class AllocCall(Wire, frozen=True):
    """Which allocation, and maybe which task of it."""

    alloc_id: str
    task: str = ""


class ChecksCall(Wire, frozen=True):
    """Of which allocations the checks are asked for."""

    alloc_ids: tuple[str, ...] = ()


class MetadataCall(Wire, frozen=True):
    """Which pairs to set; None takes one away."""

    meta: dict[str, str | None]


class Answers:
    """The answers of one node."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of an agent
        self,
        host: AllocHost,
        storage: Storage,
        clock: Clock,
        metadata: NodeMetadata,
        identity: NodeIdentity | None = None,
        measured: Measured = UNMEASURED,
        checks: Callable[[str], Mapping[str, object]] = lambda _alloc_id: {},
        sessions: ExecSessions | None = None,
        more: Mapping[str, Callable[[Body], AsyncIterator[bytes]]] = MappingProxyType({}),
    ) -> None:
        """`measured`: what is told of usage; `checks`: what those of an allocation found.

        `more`: further verbs. A simulated node measures nothing, checks nothing and has no more.
        """
        self._found = checks
        self._sessions = sessions or ExecSessions(host)
        self.identity = identity
        self.host = host
        self.storage = storage
        self.clock = clock
        self.metadata = metadata
        self.files = FileAnswers(host, storage)
        self._verbs: dict[str, Callable[[Body], AsyncIterator[bytes]]] = {
            "logs": self._logs,
            "restart": self._restart,
            "signal": self._signal,
            "alloc.checks": self._checks,
            "allocs.checks": self._checks_of_several,
            "collect": self._collect,
            "host.collect": self._collect_all,
            "metadata.read": self._read_metadata,
            "metadata.change": self._change_metadata,
            "identity.read": self._read_identity,
            "identity.renew": self._renew_identity,
            **self.files.verbs,
            **measured.verbs(host),
            **more,
        }

    async def answer(
        self, verb: str, body: Body, given: AsyncIterator[bytes] | None = None
    ) -> AsyncIterator[bytes]:
        """The answer in pieces. Raises AnswerRefused. `given`: what the caller says meanwhile."""
        answer = self._verbs.get(verb)
        if answer is None and verb != EXEC:
            raise AnswerRefused(f'unknown call "{verb}"', 400)
        try:
            pieces = answer(body) if answer else self._sessions.run(body, given or nothing_given())
            async with aclosing(pieces) as stream:  # type: ignore[type-var] # a generator
                async for piece in stream:
                    yield piece
        except (TaskRefused, MetadataRefused) as refused:
            raise AnswerRefused(str(refused), 400) from refused
        except msgspec.ValidationError as problem:
            raise AnswerRefused(str(problem), 400) from problem

    async def _restart(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, RestartCall)
        known(self.host, call.alloc_id)
        self.host.restart(call.alloc_id, call.task_name, all_tasks=call.all_tasks)
        yield b"{}"

    async def _signal(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, SignalCall)
        known(self.host, call.alloc_id)
        await self.host.signal(call.alloc_id, call.task, call.signal)
        yield b"{}"

    async def _checks(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, AllocCall)
        known(self.host, call.alloc_id)
        yield msgspec.json.encode(self._found(call.alloc_id))

    async def _checks_of_several(self, body: Body) -> AsyncIterator[bytes]:
        """By allocation; one that is not here, or over, has none."""
        call = msgspec.convert(body, ChecksCall)
        yield msgspec.json.encode(
            {alloc_id: _shortened(self._found(alloc_id)) for alloc_id in call.alloc_ids}
        )

    async def _collect(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, AllocCall)
        if call.alloc_id not in collectable(self.host):
            raise AnswerRefused(NOT_COLLECTABLE, 400)
        await collect_now(self.host, (call.alloc_id,))
        yield b"{}"

    async def _collect_all(self, _body: Body) -> AsyncIterator[bytes]:
        await collect_now(self.host, collectable(self.host))
        yield b"{}"

    async def _read_metadata(self, _body: Body) -> AsyncIterator[bytes]:
        yield msgspec.json.encode(self.metadata.told)

    async def _change_metadata(self, body: Body) -> AsyncIterator[bytes]:
        self.metadata.change(msgspec.convert(body, MetadataCall).meta)
        yield msgspec.json.encode(self.metadata.told)

    async def _read_identity(self, _body: Body) -> AsyncIterator[bytes]:
        claims = self.identity.claims if self.identity else None
        if claims is None:
            raise AnswerRefused(NO_IDENTITY, 400)
        yield msgspec.json.encode({"Claims": claims})

    async def _renew_identity(self, _body: Body) -> AsyncIterator[bytes]:
        if self.identity is None:
            raise AnswerRefused(NO_IDENTITY, 400)
        self.identity.renew()
        yield b"{}"

    async def _logs(self, body: Body) -> AsyncIterator[bytes]:
        call = msgspec.convert(body, LogCall)
        entry = known(self.host, call.alloc_id)
        if not call.task:
            raise AnswerRefused("must provide task name", 400)
        if call.type not in ("stdout", "stderr"):
            raise AnswerRefused("must provide log type (stdout/stderr)", 400)
        if call.origin not in ("start", "end"):
            raise AnswerRefused("origin must be start or end", 400)
        run = entry.runner.tasks.get(call.task)
        if run is None:
            raise AnswerRefused(f'unknown task name "{call.task}"', 400)
        directories = self.storage.directories(call.alloc_id)
        name = f"{call.task}.{call.type}"
        logs = directories.task(call.task).logs if directories else None
        if logs is None or (not run.state.started_at and not log_numbers(logs, name)):
            text = f'task "{call.task}" {NOT_STARTED}. No logs available'
            raise AnswerRefused(text, 404)
        window = Window(call.offset, from_end=call.origin == "end", follow=call.follow)
        pieces = read_logs(logs, name, window, lambda: run.is_dead)
        async for piece in plain(pieces) if call.plain else framed(pieces):
            yield piece


def known(host: AllocHost, alloc_id: str) -> HostedAlloc:
    """The allocation here. Raises AnswerRefused."""
    entry = host.entries.get(alloc_id)
    if entry is None:
        raise AnswerRefused(f'Unknown allocation "{alloc_id}"', 404)
    return entry


def _shortened(found: Mapping[str, object]) -> dict[str, object]:
    """Checks of many allocations are told by the first line of what came back."""
    return {
        key: {**told, "Output": str(told.get("Output", "")).strip().partition("\n")[0][:_LINE]}
        for key, told in found.items()
        if isinstance(told, Mapping)
    }
