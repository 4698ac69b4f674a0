"""The requests by name: each a value that a client sends, with the type of its answer.

Names and paths are those of the API's document; what is not here, `plain` asks for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bivouac.client.answers import (
    AllocationStub,
    DeploymentWritten,
    EvalMade,
    JobDispatched,
    JobPlan,
    JobStub,
    JobValidated,
    JobWritten,
    NodeStub,
    NodeWritten,
    ServicesOfNamespace,
    Variable,
)
from bivouac.client.request import Request, body_of, path, query_of
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.explanation import GroupExplanation
from scheduler.structs.job import Job, JobSummary, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.service_registration import ServiceRegistration


def plain(method: str, below_v1: str, body: Any = None, **query: object) -> Request[Any]:
    """Any request of the document; the answer is plain JSON."""
    return Request(method, below_v1, Any, query_of(**query), body)


def list_jobs(*, prefix: str = "", filter: str = "", meta: bool = False) -> Request[list[JobStub]]:  # noqa: A002 - the parameter's own name
    """Jobs, in order of their ids."""
    query = query_of(prefix=prefix, filter=filter, meta=meta or None)
    return Request("GET", "jobs", list[JobStub], query)


def read_job(job_id: str) -> Request[Job]:
    """A job, whole."""
    return Request("GET", path("job/{job_id}", job_id=job_id), Job)


def register_job(
    job: Job, *, enforce_index: int | None = None, preserve_counts: bool = False
) -> Request[JobWritten]:
    """Register a job, or its next version; with `enforce_index` only if it is at that index."""
    body: dict[str, Any] = {"Job": body_of(job), "PreserveCounts": preserve_counts}
    if enforce_index is not None:
        body |= {"EnforceIndex": True, "JobModifyIndex": enforce_index}
    return Request("PUT", "jobs", JobWritten, query_of(namespace=job.namespace), body)


def parse_job(text: str, *, canonicalize: bool = True) -> Request[Job]:
    """A job file in HCL as a job."""
    body = {"JobHCL": text, "Canonicalize": canonicalize}
    return Request("PUT", "jobs/parse", Job, {}, body)


def plan_job(job: Job, *, diff: bool = True) -> Request[JobPlan]:
    """What registering a job would do."""
    body = {"Job": body_of(job), "Diff": diff}
    query = query_of(namespace=job.namespace)
    return Request("PUT", path("job/{job_id}/plan", job_id=job.id), JobPlan, query, body)


def validate_job(job: Job) -> Request[JobValidated]:
    """Whether a job could be registered."""
    return Request("PUT", "validate/job", JobValidated, {}, {"Job": body_of(job)})


def deregister_job(job_id: str, *, purge: bool = False) -> Request[JobWritten]:
    """Stop a job; with `purge` it is forgotten too."""
    query = query_of(purge=purge)
    return Request("DELETE", path("job/{job_id}", job_id=job_id), JobWritten, query)


def evaluate_job(job_id: str) -> Request[JobWritten]:
    """Let a job be looked at again."""
    return Request(
        "PUT", path("job/{job_id}/evaluate", job_id=job_id), JobWritten, {}, {"JobID": job_id}
    )


def dispatch_job(
    job_id: str, *, payload: str = "", meta: Mapping[str, str] | None = None
) -> Request[JobDispatched]:
    """Launch a child of a parameterized job; the payload is in base64."""
    body = {"JobID": job_id, "Payload": payload, "Meta": dict(meta or {})}
    return Request("PUT", path("job/{job_id}/dispatch", job_id=job_id), JobDispatched, {}, body)


def scale_job(job_id: str, group: str, count: int, *, message: str = "") -> Request[JobWritten]:
    """Scale a group of a job."""
    body = {"Count": count, "Target": {"Group": group}, "Message": message}
    return Request("PUT", path("job/{job_id}/scale", job_id=job_id), JobWritten, {}, body)


def revert_job(job_id: str, version: int) -> Request[JobWritten]:
    """Go back to a version of a job."""
    body = {"JobID": job_id, "JobVersion": version}
    return Request("PUT", path("job/{job_id}/revert", job_id=job_id), JobWritten, {}, body)


def job_summary(job_id: str) -> Request[JobSummary]:
    """How many allocations of a job stand how."""
    return Request("GET", path("job/{job_id}/summary", job_id=job_id), JobSummary)


def job_versions(job_id: str) -> Request[list[Job]]:
    """Versions of a job, the newest first."""
    where = path("job/{job_id}/versions", job_id=job_id)
    return Request("GET", where, list[Job], inside="Versions")


def job_allocations(job_id: str) -> Request[list[AllocationStub]]:
    """Allocations of a job."""
    return Request("GET", path("job/{job_id}/allocations", job_id=job_id), list[AllocationStub])


def job_evaluations(job_id: str) -> Request[list[Evaluation]]:
    """Evaluations of a job."""
    return Request("GET", path("job/{job_id}/evaluations", job_id=job_id), list[Evaluation])


def job_deployments(job_id: str) -> Request[list[Deployment]]:
    """Deployments of a job."""
    return Request("GET", path("job/{job_id}/deployments", job_id=job_id), list[Deployment])


def list_evaluations(
    *,
    prefix: str = "",
    filter: str = "",  # noqa: A002 - the parameter's own name
    job: str = "",
    status: str = "",
) -> Request[list[Evaluation]]:
    """Evaluations, the oldest first."""
    query = query_of(prefix=prefix, filter=filter, job=job, status=status)
    return Request("GET", "evaluations", list[Evaluation], query)


def read_evaluation(eval_id: str) -> Request[Evaluation]:
    """An evaluation, whole."""
    return Request("GET", path("evaluation/{eval_id}", eval_id=eval_id), Evaluation)


def evaluation_lifecycle(eval_id: str) -> Request[list[LifecycleStep]]:
    """The recorded steps of an evaluation's life."""
    where = path("evaluation/{eval_id}/lifecycle", eval_id=eval_id)
    return Request("GET", where, list[LifecycleStep])


def evaluation_explanation(eval_id: str) -> Request[list[GroupExplanation]]:
    """Why nodes were chosen, and others were not."""
    where = path("evaluation/{eval_id}/explanation", eval_id=eval_id)
    return Request("GET", where, list[GroupExplanation])


def evaluation_allocations(eval_id: str) -> Request[list[AllocationStub]]:
    """What an evaluation placed."""
    where = path("evaluation/{eval_id}/allocations", eval_id=eval_id)
    return Request("GET", where, list[AllocationStub])


def list_allocations(*, prefix: str = "", filter: str = "") -> Request[list[AllocationStub]]:  # noqa: A002 - the parameter's own name
    """Allocations, the oldest first."""
    query = query_of(prefix=prefix, filter=filter)
    return Request("GET", "allocations", list[AllocationStub], query)


def read_allocation(alloc_id: str) -> Request[Allocation]:
    """An allocation, without its job."""
    return Request("GET", path("allocation/{alloc_id}", alloc_id=alloc_id), Allocation)


def stop_allocation(alloc_id: str) -> Request[EvalMade]:
    """Stop an allocation; it is replaced."""
    return Request("PUT", path("allocation/{alloc_id}/stop", alloc_id=alloc_id), EvalMade)


def list_deployments(*, prefix: str = "", filter: str = "") -> Request[list[Deployment]]:  # noqa: A002 - the parameter's own name
    """Deployments, the oldest first."""
    query = query_of(prefix=prefix, filter=filter)
    return Request("GET", "deployments", list[Deployment], query)


def read_deployment(deployment_id: str) -> Request[Deployment]:
    """A deployment, whole."""
    where = path("deployment/{deployment_id}", deployment_id=deployment_id)
    return Request("GET", where, Deployment)


def promote_deployment(
    deployment_id: str, groups: Sequence[str] = ()
) -> Request[DeploymentWritten]:
    """Promote the canaries of these groups; of all where none is named."""
    where = path("deployment/promote/{deployment_id}", deployment_id=deployment_id)
    body = {"DeploymentID": deployment_id, "Groups": list(groups), "All": not groups}
    return Request("PUT", where, DeploymentWritten, {}, body)


def pause_deployment(deployment_id: str, *, pause: bool = True) -> Request[DeploymentWritten]:
    """Pause a deployment, or let it go on."""
    where = path("deployment/pause/{deployment_id}", deployment_id=deployment_id)
    body = {"DeploymentID": deployment_id, "Pause": pause}
    return Request("PUT", where, DeploymentWritten, {}, body)


def fail_deployment(deployment_id: str) -> Request[DeploymentWritten]:
    """Give a deployment up."""
    where = path("deployment/fail/{deployment_id}", deployment_id=deployment_id)
    return Request("PUT", where, DeploymentWritten)


def list_nodes(*, prefix: str = "", filter: str = "") -> Request[list[NodeStub]]:  # noqa: A002 - the parameter's own name
    """Nodes, in order of their ids."""
    query = query_of(prefix=prefix, filter=filter)
    return Request("GET", "nodes", list[NodeStub], query)


def read_node(node_id: str) -> Request[Node]:
    """A node, whole."""
    return Request("GET", path("node/{node_id}", node_id=node_id), Node)


def node_allocations(node_id: str) -> Request[list[Allocation]]:
    """Allocations of a node."""
    return Request("GET", path("node/{node_id}/allocations", node_id=node_id), list[Allocation])


def drain_node(
    node_id: str, *, deadline_ns: int = 0, ignore_system_jobs: bool = False
) -> Request[NodeWritten]:
    """Move everything off a node; without a deadline it takes as long as it takes."""
    spec = {"Deadline": deadline_ns, "IgnoreSystemJobs": ignore_system_jobs}
    where = path("node/{node_id}/drain", node_id=node_id)
    return Request("PUT", where, NodeWritten, {}, {"DrainSpec": spec})


def stop_drain(node_id: str, *, mark_eligible: bool = True) -> Request[NodeWritten]:
    """Let a node stop draining."""
    body = {"DrainSpec": None, "MarkEligible": mark_eligible}
    return Request("PUT", path("node/{node_id}/drain", node_id=node_id), NodeWritten, {}, body)


def set_eligibility(node_id: str, *, eligible: bool) -> Request[NodeWritten]:
    """Let a node take allocations, or not."""
    body = {"Eligibility": "eligible" if eligible else "ineligible"}
    where = path("node/{node_id}/eligibility", node_id=node_id)
    return Request("PUT", where, NodeWritten, {}, body)


def list_pools() -> Request[list[NodePool]]:
    """Node pools by name."""
    return Request("GET", "node/pools", list[NodePool])


def list_namespaces() -> Request[list[Namespace]]:
    """Namespaces that the token knows."""
    return Request("GET", "namespaces", list[Namespace])


def write_namespace(namespace: Namespace) -> Request[None]:
    """Make a namespace, or replace it."""
    where = path("namespace/{name}", name=namespace.name)
    return Request("PUT", where, None, {}, body_of(namespace))


def scheduler_settings() -> Request[SchedulerSettings]:
    """Settings of the schedulers."""
    where = "operator/scheduler/configuration"
    return Request("GET", where, SchedulerSettings, inside="SchedulerConfig")


def list_services() -> Request[list[ServicesOfNamespace]]:
    """Names of services by namespace."""
    return Request("GET", "services", list[ServicesOfNamespace])


def read_service(name: str) -> Request[list[ServiceRegistration]]:
    """Where a service is offered."""
    return Request("GET", path("service/{name}", name=name), list[ServiceRegistration])


def list_variables(*, prefix: str = "") -> Request[list[Variable]]:
    """Variables, without their items."""
    return Request("GET", "vars", list[Variable], query_of(prefix=prefix))


def read_variable(where: str) -> Request[Variable]:
    """A variable, with its items."""
    return Request("GET", path("var/{path}", path=where), Variable)


def write_variable(
    where: str, items: Mapping[str, str], *, cas: int | None = None
) -> Request[Variable]:
    """Write a variable; with `cas` only if it is at that index, 0 for one that is not there."""
    body = {"Path": where, "Items": dict(items)}
    return Request("PUT", path("var/{path}", path=where), Variable, query_of(cas=cas), body)


def delete_variable(where: str) -> Request[None]:
    """Delete a variable."""
    return Request("DELETE", path("var/{path}", path=where), None)
