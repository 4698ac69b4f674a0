"""A socket `api.sock` in the secrets of each task, behind which the cluster's API answers.

In: where tasks live, and the server. Out: what a task asks there goes to the server as it is, with
the token that the task shows (node-agent-2.md 4.4). It holds no right of its own.
"""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import stat
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cluster.agent.abortable import Who
from cluster.agent.drivers.driver import Launch, TaskDirectories
from cluster.agent.task_api.relay import Server, refuse, relay
from cluster.agent.task_api.request_head import NotPassedOn
from scheduler.structs.task_group import Task

logger = logging.getLogger(__name__)

NAME = "api.sock"
VARIABLE = "NOMAD_UNIX_ADDR"
#: Connections of one task at the same time.
MOST = 100
#: The directory keeps everybody but the task out.
_MODE = 0o666


class _Open(NamedTuple):
    """One listening socket, and what goes over it."""

    listening: asyncio.Server
    connections: set[asyncio.Task[None]]


class TaskSockets:
    """The sockets of one node's tasks."""

    def __init__(self, address: str, tls: ssl.SSLContext | None = None) -> None:
        """`address`: of the server; `tls`: whose certificate is taken."""
        self._server = Server.at(address, tls)
        self._open: dict[Who, _Open] = {}
        self._work: set[asyncio.Task[None]] = set()

    async def open(self, who: Who, places: TaskDirectories) -> None:
        """Listen for a task, in the place of whatever listened before. Raises OSError."""
        self._stop(who)
        connections: set[asyncio.Task[None]] = set()
        bound = _bound(places.secrets)
        try:
            listening = await asyncio.start_unix_server(
                lambda reader, writer: self._take(connections, reader, writer), sock=bound
            )
        except BaseException:
            bound.close()
            raise
        self._open[who] = _Open(listening, connections)

    def stop_all(self, alloc_id: str, alive: Iterable[str]) -> None:
        """Of an allocation only these tasks may still ask."""
        kept = set(alive)
        for who in [who for who in self._open if who[0] == alloc_id and who[1] not in kept]:
            self._stop(who)

    async def close(self) -> None:
        """Hang up; who connects is refused until an agent listens anew."""
        for who in list(self._open):
            self._stop(who)
        await asyncio.gather(*self._work, return_exceptions=True)

    def _stop(self, who: Who) -> None:
        found = self._open.pop(who, None)
        if found is not None:
            found.listening.close()
            for work in found.connections:
                work.cancel()

    async def _take(
        self, connections: set[asyncio.Task[None]], reader: StreamReader, writer: StreamWriter
    ) -> None:
        work = asyncio.current_task()
        assert work is not None, "a stream's callback runs as a task"
        is_one_too_many = len(connections) >= MOST
        for kept in (connections, self._work):
            kept.add(work)
            work.add_done_callback(kept.discard)
        with contextlib.suppress(asyncio.CancelledError):
            if is_one_too_many:
                problem = NotPassedOn(429, f"{MOST} requests of this task are open.")
                await refuse(reader, writer, problem)
            else:
                await relay(reader, writer, self._server)


def with_address(launch: Launch, task: Task) -> Launch:
    """The launch of a task that has an identity in its environment, with where to show it."""
    identities = [each for each in (task.identity, *task.identities) if each is not None]
    if launch.directories is None or not any(each.env for each in identities):
        return launch
    seen = launch.directories.as_seen(launch.directories.secrets / NAME)
    return replace(launch, env={**launch.env, VARIABLE: f"unix://{seen}"})


def _bound(secrets: Path) -> socket.socket:
    """A socket in that directory and no other one, however long its name. Raises OSError.

    The directory is the task's: what it laid there is not followed.
    """
    inside = os.open(secrets, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME, dir_fd=inside)
        bound.settimeout(0)
        bound.bind(f"/proc/self/fd/{inside}/{NAME}")
        _open_up(inside)
    except BaseException:
        bound.close()
        raise
    finally:
        os.close(inside)
    return bound


def _open_up(inside: int) -> None:
    made = os.open(NAME, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=inside)
    try:
        told = os.fstat(made)
        if not stat.S_ISSOCK(told.st_mode) or told.st_nlink != 1:
            raise FileExistsError(f"something else lies at secrets/{NAME}")
        Path(f"/proc/self/fd/{made}").chmod(_MODE)
    finally:
        os.close(made)
