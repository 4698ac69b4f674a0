"""The statements that an act on a job asks one by one, known before it begins.

In: acts. Out: statements of the reader with their values, the very texts that it will say. On
PostgreSQL they go out in one message; one that is missing here is asked for by itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from cluster.store import statements
from scheduler.state.foresight import Foresight, JobAct
from scheduler.state.noun import AnyKey, Noun, key_cells
from scheduler.state.nouns import (
    ALLOCATIONS,
    DEPLOYMENTS,
    EVALUATIONS,
    JOB_SUMMARIES,
    JOB_VERSIONS,
    JOBS,
    NAMESPACE_USES,
    NAMESPACES,
    NODE_POOLS,
    SCHEDULER_SETTINGS,
    SETTINGS_KEY,
)

Asked: TypeAlias = tuple[str, tuple[Any, ...]]


def statements_of(acts: Iterable[Foresight]) -> list[Asked]:
    """What these acts will ask, each statement once."""
    return list(dict.fromkeys(asked for act in acts for asked in _OF[act.act](act)))


def _of_registration(act: Foresight) -> Iterator[Asked]:
    yield _row(NAMESPACES, act.job.namespace)
    yield _row(NODE_POOLS, act.pool)
    yield _row(SCHEDULER_SETTINGS, SETTINGS_KEY)
    yield _row(JOBS, act.job)
    yield _row(JOB_SUMMARIES, act.job)
    yield _row(EVALUATIONS, act.eval_id)
    yield _list(DEPLOYMENTS, act.job)
    yield statements.LISTED_VERSIONS, (*act.job,)
    yield statements.LIVE_ALLOCATIONS, (*act.job, 1)
    yield statements.OPEN_EVALUATIONS, (*act.job, 1)
    yield statements.EVALUATIONS, (*act.job, 1)


def _of_run(act: Foresight) -> Iterator[Asked]:
    yield _row(JOBS, act.job)
    yield _row(SCHEDULER_SETTINGS, SETTINGS_KEY)
    yield _row(NAMESPACES, act.job.namespace)
    yield _row(NODE_POOLS, act.pool)
    yield _list(DEPLOYMENTS, act.job)
    yield _list(ALLOCATIONS, act.job)


def _of_plan(act: Foresight) -> Iterator[Asked]:
    yield _row(EVALUATIONS, act.eval_id)
    yield _row(JOBS, act.job)
    yield _row(NAMESPACES, act.job.namespace)
    yield _row(NAMESPACE_USES, act.job.namespace)
    yield _row(JOB_SUMMARIES, act.job)
    yield _list(DEPLOYMENTS, act.job)
    yield statements.BLOCKED_EVALUATIONS, (*act.job,)
    yield statements.EXPLAINED_RUNS, (*act.job,)
    if act.version is not None:
        yield _row(JOB_VERSIONS, (act.job, *act.version))


_OF = {JobAct.REGISTRATION: _of_registration, JobAct.RUN: _of_run, JobAct.PLAN: _of_plan}


def _row(noun: Noun[Any, Any], key: AnyKey) -> Asked:
    return statements.select_by_key(noun), key_cells(key)


def _list(noun: Noun[Any, Any], job: AnyKey) -> Asked:
    return statements.select_in_place(noun, "job"), key_cells(job)
