"""What a job must satisfy before it is stored, planned or called valid, beside its own rules.

In: a canonical `Job` and a reader. Out: the job as this cluster takes it and its warnings, or
every problem at once. Stores nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cluster.jobspec.advice import warnings_of
from cluster.jobspec.left_out import left_out_warnings
from cluster.jobspec.problems import Problem, error_text
from cluster.jobspec.quoting import quoted, quoted_list
from cluster.jobspec.validate import Judgement, judge_job
from cluster.operations.errors import OperationRefused
from cluster.operations.namespaces import pool_is_allowed
from cluster.operations.node_pools import BUILT_IN_POOLS
from scheduler.ports import StateReader
from scheduler.state.nouns import NAMESPACES, NODE_POOLS
from scheduler.structs.identity import DEFAULT_NAMESPACE, DEFAULT_NODE_POOL
from scheduler.structs.job import Job, NamespaceCapabilities
from scheduler.structs.task_group import TaskGroup


class Admitted(NamedTuple):
    """A job as it will be stored, and what its author should know."""

    job: Job
    #: Those that the reference gives too.
    warnings: tuple[str, ...]
    #: Our own, which follow them: what of the job is not carried out.
    left_out: tuple[str, ...]


class JobRefused(OperationRefused):
    """The job breaks rules; `problems` are all of them, each with its path."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(error_text(problem.message for problem in problems))


class JobMovedOn(OperationRefused):
    """The job is not, or no longer, what the caller looked at."""


def admit(reader: StateReader, job: Job, judged: Judgement) -> Admitted:
    """The job as this cluster stores it, given `judge_job(job)`: in a pool, whoever chose it.

    Raises `JobRefused` naming every problem: of the job itself, its namespace and its pool.
    """
    if judged.unprepared:
        raise OperationRefused(judged.unprepared)
    problems = [*judged.first, *place_problems(reader, job), *judged.last]
    if problems:
        raise JobRefused(problems)
    placed = in_some_pool(reader, job)
    return Admitted(placed, warnings_of_reference(reader, placed), judged.left_out)


def problems_of(reader: StateReader, job: Job) -> list[Problem]:
    """Every reason not to take the job here.

    Raises `OperationRefused` for a job that cannot even be prepared for judging.
    """
    judged = judge_job(job)
    if judged.unprepared:
        raise OperationRefused(judged.unprepared)
    return [*judged.first, *place_problems(reader, job), *judged.last]


def warnings_about(reader: StateReader, job: Job) -> tuple[str, ...]:
    """What the author should know of a job, also of one that is refused.

    The reference's own warnings, in its words; then what of the job is not carried out here.
    """
    return (*warnings_of_reference(reader, job), *left_out_warnings(job))


def warnings_of_reference(reader: StateReader, job: Job) -> tuple[str, ...]:
    """The warnings that the reference has too (validation.md 19)."""
    return warnings_of(job, memory_oversubscription=_may_oversubscribe(reader, job))


def _may_oversubscribe(reader: StateReader, job: Job) -> bool:
    """Whether tasks may use more memory than they reserve: as their pool says, else the rest."""
    pool = reader.get(NODE_POOLS, in_some_pool(reader, job).node_pool)
    own = pool.scheduler_configuration if pool is not None else None
    if own is not None and own.memory_oversubscription_enabled is not None:
        return own.memory_oversubscription_enabled
    return reader.scheduler_settings().memory_oversubscription_enabled


def in_some_pool(reader: StateReader, job: Job) -> Job:
    """The job in the pool that it names; one that names none goes where its namespace says."""
    if job.node_pool:
        return job
    namespace = reader.get(NAMESPACES, job.namespace)
    rules = namespace.node_pool_configuration if namespace is not None else None
    return replace(job, node_pool=(rules.default if rules else "") or DEFAULT_NODE_POOL)


def place_problems(reader: StateReader, job: Job) -> list[Problem]:
    """What is wrong with where the job wants to be: its namespace, its pool."""
    job = in_some_pool(reader, job)
    problems = []
    namespace = reader.get(NAMESPACES, job.namespace)
    if namespace is None and job.namespace != DEFAULT_NAMESPACE:
        text = f'job "{job.id}" is in nonexistent namespace "{job.namespace}"'
        problems.append(Problem("Namespace", text))
    elif namespace is not None and namespace.capabilities is not None:
        text = _forbidden_part(job, namespace.name, namespace.capabilities)
        if text:
            problems.append(Problem("TaskGroups", text))
    rules = namespace.node_pool_configuration if namespace is not None else None
    if rules is not None and not pool_is_allowed(rules, job.node_pool):
        text = (
            f'job "{job.id}" is not allowed to use node pool "{job.node_pool}"'
            f' in namespace "{job.namespace}"'
        )
        problems.append(Problem("NodePool", text))
    if job.node_pool not in BUILT_IN_POOLS and reader.get(NODE_POOLS, job.node_pool) is None:
        text = f'job "{job.id}" is in nonexistent node pool "{job.node_pool}"'
        problems.append(Problem("NodePool", text))
    return problems


def _forbidden_part(job: Job, namespace: str, allowed: NamespaceCapabilities) -> str:
    """Which drivers of the job its namespace forbids, else which network modes."""
    drivers = [task.driver for group in job.task_groups for task in group.tasks]
    modes = [network.mode or "host" for group in job.task_groups for network in group.networks]
    for what, used, enabled, disabled in (
        ("task driver", drivers, allowed.enabled_task_drivers, allowed.disabled_task_drivers),
        (
            "group network mode",
            modes,
            allowed.enabled_network_modes,
            allowed.disabled_network_modes,
        ),
    ):
        refused = [
            name for name in used if name in (disabled or ()) or (enabled and name not in enabled)
        ]
        if len(refused) == 1:
            name = quoted(refused[0])
            return f"used {what} {name} is not allowed in namespace {quoted(namespace)}"
        if refused:
            names = quoted_list(refused)
            return f"used {what}s {names} are not allowed in namespace {quoted(namespace)}"
    return ""


def check_transition(stored: Job | None, job: Job) -> None:
    """Refuse what a new version of a job may not change (control-plane.md 11.1)."""
    if stored is None:
        if job.dispatched:
            raise OperationRefused("job can't be submitted with 'Dispatched' set")
        return
    if stored.type != job.type:
        raise OperationRefused(f'cannot update job from type "{stored.type}" to "{job.type}"')
    if stored.is_periodic != job.is_periodic:
        wanted = "periodic" if job.is_periodic else "non-periodic"
        raise OperationRefused(f"cannot update {_opposite(wanted)} job to being {wanted}")
    # A dispatched child is none: read from the API and sent again it would become one.
    if stored.is_parameterized != job.is_parameterized:
        wanted = "parameterized" if job.is_parameterized else "non-parameterized"
        raise OperationRefused(f"cannot update {_opposite(wanted)} job to being {wanted}")
    if stored.dispatched != job.dispatched:
        raise OperationRefused("field 'Dispatched' is read-only")


def _opposite(word: str) -> str:
    return word.removeprefix("non-") if word.startswith("non-") else f"non-{word}"


def check_enforced_index(stored: Job | None, *, enforced: int) -> None:
    """Refuse when the job moved on since the caller looked; 0 means it must not exist yet."""
    head = f"Enforcing job modify index {enforced}:"
    if stored is None:
        if enforced != 0:
            raise JobMovedOn(f"{head} job does not exist")
    elif enforced == 0:
        raise JobMovedOn(f"{head} job already exists")
    elif enforced != stored.job_modify_index:
        raise JobMovedOn(
            f"{head} job exists with conflicting job modify index: {stored.job_modify_index}"
        )


def keep_what_was(job: Job, stored: Job | None, *, counts: bool, resources: bool) -> Job:
    """The job with group counts or task resources of the stored version, matched by name."""
    if stored is None or not (counts or resources):
        return job
    groups = []
    for group in job.task_groups:
        before = stored.task_group(group.name)
        if before is not None and counts:
            group = replace(group, count=before.count)  # noqa: PLW2901 - the group being built
        if before is not None and resources:
            group = _with_resources(group, before)  # noqa: PLW2901 - the group being built
        groups.append(group)
    return replace(job, task_groups=tuple(groups))


def _with_resources(group: TaskGroup, before: TaskGroup) -> TaskGroup:
    tasks = []
    for task in group.tasks:
        old = before.task(task.name)
        tasks.append(task if old is None else replace(task, resources=old.resources))
    return replace(group, tasks=tuple(tasks))
