"""Rules for periodic and parameterized jobs.

In: what a job says of its launches. Out: what is wrong with it.
"""

from cluster.jobspec.cron import cron_problem, time_zone_problem
from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from scheduler.structs.job import Job, JobType, ParameterizedJob, Periodic

_CHILD_TYPES = (JobType.BATCH, JobType.SYSBATCH)


def check_launching(job: Job, findings: Findings) -> None:
    """Add the faults of a job's launches by time or by dispatch; a disabled timer has none."""
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
    if periodic.spec and periodic.specs:
        findings.add("Only cron or crons may be used", "Spec")
    if not periodic.spec and not periodic.specs:
        findings.add("Must specify a spec", "Specs")
    zone = time_zone_problem(periodic.time_zone)
    if zone:
        findings.add(f"Invalid time zone {quoted(periodic.time_zone)}: {zone}", "TimeZone")
    if periodic.spec_type != "cron":
        text = f"Unknown periodic specification type {quoted(periodic.spec_type)}"
        findings.add(text, "SpecType")
        return
    named = [(periodic.spec, "Spec")] if periodic.spec else []
    named += [(spec, f"Specs[{number}]") for number, spec in enumerate(periodic.specs)]
    for spec, field in named:
        problem = cron_problem(spec)
        if problem:
            findings.add(f"Invalid cron spec {quoted(spec)}: {problem}", field)


def _check_parameterized(parameterized: ParameterizedJob, findings: Findings) -> None:
    if parameterized.payload not in ("optional", "required", "forbidden"):
        findings.add(f"Unknown payload requirement: {quoted(parameterized.payload)}", "Payload")
    both = sorted(set(parameterized.meta_required) & set(parameterized.meta_optional))
    if both:
        text = "Required and optional meta keys should be disjoint. Following keys exist in both:"
        findings.add(f"{text} [{' '.join(both)}]", "MetaOptional")
