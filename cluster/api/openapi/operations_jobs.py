"""The operations of jobs: lists, writes, and what belongs to one job."""

from cluster.api.openapi.common_shapes import (
    ALLOCATION_ROW,
    EVALUATION,
    INDEX_ALONE,
    JOB_ROW,
    JOB_WRITTEN,
    READ_META,
    SUMMARY,
)
from cluster.api.openapi.operation import (
    Operation,
    listed,
    nothing,
    read,
    removed,
    session,
    told,
    written,
)
from cluster.api.openapi.shapes import (
    ANY,
    FLAG,
    INSTANT,
    INTEGER,
    OBJECT,
    TEXT,
    array,
    fields,
    named,
    nullable,
    open_fields,
    sent,
    struct,
    struct_with,
    table,
)
from cluster.jobspec.diff_structs import JobDiff
from cluster.operations.job_plan import PlannedPlacement
from cluster.operations.usage import JobUsage
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Job, JobSubmission, VersionTag
from scheduler.structs.plan_annotations import PlanAnnotations
from scheduler.structs.service_registration import ServiceRegistration

_WRITES = {
    "Job": sent(Job),
    "Submission?": sent(JobSubmission),
    "EnforceIndex?": FLAG,
    "JobModifyIndex?": INTEGER,
    "EvalPriority?": INTEGER,
    "PreserveCounts?": FLAG,
    "PreserveResources?": FLAG,
}
REGISTRATION = named("JobRegistration", open_fields(_WRITES))
_DEREGISTERED = named(
    "JobDeregistered",
    fields(
        READ_META
        | {"EvalID": TEXT, "EvalCreateIndex": INTEGER, "JobModifyIndex": INTEGER}
        | {"VolumeEvalID": TEXT, "VolumeEvalIndex": INTEGER}
    ),
)
_DISPATCHED = named(
    "JobDispatched",
    fields(
        {
            "DispatchedJobID": TEXT,
            "EvalID": TEXT,
            "EvalCreateIndex": INTEGER,
            "JobCreateIndex": INTEGER,
            "Index": INTEGER,
        }
    ),
)
_PLAN = named(
    "JobPlan",
    fields(
        {
            "Index": INTEGER,
            "Annotations": struct_with(
                "PlanAnnotationsOfPlan",
                PlanAnnotations,
                {"PreemptedAllocs": nullable(array(ALLOCATION_ROW))},
            ),
            "FailedTGAllocs": nullable(table(struct(AllocMetric))),
            "JobModifyIndex": INTEGER,
            "CreatedEvals": nullable(array(EVALUATION)),
            "Diff": nullable(struct(JobDiff)),
            "NextPeriodicLaunch": nullable(INSTANT),
            "Warnings": TEXT,
            "Placements?": array(struct(PlannedPlacement)),
        }
    ),
)
_VALIDATED = named(
    "JobValidated",
    fields(
        {
            "DriverConfigValidated": FLAG,
            "ValidationErrors": nullable(array(TEXT)),
            "Error": TEXT,
            "Warnings": TEXT,
        }
    ),
)
_VERSIONS = named(
    "JobVersions",
    fields(
        READ_META | {"Versions": array(struct(Job)), "Diffs": nullable(array(struct(JobDiff)))}
    ),
)
_ACTION = fields(
    {
        "Name": TEXT,
        "Command": TEXT,
        "Args": nullable(array(TEXT)),
        "TaskGroupName": TEXT,
        "TaskName": TEXT,
    }
)
_SCALING_EVENT = fields(
    {
        "Time": INTEGER,
        "Count": nullable(INTEGER),
        "PreviousCount": INTEGER,
        "Message": TEXT,
        "Error": FLAG,
        "Meta": nullable(OBJECT),
        "EvalID": nullable(TEXT),
        "CreateIndex": INTEGER,
    }
)
_SCALE_STATUS = named(
    "JobScaleStatus",
    fields(
        {
            "JobID": TEXT,
            "Namespace": TEXT,
            "JobCreateIndex": INTEGER,
            "JobModifyIndex": INTEGER,
            "JobStopped": FLAG,
            "TaskGroups": table(
                fields(
                    dict.fromkeys(
                        ("Desired", "Placed", "Running", "Healthy", "Unhealthy"), INTEGER
                    )
                    | {"Events": nullable(array(_SCALING_EVENT))}
                )
            ),
        }
    ),
)
_STATUS_ALLOC = fields(
    {
        "ID": TEXT,
        "Group": TEXT,
        "ClientStatus": TEXT,
        "NodeID": TEXT,
        "DeploymentStatus": fields({"Canary": FLAG, "Healthy": nullable(FLAG)}),
        "JobVersion": INTEGER,
        "FollowupEvalID": TEXT,
        "HasPausedTask": FLAG,
    }
)
_STATUS_DEPLOYMENT = fields(
    {
        "ID": TEXT,
        "IsActive": FLAG,
        "JobVersion": INTEGER,
        "Status": TEXT,
        "StatusDescription": TEXT,
        "AllAutoPromote": FLAG,
        "RequiresPromotion": FLAG,
    }
)
_STATUSES = array(
    named(
        "JobStatus",
        fields(
            {
                "ID": TEXT,
                "Namespace": TEXT,
                "Name": TEXT,
                "Type": TEXT,
                "NodePool": TEXT,
                "Datacenters": array(TEXT),
                "Priority": INTEGER,
                "Version": INTEGER,
                "ParentID": TEXT,
                "SubmitTime": INTEGER,
                "ModifyIndex": INTEGER,
                "Allocs": nullable(array(_STATUS_ALLOC)),
                "GroupCountSum": INTEGER,
                "ChildStatuses": nullable(array(TEXT)),
                "LatestDeployment": nullable(_STATUS_DEPLOYMENT),
                "Stop": FLAG,
                "IsPack": FLAG,
                "Status": TEXT,
            }
        ),
    )
)
_TAGGED = struct_with("JobVersionTagged", VersionTag, READ_META)
_LAUNCHED = fields({"EvalID": TEXT, "EvalCreateIndex": INTEGER, "Index": INTEGER})
_OF_VERSION = {"JobID": TEXT, "JobVersion": INTEGER}

OPERATIONS = (
    listed("jobs", array(JOB_ROW), "Jobs with their counts", "meta"),
    written("jobs", REGISTRATION, JOB_WRITTEN, "Register a job"),
    written(
        "jobs/parse",
        open_fields({"JobHCL": TEXT, "Variables?": TEXT, "Canonicalize?": FLAG}),
        OBJECT,
        "Turn a job file into the JSON that a request carries",
    )._replace(has_index=False),
    listed("jobs/statuses", _STATUSES, "Jobs with their allocations and newest deployment",
           "include_children"),
    Operation(
        "POST", "jobs/statuses", _STATUSES, "The same of the jobs that are named",
        query=("index", "wait", "filter", "per_page", "next_token", "reverse"),
        body=open_fields({
            "jobs?": array(open_fields({"id": TEXT, "namespace?": TEXT})),
            "include_children?": FLAG,
        }),
        is_body_optional=True,
    ),
    written("validate/job", open_fields({"Job": sent(Job)}), _VALIDATED,
            "Check a job without registering it")._replace(has_index=False),
    read("job/{job_id}", struct(Job), "A job"),
    written("job/{job_id}", REGISTRATION, JOB_WRITTEN, "Register a new version of a job"),
    removed("job/{job_id}", _DEREGISTERED, "Stop a job", "purge", "global", "eval_priority",
            "no_shutdown_delay"),
    read("job/{job_id}/allocations", array(ALLOCATION_ROW), "Allocations of a job", "all"),
    read("job/{job_id}/evaluations", array(EVALUATION), "Evaluations of a job"),
    read("job/{job_id}/deployments", array(struct(Deployment)), "Deployments of a job", "all"),
    read("job/{job_id}/deployment", nullable(struct(Deployment)), "The newest of a job"),
    read("job/{job_id}/summary", SUMMARY, "How many allocations of a job stand how"),
    told("job/{job_id}/usage", sent(JobUsage), "What a job used over the past hour"),
    read("job/{job_id}/versions", _VERSIONS, "Versions of a job, the newest first", "diffs",
         "diff_version", "diff_tag"),
    read("job/{job_id}/submission", struct(JobSubmission), "The text a version came as",
         "version"),
    read("job/{job_id}/services", array(struct(ServiceRegistration)), "Services of a job"),
    read("job/{job_id}/actions", array(_ACTION), "What tasks of a job offer to be run"),
    session("job/{job_id}/action", "Run what a task offers, over a websocket"),
    written("job/{job_id}/evaluate",
            open_fields({"JobID": TEXT, "EvalOptions?": open_fields({"ForceReschedule?": FLAG})}),
            JOB_WRITTEN, "Let a job be looked at again")._replace(is_body_optional=True),
    written("job/{job_id}/periodic/force", None, _LAUNCHED, "Launch a child now"),
    written("job/{job_id}/plan", open_fields({**_WRITES, "Diff?": FLAG}), _PLAN,
            "What registering a job would do"),
    written("job/{job_id}/dispatch",
            open_fields({"JobID?": TEXT, "Payload?": TEXT, "Meta?": table(TEXT),
                         "IdPrefixTemplate?": TEXT, "Priority?": INTEGER,
                         "IdempotencyToken?": TEXT, "idempotency_token?": TEXT}),
            _DISPATCHED, "Launch a child of a parameterized job",
            )._replace(query=("idempotency_token",)),
    written("job/{job_id}/dispatch/payload", ANY, _DISPATCHED,
            "The same, with the payload alone as body",
            )._replace(query=("idempotency_token",), body_media="application/octet-stream",
                       is_body_optional=True),
    written("job/{job_id}/revert",
            open_fields({**_OF_VERSION, "EnforcePriorVersion?": nullable(INTEGER)}),
            JOB_WRITTEN, "Go back to a version of a job"),
    written("job/{job_id}/stable", open_fields({**_OF_VERSION, "Stable?": FLAG}), INDEX_ALONE,
            "Call a version stable, or no longer so"),
    read("job/{job_id}/scale", _SCALE_STATUS, "How far groups are scaled"),
    written("job/{job_id}/scale",
            open_fields({"Count?": nullable(INTEGER), "Target": table(TEXT), "Message?": TEXT,
                         "Error?": FLAG, "Meta?": OBJECT, "JobModifyIndex?": INTEGER}),
            JOB_WRITTEN, "Scale a group"),
    written("job/{job_id}/versions/{name}/tag",
            open_fields({"Version?": INTEGER, "Latest?": FLAG, "Description?": TEXT}),
            _TAGGED, "Name a version of a job")._replace(has_index=False),
    removed("job/{job_id}/versions/{name}/tag", _TAGGED,
            "Take the name of a version away")._replace(has_index=False),
    *nothing("job/{rest}/tag", 404, "GET", "PUT", "DELETE"),
)  # fmt: skip
