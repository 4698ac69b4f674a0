"""The options of one task of the driver `docker` (node-agent-2.md 5.6), as its job gives them.

In: a task's `config`. Out: DockerOptions, or StartError with every problem found. Blocks come as
one map or as a list of maps, and numbers as text where they were filled in.
"""

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

import msgspec

from cluster.agent.drivers.driver import StartError
from cluster.jobspec.durations import read_duration
from cluster.jobspec.left_out import option_refusals

#: Options that are one map, whether a job file gives it as a block or as an attribute.
_MAPS = frozenset(
    {"auth", "healthchecks", "labels", "logging", "port_map", "storage_opt", "sysctl", "ulimit"}
)
_LIMIT = re.compile(r"(-?\d+)(?::(-?\d+))?")
_EXTRA_HOST = re.compile(r"[^:]+:.+")
#: Microseconds.
_LONGEST_PERIOD = 1_000_000
_SECOND = 1_000_000_000


class Auth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Credentials for the registry of an image."""

    username: str = ""
    password: str = ""
    email: str = ""
    server_address: str = ""


class BindOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a bind mount."""

    propagation: str = ""


class TmpfsOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a mount in memory: bytes, and a mode such as 0o1777."""

    size: int = 0
    mode: int = 0


class VolumeOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a volume that the engine keeps."""

    no_copy: bool = False
    labels: dict[str, str] = {}


class EngineMount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `mount` block."""

    type: str = "volume"
    target: str = ""
    source: str = ""
    readonly: bool = False
    bind_options: BindOptions = BindOptions()
    tmpfs_options: TmpfsOptions = TmpfsOptions()
    volume_options: VolumeOptions = VolumeOptions()


class EngineDevice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `devices` block."""

    host_path: str = ""
    container_path: str = ""
    cgroup_permissions: str = "rwm"


class Healthchecks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of the image's own health check; nothing here goes by it."""

    disable: bool = False


class DockerOptions(msgspec.Struct, frozen=True):
    """The options of one task."""

    image: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    #: Labels of the group's ports that are published.
    ports: tuple[str, ...] = ()
    network_mode: str = ""
    network_aliases: tuple[str, ...] = ()
    hostname: str = ""
    dns_servers: tuple[str, ...] = ()
    dns_search_domains: tuple[str, ...] = ()
    dns_options: tuple[str, ...] = ()
    extra_hosts: tuple[str, ...] = ()
    #: `source:target[:mode]`.
    volumes: tuple[str, ...] = ()
    mounts: tuple[EngineMount, ...] = ()
    devices: tuple[EngineDevice, ...] = ()
    cpu_hard_limit: bool = False
    cpu_cfs_period: int = 100_000
    #: Megabytes; 0: what the task was granted.
    memory_hard_limit: int = 0
    pids_limit: int = 0
    shm_size: int = 0
    ulimit: dict[str, str] = {}
    sysctl: dict[str, str] = {}
    oom_score_adj: int = 0
    group_add: tuple[str, ...] = ()
    init: bool = False
    privileged: bool = False
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    readonly_rootfs: bool = False
    security_opt: tuple[str, ...] = ()
    pid_mode: str = ""
    ipc_mode: str = ""
    uts_mode: str = ""
    userns_mode: str = ""
    #: "private", "host", or as the engine has it.
    cgroupns: str = ""
    #: Processors it runs on, such as "0-2,5"; cores that were granted stand in its place.
    cpuset_cpus: str = ""
    ipv4_address: str = ""
    ipv6_address: str = ""
    mac_address: str = ""
    #: What the engine runs it by; "": its default.
    runtime: str = ""
    storage_opt: dict[str, str] = {}
    #: Of volumes that the engine is to make.
    volume_driver: str = ""
    auth: Auth = Auth()
    force_pull: bool = False
    image_pull_timeout: str = "5m"
    #: An archive in the task's directory that holds the image.
    load: str = ""
    labels: dict[str, str] = {}
    healthchecks: Healthchecks = Healthchecks()
    work_dir: str = ""

    @property
    def pull_timeout_s(self) -> float:
        """Seconds that fetching the image may take."""
        return (read_duration(self.image_pull_timeout) or 0) / _SECOND


def read_options(config: Mapping[str, object]) -> DockerOptions:
    """The options in their types. Raises StartError."""
    if refused := option_refusals("docker", config):
        raise StartError("; ".join(refused), invalid_config=True)
    try:
        options = msgspec.convert(_settled(config), DockerOptions, strict=False)
    except msgspec.ValidationError as problem:
        raise StartError(str(problem), invalid_config=True) from problem
    if problems := [*_problems(options)]:
        raise StartError("; ".join(problems), invalid_config=True)
    return options


def ulimits(options: DockerOptions) -> list[dict[str, Any]]:
    """As the engine takes them; `soft:hard`, or one number for both."""
    found = []
    for name, text in sorted(options.ulimit.items()):
        match = _LIMIT.fullmatch(text)
        assert match is not None, "read_options has looked"
        soft = int(match[1])
        found.append({"Name": name, "Soft": soft, "Hard": int(match[2] or soft)})
    return found


def _settled(config: Mapping[str, object]) -> dict[str, Any]:
    settled: dict[str, Any] = {}
    for name, value in config.items():
        if value is None:
            continue
        if name in _MAPS:
            settled[name] = _one_map(value)
        elif name in ("mount", "mounts"):
            settled["mounts"] = [*settled.get("mounts", []), *_mounts(value)]
        elif name == "devices":
            settled[name] = value if isinstance(value, list | tuple) else [value]
        elif name == "entrypoint" and isinstance(value, str):
            settled[name] = [value]
        else:
            settled[name] = value
    return settled


def _mounts(value: object) -> list[object]:
    blocks = value if isinstance(value, list | tuple) else [value]
    found: list[object] = []
    for block in blocks:
        if not isinstance(block, Mapping):
            found.append(block)
            continue
        inner = {key: each for key, each in block.items() if each is not None}
        for name in ("bind_options", "tmpfs_options", "volume_options"):
            if name in inner:
                inner[name] = _one_map(inner[name])
        found.append(inner)
    return found


def _one_map(value: object) -> object:
    """A block that is written twice says both; a later one wins."""
    if not isinstance(value, list | tuple):
        return value
    merged: dict[str, object] = {}
    for part in value:
        if not isinstance(part, Mapping):
            return value
        merged.update(part)
    return merged


def _problems(options: DockerOptions) -> Iterator[str]:
    if not options.image:
        yield "image name required for docker driver"
    if options.command != options.command.strip():
        yield f'command contains extra white space: "{options.command}"'
    if not 0 <= options.cpu_cfs_period <= _LONGEST_PERIOD:
        yield f"cpu_cfs_period is not from 0 to {_LONGEST_PERIOD}"
    if (read_duration(options.image_pull_timeout) or 0) <= 0:
        yield f'image_pull_timeout: "{options.image_pull_timeout}" is no duration'
    if not all(device.host_path for device in options.devices):
        yield "host path must be set in configuration for devices"
    for mount in options.mounts:
        yield from _mount_problems(mount)
    if options.cgroupns not in ("", "private", "host"):
        yield f'cgroupns must be "private" or "host", got "{options.cgroupns}"'
    yield from _text_problems(options)
    yield from _address_problems(options)


def _text_problems(options: DockerOptions) -> Iterator[str]:
    """Of options that have a form of their own."""
    for name, text in options.ulimit.items():
        if not _LIMIT.fullmatch(text):
            yield f'Malformed ulimit specification {name}: "{text}"'
    for text in options.volumes:
        if len(text.split(":")) not in (2, 3):
            yield f'invalid docker volume "{text}": not <src>:<destination> format'
    for text in options.extra_hosts:
        if not _EXTRA_HOST.fullmatch(text):
            yield f'invalid extra host: "{text}" is not <name>:<ip>'


def _mount_problems(mount: EngineMount) -> list[str]:
    if mount.type not in ("bind", "tmpfs", "volume"):
        return [f'mount: type "{mount.type}" is none of bind, tmpfs, volume']
    if mount.type == "tmpfs" and mount.source:
        return ['invalid source, must be "" for tmpfs']
    if not mount.target.startswith("/"):
        return [f'mount: target "{mount.target}" is not an absolute path']
    return []


def _address_problems(options: DockerOptions) -> Iterator[str]:
    for version, text in ((4, options.ipv4_address), (6, options.ipv6_address)):
        if text and not _is_address(text, version):
            yield f'ipv{version}_address: "{text}" is no such address'
    if (options.ipv4_address or options.ipv6_address) and not options.network_mode:
        yield "an address of its own needs network_mode: a network that the engine has"


def _is_address(text: str, version: int) -> bool:
    try:
        return ip_address(text).version == version
    except ValueError:
        return False
