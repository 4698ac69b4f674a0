"""The container of one task in the engine's own words (node-agent-2.md 5.6).

In: options, the launch, what the owner allows. Out: the body of the engine's `containers/create`,
or StartError for what this node does not allow. Asks nobody.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cluster.agent.drivers.docker.options import DockerOptions, EngineDevice, EngineMount, ulimits
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import Launch, Mount, StartError, TaskDirectories

#: On every container that is a task, as the reference labels them.
ALLOC_LABEL = "com.hashicorp.nomad.alloc_id"
#: Ours: the agent a container belongs to, and the run of the task that it is.
OWNER_LABEL = "bivouac.node_id"
RUN_LABEL = "bivouac.task_id"
#: On those that hold the network of an allocation for its tasks.
PAUSE_LABEL = "bivouac.pause"
MEGABYTE = 1024 * 1024
#: By it a task knows which cards are its own, and the runtime which to show it.
NVIDIA_VARIABLE, NVIDIA_RUNTIME = "NVIDIA_VISIBLE_DEVICES", "nvidia"
#: The engine keeps this much of each stream, for whoever reads after a pause.
_ENGINE_LOG = {"Type": "json-file", "Config": {"max-file": "2", "max-size": "2m"}}
#: As the kernel takes shares; fewer are refused.
_FEWEST_SHARES = 2


def container_name(launch: Launch) -> str:
    """`<task>-<allocation id>`, as people look for it."""
    alloc_id = launch.task_id.partition("/")[0]
    return f"{launch.task_name}-{alloc_id}".replace("/", "_")


def joins_group(options: DockerOptions, launch: Launch) -> bool:
    """Whether it is to be in the network of its group, which the task may decline."""
    return bool(launch.network.namespace) and not options.network_mode


def name_files(options: DockerOptions, launch: Launch) -> list[tuple[Path, str]]:
    """Files that stand for those of a container in the network of its group, and which."""
    if not joins_group(options, launch):
        return []
    assert launch.directories is not None, "containers have a disk"
    private = launch.directories.private
    files = [(private / f"{launch.task_name}.hosts", "/etc/hosts")]
    own = (options.dns_servers, options.dns_search_domains, options.dns_options)
    if launch.network.dns or any(own):
        files.append((private / f"{launch.task_name}.resolv", "/etc/resolv.conf"))
    return files


def container_body(
    options: DockerOptions,
    launch: Launch,
    settings: DockerSettings,
    image: str,
    owner: str,
    network: str = "",
) -> dict[str, Any]:
    """What the engine is to create of that image, in that network of its group's.

    Raises StartError.
    """
    assert launch.directories is not None, "containers have a disk"
    problems = [*_forbidden(options, settings), *_not_offered(options, settings)]
    if problems := [*problems, *_of_group_alone(options, launch)]:
        raise StartError("; ".join(problems), invalid_config=True)
    command = ([options.command] if options.command else []) + list(options.args)
    published = _published(options, launch)
    body: dict[str, Any] = {
        "Image": image,
        "Env": [f"{name}={value}" for name, value in sorted(launch.env.items())],
        "Labels": {
            **options.labels,
            ALLOC_LABEL: launch.task_id.partition("/")[0],
            OWNER_LABEL: owner,
            RUN_LABEL: launch.task_id,
        },
        "ExposedPorts": {port: {} for port in published},
        "HostConfig": {
            **_limits(options, launch, settings),
            **_rights(options),
            **_network(options, launch, network),
            **_shown(options, launch, settings),
            "PortBindings": published,
            "LogConfig": _ENGINE_LOG,
            **_run_by(options, launch),
        },
    }
    if options.network_mode and (endpoint := _endpoint(options)):
        body["NetworkingConfig"] = {"EndpointsConfig": {options.network_mode: endpoint}}
    body |= _given(
        {
            "Cmd": command,
            "Entrypoint": list(options.entrypoint),
            "User": launch.image_user,
            "WorkingDir": options.work_dir,
            "Hostname": options.hostname,
            "MacAddress": options.mac_address,
        }
    )
    if options.healthchecks.disable:
        body["Healthcheck"] = {"Test": ["NONE"]}
    return body


def _shown(options: DockerOptions, launch: Launch, settings: DockerSettings) -> dict[str, object]:
    """What it sees of the host."""
    assert launch.directories is not None, "containers have a disk"
    return {
        "Binds": [
            *_binds(options, launch.directories, settings),
            *(f"{file}:{seen}:ro" for file, seen in name_files(options, launch)),
            *(_labelled(mount) for mount in launch.mounts if mount.selinux_label),
        ],
        "Mounts": [
            *(_mount(mount, launch.directories, settings) for mount in options.mounts),
            *(_volume_mount(mount) for mount in launch.mounts if not mount.selinux_label),
        ],
        "Devices": [
            *(_device(device) for device in options.devices),
            *map(_granted_device, _files_to_hand(launch)),
        ],
    }


def _files_to_hand(launch: Launch) -> list[str]:
    """Granted devices that the engine's runtime does not hand over by itself."""
    is_by_runtime = NVIDIA_VARIABLE in launch.device_env
    return [
        file for file in launch.devices if not (is_by_runtime and file.startswith("/dev/nvidia"))
    ]


def _granted_device(file: str) -> dict[str, str]:
    return {"PathOnHost": file, "PathInContainer": file, "CgroupPermissions": "rwm"}


def _run_by(options: DockerOptions, launch: Launch) -> dict[str, object]:
    """What the engine runs it by: cards of NVIDIA need the runtime that brings their libraries."""
    needed = NVIDIA_RUNTIME if NVIDIA_VARIABLE in launch.device_env else ""
    named = {
        "CgroupnsMode": options.cgroupns,
        "Runtime": options.runtime or needed,
        "StorageOpt": options.storage_opt,
        "VolumeDriver": options.volume_driver,
    }
    return {"Init": options.init, **_given(named)}


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what the engine is to decide."""
    return {name: value for name, value in fields.items() if value}


def _endpoint(options: DockerOptions) -> dict[str, Any]:
    """Names and addresses of the container in the network it is to be in."""
    addresses = _given({"IPv4Address": options.ipv4_address, "IPv6Address": options.ipv6_address})
    return _given({"Aliases": list(options.network_aliases), "IPAMConfig": addresses})


def _forbidden(options: DockerOptions, settings: DockerSettings) -> Iterable[str]:
    if options.privileged and not settings.privileged:
        yield "Docker privileged mode is disabled on this node"
    for name in ("pid_mode", "ipc_mode", "uts_mode", "userns_mode"):
        if getattr(options, name) and not settings.privileged:
            yield f'cannot apply "{name}" configuration: it asks for privileged mode'
    if settings.pids_limit and options.pids_limit > settings.pids_limit:
        yield f"pids_limit cannot be greater than the node's pids_limit: {settings.pids_limit}"
    wanted = {_capability(name) for name in options.cap_add}
    allowed = {_capability(name) for name in settings.capabilities}
    beyond = sorted(wanted - allowed) if "all" not in allowed else []
    if beyond:
        yield f"driver does not allow the following capabilities: {', '.join(beyond)}"
    if not settings.volumes:
        devices = ", ".join(f'"{device.host_path}"' for device in options.devices)
        if devices:
            yield f"volumes are not enabled; cannot hand over devices: {devices}"


def _not_offered(options: DockerOptions, settings: DockerSettings) -> Iterable[str]:
    """Of what a job may name, what the owner of this node does not let it have."""
    if options.cgroupns == "host" and not settings.privileged:
        yield 'cannot apply "cgroupns" configuration: it asks for privileged mode'
    if options.runtime and options.runtime not in settings.runtimes:
        yield f'requested runtime "{options.runtime}" is not allowed'
    if options.volume_driver and not settings.volumes:
        yield f'volumes are not enabled; cannot use volume driver "{options.volume_driver}"'


def _of_group_alone(options: DockerOptions, launch: Launch) -> Iterable[str]:
    """What containers that share a network cannot have each for itself."""
    if not joins_group(options, launch):
        return
    for name in ("hostname", "mac_address", "network_aliases"):
        if getattr(options, name):
            yield f'"{name}" cannot be set by a task in the network of its group'
    if any(text.endswith(":host-gateway") for text in options.extra_hosts):
        yield 'extra_hosts: "host-gateway" has no meaning in the network of a group'


def _capability(name: str) -> str:
    return name.lower().removeprefix("cap_")


def _limits(options: DockerOptions, launch: Launch, settings: DockerSettings) -> dict[str, object]:
    """Memory without swap, shares of the processor, numbers of processes."""
    limits: dict[str, object] = {
        "ShmSize": options.shm_size,
        "Ulimits": ulimits(options),
        "Sysctls": options.sysctl,
        "OomScoreAdj": options.oom_score_adj,
        # Cores that were granted stand in its place, further below.
        "CpusetCpus": options.cpuset_cpus,
    }
    if pids := options.pids_limit or settings.pids_limit:
        limits["PidsLimit"] = pids
    granted = launch.limits
    if granted is None:
        return limits
    most = max(options.memory_hard_limit, granted.memory_max_mb)
    if 0 < most < granted.memory_mb:
        text = f"task memory requirements exceed driver hard limit of {most} MB"
        raise StartError(text, invalid_config=True)
    if granted.memory_max_mb >= 0 and granted.memory_mb:
        limits["Memory"] = limits["MemorySwap"] = (most or granted.memory_mb) * MEGABYTE
    if most or granted.memory_max_mb < 0:
        limits["MemoryReservation"] = granted.memory_mb * MEGABYTE
    if granted.cpu_mhz:
        limits["CpuShares"] = max(_FEWEST_SHARES, granted.cpu_mhz)
    if granted.cores:
        limits["CpusetCpus"] = ",".join(map(str, granted.cores))
    if options.cpu_hard_limit and granted.core_mhz:
        limits["CpuPeriod"] = options.cpu_cfs_period
        cores = granted.cpu_mhz / granted.core_mhz
        limits["CpuQuota"] = max(1000, round(cores * options.cpu_cfs_period))
    return limits


def _rights(options: DockerOptions) -> dict[str, object]:
    return {
        "Privileged": options.privileged,
        "CapAdd": list(options.cap_add),
        "CapDrop": list(options.cap_drop),
        "ReadonlyRootfs": options.readonly_rootfs,
        "SecurityOpt": list(options.security_opt),
        "GroupAdd": list(options.group_add),
        "PidMode": options.pid_mode,
        "IpcMode": options.ipc_mode,
        "UTSMode": options.uts_mode,
        "UsernsMode": options.userns_mode,
    }


def _network(options: DockerOptions, launch: Launch, network: str) -> dict[str, object]:
    """What the group says of who resolves names counts before what the task says."""
    if joins_group(options, launch):
        # Names are in files: the engine takes no word on them for a network it does not make.
        return {"NetworkMode": network}
    own = (options.dns_servers, options.dns_search_domains, options.dns_options)
    of_group = launch.network.dns
    if of_group is not None:
        own = (of_group.servers, of_group.searches, of_group.options)
    servers, searches, further = own
    return {
        "NetworkMode": options.network_mode or "default",
        "Dns": list(servers),
        "DnsSearch": list(searches),
        "DnsOptions": list(further),
        "ExtraHosts": list(options.extra_hosts),
    }


def _published(options: DockerOptions, launch: Launch) -> dict[str, list[dict[str, str]]]:
    """Ports of the container to where they are reached, tcp and udp both."""
    if options.network_mode.startswith("container:"):
        return {}
    is_mapped = joins_group(options, launch)
    by_label = {port.label: port for port in launch.ports}
    published: dict[str, list[dict[str, str]]] = {}
    for label in options.ports:
        port = by_label.get(label)
        if port is None:
            raise StartError(f'Port "{label}" not found, check network block', invalid_config=True)
        if is_mapped:
            # With every port of its group, and not by the engine.
            continue
        inside = port.to if port.to > 0 else port.value
        place = {"HostIp": port.host_ip, "HostPort": str(port.value)}
        for protocol in ("tcp", "udp"):
            published.setdefault(f"{inside}/{protocol}", []).append(place)
    return published


def _binds(
    options: DockerOptions, directories: TaskDirectories, settings: DockerSettings
) -> list[str]:
    own = [
        f"{directories.shared}:/alloc",
        f"{directories.local}:/local",
        f"{directories.secrets}:/secrets",
        f"{directories.logs}:/alloc/logs:ro",
    ]
    return own + [_bind(text, directories, settings) for text in options.volumes]


def _bind(text: str, directories: TaskDirectories, settings: DockerSettings) -> str:
    source, target, *mode = text.split(":")
    if not source.startswith("/") and "/" not in source and source not in (".", ".."):
        # A name: a volume that the engine keeps.
        if not settings.volumes:
            raise StartError(f'volumes are not enabled; cannot mount volume: "{source}"')
        return text
    place = host_path(source, directories, settings)
    return ":".join([str(place), target, *mode])


def host_path(source: str, directories: TaskDirectories, settings: DockerSettings) -> Path:
    """A path of the host that may be shown, links followed. Raises StartError."""
    place = (directories.root / source).resolve()
    # What the task calls its own directories is not what the host calls them.
    for seen, real in (
        ("/alloc", directories.shared),
        ("/local", directories.local),
        ("/secrets", directories.secrets),
    ):
        if source == seen or source.startswith(f"{seen}/"):
            place = (real / source.removeprefix(seen).lstrip("/")).resolve()
    bounds = directories.root.parent.resolve()
    private = directories.private.resolve()
    inside = place.is_relative_to(bounds) and not place.is_relative_to(private)
    if not inside and not settings.volumes:
        raise StartError(f'volumes are not enabled; cannot mount host path: "{source}"')
    return place


def _mount(
    mount: EngineMount, directories: TaskDirectories, settings: DockerSettings
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "Type": mount.type,
        "Target": mount.target,
        "ReadOnly": mount.readonly,
    }
    if mount.type == "bind":
        body["Source"] = str(host_path(mount.source, directories, settings))
        if mount.bind_options.propagation:
            body["BindOptions"] = {"Propagation": mount.bind_options.propagation}
    elif mount.type == "tmpfs":
        options = mount.tmpfs_options
        body["TmpfsOptions"] = {"SizeBytes": options.size, "Mode": options.mode or 0o1777}
    else:
        if not settings.volumes:
            raise StartError(f'volumes are not enabled; cannot mount volume: "{mount.source}"')
        body["Source"] = mount.source
        kept = mount.volume_options
        body["VolumeOptions"] = {"NoCopy": kept.no_copy, "Labels": kept.labels}
    return body


def _volume_mount(mount: Mount) -> dict[str, Any]:
    """A volume of the node, which its owner declared and the job asked for by name."""
    return {
        "Type": "bind",
        "Source": str(mount.source),
        "Target": _target(mount),
        "ReadOnly": mount.read_only,
        "BindOptions": {"Propagation": _propagation(mount)},
    }


def _labelled(mount: Mount) -> str:
    """The same in the older form: in that one alone the engine is told how to label its files."""
    access = "ro" if mount.read_only else "rw"
    how = f"{access},{_propagation(mount)},{mount.selinux_label}"
    return f"{mount.source}:{_target(mount)}:{how}"


def _target(mount: Mount) -> str:
    return mount.target if mount.target.startswith("/") else f"/{mount.target}"


def _propagation(mount: Mount) -> str:
    kinds = {"host-to-task": "rslave", "bidirectional": "rshared"}
    return kinds.get(mount.propagation, "rprivate")


def _device(device: EngineDevice) -> dict[str, str]:
    return {
        "PathOnHost": device.host_path,
        "PathInContainer": device.container_path or device.host_path,
        "CgroupPermissions": device.cgroup_permissions,
    }
