"""Gives a task that asks for it the identity by which the cluster knows it (node-agent-2.md 4.1).

In: a task and its launch. Out: the launch with `NOMAD_TOKEN`, a file that only the task's user
reads, or both. The server signs when a task is about to start; nothing is asked for all others.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from cluster.agent.alloc_directories import inside
from cluster.agent.drivers.driver import Launch, StartError
from cluster.agent.server_link import CallFailed
from cluster.agent.task_user import find_user
from scheduler.structs.task_group import Task

VARIABLE = "NOMAD_TOKEN"
FILE = "secrets/nomad_token"
_SERVER_FAULT = 500

Ask = Callable[[str, str], Awaitable[str]]


async def with_identity(launch: Launch, alloc_id: str, task: Task, ask: Ask | None) -> Launch:
    """The launch with what the task asked for. Raises StartError where it cannot be had.

    `ask`: the identity of a task of an allocation, from the server; None: nobody is to be asked.
    """
    wanted = task.identity
    if wanted is None or not (wanted.env or wanted.file):
        return launch
    if launch.directories is None or ask is None:
        return launch
    try:
        token = await ask(alloc_id, task.name)
    except CallFailed as problem:
        passes = problem.status == 0 or problem.status >= _SERVER_FAULT
        text = f"the identity of the task could not be had: {problem}"
        raise StartError(text, recoverable=passes) from problem
    if wanted.file:
        _write(inside(launch.directories.root, wanted.filepath or FILE), token, launch.user)
    return replace(launch, env={**launch.env, VARIABLE: token}) if wanted.env else launch


def _write(path: Path, token: str, user: str) -> None:
    """In the place of an earlier one, readable by the task's user alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(token)
        if user and os.geteuid() == 0:
            owner = find_user(user)
            os.fchown(descriptor, owner.uid, owner.gid)
    draft.replace(path)
