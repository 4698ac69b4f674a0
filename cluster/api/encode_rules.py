"""Where the public JSON form of a struct departs from its fields, as tables.

Out: per struct type, what is omitted when zero, kept when empty, left out, constant, computed.
The shapes are those of http-api.md 5; knows nothing of how they are applied.
"""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from cluster.api.acl_hashes import method_hash, policy_hash, role_hash, rule_hash, token_hash
from cluster.jobspec.durations import duration_text
from cluster.operations.acl_auth_methods import REDACTED
from cluster.operations.node_pools import BUILT_IN_POOLS
from scheduler.structs.acl_auth import AuthConfig, AuthMethod, BindingRule
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclRole, AclToken
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import Allocation, TaskEvent, TaskState
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, Namespace
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.node import DriverInfo, LastDrain, Node, NodePool, NodeResources
from scheduler.structs.plan_annotations import PlanAnnotations
from scheduler.structs.policies import UpdateStrategy
from scheduler.structs.resources import AllocatedResources
from scheduler.structs.root_key import RootKey
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.task_group import Task
from scheduler.structs.variable import SealedVariable, VariableLock
from scheduler.structs.webhook import Webhook

#: Types whose zero-valued fields are not written (http-api.md 1.5).
OMITS_ZERO: frozenset[type] = frozenset(
    {Evaluation, Allocation, NetworkResource, Port, AllocatedPort}
)

#: Fields that are `{}` or `[]` when empty, and written even in a type that omits zero values.
KEPT_EMPTY: frozenset[tuple[type, str]] = frozenset(
    {
        (AllocMetric, "nodes_available"),
        (Allocation, "desired_transition"),
        (Allocation, "client_description"),
        (Allocation, "allocated_resources"),
        (Allocation, "metrics"),
        (AllocatedResources, "tasks"),
        (AllocatedResources, "task_lifecycles"),
        (Job, "datacenters"),
        (ServiceRegistration, "tags"),
        (Task, "config"),
        (TaskEvent, "details"),
        (LastDrain, "meta"),
        (Node, "attributes"),
        (Node, "links"),
        (Node, "meta"),
        (Node, "drivers"),
        (Node, "host_volumes"),
        (Node, "csi_controller_plugins"),
        (Node, "csi_node_plugins"),
        (Node, "events"),
        (DriverInfo, "attributes"),
        (NodeResources, "node_networks"),
        (NodeResources, "networks"),
        (PlanAnnotations, "desired_updates"),
    }
)

#: Fields that never leave the server, or that `COMPUTED` writes.
LEFT_OUT: frozenset[tuple[type, str]] = frozenset(
    {
        (Node, "secret_id"),
        (RootKey, "sealed"),
        (RootKey, "public_key"),
        (SealedVariable, "key_id"),
        (SealedVariable, "sealed"),
        (Webhook, "sealed_url"),
        (Webhook, "sealed_secret"),
        (Allocation, "job_version"),
        (Allocation, "job_create_index"),
        (Allocation, "job_type"),
        (Allocation, "job_priority"),
        (PlanAnnotations, "preempted_allocations"),
    }
)

_OLD_EVENT_FIELDS = {
    "FailsTask": False,
    "RestartReason": "",
    "SetupError": "",
    "DriverError": "",
    "ExitCode": 0,
    "Signal": 0,
    "KillTimeout": 0,
    "KillError": "",
    "KillReason": "",
    "StartDelay": 0,
    "DownloadError": "",
    "ValidationError": "",
    "DiskLimit": 0,
    "FailedSibling": "",
    "VaultError": "",
    "TaskSignalReason": "",
    "TaskSignal": "",
    "DriverMessage": "",
    "GenericSource": "",
}

#: Fields that clients know and that always hold the same here.
CONSTANTS: dict[type, dict[str, Any]] = {
    Allocation: {"SigningKeyID": ""},
    AllocMetric: {"Scores": None},
    Namespace: {
        "VaultConfiguration": None,
        "ConsulConfiguration": None,
    },
    Node: {"SecretID": "", "GCVolumesOnNodeGC": False},
    PlanAnnotations: {"PreemptedAllocs": None},
    TaskEvent: _OLD_EVENT_FIELDS,
    TaskState: {"Paused": ""},
}

#: Our own additions (http-api.md 5.8): written for those who ask for them, and only when they do
#: not hold one of these values.
ADDITIONS: dict[type, dict[str, tuple[Any, ...]]] = {
    Deployment: {"Story": ("",), "Acts": (None,)},
    Evaluation: {"Cause": (None,), "CountedEvals": (None,), "Nearest": (None,)},
    SchedulerSettings: {"NodeRejection": (None,)},
}

#: Additions told to everybody, only when they hold none of these values: an evaluation's story, by
#: which programs follow a cause, and what a caller wrote.
UNASKED_ADDITIONS: dict[type, dict[str, tuple[Any, ...]]] = {
    Evaluation: {"Story": ("",)},
    UpdateStrategy: {"Strategy": ("", "deployment", None)},
}


def _job_form(job: Job) -> dict[str, Any]:
    return {"Payload": job.payload or None}


def _namespace_form(namespace: Namespace) -> dict[str, Any]:
    """`Hash` moves with the content, so that clients can compare without reading."""
    said = (
        namespace.name,
        namespace.description,
        namespace.quota,
        namespace.capabilities,
        namespace.node_pool_configuration,
        namespace.required_extra_claims,
        namespace.optional_extra_claims,
        sorted(namespace.meta.items()),
    )
    return {"Hash": _hash_of(said)}


def _pool_form(pool: NodePool) -> dict[str, Any]:
    """As of namespaces; pools that nobody may change have none."""
    said = (
        pool.name,
        pool.description,
        sorted(pool.meta.items()),
        pool.scheduler_configuration,
        pool.node_identity_ttl,
    )
    return {"Hash": None if pool.name in BUILT_IN_POOLS else _hash_of(said)}


def _hash_of(said: tuple[Any, ...]) -> str:
    return base64.b64encode(hashlib.sha256(repr(said).encode()).digest()).decode()


def _auth_config_form(config: AuthConfig) -> dict[str, Any]:
    """Spans of time as texts; the secret is known here and told nobody."""
    leeways = {
        "ExpirationLeeway": config.expiration_leeway,
        "NotBeforeLeeway": config.not_before_leeway,
        "ClockSkewLeeway": config.clock_skew_leeway,
    }
    texts = {name: duration_text(span) if span else "" for name, span in leeways.items()}
    return texts | {"OIDCClientSecret": REDACTED if config.oidc_client_secret else ""}


def _node_form(node: Node) -> dict[str, Any]:
    return {"Drain": node.drain_strategy is not None}


def _node_resources_form(resources: NodeResources) -> dict[str, Any]:
    """Agents do not tell cores apart: all of one socket and one memory, equally fast."""
    cpu = resources.cpu
    speed = cpu.cpu_shares // max(1, cpu.total_cpu_cores)
    cores = [
        {
            "ID": number,
            "SocketID": 0,
            "NodeID": 0,
            "Grade": True,
            "Disable": False,
            "BaseSpeed": speed,
            "MaxSpeed": 0,
            "GuessSpeed": 0,
        }
        for number in range(cpu.total_cpu_cores)
    ]
    topology = {
        "Nodes": [0],
        "Distances": None,
        "Cores": cores,
        "OverrideTotalCompute": cpu.cpu_shares,
        "OverrideWitholdCompute": 0,
    }
    return {"Processors": {"Topology": topology}}


#: Fields worked out from the value; they replace written ones of the same name.
COMPUTED: dict[type, Callable[[Any], dict[str, Any]]] = {
    AclPolicy: lambda policy: {"Hash": policy_hash(policy)},
    AuthConfig: _auth_config_form,
    AuthMethod: lambda method: {
        "Hash": method_hash(method),
        "MaxTokenTTL": duration_text(method.max_token_ttl),
    },
    BindingRule: lambda rule: {"Hash": rule_hash(rule)},
    AclRole: lambda role: {"Hash": role_hash(role)},
    AclToken: lambda token: {
        "Hash": token_hash(token),
        "ExpirationTTL": duration_text(token.expiration_ttl) if token.expiration_ttl else "",
    },
    Job: _job_form,
    Namespace: _namespace_form,
    Node: _node_form,
    NodeResources: _node_resources_form,
    NodePool: _pool_form,
    VariableLock: lambda lock: {
        "TTL": duration_text(lock.ttl),
        "LockDelay": duration_text(lock.lock_delay),
    },
}
