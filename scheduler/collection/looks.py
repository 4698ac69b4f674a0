"""Find what may go, a bounded number of rows at a time.

In: a reader, the place where the look before ended, and what counts as old. Out: a `Look`: names
of rows, and the place where to go on. Nothing is deleted here.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from scheduler.collection import rules
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_TOKENS, DEPLOYMENTS, EVALUATIONS, JOBS
from scheduler.structs.collection import CoreJob, Cutoffs
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeStatus

#: Rows looked at in one look, and names found with which it ends before that.
LOOKED_AT_ONCE = 512
FOUND_AT_ONCE = 2048


class Look(msgspec.Struct, kw_only=True):
    """What was found, and where the next look begins; "" when there is nothing behind it."""

    allocations: dict[str, None] = {}
    evaluations: dict[str, None] = {}
    jobs: list[JobKey] = []
    deployments: list[str] = []
    nodes: list[str] = []
    tokens: list[str] = []
    reached: str = ""
    #: The last job has more than was taken: it is looked at again once that is gone. Should
    #: nothing of it have gone, this is where to look instead.
    instead: str | None = None

    @property
    def row_count(self) -> int:
        """Allocations and evaluations."""
        return len(self.allocations) + len(self.evaluations)


class CoreStage(NamedTuple):
    """How one core job looks."""

    look: Callable[[StateReader, str, Cutoffs], Look]
    #: What it finds goes with its job, by the job's age.
    with_jobs: bool = False


def _evaluations(reader: StateReader, after: str, old: Cutoffs) -> Look:
    look = Look()
    until = max(old.evaluation, old.batch_evaluation)
    rows = reader.old_rows(
        EVALUATIONS, "modified_at", until, after=after or None, at_most=LOOKED_AT_ONCE
    )
    for place, evaluation in enumerate(rows, start=1):
        cutoff = old.of_evaluation(evaluation.type)
        garbage = rules.garbage_of(
            reader, evaluation, cutoff=cutoff, now=old.now, with_batch=False
        )
        look.allocations |= dict.fromkeys(garbage.allocations)
        if garbage.takes_evaluation:
            look.evaluations[evaluation.id] = None
        is_last = place == len(rows) < LOOKED_AT_ONCE
        if not is_last and (look.row_count >= FOUND_AT_ONCE or place == len(rows)):
            look.reached = evaluation.id
            break
    return look


def _jobs(reader: StateReader, after: str, old: Cutoffs) -> Look:
    look = Look()
    behind = JobKey(*after.split("/", 1)) if after else None
    rows = reader.old_rows(JOBS, "submitted_at", old.job, after=behind, at_most=LOOKED_AT_ONCE)
    for job in rows:
        if rules.is_garbage_job(reader, job, cutoff=old.job):
            room = FOUND_AT_ONCE - look.row_count
            allocs = reader.allocation_ids(job.key, room + 1)
            evals = reader.evaluation_ids(job.key, room + 1 - len(allocs), only_open=False)
            look.allocations |= dict.fromkeys(allocs[:room])
            look.evaluations |= dict.fromkeys(evals[: room - len(allocs)])
            if len(allocs) + len(evals) > room:
                look.instead = _place_of(job.key)
                return look
            look.jobs.append(job.key)
        look.reached = _place_of(job.key)
    if len(rows) < LOOKED_AT_ONCE:
        look.reached = ""
    return look


def _place_of(key: JobKey) -> str:
    # No namespace has a slash in its name.
    return f"{key.namespace}/{key.job_id}"


def _deployments(reader: StateReader, after: str, old: Cutoffs) -> Look:
    rows = reader.old_rows(
        DEPLOYMENTS, "modified_at", old.deployment, after=after or None, at_most=LOOKED_AT_ONCE
    )
    found = [
        row.id for row in rows if rules.is_garbage_deployment(reader, row, cutoff=old.deployment)
    ]
    return Look(deployments=found, reached=_reached([row.id for row in rows]))


def _nodes(reader: StateReader, after: str, old: Cutoffs) -> Look:
    down = (node for node in reader.nodes() if node.status is NodeStatus.DOWN and node.id > after)
    rows = sorted(down, key=lambda node: node.id)[:LOOKED_AT_ONCE]
    found = [node.id for node in rows if rules.is_garbage_node(reader, node, cutoff=old.node)]
    return Look(nodes=found, reached=_reached([node.id for node in rows]))


def _tokens(*, are_global: bool) -> Callable[[StateReader, str, Cutoffs], Look]:
    def look(reader: StateReader, after: str, old: Cutoffs) -> Look:
        rows = reader.old_rows(
            ACL_TOKENS, "expires_at", old.token, after=after or None, at_most=LOOKED_AT_ONCE
        )
        found = [row.accessor_id for row in rows if row.global_ is are_global]
        return Look(tokens=found, reached=_reached([row.accessor_id for row in rows]))

    return look


def _reached(looked_at: list[str]) -> str:
    return looked_at[-1] if len(looked_at) == LOOKED_AT_ONCE else ""


#: What each core job looks for; those that have no work are not here.
STAGES: dict[str, CoreStage] = {
    CoreJob.EVALUATIONS: CoreStage(_evaluations),
    CoreJob.JOBS: CoreStage(_jobs, with_jobs=True),
    CoreJob.DEPLOYMENTS: CoreStage(_deployments),
    CoreJob.NODES: CoreStage(_nodes),
    CoreJob.LOCAL_TOKENS: CoreStage(_tokens(are_global=False)),
    CoreJob.GLOBAL_TOKENS: CoreStage(_tokens(are_global=True)),
}
