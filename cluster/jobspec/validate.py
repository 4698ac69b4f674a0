"""Judge a canonical job by the rules of the public API.

In: a `Job`. Out: every problem at once, in the order of the steps that find them. Changes nothing,
asks nobody; what the cluster has is for `cluster.operations.admission` to see.
"""

from typing import NamedTuple

from cluster.jobspec.cluster_rules import (
    check_limits,
    consul_problem,
    numa_problem,
    schedule_problem,
    vault_problem,
)
from cluster.jobspec.findings import Findings
from cluster.jobspec.left_out import left_out_warnings
from cluster.jobspec.mesh_rules import (
    connect_problem,
    exposed_problem,
    mesh_step_problem,
    uses_mesh,
)
from cluster.jobspec.names import job_names, name_faults
from cluster.jobspec.problems import Problem
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_group import check_group
from cluster.jobspec.validate_launching import check_launching
from cluster.jobspec.validate_targets import check_affinities, check_constraints, check_spreads
from scheduler.structs.collection import CORE_TYPE
from scheduler.structs.job import Job, JobType

_TYPES = (*JobType, CORE_TYPE)
#: Bytes.
_LONGEST_DESCRIPTION = 1000


class Judgement(NamedTuple):
    """What is wrong with a job itself.

    Between the two lists stands what is wrong with its place in the cluster.
    """

    #: Why the job cannot even be prepared for judging: the whole answer, if not empty.
    unprepared: str
    first: tuple[Problem, ...]
    last: tuple[Problem, ...]
    #: What of a sound job is not carried out, as warnings.
    left_out: tuple[str, ...] = ()


def judge_job(job: Job) -> Judgement:
    """Every problem of the job itself, worded as the API words it.

    Parts nested in one text per group.
    """
    unprepared = mesh_step_problem(job) if uses_mesh(job) else ""
    if unprepared:
        return Judgement(unprepared, (), ())
    first, last = tuple(_mesh_and_keepers(job)), tuple(_findings(job).problems())
    return Judgement("", first, last, left_out_warnings(job))


def validate(job: Job) -> list[Problem]:
    """Every problem of the job itself as one list."""
    judged = judge_job(job)
    if judged.unprepared:
        return [Problem("", judged.unprepared)]
    return [*judged.first, *judged.last]


def single_problems(job: Job) -> list[Problem]:
    """The same faults one by one, each at the path of the field it concerns."""
    unprepared = mesh_step_problem(job) if uses_mesh(job) else ""
    if unprepared:
        return [Problem("TaskGroups", unprepared)]
    return [*_mesh_and_keepers(job), *_findings(job).leaves()]


def _mesh_and_keepers(job: Job) -> list[Problem]:
    """One finding at most of each step that looks at the mesh, Vault and Consul."""
    mesh = (connect_problem(job), exposed_problem(job)) if uses_mesh(job) else ()
    texts = (*mesh, vault_problem(job), consul_problem(job))
    return [Problem("TaskGroups", text) for text in texts if text]


def _findings(job: Job) -> Findings:
    findings = Findings()
    _check_identity(job, findings)
    _check_placement(job, findings)
    _check_texts(job, findings)
    _check_groups(job, findings)
    check_launching(job, findings)
    if job.multiregion is not None and job.multiregion.get("Regions"):
        findings.add("Multiregion jobs are unlicensed.", "Multiregion")
    check_limits(job, findings)
    for text in (numa_problem(job), schedule_problem(job)):
        if text:
            findings.add(text, "TaskGroups")
    for problem in name_faults(job_names(job)):
        findings.add(problem.message, problem.path)
    return findings


def _check_identity(job: Job, findings: Findings) -> None:
    if not job.region and job.multiregion is None:
        findings.add("Missing job region", "Region")
    if not job.id:
        findings.add("Missing job ID", "ID")
    elif " " in job.id:
        findings.add("Job ID contains a space", "ID")
    elif "\0" in job.id:
        findings.add("Job ID contains a null character", "ID")
    if not job.name:
        findings.add("Missing job name", "Name")
    elif "\0" in job.name:
        findings.add("Job Name contains a null character", "Name")
    if not job.namespace:
        findings.add("Job must be in a namespace", "Namespace")
    if not job.type:
        findings.add("Missing job type", "Type")
    elif job.type not in _TYPES:
        findings.add(f"Invalid job type: {quoted(job.type)}", "Type")


def _check_placement(job: Job, findings: Findings) -> None:
    if not job.datacenters:
        findings.add("Missing job datacenters", "Datacenters")
    for datacenter in job.datacenters:
        if not datacenter:
            findings.add("Job datacenter must be non-empty string", "Datacenters")
    if not job.task_groups:
        findings.add("Missing job task groups", "TaskGroups")
    check_constraints(job.constraints, findings)
    if job.type == JobType.SYSTEM:
        if job.affinities:
            findings.add("System jobs may not have an affinity block", "Affinities")
        if job.spreads:
            findings.add("System jobs may not have a spread block", "Spreads")
        return
    check_affinities(job.affinities, findings)
    check_spreads(job.spreads, findings)


def _check_texts(job: Job, findings: Findings) -> None:
    ui, tag = job.ui, job.version_tag
    if ui is not None:
        _check_length("UI", ui.description, "UI.Description", findings)
    if tag is not None:
        _check_length("Tagged version", tag.description, "VersionTag.Description", findings)


def _check_length(owner: str, text: str, field: str, findings: Findings) -> None:
    length = len(text.encode())
    if length > _LONGEST_DESCRIPTION:
        limit = f"description must be under {_LONGEST_DESCRIPTION} characters"
        findings.add(f"{owner} {limit}, currently {length}", field)


def _check_groups(job: Job, findings: Findings) -> None:
    first_use: dict[str, int] = {}
    for number, group in enumerate(job.task_groups, start=1):
        place = f"TaskGroups[{number - 1}]"
        if not group.name:
            findings.add(f"Job task group {number} missing name", place)
        elif group.name in first_use:
            text = f"Job task group {number} redefines '{group.name}'"
            findings.add(f"{text} from group {first_use[group.name]}", place)
        first_use.setdefault(group.name, number)
        if group.shutdown_delay is not None and group.shutdown_delay < 0:
            findings.add("ShutdownDelay must be a positive value", f"{place}.ShutdownDelay")
        if job.type == JobType.SYSTEM and group.count > 1:
            text = f"Job task group {group.name} has count {group.count}."
            findings.add(f"{text} Count cannot exceed 1 with system scheduler", f"{place}.Count")
    for position, group in enumerate(job.task_groups):
        part = findings.below(f"TaskGroups[{position}]")
        check_group(job, group, part)
        findings.nest(part, f"Task group {group.name} validation failed: ")
