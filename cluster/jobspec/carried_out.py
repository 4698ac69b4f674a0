"""What becomes of each thing a job can ask for: the one table of what is built and what is not.

In: nothing. Out: a row for every field of every struct of a job; those for options of drivers are
in `driver_options`. `left_out` finds what a job asks for in vain; warnings, the set-up of tasks on
a node and `docs/compatibility.md` all come from here. Whether some node has what a job needs is
another question, the scheduler's.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from cluster.jobspec.artifact_sources import SCHEMES, is_fetched
from scheduler.structs.constraint import Affinity, Constraint, Spread, SpreadTarget
from scheduler.structs.device import RequestedDevice
from scheduler.structs.job import Job, JobLink, JobUI, ParameterizedJob, Periodic, VersionTag
from scheduler.structs.network import CNIConfig, DNSConfig, NetworkResource, Port
from scheduler.structs.policies import (
    DisconnectStrategy,
    MigrateStrategy,
    ReschedulePolicy,
    RestartPolicy,
    UpdateStrategy,
)
from scheduler.structs.resources import NUMA, Resources, TaskLifecycle
from scheduler.structs.service import Check, CheckRestart, Service
from scheduler.structs.task_group import (
    Action,
    Artifact,
    ChangeScript,
    DispatchPayload,
    EphemeralDisk,
    Identity,
    LogConfig,
    ScalingPolicy,
    SecretAsk,
    Task,
    TaskGroup,
    Template,
    TemplateWait,
    VolumeAsk,
    VolumeMount,
)
from scheduler.structs.wire import Wire


class Fate(StrEnum):
    """What becomes of a thing that a job asks for."""

    WORKS = "works"
    #: Taken and kept; planning and registering say that nothing comes of it.
    WARNS = "warns"
    #: Warned of, and a node that is given it all the same fails the task before it starts.
    FAILS = "fails"
    REFUSED = "refused"


def is_given(value: object) -> bool:
    """Whether a field says anything at all."""
    return bool(value)


def is_never_told(_value: object) -> bool:
    """For what goes with its block, or what another sentence tells of already."""
    return False


class Row(NamedTuple):
    """What becomes of one field, or of one option of a driver."""

    fate: Fate
    #: The reason when it is not carried out; a remark when it is.
    why: str = ""
    #: Whether a value asks for anything.
    is_asked: Callable[[Any], bool] = is_given
    #: Whether the scheduler already filters every node that does not offer it.
    is_filtered: Callable[[Any], bool] = is_never_told


def rows(names: str, fate: Fate = Fate.WORKS, why: str = "") -> dict[str, Row]:
    """The same row for several fields or options."""
    asked = is_given if fate is Fate.WORKS else is_never_told
    return {name: Row(fate, why, asked) for name in names.split()}


def _goes_with(block: str, names: str, fate: Fate = Fate.FAILS) -> dict[str, Row]:
    """Fields of a block that is not carried out as a whole: the block is told, not they."""
    return rows(names, fate, f"goes with `{block}`")


NO_CLAIMS = "the claims of a namespace are not signed in yet"
NO_VAULT = "there is no connection to Vault"
NO_CONSUL = "there is no connection to Consul"
NO_CSI = "only volumes of type `host` are there: plugins for others (CSI) are not run"
NO_DRIVER_NETWORK = "no driver here tells a network of its own"
NO_SCALING = "kept with the job; nothing here resizes tasks by it"
BY_GROUP = "held to by a control group where the agent is root and the kernel has them"
ONLY_OWN_SECRETS = "only secrets of the provider `nomad` are fetched"
NO_MESH = "there is no service mesh"
_OF_CONSUL = "of services in Consul, which there is no connection to"
_NOT_SENT = "kept with the job; the provider `nomad` stores none of it"
_OF_RECORD = "settled by the record, whatever a request says"
OLD_FORM = "it is dropped, as the reference does; the disconnect block says it now"


def _is_plugin(provider: str) -> bool:
    return provider != "nomad"


def _is_consul(provider: str) -> bool:
    return provider != "nomad"


def _is_of_driver(mode: str) -> bool:
    return mode == "driver"


def _asks_for_csi(volumes: Mapping[str, VolumeAsk]) -> bool:
    return any(volume.type != "host" for volume in volumes.values())


#: Drivers that leave a task in the files of its host, where nothing can be shown elsewhere.
WITHOUT_MOUNTS = frozenset({"raw_exec", "mock_driver"})
NO_MOUNTS = "the driver {} leaves the task in the files of its host and shows no volume elsewhere"
#: Drivers whose tasks can have mounts of their own, which no other sees.
INWARD_MOUNTS = frozenset({"exec"})
NO_WAY_OUT = "a task of the driver {} passes no mounts of its own on to the host"
#: Drivers whose tasks have the host's resolver and the host's name, whatever the job says.
WITHOUT_NAMES = frozenset({"raw_exec"})
NO_RESOLVER = "tasks of the driver {} have the resolver of their host"
NO_HOSTNAME = "tasks of the driver {} have the name of their host"
#: Every field of every struct that a job is made of.
TABLE: Mapping[type[Wire], Mapping[str, Row]] = {
    Job: {
        **rows("region namespace id name type priority all_at_once datacenters node_pool"),
        **rows("constraints affinities spreads task_groups update meta periodic"),
        **rows("parameterized_job"),
        "multiregion": Row(Fate.REFUSED, "there is one region; without regions it says nothing"),
        "payload": Row(Fate.REFUSED, "only a dispatch may bring one", is_never_told),
        "dispatch_idempotency_token": Row(Fate.WORKS, "only that of a dispatch counts"),
        "consul_namespace": Row(Fate.WARNS, NO_CONSUL),
        "vault_namespace": Row(Fate.WARNS, NO_VAULT),
        "ui": Row(Fate.WARNS, "its description and links are kept, but no page shows them yet"),
        **rows("stop parent_id dispatched nomad_token_id status", why=_OF_RECORD),
        **rows("status_description stable version submit_time create_index", why=_OF_RECORD),
        **rows("modify_index job_modify_index version_tag", why=_OF_RECORD),
    },
    Periodic: rows("enabled spec specs spec_type prohibit_overlap time_zone"),
    ParameterizedJob: rows("payload meta_required meta_optional"),
    JobUI: _goes_with("ui", "description links", Fate.WARNS),
    JobLink: _goes_with("ui", "label url", Fate.WARNS),
    VersionTag: rows("name description tagged_time", why=_OF_RECORD),
    Constraint: rows("l_target r_target operand"),
    Affinity: rows("l_target r_target operand weight"),
    Spread: rows("attribute weight spread_target"),
    SpreadTarget: rows("value percent"),
    UpdateStrategy: {
        **rows("max_parallel min_healthy_time healthy_deadline progress_deadline auto_revert"),
        **rows("auto_promote canary"),
        "health_check": Row(
            Fate.WORKS,
            "`checks` are those of services of the provider `nomad`",
        ),
        **rows("stagger strategy", why="of system jobs; `strategy` is Bivouac's own"),
    },
    MigrateStrategy: rows("max_parallel health_check min_healthy_time healthy_deadline"),
    RestartPolicy: {
        **rows("attempts interval delay mode"),
        **rows("render_templates"),
    },
    ReschedulePolicy: rows("attempts interval delay delay_function max_delay unlimited"),
    DisconnectStrategy: rows("lost_after stop_on_client_after replace reconcile"),
    EphemeralDisk: {
        **rows("sticky"),
        **rows("size_mb", why="counted when placing; nothing limits what is written"),
        **rows("migrate", why="data comes from another node while that one answers"),
    },
    TaskGroup: {
        **rows("name count update migrate constraints affinities spreads restart_policy"),
        **rows("disconnect tasks ephemeral_disk meta reschedule_policy networks"),
        **rows("shutdown_delay max_run_duration"),
        **rows("scaling", why="bounds for whoever scales it; an autoscaler is a program beside"),
        "consul": Row(Fate.FAILS, NO_CONSUL),
        **rows("services"),
        "volumes": Row(Fate.FAILS, NO_CSI, _asks_for_csi, is_filtered=is_given),
        **rows("stop_after_client_disconnect max_client_disconnect", Fate.WARNS, OLD_FORM),
        **rows("prevent_reschedule_on_lost", Fate.WARNS, OLD_FORM),
    },
    ScalingPolicy: {
        **rows("type min max"),
        **rows("enabled policy", why="for an autoscaler; nothing here acts by it"),
        **rows("id target create_index modify_index", why=_OF_RECORD),
    },
    NetworkResource: {
        "mode": Row(
            Fate.WORKS,
            "`bridge`, `cni/…` and `none`: the agent must be root, the first two need CNI plugins,"
            " and a node says whether it offers them",
        ),
        "hostname": Row(Fate.WORKS, "for `exec` and `docker`, with a network of the group's own"),
        "dns": Row(Fate.WORKS, "not for `raw_exec`, whose tasks have the resolver of the host"),
        "cni": Row(Fate.WORKS, "arguments for the plugins"),
        **rows("reserved_ports dynamic_ports"),
        **rows("mbits", Fate.WARNS, "deprecated, and warned of as the reference does"),
        **rows("device cidr ip", why="of networks that are granted"),
    },
    Port: rows("label value to host_network ignore_collision"),
    DNSConfig: rows("servers searches options"),
    CNIConfig: rows("args"),
    VolumeAsk: {
        **rows("name type source read_only access_mode attachment_mode per_alloc"),
        "sticky": Row(Fate.WORKS, "of volumes made on demand; no static one can be claimed"),
        "mount_options": Row(Fate.FAILS, NO_CSI, is_never_told),
    },
    Service: {
        **rows("name task_name port_label address tags canary_tags checks on_update"),
        "provider": Row(Fate.FAILS, NO_CONSUL, _is_consul, _is_consul),
        "address_mode": Row(
            Fate.WARNS,
            f"{NO_DRIVER_NETWORK}, so services with the mode `driver` fail; the others work",
            _is_of_driver,
        ),
        **rows("namespace cluster", fate=Fate.FAILS, why=_OF_CONSUL),
        "connect": Row(Fate.WARNS, NO_MESH),
        "identity": Row(Fate.WARNS, "it is for Consul, which there is no connection to"),
        "kind": Row(Fate.WARNS, NO_MESH),
        **dict.fromkeys(
            ("meta", "canary_meta", "weights", "tagged_addresses", "enable_tag_override"),
            Row(Fate.WARNS, _NOT_SENT),
        ),
    },
    Check: {
        **rows("name type path protocol port_label address_mode interval timeout"),
        **rows("initial_status tls_skip_verify method header check_restart task_name body"),
        **rows("on_update notes"),
        **rows(
            "command args expose tls_server_name grpc_service grpc_use_tls",
            fate=Fate.FAILS,
            why=_OF_CONSUL,
        ),
        **rows("success_before_passing failures_before_critical", fate=Fate.FAILS, why=_OF_CONSUL),
        **rows("failures_before_warning", fate=Fate.FAILS, why=_OF_CONSUL),
    },
    CheckRestart: {
        **rows("limit grace"),
        **rows("ignore_warnings", fate=Fate.FAILS, why=_OF_CONSUL),
    },
    Task: {
        **rows("name driver config env constraints affinities resources restart_policy"),
        **rows("dispatch_payload lifecycle meta kill_timeout log_config leader shutdown_delay"),
        **rows("kill_signal"),
        **rows("user", why="the agent must run as root; `mock_driver` starts no process"),
        "identity": Row(Fate.WORKS, "the default one of every task; `env` and `file` use it"),
        **rows("identities", why="signed for each start, and again before they end"),
        **rows("services"),
        "vault": Row(Fate.FAILS, NO_VAULT, is_filtered=is_given),
        "consul": Row(Fate.FAILS, NO_CONSUL),
        **rows("secrets", why="`${secret.<name>.<key>}` of variables, before the first start"),
        "artifacts": Row(
            Fate.WORKS,
            "sums, archives, headers and modes as the reference; see the rulings of 2026-11-22",
        ),
        "templates": Row(
            Fate.WORKS, "Go's language with sprig; functions of Consul and Vault fail by name"
        ),
        "volume_mounts": Row(Fate.WORKS, "`raw_exec` and `mock_driver` cannot: they fail"),
        "csi_plugin_config": Row(Fate.FAILS, "plugins for volumes are not run yet"),
        "scaling_policies": Row(Fate.WARNS, NO_SCALING),
        **rows("actions"),
        "kind": Row(Fate.WARNS, NO_MESH),
        "schedule": Row(Fate.REFUSED, "the reference takes it in its Enterprise edition only"),
    },
    Identity: {
        **rows("env file filepath name audience change_mode change_signal ttl"),
        "service_name": Row(Fate.FAILS, _OF_CONSUL),
        "extra_claims": Row(Fate.FAILS, NO_CLAIMS),
    },
    SecretAsk: {
        **rows("name path"),
        "provider": Row(Fate.FAILS, ONLY_OWN_SECRETS, _is_plugin, _is_plugin),
        **rows("config", why="`namespace`"),
        **rows("env", Fate.FAILS, "goes with providers that are not here"),
    },
    Template: {
        **rows("source_path dest_path embedded_tmpl change_mode change_signal once splay"),
        **rows("perms uid gid left_delim right_delim envvars wait err_missing_key"),
        **rows("change_script", why="runs inside the task, where the driver can do that"),
        **rows("vault_grace", why="says nothing any more, in the reference either"),
    },
    ChangeScript: rows("command args timeout fail_on_error run_on_first_render"),
    TemplateWait: rows("min max"),
    Artifact: {
        "getter_source": Row(
            Fate.FAILS,
            f"only sources of {', '.join(SCHEMES)} are fetched",
            lambda source: bool(source) and not is_fetched(source),
        ),
        **rows("getter_options getter_headers getter_mode getter_insecure relative_dest chown"),
    },
    VolumeMount: {
        **rows("volume destination read_only"),
        "propagation_mode": Row(Fate.WORKS, "`bidirectional` for `docker` alone"),
        "selinux_label": Row(Fate.WORKS, "given to the engine of `docker`; no other has labels"),
    },
    Action: rows("name command args"),
    Resources: {
        **rows("cpu memory_mb memory_max_mb", why=BY_GROUP),
        "cores": Row(Fate.WORKS, f"{BY_GROUP}; containers of other tasks are not kept off them"),
        "secrets_mb": Row(
            Fate.WORKS,
            "a directory in memory of that size; on the disk where the agent is not root",
        ),
        "networks": Row(
            Fate.WORKS, "the host's ports; `docker` publishes those of a group network alone"
        ),
        "devices": Row(Fate.WORKS, "graphics cards and accelerators; NVIDIA's by their library"),
        "numa": Row(Fate.REFUSED, "the reference takes it in its Enterprise edition only"),
        **rows("iops", Fate.WARNS, "deprecated, and warned of as the reference does"),
        **rows("disk_mb", why="the group's `ephemeral_disk` counts"),
    },
    NUMA: _goes_with("numa", "affinity devices", Fate.REFUSED),
    RequestedDevice: rows("name count constraints affinities"),
    TaskLifecycle: rows("hook sidecar"),
    LogConfig: rows("max_files max_file_size_mb disabled"),
    DispatchPayload: rows("file"),
}

#: Fields that job files call otherwise.
_WORDS = {
    "affinities": "affinity", "constraints": "constraint", "csi_plugin_config": "csi_plugin",
    "identities": "identity", "log_config": "logs", "parameterized_job": "parameterized",
    "policies": "policy", "reschedule_policy": "reschedule", "restart_policy": "restart",
    "scaling_policies": "scaling", "task_groups": "group", "memory_mb": "memory",
    "memory_max_mb": "memory_max", "size_mb": "size", "max_file_size_mb": "max_file_size",
    "spread_target": "target", "l_target": "attribute", "r_target": "value",
    "operand": "operator", "reserved_ports": "port (static)", "dynamic_ports": "port",
    "secrets_mb": "secrets", "volume_mounts": "volume_mount", "getter_source": "source",
    "getter_options": "options", "getter_headers": "headers", "getter_mode": "mode",
    "getter_insecure": "insecure", "relative_dest": "destination", "source_path": "source",
    "dest_path": "destination", "embedded_tmpl": "data", "envvars": "env",
    "left_delim": "left_delimiter", "right_delim": "right_delimiter",
    "err_missing_key": "error_on_missing_key",
    **{f"{word}s": word for word in ("action", "artifact", "check", "device", "link", "network",
       "secret", "service", "spread", "task", "template", "volume")},
}  # fmt: skip

#: The blocks that the structs stand for in a job file.
BLOCKS: Mapping[type[Wire], str] = {
    Job: "job", Periodic: "periodic", ParameterizedJob: "parameterized", JobUI: "ui",
    JobLink: "link", VersionTag: "version_tag", Constraint: "constraint", Affinity: "affinity",
    Spread: "spread", SpreadTarget: "target", UpdateStrategy: "update",
    MigrateStrategy: "migrate", RestartPolicy: "restart", ReschedulePolicy: "reschedule",
    DisconnectStrategy: "disconnect", EphemeralDisk: "ephemeral_disk", TaskGroup: "group",
    ScalingPolicy: "scaling", NetworkResource: "network", Port: "port", DNSConfig: "dns",
    CNIConfig: "cni", VolumeAsk: "volume", Service: "service", Check: "check",
    CheckRestart: "check_restart", Task: "task", Identity: "identity", SecretAsk: "secret",
    Template: "template", ChangeScript: "change_script", TemplateWait: "wait",
    Artifact: "artifact", VolumeMount: "volume_mount", Action: "action", Resources: "resources",
    NUMA: "numa", RequestedDevice: "device", TaskLifecycle: "lifecycle", LogConfig: "logs",
    DispatchPayload: "dispatch_payload",
}  # fmt: skip
#: What lies right in these is called by its own name alone.
_OUTER = (Job, TaskGroup, Task)


def word_of(field: str) -> str:
    """How a job file calls a field."""
    return _WORDS.get(field, field)


def name_in(kind: type[Wire], field: str) -> str:
    """What a field is called where its block is not seen: `template`, `network.mode`."""
    word = word_of(field)
    return word if kind in _OUTER else f"{BLOCKS[kind]}.{word}"
