"""The user that a task runs as, where that is not the agent's own.

In: a name of the host's users. Out: its numbers, and directories that belong to it. Only an agent
that runs as root can start a task as somebody else.
"""

import contextlib
import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from cluster.agent.drivers.driver import StartError, TaskDirectories
from cluster.agent.own_places import give_directory, make_directory


@dataclass(frozen=True)
class TaskUser:
    """A user of the host, with every group it is in."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]


def find_user(name: str) -> TaskUser:
    """The user of that name. Raises StartError when there is none or the agent may not be it."""
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError) as problem:
        raise StartError(f'there is no user "{name}" on this host') from problem
    if os.geteuid() not in (0, entry.pw_uid):
        raise StartError(
            f'this agent does not run as root, so it cannot start a task as user "{name}"'
        )
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return TaskUser(entry.pw_name, entry.pw_uid, entry.pw_gid, groups)


def login_variables(name: str) -> dict[str, str]:
    """What a login tells that user about itself; nothing for one that is not known here."""
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        return {}
    return {"USER": entry.pw_name, "LOGNAME": entry.pw_name, "HOME": entry.pw_dir}


def hand_over(directories: TaskDirectories, user: TaskUser) -> None:
    """Make the task's own directories belong to its user. Raises OSError."""
    if os.geteuid() != 0:
        return
    for directory in (
        directories.root,
        directories.local,
        directories.secrets,
        directories.root / "tmp",
    ):
        give_directory(directory, user.uid, user.gid)


def give(directory: Path, name: str) -> None:
    """Make a directory that user's alone, where the agent may and there is such a user."""
    if os.geteuid() != 0:
        return
    with contextlib.suppress(StartError):
        user = find_user(name)
        give_directory(directory, user.uid, user.gid)
        make_directory(directory, 0o700)
