"""Renews the further identities of running tasks before they end (node-agent-2.md 4.2).

In: tasks that were given identities, with the times at which those end. Out: new files, and what
the renewal asks of the task: a restart, a signal, or nothing. One loop for each such task.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from cluster.agent.abortable import Who
from cluster.agent.drivers.driver import TaskDirectories
from cluster.agent.server_link import CallFailed
from cluster.agent.task_identity import Ask, FileReader, end_of, write_identity
from cluster.agent.template_keeper import TemplateChange
from scheduler.ports import Clock
from scheduler.structs.task_group import Identity, Task

logger = logging.getLogger(__name__)
SECOND = 1_000_000_000
#: Seconds before the first renewal at the least, and between tries that failed.
LEAST_S, MOST_S = 10.0, 3600.0
#: In the task's private directory: when each identity ends, ns.
_ENDS = "identities.json"


class IdentityHost(Protocol):
    """Whoever asks for identities, and is told of new ones."""

    ask_identity: Ask | None

    def templates_changed(self, who: Who, change: TemplateChange) -> None:
        """Restart the task, or send it signals."""

    def templates_failed(self, who: Who, why: str) -> None:
        """End it as failed."""


class _Held(NamedTuple):
    """A task and its further identities that end."""

    who: Who
    task: Task
    directories: TaskDirectories
    reader: FileReader
    ends: dict[str, int]


class IdentityKeeper:
    """The further identities of one node's tasks."""

    def __init__(self, host: IdentityHost, clock: Clock, chance: Callable[[], float]) -> None:
        self._host = host
        self._clock = clock
        self._chance = chance
        self._loops: dict[Who, asyncio.Task[None]] = {}

    def given(
        self,
        alloc_id: str,
        task: Task,
        places: TaskDirectories,
        reader: FileReader,
        ends: dict[str, int],
    ) -> None:
        """The task was given these for its start; with the times they end, 0: never."""
        if not ends:
            return
        note_ends(places.private, ends)
        self._keep(_Held((alloc_id, task.name), task, places, reader, ends))

    def resume(
        self, alloc_id: str, task: Task, places: TaskDirectories, reader: FileReader
    ) -> None:
        """The task was found running: what it holds is renewed when its time comes."""
        ends = noted_ends(places.private)
        if ends:
            self._keep(_Held((alloc_id, task.name), task, places, reader, ends))

    def stop_all(self, alloc_id: str, alive: Iterable[str]) -> None:
        """Of an allocation only these tasks may still need theirs."""
        kept = set(alive)
        for who in [who for who in self._loops if who[0] == alloc_id and who[1] not in kept]:
            self._stop(who)

    async def close(self) -> None:
        """End every loop; files stay as they are."""
        loops = list(self._loops.values())
        for who in list(self._loops):
            self._stop(who)
        await asyncio.gather(*loops, return_exceptions=True)

    def _keep(self, held: _Held) -> None:
        self._stop(held.who)
        if any(held.ends.values()):
            loop = asyncio.get_running_loop()
            self._loops[held.who] = loop.create_task(self._renew(held))

    def _stop(self, who: Who) -> None:
        loop = self._loops.pop(who, None)
        if loop is not None and loop is not asyncio.current_task():
            loop.cancel()

    async def _renew(self, held: _Held) -> None:
        pause = wait_s(held.ends.values(), self._clock.now(), self._chance())
        backoff = LEAST_S
        while True:
            await asyncio.sleep(pause)
            try:
                await self._renew_all(held)
            except (CallFailed, OSError) as problem:
                logger.warning("identities of %s/%s: %s", *held.who, problem)
                pause = backoff * (1 + self._chance())
                backoff = min(2 * backoff, MOST_S)
            else:
                pause = wait_s(held.ends.values(), self._clock.now(), self._chance())
                backoff = LEAST_S

    async def _renew_all(self, held: _Held) -> None:
        ask = self._host.ask_identity
        if ask is None:
            return
        changed = []
        for identity in held.task.identities:
            if not held.ends.get(identity.name):
                continue
            token = await ask(*held.who, identity.name)
            if identity.file:
                await asyncio.to_thread(
                    write_identity, held.directories, identity, token, held.reader
                )
            held.ends[identity.name] = end_of(token)
            changed.append(identity)
        note_ends(held.directories.private, held.ends)
        for identity in changed:
            self._tell(held.who, identity)

    def _tell(self, who: Who, identity: Identity) -> None:
        if identity.change_mode in {"restart", "signal"}:
            signals = (identity.change_signal,) if identity.change_mode == "signal" else ()
            change = TemplateChange(identity.change_mode == "restart", signals, identity.name)
            self._host.templates_changed(who, change)


def wait_s(ends: Iterable[int], now: int, chance: float) -> float:
    """Seconds until all are renewed: half of what the first to end has left, and a little more."""
    left = (min(end for end in ends if end) - now) / SECOND
    return max(LEAST_S + chance, left / 2 * (1 + chance / 10))


def note_ends(private: Path, ends: dict[str, int]) -> None:
    """Keep the times for an agent that comes after."""
    draft = private / f".{_ENDS}.new"
    draft.write_bytes(msgspec.json.encode(ends))
    draft.replace(private / _ENDS)


def noted_ends(private: Path) -> dict[str, int]:
    """The times kept; nothing where there are none."""
    try:
        return msgspec.json.decode((private / _ENDS).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.MsgspecError):
        return {}
