"""The schemas of fields that `encode_rules.COMPUTED` works out: no struct declares them.

A test holds both tables to the same types, and the fields to what is written.
"""

from typing import Any

from scheduler.structs.acl_auth import AuthConfig, AuthMethod, BindingRule
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclRole, AclToken
from scheduler.structs.job import Job, Namespace
from scheduler.structs.node import Node, NodePool, NodeResources
from scheduler.structs.variable import VariableLock

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_HASH: dict[str, Schema] = {"Hash": {"type": ["string", "null"]}}
_CORE: dict[str, Schema] = {
    **{
        name: {"type": "integer"}
        for name in ("ID", "SocketID", "NodeID", "BaseSpeed", "MaxSpeed", "GuessSpeed")
    },
    "Grade": {"type": "boolean"},
    "Disable": {"type": "boolean"},
}


def _closed(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TOPOLOGY = _closed(
    {
        "Nodes": {"type": "array", "items": {"type": "integer"}},
        "Distances": {"type": "null"},
        "Cores": {"type": "array", "items": _closed(_CORE)},
        "OverrideTotalCompute": {"type": "integer"},
        "OverrideWitholdCompute": {"type": "integer"},
    }
)

COMPUTED_FIELDS: dict[type, dict[str, Schema]] = {
    AclPolicy: _HASH,
    AuthConfig: dict.fromkeys(
        ("ExpirationLeeway", "NotBeforeLeeway", "ClockSkewLeeway", "OIDCClientSecret"), _TEXT
    ),
    AuthMethod: {**_HASH, "MaxTokenTTL": _TEXT},
    BindingRule: _HASH,
    AclRole: _HASH,
    AclToken: {**_HASH, "ExpirationTTL": _TEXT},
    Job: {"Payload": {"type": ["string", "null"], "contentEncoding": "base64"}},
    Namespace: _HASH,
    Node: {"Drain": {"type": "boolean"}},
    NodeResources: {"Processors": _closed({"Topology": _TOPOLOGY})},
    NodePool: _HASH,
    VariableLock: {"TTL": _TEXT, "LockDelay": _TEXT},
}
