"""`exec`: a task with a root, process numbers, limits and rights of its own (node-agent-2.md 5.4).

As `raw_exec` it is a process with a small one beside it that outlives the agent; what it may see
and do is settled by `task_root` between the fork and its command.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cluster.agent.control_groups import NoControlGroups
from cluster.agent.drivers.driver import (
    Abilities,
    Handle,
    HookFailed,
    Isolation,
    Launch,
    Mount,
    StartError,
    healthy,
    unhealthy,
)
from cluster.agent.drivers.kept_process import FindGroups, KeptProcesses, log_order
from cluster.agent.drivers.small_process import own_environment
from cluster.agent.networks.resolver import resolver_file
from cluster.agent.task_rights import CAPABILITIES, DEFAULT_CAPABILITIES
from cluster.agent.task_root import default_places
from cluster.agent.task_user import TaskUser, find_user, hand_over
from cluster.jobspec.left_out import option_refusals
from scheduler.structs.node import DriverInfo

DEFAULT_USER = "nobody"
#: Processes and threads of a task that names no limit, and the most that it may name.
DEFAULT_PIDS, MOST_PIDS = 4096, 32768
#: What a task of another user than root holds without asking.
_HELD = frozenset({"net_bind_service"})
#: What is run to find out whether tasks can be isolated.
PROBE = ["-m", "cluster.agent.root_probe"]
_PROBE_TIMEOUT_S = 15.0


class ExecOptions(msgspec.Struct, frozen=True):
    """The options of one task."""

    command: str
    args: tuple[str, ...] = ()
    work_dir: str = ""
    pid_mode: str = ""
    ipc_mode: str = ""
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    #: Never more of the processor than was asked for.
    cpu_hard_limit: bool = False
    #: Processes and threads; 0: the default.
    pids_limit: int = 0


class ExecDriver(KeptProcesses):
    """The isolated processes of one node."""

    name = "exec"
    abilities = Abilities(isolation=Isolation.CHROOT, runs_inside=True, default_user=DEFAULT_USER)
    takes_mounts = True
    names_hosts = True
    runs_unlimited = False

    def __init__(
        self,
        find_groups: FindGroups,
        *,
        hidden: Iterable[Path] = (),
        capabilities: Iterable[str] = DEFAULT_CAPABILITIES,
    ) -> None:
        """`hidden`: what no task sees, even where it lies below a directory that is shown."""
        super().__init__(find_groups)
        self._hidden = [str(path) for path in hidden]
        self._allowed = frozenset(capabilities)
        self._is_proven = False

    def describe(self, now: int) -> DriverInfo:
        """Offered where all of it works, and else what is missing."""
        if sys.platform != "linux" or os.geteuid() != 0:
            return unhealthy("Driver must run as root", now)
        self._is_proven = self._is_proven or not (missing := _probe())
        if not self._is_proven:
            return unhealthy(f"no isolation on this machine: {missing}", now)
        try:
            self._find_groups()
        except NoControlGroups as problem:
            found = healthy(self.name, now)
            return replace(found, healthy=False, health_description=str(problem))
        return healthy(self.name, now)

    def prepare(self, launch: Launch) -> Handle:
        """Each run has a directory of its own for the agent's notes."""
        assert launch.directories is not None, "exec nodes have a disk"
        self._rights(_options(launch.config))
        _user_of(launch)
        for mount in launch.mounts:
            _check(mount)
        directory = launch.directories.runs / launch.task_id.rpartition("/")[2]
        return Handle(
            driver=self.name, task_id=launch.task_id, facts={"directory": str(directory)}
        )

    def specification(self, launch: Launch) -> dict[str, object]:
        """A command in a root of its own, with these rights."""
        assert launch.directories is not None, "prepare was asked first"
        options = _options(launch.config)
        user = _user_of(launch)
        hand_over(launch.directories, user)
        return {
            "argv": [options.command, *options.args],
            "directory": options.work_dir or "/",
            "env": launch.env,
            "user": {
                "uid": user.uid,
                "gid": user.gid,
                "groups": [*user.groups, *_groups_of(launch.devices)],
            },
            "rights": self._rights(options),
            "root": self._root(launch),
            "hostname": launch.network.hostname,
            "cpu_hard_limit": options.cpu_hard_limit,
            "pids_limit": options.pids_limit or DEFAULT_PIDS,
            "logs": log_order(launch),
        }

    def _root(self, launch: Launch) -> dict[str, object]:
        directories = launch.directories
        assert directories is not None, "prepare was asked first"
        resolver = resolver_file(directories, launch.network.dns)
        return {
            "resolver": resolver and str(resolver),
            "directory": str(directories.root),
            "shared": str(directories.shared),
            "logs": str(directories.logs),
            "host": list(default_places()),
            "hidden": self._hidden,
            "devices": list(launch.devices),
            "mounts": [
                {
                    "source": str(mount.source),
                    "target": mount.target,
                    "read_only": mount.read_only,
                    "propagation": mount.propagation,
                }
                for mount in launch.mounts
            ],
        }

    def _rights(self, options: ExecOptions) -> dict[str, list[str]]:
        """Which capabilities the task can ever have, and which it has. Raises StartError."""
        dropped = _named("cap_drop", options.cap_drop)
        added = _named("cap_add", options.cap_add)
        if "all" in options.cap_add:
            added = self._allowed
        if refused := sorted(added - self._allowed):
            text = f"driver does not allow the following capabilities: {', '.join(refused)}"
            raise StartError(text)
        return {
            "bounds": sorted((self._allowed - dropped) | added),
            "kept": sorted(((_HELD & self._allowed) - dropped) | added),
        }


def _groups_of(devices: Iterable[str]) -> list[int]:
    """Who may open them beside root: the task joins these groups, but never root's."""
    return sorted({group for device in devices if (group := Path(device).stat().st_gid)})


def _named(option: str, names: Iterable[str]) -> frozenset[str]:
    """Capabilities as the kernel calls them, without what all of them have in common."""
    plain = frozenset(name.lower().removeprefix("cap_") for name in names)
    if unknown := sorted(plain - {*CAPABILITIES, "all"}):
        text = f"{option} configured with capabilities not supported by system: "
        raise StartError(text + ", ".join(unknown))
    return frozenset(CAPABILITIES) if "all" in plain and option == "cap_drop" else plain - {"all"}


def _options(config: dict[str, object]) -> ExecOptions:
    if refused := option_refusals("exec", config):
        raise StartError("; ".join(refused), invalid_config=True)
    try:
        options = msgspec.convert(config, ExecOptions, strict=False)
    except msgspec.ValidationError as problem:
        raise StartError(str(problem), invalid_config=True) from problem
    problems = []
    if not options.command:
        problems.append("missing command for exec")
    if options.work_dir and not Path(options.work_dir).is_absolute():
        problems.append(f'work_dir must be absolute but got relative path "{options.work_dir}"')
    for option in ("pid_mode", "ipc_mode"):
        mode = getattr(options, option)
        if mode not in ("", "private", "host"):
            problems.append(f'{option} must be "private" or "host", got "{mode}"')
        elif mode == "host":
            problems.append(f'{option} "host" is not allowed: tasks would see those of others')
    if not 0 <= options.pids_limit <= MOST_PIDS:
        problems.append(f"pids_limit must be between 1 and {MOST_PIDS}")
    if problems:
        raise StartError("; ".join(problems), invalid_config=True)
    return options


def _user_of(launch: Launch) -> TaskUser:
    user = find_user(launch.user or DEFAULT_USER)
    if user.uid == 0:
        raise HookFailed(f'validate: running as user "{user.name}" is disallowed')
    return user


def _check(mount: Mount) -> None:
    if mount.propagation == "bidirectional":
        raise HookFailed(
            f'volumes: "{mount.volume}": a task\'s own mounts are not passed on to the host'
        )
    if ".." in mount.target.split("/"):
        raise HookFailed(f'volumes: "{mount.volume}": {mount.target} leads out of the root')


def _probe() -> str:
    """What keeps this machine from isolating tasks; "" where nothing does."""
    command = [sys.executable, "-S", *PROBE]
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            command,
            env=own_environment(),
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or done.stderr.strip() or f"exit code {done.returncode}"
