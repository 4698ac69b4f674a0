"""The operations of evaluations, allocations, stories and deployments, and what agents are asked.

What an agent measures is passed on as it comes: of that no shape is said.
"""

from cluster.api.openapi.common_shapes import (
    ALLOCATION,
    ALLOCATION_ROW,
    EVALUATION,
    EVALUATION_READ,
    INDEX_ALONE,
    READ_META,
)
from cluster.api.openapi.operation import (
    PLAIN_TEXT,
    Operation,
    listed,
    nothing,
    read,
    session,
    told,
    written,
)
from cluster.api.openapi.shapes import (
    ANY,
    FLAG,
    INTEGER,
    OBJECT,
    TEXT,
    array,
    fields,
    named,
    nullable,
    one_of,
    open_fields,
    sent,
    struct,
    struct_with,
    table,
)
from cluster.operations.unblock import Unblocking
from cluster.operations.usage_rows import AllocationRows, NodeRows
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.explanation import GroupExplanation
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.story import Story

_STOPPED = fields({"EvalID": TEXT, "Index": INTEGER})
_ORDERED = INDEX_ALONE
_OUTCOME = fields(
    {
        "Wanted": INTEGER,
        "There": INTEGER,
        #: By client status.
        "Placed": table(INTEGER),
        "Waiting": INTEGER,
        #: By dimension or check.
        "WaitsFor": table(INTEGER),
        "Left": INTEGER,
        "DeploymentID": TEXT,
        "DeploymentStatus": TEXT,
    }
)
_STORY_FIELDS = {
    "Status": one_of("running", "ended"),
    #: By status.
    "Evaluations": table(INTEGER),
    "EndTime": INTEGER,
    "Outcome": _OUTCOME,
}
_STORY = struct_with("StoryStub", Story, _STORY_FIELDS)
_STORY_READ = struct_with("StoryRead", Story, _STORY_FIELDS | {"EvaluationIDs": array(TEXT)})
_STEERED = named(
    "DeploymentWritten",
    fields(
        {
            "EvalID": TEXT,
            "EvalCreateIndex": INTEGER,
            "DeploymentModifyIndex": INTEGER,
            "RevertedJobVersion": nullable(INTEGER),
            "Index": INTEGER,
        }
    ),
)


def _deployment(verb: str, summary: str, **body: object) -> Operation:
    asked = open_fields({"DeploymentID": TEXT, **body})  # type: ignore[dict-item] # shapes all
    return written(f"deployment/{verb}/{{deployment_id}}", asked, _STEERED, summary)


def _file(verb: str, summary: str, *query: str, media: str = PLAIN_TEXT) -> Operation:
    answer = TEXT if media == PLAIN_TEXT else ANY
    path = f"client/fs/{verb}/{{alloc_id}}"
    return told(path, answer, summary, *query)._replace(media=media, refusals=(500,))


def _any_method(path: str, summary: str, *query: str) -> tuple[Operation, ...]:
    return tuple(
        Operation(method, path, None, summary, query, has_index=False)
        for method in ("GET", "PUT", "PATCH", "DELETE")
    )


_EVAL = "evaluation/{eval_id}"
_CLIENT = "client/allocation/{alloc_id}"

OPERATIONS = (
    listed("evaluations", array(EVALUATION), "Evaluations, the oldest first", "job", "status"),
    Operation(
        "DELETE", "evaluations", fields({"Count": INTEGER, "Index": INTEGER}),
        "Delete evaluations that have ended, by their ids or by a filter",
        query=("job", "status", "prefix", "next_token", "reverse", "per_page", "filter"),
        body=open_fields({"EvalIDs?": array(TEXT), "Filter?": TEXT}),
    ),
    listed("evaluations/count", fields({"Count": INTEGER} | READ_META),
           "How many evaluations there are", "job", "status"),
    read(_EVAL, EVALUATION_READ, "An evaluation", "related"),
    read(f"{_EVAL}/allocations", array(ALLOCATION_ROW), "What an evaluation placed"),
    read(f"{_EVAL}/lifecycle", array(struct(LifecycleStep)), "The steps of its life"),
    read(f"{_EVAL}/explanation", array(struct(GroupExplanation)),
         "Why nodes were chosen, and others were not", "group"),
    told(f"{_EVAL}/unblock", struct_with("UnblockingOfGroup", Unblocking, {"Group": TEXT}),
         "Which single changes would let it be placed", "group"),
    read(f"{_EVAL}/capsule", OBJECT, "All that its scheduler saw"),
    listed("allocations", array(ALLOCATION_ROW), "Allocations, the oldest first", "resources",
           "task_states"),
    read("allocation/{alloc_id}", ALLOCATION, "An allocation, with its job"),
    written("allocation/{alloc_id}/stop", None, _STOPPED, "Stop an allocation; it is replaced",
            )._replace(query=("no_shutdown_delay", "reschedule")),
    read("allocation/{alloc_id}/services", array(struct(ServiceRegistration)),
         "Services of an allocation"),
    told("allocation/{alloc_id}/checks", nullable(table(OBJECT)), "What its checks found last"),
    *nothing("allocation/{id}/{rest}", 404, "GET", "PUT"),
    written(f"{_CLIENT}/restart", open_fields({"TaskName?": TEXT, "AllTasks?": FLAG}), _ORDERED,
            "Restart its tasks")._replace(is_body_optional=True, has_index=False),
    written(f"{_CLIENT}/signal", open_fields({"Task?": TEXT, "Signal?": TEXT}), _ORDERED,
            "Signal its tasks")._replace(is_body_optional=True, has_index=False),
    told(f"{_CLIENT}/stats", ANY, "What its tasks use now", "task"),
    told(f"{_CLIENT}/usage", sent(AllocationRows), "What it used over the past hour"),
    told(f"{_CLIENT}/checks", nullable(table(OBJECT)), "What its checks found last"),
    *_any_method(f"{_CLIENT}/gc", "Delete the files of an ended allocation"),
    *_any_method("client/gc", "Delete the files of all that has ended on a node", "node_id"),
    session(f"{_CLIENT}/exec", "Run a command inside a task, over a websocket"),
    *nothing("client/allocation/{id}/{rest}", 404, "GET", "PUT"),
    told("client/stats", ANY, "What a node uses now", "node_id"),
    told("client/usage", sent(NodeRows), "What a node used over the past hour", "node_id"),
    told("client/identity", OBJECT, "What a node's identity claims", "node_id"),
    written("client/identity/renew", open_fields({"NodeID?": TEXT}), OBJECT,
            "Let a node ask for a new identity",
            )._replace(query=("node_id",), is_body_optional=True, has_index=False),
    told("client/metadata", OBJECT, "A node's metadata", "node_id"),
    Operation("POST", "client/metadata", OBJECT, "Change a node's metadata", ("node_id",),
              body=open_fields({"NodeID?": TEXT, "Meta": table(nullable(TEXT))}),
              has_index=False),
    _file("logs", "What a task wrote", "task", "type", "follow", "plain", "origin", "offset",
          media="application/json")._replace(other_media=PLAIN_TEXT),
    _file("ls", "Files of a directory", "path", media="application/json"),
    _file("stat", "Facts about a file", "path", media="application/json"),
    _file("cat", "A file", "path"),
    _file("readat", "A part of a file", "path", "offset", "limit"),
    _file("stream", "A file as it grows", "path", "offset", "origin", "follow"),
    read("stories", array(_STORY), "Stories, those that run first", "per_page", "next_token",
         "kind", "status", "job", "node", "who"),
    read("story/{story_id}", _STORY_READ, "A story and its evaluations", "per_page",
         "next_token"),
    listed("deployments", array(struct(Deployment)), "Deployments, the oldest first"),
    read("deployment/{deployment_id}", struct(Deployment), "A deployment"),
    read("deployment/allocations/{deployment_id}", array(ALLOCATION_ROW),
         "Allocations of a deployment"),
    _deployment("promote", "Promote canaries", **{"Groups?": array(TEXT), "All?": FLAG}),
    _deployment("pause", "Pause or resume", **{"Pause?": FLAG}),
    _deployment("fail", "Give a deployment up")._replace(is_body_optional=True),
    _deployment("unblock", "Means something across regions only"),
    _deployment("allocation-health", "Say which allocations are healthy",
                **{"HealthyAllocationIDs?": array(TEXT), "UnhealthyAllocationIDs?": array(TEXT)}),
)  # fmt: skip
