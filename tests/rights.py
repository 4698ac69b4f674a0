"""THE table of rights: each route of the API by method, and what a caller must be granted for it.

A right is written `read-job`, `node:read`, `management`; `|` stands between alternatives, `+`
between what is needed together, `anybody` for none. Run as a program it writes `docs/rights.md`;
`tests/cluster/api/test_rights.py` walks it over the real application.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scheduler.access.capabilities import KNOWN, OF_LEVEL
from tests.command_rights import section

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "rights.md"

JOB, NODE, ALLOC, EVAL, DEPLOYMENT, STORY, STORY_OF_NODE, STORY_OF_OPERATOR = (
    "web",
    "aaaaaaaa-0000-0000-0000-000000000001",
    "bbbbbbbb-0000-0000-0000-000000000001",
    "cccccccc-0000-0000-0000-000000000001",
    "dddddddd-0000-0000-0000-000000000001",
    "eeeeeeee-0000-0000-0000-000000000001",
    "eeeeeeee-0000-0000-0000-000000000002",
    "eeeeeeee-0000-0000-0000-000000000003",
)
ANYBODY = "anybody"
#: Whoever is granted anything at all: nothing is read of what others send.
ANY_RIGHT = "any right"
MANAGEMENT = "management"
#: Its bearer sees what it has itself; the policy of callers without a token is no token.
OWN_TOKEN = "a token"


@dataclass(frozen=True)
class Row:
    """A route. `path` is an example below `/v1/`, `shown` what the document calls it."""

    methods: str
    path: str
    right: str
    body: object = None
    #: Whether callers who may not read the object are told that it is not there.
    is_hidden: bool = False
    #: Lists that leave things out: who sees the one thing that is there.
    entries: str = ""
    #: Names in the path that stand for any.
    name: str = ""

    @property
    def shown(self) -> str:
        """The path with its names as placeholders."""
        path = self.path
        for value, word in (
            (NODE, "<node>"), (ALLOC, "<alloc>"), (EVAL, "<eval>"), (DEPLOYMENT, "<deployment>"),
            (STORY, "<story of a job>"), (STORY_OF_NODE, "<story of nodes>"),
            (STORY_OF_OPERATOR, "<story of an operator>"),
            (f"job/{JOB}", "job/<job>"),
        ):  # fmt: skip
            path = path.replace(value, word)
        segment = rf"(?<=/){re.escape(self.name)}(?=[/?]|$)"
        return re.sub(segment, "<name>", path) if self.name else path


def _job(form: dict[str, object] | None = None) -> dict[str, object]:
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Count": 1, "Tasks": [task]}
    return {"Job": {"ID": JOB, "Type": "batch", "TaskGroups": [group]}, **(form or {})}


def _of_job(suffix: str, right: str, methods: str = "GET", body: object = None) -> Row:
    return Row(methods, f"job/{JOB}/{suffix}", right, body)


def _deployment(verb: str, right: str) -> Row:
    told: dict[str, object] = {"All": True, "Pause": True}
    if verb == "allocation-health":
        told = {"HealthyAllocationIDs": [ALLOC]}
    body = {"DeploymentID": DEPLOYMENT, **told}
    return Row("PUT", f"deployment/{verb}/{DEPLOYMENT}", f"submit-job | {right}", body)


def _searches(context: str, right: str) -> Row:
    return Row("PUT", f"search?context={context}", right, {"Prefix": "", "Context": context})


_SEES_VOLUMES = "csi-list-volume | csi-read-volume | csi-mount-volume | list-jobs"
_ALL = "GET PUT POST PATCH DELETE"
_SCALING = "list-scaling-policies | list-jobs + read-job"

JOBS = [
    Row("GET", "jobs", "list-jobs"),
    Row("PUT", "jobs", "submit-job | register-job", _job()),
    Row("GET", f"job/{JOB}", "read-job"),
    Row("PUT", f"job/{JOB}", "submit-job | register-job", _job()),
    Row("DELETE", f"job/{JOB}", "submit-job | deregister-job | purge-job"),
    # A job that is not there, so that the others find theirs.
    Row("DELETE", "job/other?purge=true", "submit-job | purge-job", name="other"),
    Row("PUT", "jobs/parse", "parse-job | submit-job", {"JobHCL": 'job "a" {}'}),
    Row("PUT", "validate/job", "read-job", _job()),
    _of_job("plan", "submit-job | plan-job", "PUT", _job()),
    _of_job("evaluate", "submit-job | evaluate-job", "PUT", {"JobID": JOB}),
    *(
        _of_job(suffix, "read-job")
        for suffix in (
            "allocations", "evaluations", "deployments", "deployment", "summary", "versions",
            "usage", "submission?version=0", "services", "actions",
        )
    ),
    _of_job("tag", ANYBODY, "GET PUT DELETE"),
    _of_job("versions/v/tag", "submit-job | tag-job-version", "PUT", {"Latest": True}),
    _of_job("versions/v/tag", "submit-job | tag-job-version", "DELETE"),
    _of_job("periodic/force", "submit-job | dispatch-job | force-periodic-job", "PUT"),
    _of_job("dispatch", "dispatch-job", "PUT", {"Payload": "aGk="}),
    _of_job("dispatch/payload", "dispatch-job", "PUT", {"the": "payload"}),
    _of_job("revert", "submit-job | revert-job", "PUT", {"JobID": JOB}),
    _of_job("stable", "submit-job | stable-job", "PUT", {"JobID": JOB}),
    _of_job("scale", "read-job | read-job-scaling"),
    _of_job("scale", "submit-job | scale-job", "PUT",
            {"Count": 1, "Target": {"Group": "group"}}),
    _of_job("action", "alloc-exec"),
    Row("GET", "jobs/statuses", "read-job"),
    Row("POST", "jobs/statuses", "read-job", {"jobs": [{"id": JOB}]}),
]  # fmt: skip

EVALUATIONS = [
    Row("GET", "evaluations", "read-job"),
    Row("DELETE", "evaluations", MANAGEMENT, {"EvalIDs": [EVAL]}),
    Row("GET", "evaluations/count", "read-job"),
    *(
        Row("GET", f"evaluation/{EVAL}{suffix}", "read-job")
        for suffix in ("", "/allocations", "/lifecycle", "/explanation")
    ),
    Row("GET", f"evaluation/{EVAL}/unblock", "read-job + node:read"),
    Row("GET", f"evaluation/{EVAL}/capsule", "read-job everywhere"),
]

ALLOCATIONS = [
    Row("GET", "allocations", "read-job"),
    Row("GET", f"allocation/{ALLOC}", "read-job", is_hidden=True),
    Row("PUT", f"allocation/{ALLOC}/stop", "alloc-lifecycle", is_hidden=True),
    Row("GET", f"allocation/{ALLOC}/services", "read-job"),
    Row("GET", f"allocation/{ALLOC}/checks", "read-job"),
    Row("GET PUT", f"allocation/{ALLOC}/unknown", ANYBODY),
    Row("GET PUT", f"client/allocation/{ALLOC}/unknown", ANYBODY),
    Row("PUT", f"client/allocation/{ALLOC}/restart", "alloc-lifecycle", {}),
    Row("PUT", f"client/allocation/{ALLOC}/signal", "alloc-lifecycle", {"Signal": "SIGHUP"}),
    Row("GET", f"client/allocation/{ALLOC}/stats", "read-job"),
    Row("GET", f"client/allocation/{ALLOC}/usage", "read-job"),
    Row("GET", f"client/allocation/{ALLOC}/checks", "read-job"),
    Row("GET", f"client/allocation/{ALLOC}/exec", "alloc-exec"),
    Row(_ALL, f"client/allocation/{ALLOC}/gc", "submit-job | gc-allocation"),
    Row("GET", f"client/allocation/{ALLOC}/pause", "read-job"),
    Row("PUT POST PATCH DELETE", f"client/allocation/{ALLOC}/pause",
        "submit-job | pause-allocation"),
    Row("GET", f"client/fs/logs/{ALLOC}?task=main&type=stdout", "read-logs | read-fs"),
    *(
        Row("GET", f"client/fs/{verb}/{ALLOC}?path=/a", "read-fs")
        for verb in ("ls", "stat", "cat", "readat", "stream")
    ),
    Row("GET", f"client/stats?node_id={NODE}", "node:read"),
    Row("GET", f"client/usage?node_id={NODE}", "node:read"),
    Row("GET", f"client/metadata?node_id={NODE}", "node:read"),
    Row("POST", "client/metadata", "node:write", {"NodeID": NODE, "Meta": {"a": "b"}}),
    Row("GET", f"client/identity?node_id={NODE}", "node:read"),
    Row("PUT", "client/identity/renew", "node:write", {"NodeID": NODE}),
    Row(_ALL, "client/gc", "node:write"),
]  # fmt: skip

STORIES = [
    Row("GET", "stories", "read-job"),
    Row("GET", f"story/{STORY}", "read-job"),
    Row("GET", f"story/{STORY_OF_NODE}", "node:read"),
    Row("GET", f"story/{STORY_OF_OPERATOR}", "operator:read"),
]

DEPLOYMENTS = [
    Row("GET", "deployments", "read-job"),
    Row("GET", f"deployment/{DEPLOYMENT}", "read-job"),
    Row("GET", f"deployment/allocations/{DEPLOYMENT}", "read-job"),
    _deployment("promote", "promote-deployment"),
    _deployment("pause", "pause-deployment"),
    _deployment("fail", "fail-deployment"),
    _deployment("unblock", "unblock-deployment"),
    _deployment("allocation-health", "set-alloc-health-deployment"),
]

NODES = [
    Row("GET", "nodes", "node:read"),
    Row("GET", f"node/{NODE}", "node:read"),
    Row("GET", f"node/{NODE}/allocations", "node:read", entries="node:read + read-job"),
    Row("PUT", f"node/{NODE}/drain", "node:write", {"DrainSpec": {"Deadline": 1}}),
    Row("PUT", f"node/{NODE}/eligibility", "node:write", {"Eligibility": "ineligible"}),
    Row("PUT", f"node/{NODE}/evaluate", "node:write"),
    # A node that is not there, so that the others find theirs.
    Row("PUT", f"node/{NODE[:-1]}2/purge", "node:write", name=f"{NODE[:-1]}2"),
    Row("GET", "node/pools", ANYBODY, entries="node_pool:read"),
    Row("PUT", "node/pools", "node_pool:write", {"Name": "gpu"}),
    Row("GET", "node/pool/default", "node_pool:read", name="default"),
    Row("PUT", "node/pool/gpu", "node_pool:write", {"Name": "gpu"}, name="gpu"),
    Row("DELETE", "node/pool/gpu", "node_pool:delete", name="gpu"),
    Row("GET", "node/pool/default/nodes", "node:read + node_pool:read", name="default"),
    Row("GET", "node/pool/default/jobs", "node_pool:read", name="default",
        entries="node_pool:read + list-jobs"),
]  # fmt: skip

NAMES = [
    Row("GET", "namespaces", ANYBODY, entries="any in default"),
    Row("GET", "namespace/default", "any in default", name="default"),
    Row("PUT", "namespace/team", MANAGEMENT, {"Name": "team"}, name="team"),
    Row("PUT", "namespace", MANAGEMENT, {"Name": "team"}),
    Row("DELETE", "namespace/team", MANAGEMENT, name="team"),
    Row("GET", "quotas", "quota:read"),
    Row("GET", "quota/small", "quota:read", name="small"),
    Row("GET", "quota/usage/small", "quota:read", name="small"),
    Row("PUT", "quota/small", "quota:write", {"Name": "small"}, name="small"),
    Row("DELETE", "quota/small", "quota:write", name="small"),
    Row("PUT", "quota", "quota:write", {"Name": "small"}),
    Row("GET", "quota-usages", "quota:read"),
    Row("GET", "services", "read-job"),
    Row("GET", "service/x", "read-job", name="x"),
    Row("GET", "service/x/id/more", "read-job", name="x"),
    Row("DELETE", "service/x/id", "submit-job | delete-service-registration", name="x"),
    Row("GET", "scaling/policies", _SCALING),
    Row("GET", "scaling/policy/x", "read-scaling-policy | list-jobs + read-job", name="x"),
    Row("GET", "rehearsals", "node:read"),
    Row("PUT", "rehearsals", "node:read", {"Drain": {"NodeIDs": [NODE]}}),
    Row("PUT", "rehearsals", "node:read + submit-job | node:read + plan-job", _job()),
    Row("PUT", "rehearsals", "node:read + read-job", {"Stop": {"JobID": JOB}}),
    Row("PUT", "rehearsals", "node:read + read-job", {"Scale": {"JobID": JOB, "Count": 1}}),
    Row("PUT", "rehearsals", "node:read + read-job", {"Dispatch": {"JobID": JOB}}),
    Row("PUT", "rehearsals", "node:read + read-job", {"Revert": {"JobID": JOB, "JobVersion": 0}}),
    Row("PUT", "rehearsals", "node:read + operator:read",
        {"Settings": {"SchedulerAlgorithm": "spread"}}),
    Row("GET DELETE", "rehearsal/x", "node:read", name="x"),
    Row("GET", "drains", "node:read"),
    Row("PUT", "drains", "node:write", {"NodeIDs": [NODE], "AtOnce": 1}),
    Row("GET", "drain/x", "node:read", name="x"),
    Row("DELETE", "drain/x", "node:write", name="x"),
    Row("GET", "vars", ANYBODY),
    Row("GET", "var/x", "variables:read", name="x"),
    Row("PUT POST PATCH", "var/x", "variables:write", {"Items": {"a": "b"}}, name="x"),
    Row("DELETE", "var/x", "variables:destroy", name="x"),
]  # fmt: skip

VOLUMES = [
    Row("GET", "volumes", ANYBODY),
    Row("PUT", "volumes", "csi-write-volume + plugin:read"),
    Row("GET", "volumes?type=host", "host-volume-read"),
    Row("GET", "volumes?type=csi", _SEES_VOLUMES),
    Row("GET", "volumes/external", _SEES_VOLUMES),
    Row("PUT POST PATCH DELETE", "volumes/snapshot", "csi-write-volume + plugin:read"),
    Row("GET", "volumes/claims", "host-volume-read"),
    Row("DELETE", "volumes/claim/x", "host-volume-delete", name="x"),
    Row("GET", "volume/host/x", "host-volume-read", name="x"),
    Row("PUT", "volume/host/create", "host-volume-create", {"Volume": {"Name": "v"}}),
    Row("PUT", "volume/host/register", "host-volume-register", {"Volume": {"Name": "v"}}),
    Row("DELETE", "volume/host/x", "host-volume-delete", name="x"),
    Row("GET", "volume/csi/x", "csi-read-volume | csi-mount-volume | read-job", name="x"),
    Row("PUT POST PATCH", "volume/csi/x", "csi-write-volume + plugin:read", name="x"),
    Row("DELETE", "volume/csi/x", "csi-write-volume", name="x"),
    Row("DELETE", "volume/csi/x/delete", "csi-write-volume + plugin:read", name="x"),
    Row("DELETE", "volume/csi/x/detach", "csi-mount-volume + plugin:read", name="x"),
    Row("GET", "plugins", ANYBODY),
    Row("GET", "plugins?type=csi", "plugin:list"),
    Row(_ALL, "plugin/csi/x", "plugin:read", name="x"),
]

SEARCHES = [
    _searches("all", ANY_RIGHT),
    *(_searches(name, "read-job") for name in ("allocs", "jobs", "evals", "deployment")),
    _searches("scaling_policy", "read-job"),
    _searches("nodes", "node:read"),
    _searches("node_pools", "a right on a node pool"),
    _searches("plugins", "plugin:list"),
    _searches("volumes", "csi-list-volume | csi-read-volume | list-jobs | read-job"),
    _searches("vars", "a rule on variables"),
    _searches("namespaces", "any in default"),
    _searches("host_volumes", "host-volume-read"),
    *(
        Row("PUT", f"search/fuzzy?context={context}", right, {"Text": "ab", "Context": context})
        for context, right in (
            ("all", ANY_RIGHT),
            ("jobs", "read-job"),
            ("allocs", "read-job"),
            ("evals", "read-job"),
            ("scaling_policy", _SCALING),
            ("nodes", "node:read"),
            ("node_pools", "a right on a node pool"),
            ("namespaces", "any in default"),
            ("vars", "a rule on variables"),
            ("host_volumes", "host-volume-read"),
        )
    ),
]

STREAMS = [
    *(
        Row("GET", f"event/stream?topic={topic}", "read-job")
        for topic in ("Job", "Evaluation", "Allocation", "Deployment", "Service", "CSIPlugin")
    ),
    Row("GET", "event/stream?topic=HostVolume", "host-volume-read"),
    Row("GET", "event/stream?topic=CSIVolume", "csi-read-volume"),
    Row("GET", "event/stream?topic=Node", "node:read"),
    Row("GET", "event/stream?topic=Job&topic=Node", "read-job + node:read"),
    Row("GET", "event/stream?topic=Operator", "operator:read"),
    Row("GET", "event/stream?topic=StagedDrain", "node:read"),
    Row("GET", "event/stream?topic=Collection", "operator:read"),
    Row("GET", "event/stream?topic=Story", "read-job"),
    Row("GET", "event/stream?topic=Variable", "a rule on variables"),
    *(
        Row("GET", f"event/stream{query}", MANAGEMENT)
        for query in ("", "?topic=NodePool", "?topic=ACLToken", "?topic=unknown")
    ),
]

SERVERS = [
    Row("GET", "openapi.json", ANYBODY),
    Row("GET", "status/leader", ANYBODY),
    Row("GET", "status/peers", ANYBODY),
    Row("GET", "regions", ANYBODY),
    Row("GET", "agent/health", ANYBODY),
    Row("GET", "metrics", ANYBODY),
    Row("GET", "agent/self", "agent:read"),
    Row("GET", "agent/servers", "agent:read"),
    Row("GET", "agent/schedulers/config", "agent:read"),
    Row("GET", "agent/members", "node:read"),
    *(
        Row("GET", f"agent/{path}", "agent:read")
        for path in ("host", "monitor", "monitor/export", "schedulers")
    ),
    *(
        Row(_ALL, f"agent/{path}", "agent:write")
        for path in ("pprof/heap", "keyring/list", "reload")
    ),
    Row("PUT", "agent/join?address=other", ANYBODY),
    Row("PUT", "agent/force-leave?node=other", "agent:write"),
    Row("PUT", "agent/servers", "agent:write"),
    Row("PUT", "agent/schedulers/config", "agent:write"),
    Row("GET", "operator/scheduler/configuration", "operator:read"),
    Row("PUT", "operator/scheduler/configuration", "operator:write",
        {"SchedulerAlgorithm": "binpack"}),
    Row("GET", "operator/snapshot", "snapshot-save"),
    Row("PUT", "operator/snapshot", MANAGEMENT),
    Row("GET PUT", "operator/license", ANYBODY),
    Row("GET", "operator/raft/configuration", MANAGEMENT),
    Row("GET", "operator/autopilot/configuration", "operator:read"),
    Row("PUT", "operator/autopilot/configuration", "operator:write"),
    Row("GET", "operator/autopilot/health", "operator:read"),
    Row("DELETE", "operator/raft/peer", MANAGEMENT),
    Row("PUT POST", "operator/raft/transfer-leadership", MANAGEMENT),
    Row("GET", "operator/keyring/keys", "keyring-read | operator:read"),
    Row("PUT", "operator/keyring/rotate", "keyring-rotate"),
    Row("DELETE", "operator/keyring/key/x", "keyring-delete", name="x"),
    Row("GET", "operator/upgrade-check/vault-workload-identity", "operator:read"),
    Row("GET", "operator/upgrade-check/x", "operator:read", name="x"),
    *(
        Row(_ALL, path, ANYBODY)
        for path in (
            "recommendations", "sentinel/policies",
        )
    ),
    Row("PUT POST", "operator/utilization", ANYBODY),
    Row("GET", "webhooks", "operator:read"),
    Row("GET", "webhook/w", "operator:read", name="w"),
    Row("PUT", "webhook/w", "operator:write", {"Name": "w"}, name="w"),
    Row("DELETE", "webhook/w", "operator:write", name="w"),
    Row("GET", "webhook/w/deliveries", "operator:read", name="w"),
    Row("PUT", "webhook/w/test", "operator:write", name="w"),
    Row("PUT", "system/gc", MANAGEMENT),
    Row("PUT", "system/reconcile/summaries", MANAGEMENT),
]  # fmt: skip

#: No token, role or rule has this id.
_TOKEN = "00000000-0000-4000-8000-000000000000"
ACCESS = [
    Row("GET", "acl/policies", ANYBODY),
    Row("GET", "acl/policy/p", MANAGEMENT, name="p"),
    Row("PUT", "acl/policy/p", MANAGEMENT, {"Name": "p", "Rules": ""}, name="p"),
    Row("DELETE", "acl/policy/p", MANAGEMENT, name="p"),
    Row("GET", "acl/policy/self", OWN_TOKEN),
    Row("PUT", "acl/bootstrap", ANYBODY),
    Row("GET", "acl/tokens", MANAGEMENT),
    Row("PUT", "acl/token", MANAGEMENT, {"Type": "client", "Policies": ["p"]}),
    Row("GET", "acl/token/self", ANYBODY),
    Row("PUT", "acl/token/onetime", ANYBODY),
    Row("PUT", "acl/token/onetime/exchange", ANYBODY),
    Row("GET PUT DELETE", f"acl/token/{_TOKEN}", MANAGEMENT, name=_TOKEN),
    Row("GET", "acl/roles", ANYBODY),
    Row("PUT", "acl/role", MANAGEMENT, {"Name": "r", "Policies": [{"Name": "p"}]}),
    Row("GET PUT DELETE", f"acl/role/{_TOKEN}", MANAGEMENT, name=_TOKEN),
    Row("GET", "acl/role/name/r", MANAGEMENT, name="r"),
    Row("GET PUT DELETE", "acl/role/x/y", ANYBODY, name="x"),
    Row("GET", "acl/auth-methods", ANYBODY),
    Row("PUT", "acl/auth-method", MANAGEMENT, {"Name": "m"}),
    Row("GET PUT DELETE", "acl/auth-method/m", MANAGEMENT, {"Name": "m"}, name="m"),
    Row("GET", "acl/binding-rules", MANAGEMENT),
    Row("PUT", "acl/binding-rule", MANAGEMENT, {"AuthMethod": "m"}),
    Row("GET PUT DELETE", f"acl/binding-rule/{_TOKEN}", MANAGEMENT, name=_TOKEN),
    Row("PUT", "acl/identity/client-introduction-token", "node:write", {"TTL": "1m"}),
    Row("PUT", "acl/login", ANYBODY),
    Row("PUT", "acl/oidc/auth-url", ANYBODY),
    Row("PUT", "acl/oidc/complete-auth", ANYBODY),
]  # fmt: skip

SECTIONS: dict[str, list[Row]] = {
    "Jobs": JOBS,
    "Evaluations": EVALUATIONS,
    "Allocations, and what agents are asked": ALLOCATIONS,
    "Stories": STORIES,
    "Deployments": DEPLOYMENTS,
    "Nodes and pools": NODES,
    "Namespaces, quotas, services, scaling, variables": NAMES,
    "Volumes and plugins": VOLUMES,
    "Search": SEARCHES,
    "Event stream": STREAMS,
    "Server, operator, system": SERVERS,
    "Access": ACCESS,
}
TABLE = [row for rows in SECTIONS.values() for row in rows]

_LEVELS = ("agent", "node", "operator", "quota", "plugin")
#: What a level of its block stands for besides itself.
_WITH_LEVEL = {
    "plugin:read": {"plugin:list"},
    "operator:read": {"keyring-read"},
    "operator:write": {"operator:read", *(KNOWN["operator"] - {"deny"})},
    **{f"{block}:write": {f"{block}:read"} for block in ("agent", "node", "quota")},
    "node_pool:read": {"a right on a node pool"},
    "node_pool:write": {"a right on a node pool"},
    "node_pool:delete": {"a right on a node pool"},
    "variables:read": {"variables:list", "a rule on variables"},
    **{f"variables:{deed}": {"a rule on variables"} for deed in ("list", "write", "destroy")},
}


def policy_of(right: str) -> str:
    """A policy that grants one right and no more."""
    block, _, level = right.partition(":")
    if right in KNOWN["namespace"]:
        return f'namespace "default" {{ capabilities = ["{right}"] }}'
    if right in KNOWN["operator"]:
        return f'operator {{ capabilities = ["{right}"] }}'
    if right == "read-job everywhere":
        return 'namespace "*" { capabilities = ["read-job"] }'
    if block == "node_pool":
        return f'node_pool "*" {{ capabilities = ["{level}"] }}'
    if block == "variables":
        return (
            f'namespace "default" {{ variables {{ path "*" {{ capabilities = ["{level}"] }} }} }}'
        )
    assert block in _LEVELS, f"nobody knows how {right!r} is granted"
    return f'{block} {{ policy = "{level}" }}'


def granted_by(right: str) -> frozenset[str]:
    """Everything that a policy of one right grants, in the words of the table."""
    granted = {right, ANY_RIGHT, *_WITH_LEVEL.get(right, ())}
    if right == "read-job everywhere":
        granted.add("read-job")
    if right == "host-volume-register":
        granted |= {"host-volume-create", "host-volume-read"}
    if right == "host-volume-write":
        granted |= {f"host-volume-{deed}" for deed in ("register", "create", "delete", "read")}
    if right == "host-volume-create":
        granted.add("host-volume-read")
    if granted & KNOWN["namespace"]:
        granted.add("any in default")
    return frozenset(granted)


def namespace_level(level: str) -> frozenset[str]:
    """Everything that a level of the namespace `default` grants."""
    of_each = (granted_by(right) for right in OF_LEVEL["namespace"][level])
    return frozenset().union(*of_each)


def passes(right: str, granted: Iterable[str]) -> bool:
    """Whether somebody with these rights has the right that a row asks for."""
    have = {ANYBODY, *granted}
    return MANAGEMENT in have or any(
        {part.strip() for part in alternative.split("+")} <= have
        for alternative in right.split("|")
    )


_WORDS = {
    "", ANYBODY, ANY_RIGHT, MANAGEMENT, OWN_TOKEN, "any in default", "a right on a node pool",
    "a rule on variables",
}  # fmt: skip


def single_rights() -> list[str]:
    """Every right that the table names, and the levels and capabilities that bring one along."""
    named = {
        part.strip()
        for row in TABLE
        for text in (row.right, row.entries)
        for alternative in text.split("|")
        for part in alternative.split("+")
    }
    return sorted((named | {"plugin:read", "variables:list", "host-volume-write"}) - _WORDS)


def idle_rights() -> list[str]:
    """Capabilities that open no route by themselves."""
    known = KNOWN["namespace"] | KNOWN["operator"]
    return sorted(known - set(single_rights()) - {"deny"})


#: The columns of the document.
CALLERS: dict[str, frozenset[str]] = {
    "nobody": frozenset(),
    "read": namespace_level("read"),
    "write": namespace_level("write"),
    "node:write": granted_by("node:write"),
    "operator:write": granted_by("operator:write"),
    "management": frozenset({MANAGEMENT}),
}


def document() -> str:
    """The table as people read it."""
    lines = [
        "# Rights of the API",
        "",
        "Written from `tests/rights.py` by `python -m tests.rights`; the walk over the real",
        "application that proves every cell is `tests/cluster/api/test_rights.py`. Capabilities",
        "are those of the namespace that a request names, or of the object's own (`access.md` 8).",
        "*read* and *write* are levels of a namespace. `some` marks lists that leave out what",
        "their reader may not see. Pages and commands ask the same operations.",
    ]
    head = f"| method | below `/v1/` | right | {' | '.join(CALLERS)} |"
    for title, rows in SECTIONS.items():
        lines += ["", f"## {title}", "", head, "|---" * (3 + len(CALLERS)) + "|"]
        for row in rows:
            cells = " | ".join(_cell(row, granted) for granted in CALLERS.values())
            right = row.right.replace("|", "or").replace("+", "and")
            if row.entries:
                right += f"; entries: {row.entries.replace('+', 'and')}"
            lines.append(
                f"| {row.methods.replace(' ', ', ')} | `{row.shown}` | {right} | {cells} |"
            )
    return "\n".join([*lines, *section()]) + "\n"


def _cell(row: Row, granted: frozenset[str]) -> str:
    if not passes(row.right, granted):
        return "-"
    return "some" if row.entries and not passes(row.entries, granted) else "yes"


if __name__ == "__main__":
    text = document()
    DOCUMENT.write_text(text)
    sys.stdout.write(text)
