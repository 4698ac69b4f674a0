"""Lists of stories and how far each came, straight from the tables.

In: a filter, a place to begin, ids of stories. Out: stories, those that run first and the newest
first; counts of their evaluations. Collected evaluations are counted by what is left of them.
"""

import heapq
from collections.abc import Collection, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

from cluster.store import listing as lists
from cluster.store.evaluation_face import EvaluationFace
from cluster.store.ports import (
    ListedStory,
    Listing,
    Namespaces,
    StoryFilter,
    StoryProgress,
    ToldEvaluation,
    Value,
)
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.story_conditions import (
    OF_JOB_ALONE,
    RUNNING,
    each_of_job,
    of_job,
    runs,
    without_hidden,
)
from cluster.store.tallies import within
from cluster.store.timestamps import instant, timestamp
from scheduler.state.noun import Noun
from scheduler.state.nouns import DEPLOYMENTS, EVALUATION_STUBS, EVALUATIONS
from scheduler.state.story_nouns import STORIES
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.story import Story

#: Databases bound how many parameters a statement may have.
_KEYS_AT_ONCE = 500

_Condition = tuple[str, list[Any]]
_AGE = attrgetter("create_index", "id")


def page(
    reader: DjangoStateReader, wanted: StoryFilter, after: tuple[Any, ...], limit: int
) -> list[ListedStory]:
    """At most `limit` + 1 stories: the one more says that another page follows."""
    found: list[ListedStory] = []
    for is_running in (True, False):
        if wanted.running not in (None, is_running) or (after and is_running > after[0]):
            continue
        start = after[1:] if after and after[0] == is_running else ()
        lacking = limit + 1 - len(found)
        if lacking:
            rows = _part(reader, wanted, start, lacking, is_running=is_running)
            found += (ListedStory(story, is_running) for story in rows)
    return found


def _part(
    reader: DjangoStateReader,
    wanted: StoryFilter,
    start: tuple[Any, ...],
    at_most: int,
    *,
    is_running: bool,
) -> Iterator[Any]:
    # Those that run are few: of them all else is asked.
    namespace = reader.hidden("namespace") if is_running else "namespace"
    conditions = _conditions(wanted, namespace)
    conditions.append((runs(is_running=is_running), []))
    if start:
        conditions.append(("(create_index, id) <= (%s, %s)", [*start]))
    if wanted.job is not None and is_running:
        conditions.append(each_of_job(wanted.job, reader.hidden))
    elif wanted.job is not None:
        conditions.append(of_job(wanted.job, _since(reader, wanted.job, conditions, at_most)))
    where, parameters = _joined(conditions)
    order = "create_index DESC, id DESC LIMIT %s"
    return iter(reader.select(STORIES, where, [*parameters, at_most], order))


def _since(
    reader: DjangoStateReader, key: JobKey, conditions: list[_Condition], at_most: int
) -> int:
    """The index at which the last of so many stories of the job alone began; 0: it has fewer.

    The newest of all that it had part in began no earlier.
    """
    where, parameters = _joined([(OF_JOB_ALONE, [*key]), *conditions])
    last = "ORDER BY create_index DESC LIMIT 1 OFFSET %s"
    statement = f"SELECT create_index FROM story WHERE {where} {last}"  # noqa: S608 - names of our own tables only
    found = reader.rows(statement, [*parameters, at_most - 1])
    return int(found[0][0]) if found else 0


def tally(reader: DjangoStateReader, wanted: StoryFilter) -> dict[str, int]:
    """How many there are of each kind."""
    conditions = _conditions(wanted)
    if wanted.job is not None:
        conditions.append(of_job(wanted.job))
    if wanted.running is not None:
        conditions.append((runs(is_running=wanted.running), []))
    where, parameters = _joined(conditions)
    clause = f" WHERE {where}" if where else ""
    found = reader.rows(f"SELECT kind, COUNT(*) FROM story{clause} GROUP BY kind", parameters)  # noqa: S608 - names of our own tables only
    return {str(kind): int(count) for kind, count in found}


def running(reader: DjangoStateReader) -> set[str]:
    """The stories in which something is still to come."""
    return {str(story_id) for (story_id,) in reader.rows(RUNNING, ()) if story_id}


def progress(
    reader: DjangoStateReader, story_ids: Collection[str], namespaces: Namespaces
) -> dict[str, StoryProgress]:
    """How many evaluations of each story have which status, and when one changed last."""
    ids = sorted(story_ids)
    if not ids:
        return {}
    among, spaces = within(namespaces, f"story_id IN ({placeholders(len(ids))})")
    what = "COUNT(*), MIN(created_at), MAX(modified_at)"
    rows = reader.rows(
        f"SELECT story_id, status, {what} FROM evaluation{among} GROUP BY story_id, status"  # noqa: S608 - names of our own tables only
        f" UNION ALL SELECT story_id, 'deleted', {what} FROM evaluation_stub{among}"
        " GROUP BY story_id",
        [*ids, *spaces, *ids, *spaces],
    )
    found: dict[str, StoryProgress] = {}
    for story_id, status, count, first, last in rows:
        before = found.get(str(story_id), StoryProgress({}, 0, 0))
        starts = [at for at in (before.first, instant(first)) if at]
        found[str(story_id)] = StoryProgress(
            before.by_status | {str(status): int(count)},
            min(starts, default=0),
            max(before.last, instant(last)),
        )
    return found


def evaluations(
    reader: DjangoStateReader, story_id: str, after: tuple[int, str] | tuple[()], limit: int,
    namespaces: Namespaces,
) -> list[ToldEvaluation]:  # fmt: skip
    """Evaluations of a story by creation, collected ones among them; at most `limit` + 1."""
    asked = Listing(equals={"story_id": story_id}, after=after, limit=limit, namespaces=namespaces)
    kept = lists.page(reader, EVALUATIONS, asked)
    stubs = lists.page(reader, EVALUATION_STUBS, asked)
    told = heapq.merge(
        (ToldEvaluation(each, is_collected=False) for each in kept),
        (ToldEvaluation(each, is_collected=True) for each in stubs),
        key=_creation,
    )
    merged = list(told)
    return merged[: limit + 1] if limit else merged


def faces(
    reader: DjangoStateReader, story_id: str, namespaces: Namespaces
) -> list[EvaluationFace]:
    """All evaluations of a story by creation, from their columns."""
    where, parameters = within(namespaces, "story_id = %s")
    instants = ", ".join(map(reader.as_stored, ("created_at", "modified_at")))
    found: list[EvaluationFace] = []
    # Those of one commit share their moments.
    at = cache(instant)
    for table, is_stub in (("evaluation", False), ("evaluation_stub", True)):
        rows = reader.rows(
            "SELECT id, namespace, job_id, triggered_by, status, previous_eval, create_index,"  # noqa: S608 - names of our own tables only
            f" modify_index, {instants}, cause_kind, cause_id FROM {table}{where}",
            (story_id, *parameters),
        )
        found += [
            EvaluationFace(
                key, space, job, trigger, status, previous, born, changed, at(born_at),
                at(changed_at), kind, cause, is_stub,
            )
            for (
                key, space, job, trigger, status, previous, born, changed, born_at, changed_at,
                kind, cause,
            ) in rows
        ]  # fmt: skip
    return sorted(found, key=_AGE)


def evaluations_among(reader: DjangoStateReader, eval_ids: Collection[str]) -> list[Evaluation]:
    """Those that are there, by creation."""
    found = _among(reader, EVALUATIONS, eval_ids)
    return sorted(found, key=lambda item: (item.create_index, item.id))


def stories_among(reader: DjangoStateReader, story_ids: Collection[str]) -> list[Story]:
    """Those that are there, by creation."""
    found = _among(reader, STORIES, story_ids)
    return sorted(found, key=lambda item: (item.create_index, item.id))


def _among(
    reader: DjangoStateReader, noun: Noun[str, Value], given: Collection[str]
) -> list[Value]:
    ids = sorted(given)
    found: list[Value] = []
    for start in range(0, len(ids), _KEYS_AT_ONCE):
        some = ids[start : start + _KEYS_AT_ONCE]
        found += reader.select(noun, f"id IN ({placeholders(len(some))})", some)
    return found


def deployments(reader: DjangoStateReader, story_ids: Collection[str]) -> list[Deployment]:
    """The rollouts of stories, by creation."""
    ids = sorted(story_ids)
    if not ids:
        return []
    # Only with these words is the index of those that have a story used.
    where = f"story_id IN ({placeholders(len(ids))}) AND NOT (story_id = '')"
    return reader.select(DEPLOYMENTS, where, ids, "create_index, id")


def _creation(told: ToldEvaluation) -> tuple[int, str]:
    evaluation: Evaluation = told.evaluation
    return evaluation.create_index, evaluation.id


def _conditions(wanted: StoryFilter, namespace: str = "namespace") -> list[_Condition]:
    """All but the job's; `namespace`: how the column is written."""
    conditions: list[_Condition] = []
    if wanted.namespaces is not None:
        names = sorted(wanted.namespaces)
        conditions.append((f"{namespace} IN ({placeholders(len(names)) or 'NULL'})", [*names]))
    if wanted.kinds:
        kinds = sorted(kind.value for kind in wanted.kinds)
        conditions.append((f"kind IN ({placeholders(len(kinds))})", [*kinds]))
    if wanted.hidden_kinds:
        conditions.append(without_hidden(wanted.hidden_kinds))
    if wanted.node_id:
        text = "id IN (SELECT story_id FROM story_node WHERE node_id = %s)"
        conditions.append((text, [wanted.node_id]))
    if wanted.actor is not None:
        conditions.append(("actor = %s", [wanted.actor]))
    if wanted.since:
        conditions.append(("modified_at >= %s", [timestamp(wanted.since)]))
    if wanted.prefix:
        conditions.append(("id >= %s AND id < %s", [wanted.prefix, f"{wanted.prefix}g"]))
    return conditions


def _joined(conditions: list[_Condition]) -> tuple[str, list[Any]]:
    parameters = [value for _, values in conditions for value in values]
    return " AND ".join(text for text, _ in conditions), parameters
