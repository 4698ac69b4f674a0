"""The operations of nodes, pools, drains and rehearsals, of the server and its operator."""

from cluster.api.openapi.common_shapes import (
    ALLOCATION,
    INDEX_ALONE,
    JOB_ROW,
    NODE_ROW,
    READ_META,
)
from cluster.api.openapi.operation import (
    ANY_BYTES,
    PLAIN_TEXT,
    Operation,
    listed,
    nothing,
    read,
    removed,
    told,
    written,
)
from cluster.api.openapi.shapes import (
    ANY,
    FLAG,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Shape,
    array,
    either,
    fields,
    named,
    nullable,
    open_fields,
    sent,
    struct,
    struct_with,
    table,
)
from cluster.rehearsal.result import Rehearsed
from scheduler.structs.node import DrainStrategy, Node, NodePool
from scheduler.structs.rehearsal import StoredRehearsal
from scheduler.structs.root_key import RootKey
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.staged_drain import StagedDrain
from scheduler.structs.webhook import Webhook, WebhookDelivery

_HOST_FACTS = fields(
    {
        "OS": TEXT,
        "Network": array(table(TEXT)),
        "ResolvConf": TEXT,
        "Hosts": TEXT,
        "Environment": table(TEXT),
        "Disk": table(fields({"DiskMB": INTEGER, "UsedMB": INTEGER})),
    }
)
_HOST = either(_HOST_FACTS, fields({"AgentID": TEXT, "HostData": _HOST_FACTS}))
_NODE_WRITTEN: dict[str, Shape] = {
    "NodeModifyIndex": INTEGER,
    "EvalIDs": nullable(array(TEXT)),
    "EvalCreateIndex": INTEGER,
    "Index": INTEGER,
}
_NODE_UPDATED = named("NodeWritten", fields(_NODE_WRITTEN))
_SERVER_INFO = fields(
    {
        "Datacenter": TEXT,
        "RPCAdvertiseAddr": TEXT,
        "RPCMajorVersion": INTEGER,
        "RPCMinorVersion": INTEGER,
    }
)
_NODE_EVALUATED = named(
    "NodeEvaluated",
    fields(
        _NODE_WRITTEN
        | {
            "HeartbeatTTL": INTEGER,
            "Features": INTEGER,
            "KnownLeader": FLAG,
            "LastContact": INTEGER,
            "LeaderRPCAddr": TEXT,
            "NextToken": TEXT,
            "NumNodes": INTEGER,
            "SchedulingEligibility": TEXT,
            "Servers": nullable(array(_SERVER_INFO)),
            "SignedIdentity": NULL,
        }
    ),
)
_DRAIN_FIELDS = {"Draining": array(TEXT), "Waiting": array(TEXT)}
_DRAIN = struct_with("StagedDrainRead", StagedDrain, _DRAIN_FIELDS)
_MADE = fields({"ID": TEXT, "Index": INTEGER})
_REHEARSAL = struct_with(
    "RehearsalStub", StoredRehearsal, {"Scenario": nullable(OBJECT)}, without=("Packed",)
)
_REHEARSAL_READ = struct_with(
    "RehearsalRead",
    StoredRehearsal,
    {"Scenario": nullable(OBJECT), "Result": nullable(struct(Rehearsed))},
    without=("Packed",),
)
_MEMBER = named(
    "ServerMember",
    fields(
        {"Name": TEXT, "Addr": TEXT, "Port": INTEGER, "Tags": table(TEXT), "Status": TEXT}
        | dict.fromkeys(
            (
                *("ProtocolMin", "ProtocolMax", "ProtocolCur"),
                *("DelegateMin", "DelegateMax", "DelegateCur"),
            ),
            INTEGER,
        )
    ),
)
_HEALTH = named(
    "Health",
    fields(
        {
            "server?": fields(
                {
                    "ok": FLAG,
                    "message": TEXT,
                    "parts?": table(
                        fields({"ok": FLAG, "message": TEXT, "age_s": nullable(NUMBER)})
                    ),
                }
            ),
            "client?": fields({"ok": FLAG, "message": TEXT}),
        }
    ),
)
_GAUGE = fields({"Name": TEXT, "Value": NUMBER, "Labels": table(TEXT)})
_SAMPLE = fields(
    {"Name": TEXT, "Count": INTEGER, "Labels": table(TEXT)}
    | dict.fromkeys(("Rate", "Sum", "Min", "Max", "Mean", "Stddev"), NUMBER)
)
_METRICS = named(
    "Metrics",
    fields(
        {
            "Timestamp": TEXT,
            "Gauges": array(_GAUGE),
            "Points": array(OBJECT),
            "Counters": array(OBJECT),
            "Samples": array(_SAMPLE),
            "PrecisionGauges": array(OBJECT),
        }
    ),
)
_RAFT = fields(
    {
        "Index": INTEGER,
        "Servers": array(
            fields(
                {
                    "ID": TEXT,
                    "Node": TEXT,
                    "Address": TEXT,
                    "Leader": FLAG,
                    "Voter": FLAG,
                    "RaftProtocol": TEXT,
                }
            )
        ),
    }
)
_AUTOPILOT = fields(
    dict.fromkeys(
        (
            *("CleanupDeadServers", "DisableUpgradeMigration"),
            *("EnableCustomUpgrades", "EnableRedundancyZones"),
        ),
        FLAG,
    )
    | dict.fromkeys(("CreateIndex", "ModifyIndex", "MaxTrailingLogs", "MinQuorum"), INTEGER)
    | {"LastContactThreshold": TEXT, "ServerStabilizationTime": TEXT}
)
_AUTOPILOT_HEALTH = fields(
    {
        "Healthy": FLAG,
        "FailureTolerance": INTEGER,
        "Leader": TEXT,
        "Voters": array(TEXT),
        "Servers": array(
            fields(
                dict.fromkeys(
                    (
                        *("ID", "Name", "Address", "SerfStatus"),
                        *("Version", "LastContact", "StableSince"),
                    ),
                    TEXT,
                )
                | dict.fromkeys(("Leader", "Healthy", "Voter"), FLAG)
                | {"LastTerm": INTEGER, "LastIndex": INTEGER}
            )
        ),
    }
)
_SCHEDULERS = fields(
    {
        "server_id": TEXT,
        "schedulers": array(
            fields(
                dict.fromkeys(("id", "started", "status", "workload_status"), TEXT)
                | {"enabled_schedulers": array(TEXT)}
            )
        ),
    }
)
_WEBHOOK = struct_with("WebhookRead", Webhook, {"IsSigned": FLAG})
_WEBHOOK_SENT = open_fields(
    {
        "Name": TEXT,
        "Description?": TEXT,
        "URL?": TEXT,
        "Secret?": TEXT,
        "Kinds?": array(TEXT),
        "BlockedAfter?": INTEGER,
        "IsPaused?": FLAG,
    }
)
_FRAME = named("EventFrame", OBJECT)
_NODE = "node/{node_id}"

OPERATIONS = (
    listed("nodes", array(NODE_ROW), "Nodes in order of their ids", "resources", "os"),
    read(_NODE, struct(Node), "A node"),
    read(f"{_NODE}/allocations", array(ALLOCATION), "Allocations of a node, with their jobs"),
    written(f"{_NODE}/drain",
            open_fields({"DrainSpec?": nullable(sent(DrainStrategy)), "MarkEligible?": FLAG,
                         "Meta?": table(TEXT)}),
            _NODE_UPDATED, "Drain a node, or stop doing so",
            )._replace(query=("enable",), is_body_optional=True),
    written(f"{_NODE}/eligibility", open_fields({"Eligibility": TEXT}), _NODE_UPDATED,
            "Let a node take allocations, or not"),
    written(f"{_NODE}/evaluate", None, _NODE_EVALUATED, "Let its jobs be looked at again"),
    written(f"{_NODE}/purge", None, _NODE_EVALUATED, "Forget a node"),
    listed("node/pools", array(struct(NodePool)), "Node pools"),
    written("node/pools", sent(NodePool), None, "Make a pool, or replace it"),
    read("node/pool/{name}", struct(NodePool), "A node pool"),
    written("node/pool/{name}", sent(NodePool), None, "Make a pool, or replace it"),
    removed("node/pool/{name}", None, "Delete a pool"),
    listed("node/pool/{name}/nodes", array(NODE_ROW), "Nodes of a pool", "resources", "os"),
    listed("node/pool/{name}/jobs", array(JOB_ROW), "Jobs that name a pool"),
    listed("drains", array(_DRAIN), "Staged drains"),
    written("drains",
            open_fields({"NodeIDs": array(TEXT), "AtOnce": INTEGER, "CloseFirst?": FLAG,
                         "DrainSpec?": sent(DrainStrategy), "Meta?": table(TEXT)}),
            _MADE, "Drain many nodes, a few at a time"),
    read("drain/{drain_id}", _DRAIN, "A staged drain"),
    removed("drain/{drain_id}", None, "End a staged drain", "mark_eligible"),
    listed("rehearsals", array(_REHEARSAL), "Rehearsals"),
    written("rehearsals", OBJECT, _MADE, "Rehearse changes on a copy of the cluster"),
    read("rehearsal/{rehearsal_id}", _REHEARSAL_READ, "A rehearsal, and what it found"),
    removed("rehearsal/{rehearsal_id}", None, "End a rehearsal, or forget it"),
    told("metrics", _METRICS, "Numbers of the cluster", "format",
         )._replace(other_media=PLAIN_TEXT),
    told("openapi.json", OBJECT, "This document"),
    told("status/leader", TEXT, "The address of the server"),
    told("status/peers", array(TEXT), "The same as a list"),
    told("regions", array(TEXT), "The region"),
    told("agent/self", fields({"config": OBJECT, "member": _MEMBER, "stats": table(table(TEXT))}),
         "What the server says of itself"),
    told("agent/members",
         fields({"ServerName": TEXT, "ServerRegion": TEXT, "ServerDC": TEXT,
                 "Members": array(_MEMBER)}),
         "The one server"),
    told("agent/servers", array(TEXT), "Addresses of servers"),
    written("agent/join", None,
            fields({"num_joined": INTEGER, "error": TEXT, "warning": TEXT}),
            "Nobody is joined, and why")._replace(query=("address",), has_index=False),
    written("agent/force-leave", None, None, "No other member is here",
            )._replace(query=("node",), has_index=False),
    told("agent/health", _HEALTH, "How the parts of the cluster stand", "type",
         )._replace(also=((500, _HEALTH), (503, _HEALTH))),
    told("agent/schedulers/config",
         fields({"server_id": TEXT, "num_schedulers": INTEGER,
                 "enabled_schedulers": array(TEXT)}),
         "Which kinds of jobs are scheduled"),
    told("agent/schedulers", _SCHEDULERS, "The worker processes"),
    told("agent/host", _HOST, "Facts about the machine of this server, or of an agent",
         "node_id", "server_id"),
    told("agent/monitor", ANY, "The server's log as it is written", "log_level", "log_json",
         "plain", "node_id", "server_id", "log_include_location",
         )._replace(other_media=PLAIN_TEXT),
    told("agent/monitor/export", ANY, "What the file of a log holds", "on_disk", "service_name",
         "logs_since", "follow", "plain", "node_id", "server_id",
         )._replace(other_media=PLAIN_TEXT, refusals=(501,)),
    read("operator/scheduler/configuration",
         fields(READ_META | {"SchedulerConfig": struct(SchedulerSettings)}),
         "Settings of the schedulers"),
    written("operator/scheduler/configuration", sent(SchedulerSettings),
            fields({"Updated": FLAG, "Index": INTEGER}), "Replace the settings",
            )._replace(query=("cas",)),
    read("operator/keyring/keys", array(struct(RootKey)), "Root keys"),
    written("operator/keyring/rotate", None,
            fields({"Key": struct(RootKey), "Index": INTEGER}), "Make a new root key",
            )._replace(query=("full", "publish_time")),
    removed("operator/keyring/key/{key_id}", INDEX_ALONE, "Delete a root key", "force",
            )._replace(refusals=(422,)),
    told("operator/snapshot", ANY, "The record as one file",
         )._replace(media="application/x-gzip", has_index=True),
    written("operator/snapshot", ANY, None, "Put the record back as it was in a file",
            )._replace(body_media=ANY_BYTES, refusals=(500,)),
    told("operator/raft/configuration", _RAFT, "The one server that clients know of"),
    told("operator/autopilot/configuration", _AUTOPILOT, "Defaults, which rule nothing"),
    told("operator/autopilot/health", _AUTOPILOT_HEALTH, "Whether the server is well",
         )._replace(also=((429, _AUTOPILOT_HEALTH),)),
    read("operator/upgrade-check/vault-workload-identity",
         fields(READ_META | {"JobsWithoutVaultIdentity": array(JOB_ROW),
                             "OutdatedNodes": array(NODE_ROW), "VaultTokens": NULL}),
         "Jobs and nodes that could not take tokens of Vault by identities"),
    *nothing("operator/upgrade-check/{name}", 404, "GET"),
    Operation("GET", "operator/license", None, "There is none", status=204, has_index=False),
    written("system/gc", None, None, "Collect all that may go")._replace(has_index=False),
    written("system/reconcile/summaries", None, None, "Count the allocations of jobs anew",
            )._replace(has_index=False),
    listed("webhooks", array(_WEBHOOK), "Webhooks"),
    read("webhook/{name}", _WEBHOOK, "A webhook"),
    written("webhook/{name}", _WEBHOOK_SENT, None, "Make a webhook, or replace it"),
    removed("webhook/{name}", None, "Delete a webhook"),
    written("webhook/{name}/test", None, fields({"DeliveryID": TEXT, "Index": INTEGER}),
            "Tell a webhook a word"),
    read("webhook/{name}/deliveries", array(struct(WebhookDelivery)), "What became of its words"),
    Operation("GET", "event/stream", _FRAME, "Committed writes as lines of JSON",
              ("topic", "index"), has_index=False),
)  # fmt: skip
