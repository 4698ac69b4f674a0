"""A task group, the unit of placement, and the tasks in it."""

import msgspec

from scheduler.structs.constraint import Affinity, Constraint, Spread
from scheduler.structs.identity import JobKey
from scheduler.structs.network import NetworkResource
from scheduler.structs.policies import (
    DisconnectStrategy,
    MigrateStrategy,
    ReschedulePolicy,
    RestartPolicy,
    UpdateStrategy,
)
from scheduler.structs.resources import Resources, TaskLifecycle
from scheduler.structs.service import Service
from scheduler.structs.wire import Duration, Wire, wire_names


class EphemeralDisk(Wire, frozen=True):
    """The allocation directory's size, and whether its data follows a replacement."""

    sticky: bool = False
    size_mb: int = 300
    migrate: bool = False


class VolumeAsk(Wire, frozen=True):
    """A volume a group needs (`host` or `csi`). The wire calls it VolumeRequest."""

    name: str = ""
    type: str = ""
    source: str = ""
    read_only: bool = False
    sticky: bool = False
    access_mode: str = ""
    attachment_mode: str = ""
    mount_options: dict[str, object] | None = None
    per_alloc: bool = False


class VolumeMount(Wire, frozen=True, rename=wire_names(selinux_label="SELinuxLabel")):
    """Where a task sees a volume."""

    volume: str = ""
    destination: str = ""
    read_only: bool = False
    propagation_mode: str = ""
    selinux_label: str = ""


class LogConfig(Wire, frozen=True):
    """How many rotated log files a task keeps, and how large they grow."""

    max_files: int = 10
    max_file_size_mb: int = 10
    disabled: bool = False


class DispatchPayload(Wire, frozen=True):
    """The file below the task's `local/` that receives a dispatch payload."""

    file: str = ""


class ChangeScript(Wire, frozen=True):
    """A script run in the task when a template changes."""

    command: str = ""
    args: tuple[str, ...] = ()
    timeout: Duration = 5_000_000_000
    fail_on_error: bool = False
    run_on_first_render: bool = False


class TemplateWait(Wire, frozen=True):
    """How long a template waits for its data to settle."""

    min: Duration | None = None
    max: Duration | None = None


class Template(Wire, frozen=True):
    """A file rendered before the task starts, and again when its data changes."""

    source_path: str = ""
    dest_path: str = ""
    embedded_tmpl: str = ""
    change_mode: str = "restart"
    change_signal: str = ""
    change_script: ChangeScript | None = None
    once: bool = False
    splay: Duration = 5_000_000_000
    perms: str = "0644"
    uid: int | None = None
    gid: int | None = msgspec.field(default=None, name="Gid")
    left_delim: str = "{{"
    right_delim: str = "}}"
    envvars: bool = False
    vault_grace: Duration = 0
    wait: TemplateWait | None = None
    err_missing_key: bool = False


class Artifact(Wire, frozen=True):
    """Something fetched into the task directory before the task starts."""

    getter_source: str = ""
    getter_options: dict[str, str] = {}
    getter_headers: dict[str, str] = {}
    getter_mode: str = "any"
    getter_insecure: bool = False
    relative_dest: str = "local/"
    chown: bool = False


class Identity(Wire, frozen=True, rename=wire_names(ttl="TTL")):
    """What a task knows itself by towards the cluster, and how it is given that."""

    name: str = ""
    audience: tuple[str, ...] = ()
    change_mode: str = ""
    change_signal: str = ""
    env: bool = False
    file: bool = False
    filepath: str = ""
    service_name: str = ""
    ttl: Duration = 0
    extra_claims: dict[str, str] = {}


class Action(Wire, frozen=True):
    """A named command an operator may run inside a task."""

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = ()


class SecretAsk(Wire, frozen=True):
    """A secret fetched by a provider plugin of the node."""

    name: str = ""
    provider: str = ""
    path: str = ""
    config: dict[str, object] = {}
    env: dict[str, str] = {}


class ScalingPolicy(Wire, frozen=True):
    """Bounds for scaling a group (`horizontal`) or a task (`vertical_cpu`, `vertical_mem`)."""

    id: str = ""
    type: str = ""
    target: dict[str, str] = {}
    policy: dict[str, object] = {}
    min: int = 0
    max: int = 0
    enabled: bool = True
    create_index: int = 0
    modify_index: int = 0

    @property
    def job_key(self) -> JobKey:
        """The job it is a part of."""
        return JobKey(self.target.get("Namespace", ""), self.target.get("Job", ""))

    @property
    def task_group(self) -> str:
        """The name of the group it is about."""
        return self.target.get("Group", "")


class Task(Wire, frozen=True, rename=wire_names(csi_plugin_config="CSIPluginConfig")):
    """One process (or container) of an allocation."""

    name: str = ""
    driver: str = ""
    user: str = ""
    #: Driver options, as the job file gave them.
    config: dict[str, object] = {}
    env: dict[str, str] = {}
    services: tuple[Service, ...] = ()
    vault: dict[str, object] | None = None
    consul: dict[str, object] | None = None
    secrets: tuple[SecretAsk, ...] = ()
    templates: tuple[Template, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    affinities: tuple[Affinity, ...] = ()
    resources: Resources = Resources()
    restart_policy: RestartPolicy | None = None
    dispatch_payload: DispatchPayload | None = None
    lifecycle: TaskLifecycle | None = None
    meta: dict[str, str] = {}
    kill_timeout: Duration = 5_000_000_000
    log_config: LogConfig = LogConfig()
    artifacts: tuple[Artifact, ...] = ()
    leader: bool = False
    shutdown_delay: Duration = 0
    volume_mounts: tuple[VolumeMount, ...] = ()
    scaling_policies: tuple[ScalingPolicy, ...] = ()
    kill_signal: str = ""
    kind: str = ""
    csi_plugin_config: dict[str, object] | None = None
    identity: Identity | None = None
    identities: tuple[Identity, ...] = ()
    actions: tuple[Action, ...] = ()
    schedule: dict[str, object] | None = None


class TaskGroup(Wire, frozen=True):
    """Tasks that are placed together on one node, `count` times."""

    name: str = ""
    count: int = 1
    update: UpdateStrategy | None = None
    migrate: MigrateStrategy | None = None
    constraints: tuple[Constraint, ...] = ()
    affinities: tuple[Affinity, ...] = ()
    spreads: tuple[Spread, ...] = ()
    scaling: ScalingPolicy | None = None
    restart_policy: RestartPolicy | None = None
    disconnect: DisconnectStrategy | None = None
    tasks: tuple[Task, ...] = ()
    ephemeral_disk: EphemeralDisk = EphemeralDisk()
    meta: dict[str, str] = {}
    reschedule_policy: ReschedulePolicy | None = None
    networks: tuple[NetworkResource, ...] = ()
    consul: dict[str, object] | None = None
    services: tuple[Service, ...] = ()
    volumes: dict[str, VolumeAsk] = {}
    shutdown_delay: Duration | None = None
    max_run_duration: Duration | None = None
    stop_after_client_disconnect: Duration | None = None
    max_client_disconnect: Duration | None = None
    prevent_reschedule_on_lost: bool = False

    def task(self, name: str) -> Task | None:
        """The task of that name."""
        return next((task for task in self.tasks if task.name == name), None)
