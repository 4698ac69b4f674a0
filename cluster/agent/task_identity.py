"""Gives a task the identities that it asks for (node-agent-2.md 4.1, 4.2).

In: a task and its launch. Out: the launch with `NOMAD_TOKEN` and `NOMAD_TOKEN_<name>`, files that
nobody but the task reads, or both. The server signs when a task is about to start; nothing is
asked for all others.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

from cluster.agent.drivers.driver import HookFailed, Launch, TaskDirectories
from cluster.agent.own_places import put_file
from cluster.agent.server_link import CallFailed
from cluster.agent.task_user import find_user
from cluster.keyring.tokens import TokenRefused, unproved
from scheduler.structs.task_group import Identity, Task

VARIABLE = "NOMAD_TOKEN"
FILE = "secrets/nomad_token"
_SERVER_FAULT = 500
_SECOND = 1_000_000_000

#: Allocation, task, and the identity's name, "" for the one that every task has.
Ask = Callable[[str, str, str], Awaitable[str]]


class FileReader(NamedTuple):
    """Whom a task's files are for."""

    #: Of the host's users; "": the agent's own.
    user: str = ""
    #: Only its image knows who it runs as: the task's directory keeps everybody else out.
    is_of_image: bool = False


async def with_identity(
    launch: Launch, alloc_id: str, task: Task, ask: Ask | None, reader: FileReader
) -> Launch:
    """The launch with the identity that every task has, where it asked for that.

    `ask`: an identity of a task of an allocation, from the server; None: nobody is to be asked.
    Raises HookFailed where it cannot be had.
    """
    wanted = task.identity
    if wanted is None or not (wanted.env or wanted.file):
        return launch
    if launch.directories is None or ask is None:
        return launch
    token = await _asked(ask, alloc_id, task.name, "")
    if wanted.file:
        _write(launch.directories, wanted.filepath or FILE, token, reader)
    return replace(launch, env={**launch.env, VARIABLE: token}) if wanted.env else launch


async def with_further_identities(
    launch: Launch, alloc_id: str, task: Task, ask: Ask | None, reader: FileReader
) -> tuple[Launch, dict[str, int]]:
    """The launch with those that have names, and when each ends, ns; 0: never.

    Raises HookFailed where one cannot be had.
    """
    ends: dict[str, int] = {}
    if launch.directories is None or ask is None:
        return launch, ends
    env = dict(launch.env)
    for identity in task.identities:
        token = await _asked(ask, alloc_id, task.name, identity.name)
        if identity.file:
            write_identity(launch.directories, identity, token, reader)
        if identity.env:
            env[f"{VARIABLE}_{identity.name}"] = token
        ends[identity.name] = end_of(token)
    return replace(launch, env=env), ends


def write_identity(
    places: TaskDirectories, identity: Identity, token: str, reader: FileReader
) -> None:
    """A further identity as its file, in the place of the one before."""
    path = identity.filepath or f"secrets/nomad_{identity.name}.jwt"
    _write(places, path, token, reader)


def end_of(token: str) -> int:
    """When a token ends, ns since the Unix epoch; 0: never, as far as it says."""
    try:
        ends = unproved(token).get("exp")
    except TokenRefused:
        return 0
    return ends * _SECOND if isinstance(ends, int) else 0


async def _asked(ask: Ask, alloc_id: str, task: str, name: str) -> str:
    try:
        return await ask(alloc_id, task, name)
    except CallFailed as problem:
        passes = problem.status == 0 or problem.status >= _SERVER_FAULT
        which = f"the identity {name} of the task" if name else "the identity of the task"
        text = f"identity: {which} could not be had: {problem}"
        raise HookFailed(text, recoverable=passes) from problem


def _write(places: TaskDirectories, path: str, token: str, reader: FileReader) -> None:
    """In the place of an earlier one, readable by whoever the task runs as alone.

    The task may run meanwhile: nothing that it lays in the way is gone through.
    """
    owner = None
    if reader.user and not reader.is_of_image and os.geteuid() == 0:
        found = find_user(reader.user)
        owner = (found.uid, found.gid)
    mode = 0o644 if reader.is_of_image else 0o600
    put_file(places.root, path, token.encode(), mode=mode, owner=owner)
