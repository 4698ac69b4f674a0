"""What a job change means for one allocation: nothing, a change in place, or a replacement.

In: two versions of a group. Out: whether tasks must be started anew (control-plane.md 1.11,
placement.md 12). Whether a changed allocation still fits its node is the caller's question.
"""

from collections.abc import Mapping

import msgspec

from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.service import Service
from scheduler.structs.task_group import Task, TaskGroup


def must_be_replaced(old_job: Job, new_job: Job, group_name: str) -> bool:
    """Whether the tasks of a group cannot take on the new version while they run."""
    old, new = old_job.task_group(group_name), new_job.task_group(group_name)
    if old is None or new is None:
        return True
    return (
        len(old.tasks) != len(new.tasks)
        or old.ephemeral_disk != new.ephemeral_disk
        or _networks(old.networks) != _networks(new.networks)
        or _consul_differs(old.consul, new.consul)
        or _connect_differs(old.services, new.services)
        or old.volumes != new.volumes
        or _renders_again(old.restart_policy) != _renders_again(new.restart_policy)
        or any(_task_differs(old, new, task, old_job, new_job) for task in new.tasks)
    )


def only_run_limit_differs(old: TaskGroup, new: TaskGroup) -> bool:
    """Whether nothing but the longest time a group may run has changed."""
    if old.max_run_duration == new.max_run_duration:
        return False
    return old == msgspec.structs.replace(new, max_run_duration=old.max_run_duration)


def _task_differs(
    old_group: TaskGroup, new_group: TaskGroup, new: Task, old_job: Job, new_job: Job
) -> bool:
    old = old_group.task(new.name)
    if old is None:
        return True
    return (
        _fixed_parts(old) != _fixed_parts(new)
        or _networks(old.resources.networks) != _networks(new.resources.networks)
        or _consul_differs(old.consul, new.consul)
        or _connect_differs(old.services, new.services)
        or _renders_again(old.restart_policy) != _renders_again(new.restart_policy)
        or {**old_job.meta, **old_group.meta, **old.meta}
        != {**new_job.meta, **new_group.meta, **new.meta}
    )


def _fixed_parts(task: Task) -> tuple[object, ...]:
    """What of a task cannot be changed while it runs, compared whole."""
    resources = task.resources
    return (
        task.driver,
        task.user,
        task.config,
        task.env,
        task.artifacts,
        task.vault,
        task.secrets,
        task.templates,
        task.csi_plugin_config,
        task.volume_mounts,
        task.identity,
        task.identities,
        task.log_config.disabled,
        resources.cpu,
        resources.cores,
        resources.memory_mb,
        resources.memory_max_mb,
        resources.devices,
        resources.numa,
        resources.secrets_mb,
    )


def _networks(networks: tuple[NetworkResource, ...]) -> tuple[object, ...]:
    return tuple(
        (
            network.mode,
            network.mbits,
            network.hostname,
            network.dns,
            network.cni.args if network.cni else {},
            frozenset(_port(port, value=port.value) for port in network.reserved_ports),
            # The value of a dynamic port is granted, not asked for.
            frozenset(_port(port, value=0) for port in network.dynamic_ports),
        )
        for network in networks
    )


def _port(port: Port, *, value: int) -> tuple[object, ...]:
    return (port.label, port.to, port.host_network, value)


def _renders_again(policy: RestartPolicy | None) -> bool:
    return policy is not None and policy.render_templates


def _consul_differs(old: Mapping[str, object] | None, new: Mapping[str, object] | None) -> bool:
    if (old or {}).get("Namespace", "") != (new or {}).get("Namespace", ""):
        return True
    return bool(old and new) and any(
        (old or {}).get(part, "") != (new or {}).get(part, "") for part in ("Cluster", "Partition")
    )


def _connect_differs(old: tuple[Service, ...], new: tuple[Service, ...]) -> bool:
    by_name = {service.name: service for service in old}
    return any(
        _service_differs(by_name.get(service.name), service) for service in new if service.connect
    )


def _service_differs(old: Service | None, new: Service) -> bool:
    if old is None or not old.connect:
        return True
    return (
        _connect_parts(old.connect) != _connect_parts(new.connect or {})
        or old.port_label != new.port_label
        or old.cluster != new.cluster
    )


def _connect_parts(connect: Mapping[str, object]) -> tuple[object, ...]:
    sidecar = connect.get("SidecarService")
    port = sidecar.get("Port", "") if isinstance(sidecar, dict) else ""
    return (
        bool(connect.get("Native")),
        connect.get("Gateway"),
        connect.get("SidecarTask"),
        sidecar is not None,
        port,
    )
