"""Judge a canonical job by the rules of the public API.

In: a `Job`; for `validate_job` also what the cluster has. Out: every problem and every warning at
once. Changes nothing, asks nobody.
"""

from collections.abc import Container
from typing import NamedTuple

from cluster.jobspec.advice import warnings_of
from cluster.jobspec.cron import cron_problem, time_zone_problem
from cluster.jobspec.findings import Findings
from cluster.jobspec.problems import Problem
from cluster.jobspec.validate_group import check_group
from cluster.jobspec.validate_service import exposed_check_problem
from cluster.jobspec.validate_targets import check_affinities, check_constraints, check_spreads
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.job import Job, JobType, ParameterizedJob, Periodic
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.task_group import TaskGroup

#: A job may not ask for more allocations than this in all its groups.
MAX_ALLOCATIONS = 50_000
MAX_PRIORITY = 100
_LONGEST_DESCRIPTION = 1000
_CORE_TYPE = "_core"
_CHILD_TYPES = (JobType.BATCH, JobType.SYSBATCH)


class Verdict(NamedTuple):
    """What is wrong with a job, and what its author should know anyway."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]


def validate_job(
    job: Job,
    *,
    namespaces: Container[str],
    node_pools: Container[str],
    settings: SchedulerSettings,
) -> Verdict:
    """Judge a job by its own rules and by what the cluster has."""
    problems = []
    if job.namespace not in namespaces:
        text = f'job "{job.id}" is in nonexistent namespace "{job.namespace}"'
        problems.append(Problem("Namespace", text))
    if job.node_pool != ALL_NODE_POOLS and job.node_pool not in node_pools:
        text = f'job "{job.id}" is in nonexistent node pool "{job.node_pool}"'
        problems.append(Problem("NodePool", text))
    problems.extend(validate(job))
    oversubscription = settings.memory_oversubscription_enabled
    return Verdict(tuple(problems), warnings_of(job, memory_oversubscription=oversubscription))


def validate(job: Job) -> list[Problem]:
    """Every problem of the job itself, worded as the API words it.

    Parts nested in one text per group.
    """
    return _findings(job).problems()


def single_problems(job: Job) -> list[Problem]:
    """The same faults one by one, each at the path of the field it concerns."""
    return list(_findings(job).leaves())


def _findings(job: Job) -> Findings:
    findings = Findings()
    _check_exposed(job, findings)
    _check_identity(job, findings)
    _check_type(job, findings)
    _check_placement(job, findings)
    _check_groups(job, findings)
    _check_texts(job, findings)
    _check_launching(job, findings)
    _check_unavailable(job, findings)
    return findings


def _check_exposed(job: Job, findings: Findings) -> None:
    for position, group in enumerate(job.task_groups):
        text = exposed_check_problem(group)
        if text:
            findings.add(text, f"TaskGroups[{position}]")


def _check_identity(job: Job, findings: Findings) -> None:
    if not job.region:
        findings.add("Missing job region", "Region")
    if not job.id:
        findings.add("Missing job ID", "ID")
    if " " in job.id:
        findings.add("Job ID contains a space", "ID")
    if "\0" in job.id:
        findings.add("Job ID contains a null character", "ID")
    if not job.name:
        findings.add("Missing job name", "Name")
    if "\0" in job.name:
        findings.add("Job Name contains a null character", "Name")
    if not job.namespace:
        findings.add("Job must be in a namespace", "Namespace")


def _check_type(job: Job, findings: Findings) -> None:
    if job.type == _CORE_TYPE:
        findings.add("job type cannot be core", "Type")
    elif not job.type:
        findings.add("Missing job type", "Type")
    elif job.type not in set(JobType):
        findings.add(f'Invalid job type: "{job.type}"', "Type")
    if not 1 <= job.priority <= MAX_PRIORITY:
        findings.add(f"job priority must be between [1, {MAX_PRIORITY}]", "Priority")


def _check_placement(job: Job, findings: Findings) -> None:
    if not job.datacenters:
        findings.add("Missing job datacenters", "Datacenters")
    if any(not datacenter for datacenter in job.datacenters):
        findings.add("Job datacenter must be non-empty string", "Datacenters")
    check_constraints(job.constraints, findings)
    if job.type == JobType.SYSTEM:
        if job.affinities:
            findings.add("System jobs may not have an affinity block", "Affinities")
        if job.spreads:
            findings.add("System jobs may not have a spread block", "Spreads")
        return
    check_affinities(job.affinities, findings)
    check_spreads(job.spreads, findings)


def _check_groups(job: Job, findings: Findings) -> None:
    if not job.task_groups:
        findings.add("Missing job task groups", "TaskGroups")
    first_use: dict[str, int] = {}
    for number, group in enumerate(job.task_groups, start=1):
        place = f"TaskGroups[{number - 1}]"
        if not group.name:
            findings.add(f"Job task group {number} missing name", place)
        elif group.name in first_use:
            text = (
                f"Job task group {number} redefines '{group.name}' from group "
                f"{first_use[group.name]}"
            )
            findings.add(text, place)
        first_use.setdefault(group.name, number)
        if job.type == JobType.SYSTEM and group.count > 1:
            text = f"Job task group {group.name} has count {group.count}."
            findings.add(f"{text} Count cannot exceed 1 with system scheduler", f"{place}.Count")
    _check_total(job.task_groups, findings)
    for position, group in enumerate(job.task_groups):
        part = findings.below(f"TaskGroups[{position}]")
        check_group(job, group, part)
        findings.nest(part, f"Task group {group.name} validation failed: ")


def _check_total(groups: tuple[TaskGroup, ...], findings: Findings) -> None:
    total = sum(max(0, group.count) for group in groups)
    if total > MAX_ALLOCATIONS:
        text = (
            f"total count was greater than configured job_max_count: {total} > {MAX_ALLOCATIONS}"
        )
        findings.add(text, "TaskGroups")


def _check_texts(job: Job, findings: Findings) -> None:
    if job.payload and not job.dispatched:
        findings.add("job can't be submitted with a payload, only dispatched", "Payload")
    tag = job.version_tag
    if tag is not None and len(tag.description) > _LONGEST_DESCRIPTION:
        text = f"Tagged version description must be under {_LONGEST_DESCRIPTION} characters"
        findings.add(f"{text}, currently {len(tag.description)}", "VersionTag.Description")
    if job.ui is not None and len(job.ui.description) > _LONGEST_DESCRIPTION:
        text = f"UI description must be under {_LONGEST_DESCRIPTION} characters"
        findings.add(f"{text}, currently {len(job.ui.description)}", "UI.Description")


def _check_launching(job: Job, findings: Findings) -> None:
    if job.periodic is not None and job.periodic.enabled:
        if job.type not in _CHILD_TYPES:
            text = 'Periodic can only be used with "batch" or "sysbatch" scheduler'
            findings.add(text, "Periodic")
        part = findings.below("Periodic")
        _check_periodic(job.periodic, part)
        findings.nest(part)
    if job.is_parameterized and job.parameterized_job is not None:
        if job.type not in _CHILD_TYPES:
            text = 'Parameterized job can only be used with "batch" or "sysbatch" scheduler'
            findings.add(text, "ParameterizedJob")
        part = findings.below("ParameterizedJob")
        _check_parameterized(job.parameterized_job, part)
        findings.nest(part)


def _check_periodic(periodic: Periodic, findings: Findings) -> None:
    if not periodic.spec and not periodic.specs:
        findings.add("Must specify a spec", "Specs")
    if periodic.spec and periodic.specs:
        findings.add("Only cron or crons may be used", "Spec")
        return
    zone = time_zone_problem(periodic.time_zone)
    if zone:
        findings.add(f'Invalid time zone "{periodic.time_zone}": {zone}', "TimeZone")
    if periodic.spec_type != "cron":
        text = f'Unknown periodic specification type "{periodic.spec_type}"'
        findings.add(text, "SpecType")
        return
    for spec in (*periodic.specs, *([periodic.spec] if periodic.spec else [])):
        problem = cron_problem(spec)
        if problem:
            findings.add(
                f'Invalid cron spec "{spec}": {problem}', "Spec" if periodic.spec else "Specs"
            )


def _check_parameterized(parameterized: ParameterizedJob, findings: Findings) -> None:
    if parameterized.payload not in ("optional", "required", "forbidden"):
        findings.add(f'Unknown payload requirement: "{parameterized.payload}"', "Payload")
    both = sorted(set(parameterized.meta_required) & set(parameterized.meta_optional))
    if both:
        names = ", ".join(f'"{name}"' for name in both)
        findings.add(
            f"Required and optional meta keys should be disjoint: [{names}]", "MetaOptional"
        )


def _check_unavailable(job: Job, findings: Findings) -> None:
    """What a job may write but nothing here provides."""
    clusters = {
        str(task.vault.get("Cluster") or "default"): f"TaskGroups[{position}]"
        for position, group in enumerate(job.task_groups)
        for task in group.tasks
        if task.vault is not None
    }
    for cluster, place in clusters.items():
        findings.add(f'Vault "{cluster}" not enabled but used in the job', place)
    for position, group in enumerate(job.task_groups):
        asked = (task.resources.numa for task in group.tasks)
        if any(numa is not None and numa.affinity != "none" for numa in asked):
            findings.add("numa scheduling requires Nomad Enterprise", f"TaskGroups[{position}]")
