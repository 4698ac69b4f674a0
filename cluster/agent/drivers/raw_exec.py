"""`raw_exec`: a task as a plain process of the host, without isolation (node-agent.md 16.1).

Each task gets a session of its own and a small process beside it (`task_process`) that outlives
the agent. Found again by the lock that process holds, its number and its start time.
"""

import fnmatch
import os
import shutil
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cluster.agent.control_groups import ROOT, NoControlGroups
from cluster.agent.drivers.driver import (
    Abilities,
    Handle,
    Launch,
    StartError,
    TaskDirectories,
    healthy,
    unhealthy,
)
from cluster.agent.drivers.kept_process import FindGroups, KeptProcesses, log_order, no_groups
from cluster.agent.own_places import make_executable
from cluster.agent.task_user import find_user, hand_over
from cluster.jobspec.left_out import option_refusals
from scheduler.structs.node import DriverInfo


class RawExecOptions(msgspec.Struct, frozen=True):
    """The options of one task."""

    command: str
    args: tuple[str, ...] = ()
    work_dir: str = ""
    oom_score_adj: int = 0
    denied_envvars: tuple[str, ...] = ()
    #: Of others, for a task that is not to have a group of its own.
    cgroup_v2_override: str = ""
    cgroup_v1_override: tuple[dict[str, str], ...] | dict[str, str] = ()
    #: Never more of the processor than was asked for.
    cpu_hard_limit: bool = False
    #: Processes and threads; 0: no limit.
    pids_limit: int = 0


class RawExecDriver(KeptProcesses):
    """The processes of one node."""

    name = "raw_exec"
    abilities = Abilities(runs_inside=True)

    def __init__(self, *, enabled: bool, find_groups: FindGroups = no_groups) -> None:
        super().__init__(find_groups)
        self._enabled = enabled

    def describe(self, now: int) -> DriverInfo:
        """Offered only where the node's configuration says so."""
        if not self._enabled:
            return unhealthy("disabled", now)
        try:
            self._find_groups()
        except NoControlGroups as problem:
            text = f"Healthy, but memory and processor of its tasks are not limited: {problem}"
            return replace(healthy(self.name, now), health_description=text)
        return healthy(self.name, now)

    def prepare(self, launch: Launch) -> Handle:
        """Each run has a directory of its own for the agent's notes."""
        if not self._enabled:
            raise StartError("raw_exec is not enabled on this node")
        assert launch.directories is not None, "raw_exec nodes have a disk"
        _options(launch.config)
        if launch.user:
            find_user(launch.user)
        directory = launch.directories.runs / launch.task_id.rpartition("/")[2]
        return Handle(
            driver=self.name, task_id=launch.task_id, facts={"directory": str(directory)}
        )

    def specification(self, launch: Launch) -> dict[str, object]:
        """What the process beside the task is told: a command in a session of its own."""
        assert launch.directories is not None, "prepare was asked first"
        return _spec(launch, launch.directories)


def _options(config: dict[str, object]) -> RawExecOptions:
    if refused := option_refusals("raw_exec", config):
        raise StartError("; ".join(refused), invalid_config=True)
    try:
        options = msgspec.convert(config, RawExecOptions, strict=False)
    except msgspec.ValidationError as problem:
        raise StartError(str(problem), invalid_config=True) from problem
    if options.work_dir and not Path(options.work_dir).is_absolute():
        raise StartError(f"work_dir must be absolute: {options.work_dir}", invalid_config=True)
    if options.oom_score_adj < 0:
        raise StartError("oom_score_adj must not be negative", invalid_config=True)
    if options.cgroup_v1_override and options.cgroup_v2_override:
        text = "only one of cgroups_v1_override and cgroups_v2_override may be set"
        raise StartError(text, invalid_config=True)
    if options.pids_limit < 0:
        raise StartError("pids_limit must not be negative", invalid_config=True)
    _foreign_groups(options)
    return options


def _foreign_groups(options: RawExecOptions) -> list[str]:
    """The groups of others that the task is to be in. Raises StartError for one that leads out."""
    given = options.cgroup_v1_override
    named = [given] if isinstance(given, dict) else given
    paths = [f"{controller}/{path}" for pairs in named for controller, path in pairs.items()]
    if options.cgroup_v2_override:
        paths.append(options.cgroup_v2_override)
    for path in paths:
        if ".." in Path(path).parts:
            raise StartError(f"control group leads out: {path}", invalid_config=True)
    return [str(ROOT / path.removeprefix(f"{ROOT}/").lstrip("/")) for path in paths]


def _spec(launch: Launch, directories: TaskDirectories) -> dict[str, object]:
    options = _options(launch.config)
    env = {
        key: value
        for key, value in launch.env.items()
        if not any(fnmatch.fnmatchcase(key, denied) for denied in options.denied_envvars)
    }
    user = find_user(launch.user) if launch.user else None
    if user is not None:
        hand_over(directories, user)
    command = _command(options.command, directories, launch.env)
    place = options.work_dir or str(directories.root)
    own = (directories.local, directories.secrets, directories.shared)
    return {
        "argv": [command, *options.args],
        "directory": place,
        "env": env,
        "oom_score_adj": options.oom_score_adj,
        "user": user and {"uid": user.uid, "gid": user.gid, "groups": user.groups},
        "needs": [*map(str, own), place, command],
        "foreign_groups": _foreign_groups(options),
        "cpu_hard_limit": options.cpu_hard_limit,
        "pids_limit": options.pids_limit,
        "logs": log_order(launch),
    }


def _command(command: str, directories: TaskDirectories, env: dict[str, str]) -> str:
    """Where the command lies: the task's directories first, then the node's."""
    if not command:
        raise StartError("missing command for raw_exec", invalid_config=True)
    for inside in (directories.local / command, directories.root / command):
        if inside.is_file():
            if not os.access(inside, os.X_OK):
                make_executable(inside)
            return str(inside)
    found = shutil.which(command, path=env.get("PATH") or os.environ.get("PATH"))
    if found is None:
        raise StartError(f'binary "{command}" could not be found')
    return found
