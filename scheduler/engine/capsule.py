"""Work one evaluation off from a document alone, and write the decision as a document.

In: a capsule: all that a scheduler sees, as JSON. Out: a decision: all that it decided. The same
capsule gives the same decision on every machine; no database, clock or chance takes part.
"""

from collections.abc import Generator, Mapping
from hashlib import blake2b

import msgspec

from scheduler.engine.outcome import Outcome, PlanAnswer
from scheduler.engine.plan.evaluate import accept_nodes
from scheduler.engine.registry import new_scheduler
from scheduler.errors import SchedulerError
from scheduler.ports import PatternMatcher, Snapshot
from scheduler.state.found_rows import put_found
from scheduler.state.node_table import NodeTable
from scheduler.state.nouns import NAMESPACES, NODE_POOLS, QUOTAS, SCHEDULER_SETTINGS
from scheduler.state.open_change import OpenChange
from scheduler.state.record import Record, VersionKey, version_key
from scheduler.state.seeds import seed_record
from scheduler.state.snapshot import RecordSnapshot
from scheduler.state.writes.plans import commit_plan
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobType, Namespace
from scheduler.structs.node import Node, NodePool
from scheduler.structs.plan import Plan, PlanResult
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerSettings
from scheduler.structs.wire import Nanoseconds, Wire, without_nulls

#: A decoded JSON document.
Document = Mapping[str, object]
#: Job versions by incarnation, and under 0 those of the newest one that has the version.
_Versions = dict[VersionKey, Job]


class CapsuleError(SchedulerError):
    """The capsule cannot be read; `path` says where."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class Capsule(Wire, frozen=True, kw_only=True):
    """All that a scheduler sees of one evaluation (capsule.md 1)."""

    name: str = ""
    now: Nanoseconds = 0
    seed: int = 0
    index: int = 0
    scheduler_config: SchedulerSettings = SchedulerSettings()
    node_pools: tuple[NodePool, ...] = ()
    #: Ours: those that name a quota, and the quotas.
    namespaces: tuple[Namespace, ...] = ()
    quotas: tuple[QuotaSpec, ...] = ()
    nodes: tuple[Node, ...] = ()
    jobs: tuple[Job, ...] = ()
    allocations: tuple[Allocation, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    evaluation: Evaluation
    reject_nodes: tuple[str, ...] = ()
    reject_attempts: int = 1


def read_capsule(document: object) -> Capsule:
    """The capsule in a decoded JSON document. Raises CapsuleError with the path of a fault."""
    try:
        return msgspec.convert(without_nulls(document), Capsule)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
        raise CapsuleError(path.removesuffix("`") or "$", message) from error


def evaluate_capsule(capsule: Capsule, matcher: PatternMatcher) -> Document:
    """Run the scheduler of the capsule's evaluation; the decision as in capsule.md 2.

    Raises CapsuleError for an evaluation no scheduler takes.
    """
    kind = capsule.evaluation.type
    if kind not in tuple(JobType):
        raise CapsuleError("$.Evaluation.Type", f"unknown scheduler type {kind!r}")
    world = _World(capsule)
    scheduler = new_scheduler(
        kind,
        world.snapshot(),
        ids=_SeededIDs(capsule.seed),
        now=capsule.now,
        matcher=matcher,
        seed=capsule.seed,
    )
    plans, outcome = world.drive(scheduler.process(capsule.evaluation))
    return _decision(capsule.name, plans, outcome)


class _SeededIDs:
    """Identifiers that follow from a number alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._given = 0

    def next_id(self) -> str:
        """The next one, in the shape of a UUID."""
        self._given += 1
        text = blake2b(f"{self._seed}/{self._given}".encode(), digest_size=16).hexdigest()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class _World:
    """The state of a capsule, and an applier that refuses the nodes it names."""

    def __init__(self, capsule: Capsule) -> None:
        self._capsule = capsule
        self._record = Record()
        change = OpenChange(self._record, capsule.now)
        seed_record(change)
        _put_all(change, capsule)
        self._record.apply(capsule.index, change.events, change.unnamed)

    def snapshot(self) -> Snapshot:
        """The state as it is now."""
        nodes = list(self._record.nodes())
        uses = {node.id: self._record.node_use(node.id) for node in nodes}
        return RecordSnapshot(self._record, NodeTable.build(nodes, uses))

    def drive(self, run: Generator[Plan, PlanAnswer, Outcome]) -> tuple[list[Plan], Outcome]:
        """Answer each plan of a run until it ends."""
        plans: list[Plan] = []
        answer: PlanAnswer | None = None
        while True:
            try:
                plan = run.send(answer) if answer else next(run)
            except StopIteration as end:
                outcome: Outcome = end.value
                return plans, outcome
            plans.append(plan)
            answer = self._answer(plan, is_refused=len(plans) <= self._capsule.reject_attempts)

    def _answer(self, plan: Plan, *, is_refused: bool) -> PlanAnswer:
        wanted = self._capsule.reject_nodes if is_refused else ()
        rejected = frozenset(node_id for node_id in wanted if node_id in plan.node_allocation)
        if rejected and plan.all_at_once:
            result = PlanResult()
        else:
            result = accept_nodes(plan, rejected)
        if rejected:
            result = msgspec.structs.replace(
                result,
                rejected_nodes=tuple(sorted(rejected)),
                refresh_index=max(1, self._record.index),
            )
        if not result.is_no_op:
            change = OpenChange(self._record, self._capsule.now)
            result = commit_plan(change, plan, result)
            self._record.apply(change.index, change.events, change.unnamed)
        return PlanAnswer(result=result, snapshot=self.snapshot() if rejected else None)


def _put_all(change: OpenChange, capsule: Capsule) -> None:
    change.put(SCHEDULER_SETTINGS, capsule.scheduler_config)
    for quota in capsule.quotas:
        change.put(QUOTAS, quota)
    for namespace in capsule.namespaces:
        change.put(NAMESPACES, namespace)
    for pool in capsule.node_pools:
        change.put(NODE_POOLS, pool)
    for node in capsule.nodes:
        put_found(change, node)
    versions = _put_jobs(change, capsule.jobs)
    for alloc in capsule.allocations:
        put_found(change, _named(alloc, versions))
    for deployment in capsule.deployments:
        put_found(change, deployment)
    for evaluation in (*capsule.evaluations, capsule.evaluation):
        put_found(change, evaluation)


def _put_jobs(change: OpenChange, jobs: tuple[Job, ...]) -> _Versions:
    """Store the jobs; the highest version of the newest incarnation is the current one."""
    versions: _Versions = {}
    newest: dict[JobKey, Job] = {}
    for job in sorted(jobs, key=lambda entry: (entry.create_index, entry.version)):
        newest[job.key] = job
        versions[job.key, 0, job.version] = versions[version_key(job)] = job
        change.put_job_version(job)
    for job in newest.values():
        change.put_job(job)
        if change.get(NAMESPACES, job.namespace) is None:
            change.put(NAMESPACES, Namespace(name=job.namespace))
    return versions


def _named(alloc: Allocation, versions: _Versions) -> Allocation:
    """The allocation with what the record keeps of its job version."""
    incarnations = (alloc.job_create_index, 0)
    found = (versions.get((alloc.job_key, each, alloc.job_version)) for each in incarnations)
    job = next((job for job in found if job is not None), None)
    if job is None:
        return alloc
    return alloc.changed(
        job_create_index=job.create_index, job_type=job.type, job_priority=job.priority
    )


def _decision(name: str, plans: list[Plan], outcome: Outcome) -> Document:
    final = outcome.reblocked or outcome.evaluation
    decision = {
        "Name": name,
        "Plans": [_plan_document(plan) for plan in plans],
        "Evaluation": _told(final) if final else None,
        "CreatedEvals": [_told(each) for each in outcome.created],
        "ReblockedEvals": [_told(outcome.reblocked)] if outcome.reblocked else [],
        "Explanations": outcome.explanations,
    }
    made: Document = msgspec.json.decode(msgspec.json.encode(decision))
    return made


def _told(evaluation: Evaluation) -> dict[str, object]:
    """Without its story: whose part it is, no scheduler decides (evaluations.md 17)."""
    told: dict[str, object] = msgspec.json.decode(msgspec.json.encode(evaluation))
    del told["Story"]
    return told


def _plan_document(plan: Plan) -> Document:
    return {
        "NodeUpdate": plan.node_update,
        "NodeAllocation": plan.node_allocation,
        "NodePreemptions": plan.node_preemptions,
        "Deployment": plan.deployment,
        "DeploymentUpdates": plan.deployment_updates,
        "Annotations": plan.annotations,
    }
