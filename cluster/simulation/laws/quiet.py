"""What must hold once nothing goes wrong any more and nobody has anything left to do."""

from collections import Counter
from collections.abc import Iterable, Iterator

from cluster.simulation.cluster import Cluster
from cluster.simulation.laws.law import Laws
from scheduler.ports import StateReader
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobStatus, JobType
from scheduler.structs.task_group import TaskGroup

LAWS: Laws[Cluster] = Laws()


@LAWS.add("settles", "every evaluation ends or waits for room, and the broker is empty")
def _settles(cluster: Cluster) -> Iterator[str]:
    """A plan that is refused for good is made again each minute (evaluations.md 9.3)."""
    store, leader = cluster.plane.store, cluster.plane.leader
    for row in store.open_evaluations():
        if _tries_for_ever(store, row):
            continue
        if row.status is EvalStatus.PENDING or leader.broker.place_of(row.id) is not None:
            yield f"evaluation {row.id[-4:]} ({row.triggered_by} of {row.job_id}) is under way"


def _tries_for_ever(store: StateReader, row: Evaluation) -> bool:
    before = store.evaluation(row.previous_eval)
    tries = EvalTrigger.MAX_PLAN_ATTEMPTS
    return row.triggered_by == tries and before is not None and before.triggered_by == tries


@LAWS.add("drains-end", "a drain with a deadline ends")
def _drains(cluster: Cluster) -> Iterator[str]:
    for node in cluster.plane.store.nodes():
        if node.drain_strategy is not None:
            yield f"{node.name} still drains"


@LAWS.add("no-orphans", "a job that is stopped or gone has nothing that runs")
def _orphans(cluster: Cluster) -> Iterator[str]:
    store = cluster.plane.store
    for alloc in store.allocations():
        job = store.job(alloc.job_key)
        if alloc.is_terminal or (job is not None and not job.stop):
            continue
        yield f"{alloc.name} ({alloc.id[-4:]}) is wanted, and its job is gone or stopped"


@LAWS.add("ended-on-nodes", "what is not wanted has ended on its node")
def _ended(cluster: Cluster) -> Iterator[str]:
    for alloc in cluster.plane.store.allocations():
        node = cluster.plane.store.node(alloc.node_id)
        if alloc.is_server_terminal and not alloc.is_client_terminal and node is not None:
            yield f"{alloc.name} ({alloc.id[-4:]}) was told to stop and is {alloc.client_status}"


@LAWS.add("wanted", "each group runs what it asks for, or the record says why not")
def _wanted(cluster: Cluster) -> Iterator[str]:
    store = cluster.plane.store
    for job in store.jobs():
        if job.stop or job.is_periodic or job.is_parameterized:
            continue
        for group in job.task_groups:
            live = [
                alloc
                for alloc in store.allocations_by_job(job.key)
                if not alloc.is_terminal and alloc.task_group == group.name
            ]
            yield from _short_or_over(store, job, group, live)


def _short_or_over(
    store: StateReader, job: Job, group: TaskGroup, live: list[Allocation]
) -> Iterator[str]:
    names = Counter(
        (alloc.name, alloc.node_id if job.type in (JobType.SYSTEM, JobType.SYSBATCH) else "")
        for alloc in live
        if not _is_canary(alloc)
    )
    # A canary of a rollout before, whose stop was refused with its node, keeps its name.
    # Who stands in for one out of reach gets a name that is free just then.
    shares = group.disconnect is not None or has_canaries(group)
    if not shares and not _waits(store, job):
        yield from (
            f"{name} runs {count} times" for (name, _), count in names.items() if count > 1
        )
    if job.type == JobType.SERVICE:
        if len(live) != group.count and not _has_reason(store, job):
            yield f"{job.id}.{group.name} has {len(live)} of {group.count}, and nothing says why"
    elif job.type == JobType.BATCH:
        done = _done(store.allocations_by_job(job.key), job)
        missing = group.count - len(names.keys() | done)
        if missing > 0 and not _has_reason(store, job) and not _ends_collected(store, job):
            yield f"{job.id}.{group.name} lacks {missing} of {group.count}, and nothing says why"
    elif job.type == JobType.SYSTEM and not store.blocked_evaluations(job.key):
        yield from _nodes_without(store, job, group)


def _nodes_without(store: StateReader, job: Job, group: TaskGroup) -> Iterator[str]:
    """Nodes that never had the group; what ended or was stopped there waits to be looked at."""
    had = {
        alloc.node_id
        for alloc in store.allocations_by_job(job.key)
        if alloc.job_create_index == job.create_index
    }
    made = [row.create_index for row in store.evaluations_by_job(job.key)]
    if job.create_index not in made or _ends_collected(store, job):
        # Something of it was collected, and with it where it has been.
        return
    newest = max(made)
    for node in store.nodes():
        if group.count and node.is_ready and node.id not in had and node.create_index < newest:
            yield f"{job.id}.{group.name} never came to {node.name}, and nothing says why"


def has_canaries(group: TaskGroup) -> bool:
    """Whether its rollouts begin with canaries."""
    return group.update is not None and group.update.canary > 0


def _done(allocs: Iterable[Allocation], job: Job) -> set[tuple[str, str]]:
    """Names that ran to their end, or failed too often to be tried again."""
    ends = (ClientStatus.COMPLETE, ClientStatus.FAILED)
    return {
        (alloc.name, "")
        for alloc in allocs
        if alloc.job_create_index == job.create_index and alloc.client_status in ends
    }


def _ends_collected(store: StateReader, job: Job) -> bool:
    """Ends that the job's counts still tell of were collected.

    Whoever looks at the job next runs those names again (control-plane.md 4.3): of a batch job
    registered anew, of a system job what was stopped by hand.
    """
    summary = store.get(JOB_SUMMARIES, job.key)
    there = Counter(
        (alloc.task_group, alloc.client_status)
        for alloc in store.allocations_by_job(job.key)
        if alloc.job_create_index == job.create_index
    )
    return summary is not None and any(
        counts.complete > there[group, ClientStatus.COMPLETE]
        or counts.failed > there[group, ClientStatus.FAILED]
        for group, counts in summary.summary.items()
    )


def _has_reason(store: StateReader, job: Job) -> bool:
    """Something in the record says why a job has not what it asks for."""
    if store.blocked_evaluations(job.key):
        return True
    if _failed_in_rollout(store, job) or _is_held(store, job) or _is_forgotten(store, job):
        return True
    rollouts = store.deployments_by_job(job.key)
    newest = max(rollouts, key=lambda row: row.create_index, default=None)
    return newest is not None and (newest.is_active or newest.status is DeploymentStatus.FAILED)


def _is_forgotten(store: StateReader, job: Job) -> bool:
    """What failed in a failed rollout is not replaced; both were collected since.

    The next evaluation of the job begins another rollout.
    """
    return (
        any(group.update is not None for group in job.task_groups)
        and not store.deployments_by_job(job.key)
        and _ends_collected(store, job)
    )


def _failed_in_rollout(store: StateReader, job: Job) -> bool:
    """One was healthy, and failed while its rollout was under way: nobody looks at it after that.

    The next evaluation of the job, whatever makes it, replaces it.
    """
    return any(
        alloc.client_status is ClientStatus.FAILED
        and alloc.deployment_id
        and not alloc.is_server_terminal
        and not alloc.next_allocation
        and alloc.job_create_index == job.create_index
        for alloc in store.allocations_by_job(job.key)
    )


def _waits(store: StateReader, job: Job) -> bool:
    """A rollout of the job waits for somebody, and old and new run side by side."""
    return any(row.is_active for row in store.deployments_by_job(job.key))


@LAWS.add("one-waits", "a job has at most one evaluation that waits for room")
def _one_waits(cluster: Cluster) -> Iterator[str]:
    store = cluster.plane.store
    for job in store.jobs():
        if job.type in (JobType.SYSTEM, JobType.SYSBATCH):
            continue
        waiting = store.blocked_evaluations(job.key)
        if len(waiting) > 1:
            yield f"{len(waiting)} evaluations of {job.id} wait"


@LAWS.add("status", "a job runs, waits or is dead as its allocations and evaluations say")
def _status(cluster: Cluster) -> Iterator[str]:
    store = cluster.plane.store
    for job in store.jobs():
        if job.type == JobType.SYSTEM or job.is_periodic or job.is_parameterized:
            said = JobStatus.DEAD if job.stop else JobStatus.RUNNING
        elif _waits(store, job) or store.live_allocation_ids(job.key, 1):
            said = JobStatus.RUNNING
        elif store.evaluation_ids(job.key, 1, only_open=True):
            said = JobStatus.PENDING
        else:
            said = JobStatus.DEAD
        if job.status != said and not _began_with_nothing(store, job):
            yield f"{job.id} is {job.status}, and should be {said}"


def _began_with_nothing(store: StateReader, job: Job) -> bool:
    """The plan of what waits for room began a rollout and placed nothing of it.

    Neither such a plan nor waiting again with the same counts looks at the status of the job
    (control-plane.md 13.1): it stays pending until something does.
    """
    return (
        job.status == JobStatus.PENDING
        and bool(store.blocked_evaluations(job.key))
        and not store.live_allocation_ids(job.key, 1)
        and not any(
            store.allocations_by_deployment(rollout.id)
            for rollout in store.deployments_by_job(job.key)
            if rollout.is_active
        )
    )


@LAWS.add("rollout-of-now", "a rollout that is under way is of the job's newest version")
def _of_now(cluster: Cluster) -> Iterator[str]:
    store = cluster.plane.store
    for rollout in store.deployments():
        job = store.job(rollout.job_key)
        if rollout.is_active and (job is None or job.stop or job.version != rollout.job_version):
            yield f"a rollout of version {rollout.job_version} of {rollout.job_id} is under way"


@LAWS.add("lives", "the steps of each evaluation count up from one and end with its status")
def _lives(cluster: Cluster) -> Iterator[str]:
    store = cluster.plane.store
    for row in store.evaluations():
        numbers = [step.number for step in store.lifecycle(row.id)]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"evaluation {row.id[-4:]} of {row.job_id} has steps {numbers}"


def settled_picture(store: StateReader) -> dict[str, tuple[str, str]]:
    """What is wanted where: by allocation, its name and node."""
    return {
        alloc.id: (alloc.name, alloc.node_id)
        for alloc in store.allocations()
        if not alloc.is_terminal
    }


def _is_canary(alloc: Allocation) -> bool:
    return alloc.deployment_status is not None and alloc.deployment_status.canary


def jobs_to_look_at(store: StateReader) -> list[JobKey]:
    """Jobs that nothing new may happen to when they are evaluated once more.

    What failed and is waited for by nobody would be replaced: in a rollout that counted it as
    healthy, and on any node of a system job, which also looks at closed nodes with other eyes
    once their drain is over. A batch job some of whose ends were collected would run those again.
    """
    return [
        job.key
        for job in store.jobs()
        if not job.stop
        and not job.is_periodic
        and not job.is_parameterized
        and job.type not in (JobType.SYSTEM, JobType.SYSBATCH)
        and not _failed_in_rollout(store, job)
        and not _is_held(store, job)
        and not _is_forgotten(store, job)
        and not (job.type == JobType.BATCH and _ends_collected(store, job))
    ]


def _is_held(store: StateReader, job: Job) -> bool:
    """A rollout stopped half way; once it is collected the next evaluation begins another."""
    return any(
        alloc.job_version != job.version
        for alloc in store.allocations_by_job(job.key)
        if not alloc.is_terminal
    )
