"""Shapes that several operations answer: stubs of lists, joined forms, what writes answer."""

import msgspec

from cluster.api.openapi.shapes import (
    FLAG,
    INTEGER,
    NULL,
    TEXT,
    Shape,
    array,
    fields,
    named,
    nullable,
    struct,
    struct_with,
    table,
)
from cluster.api.stubs import ALLOC_STUB, EVAL_STUB, JOB_STUB, NODE_STUB
from scheduler.structs.allocation import Allocation, DesiredTransition, TaskState
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, JobSummary, TaskGroupSummary
from scheduler.structs.network import NetworkResource
from scheduler.structs.node import Node, NodeResources, ReservedResources
from scheduler.structs.resources import AllocatedResources

READ_META: dict[str, Shape] = {
    "Index": INTEGER,
    "LastContact": INTEGER,
    "KnownLeader": FLAG,
    "NextToken": TEXT,
}
INDEX_ALONE = named("Written", fields({"Index": INTEGER}))
JOB_WRITTEN = named(
    "JobWritten",
    fields(
        READ_META
        | {
            "EvalID": TEXT,
            "EvalCreateIndex": INTEGER,
            "JobModifyIndex": INTEGER,
            "Warnings": TEXT,
        }
    ),
)
#: Its map is never null.
SUMMARY = struct_with("JobSummary", JobSummary, {"Summary": table(struct(TaskGroupSummary))})
JOB_ROW = struct_with(
    "JobStub",
    Job,
    {"Periodic": FLAG, "ParameterizedJob": FLAG, "JobSummary": SUMMARY, "Meta?": table(TEXT)},
    only=JOB_STUB,
)
EVALUATION = struct(Evaluation)
EVALUATION_ROW = struct_with("EvaluationStub", Evaluation, only=EVAL_STUB, complete=True)
EVALUATION_READ = struct_with(
    "EvaluationRead", Evaluation, {"RelatedEvals?": array(EVALUATION_ROW)}
)
_STUB_FIELDS = tuple(
    field.encode_name for field in msgspec.structs.fields(Allocation) if field.name in ALLOC_STUB
)
ALLOCATION_ROW = struct_with(
    "AllocationStub",
    Allocation,
    {
        "JobType": TEXT,
        "JobVersion": INTEGER,
        "TaskStates": nullable(table(struct(TaskState))),
        "AllocatedResources?": struct(AllocatedResources),
    },
    only=_STUB_FIELDS,
    complete=True,
)
#: What older clients read.
_OLD_RESOURCES = named(
    "OlderResources",
    fields(
        dict.fromkeys(
            ("CPU", "Cores", "MemoryMB", "MemoryMaxMB", "DiskMB", "IOPS", "SecretsMB"), INTEGER
        )
        | {
            "Networks": nullable(array(struct(NetworkResource))),
            "Devices": NULL,
            "NUMA": NULL,
        }
    ),
)
_OLDER: dict[str, Shape] = {
    "DesiredTransition?": struct(DesiredTransition),
    "TaskResources": table(_OLD_RESOURCES),
    "SharedResources": _OLD_RESOURCES,
    "Resources": _OLD_RESOURCES,
}
ALLOCATION_WITHOUT_JOB = struct_with("AllocationOfEvent", Allocation, _OLDER)
ALLOCATION = struct_with("AllocationRead", Allocation, _OLDER | {"Job": nullable(struct(Job))})
NODE_ROW = struct_with(
    "NodeStub",
    Node,
    {
        "Address": TEXT,
        "Version": TEXT,
        "Attributes?": table(TEXT),
        "NodeResources?": struct(NodeResources),
        "ReservedResources?": struct(ReservedResources),
    },
    only=NODE_STUB,
)
