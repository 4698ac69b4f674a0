"""The record as pages and the API read it, from the database: every question of `RecordReader`.

In: what `DjangoStateReader` needs. Out: parts, counts and history, each in a fixed number of
statements. The SQL of lists is in `listing`, that of counts in `tallies`.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from django.db.backends.base.base import BaseDatabaseWrapper

from cluster.store import (
    children,
    ended,
    event_log,
    frame_codec,
    holders,
    lately,
    past_places,
    places,
    statements,
    story_figures,
    story_lists,
    story_losses,
    tallies,
)
from cluster.store import listing as lists
from cluster.store.changed_lately import Lately, MovedLives
from cluster.store.evaluation_face import EvaluationFace
from cluster.store.log_reader import IsWanted
from cluster.store.lost_allocations import StoryLosses
from cluster.store.past_nodes import PastNodes
from cluster.store.ports import (
    AllocFace,
    JobFace,
    JobsFace,
    Key,
    ListedStory,
    Listing,
    Namespaces,
    NodeFace,
    NodePlace,
    NodeSum,
    Pair,
    PoolFace,
    RecordReader,
    RoomHeld,
    Span,
    Spans,
    StoryFigures,
    StoryFilter,
    StoryProgress,
    ToldEvaluation,
    Value,
)
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.used_by_nodes import NodeUsed
from scheduler.state import nouns
from scheduler.state.events import EventFrame
from scheduler.state.noun import Noun
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSummary
from scheduler.structs.node import Node
from scheduler.structs.periodic_launch import PeriodicLaunch
from scheduler.structs.story import Story
from scheduler.structs.wire import Wire

_FRAMES_AT_ONCE = 500
_BODIES_ON = "SELECT body FROM allocation WHERE node_id = %s ORDER BY id"


class _ServerIndex(Wire, frozen=True):
    """Of an allocation's body, what its node asks for."""

    id: str
    alloc_modify_index: int = 0


_SERVER_INDEX = msgspec.msgpack.Decoder(_ServerIndex)
_NOT_OVER = (
    "namespace = %s AND job_id = %s AND"
    " (desired_status = 'run' AND client_status NOT IN ('complete', 'failed', 'lost')"
    " OR client_status IN ('pending', 'running', 'unknown'))"
)


class DjangoRecordReader(DjangoStateReader, RecordReader):
    """See `RecordReader`; names of tables and columns are our own, values are parameters."""

    def __init__(self, connection: BaseDatabaseWrapper, index: int) -> None:
        super().__init__(connection, index)
        self._listed: dict[str, Sequence[Any]] = {}

    def list_all(self, noun: Noun[Key, Value]) -> Sequence[Value]:
        """All rows, in the noun's order; read once, for nothing changes within one read."""
        if noun.table not in self._listed:
            self._listed[noun.table] = super().list_all(noun)
        return self._listed[noun.table]

    def page(self, noun: Noun[Key, Value], listing: Listing) -> list[Value]:
        return lists.page(self, noun, listing)

    def walk(self, noun: Noun[Key, Value], listing: Listing) -> Iterator[Value]:
        return lists.walk(self, noun, listing)

    def count(self, noun: Noun[Key, Value], listing: Listing) -> int:
        """See RecordReader; no row is decoded."""
        return lists.count(self, noun, listing)

    def place_in(self, noun: Noun[Key, Value], listing: Listing, row: Value) -> tuple[Any, ...]:
        """See RecordReader; nothing is read."""
        return lists.position(noun, listing, row)

    def facets(
        self, noun: Noun[Key, Value], columns: Sequence[str], listing: Listing, most: int = 0
    ) -> dict[tuple[Any, ...], int]:
        """See RecordReader; no row is decoded."""
        return lists.facets(self, noun, columns, listing, most)

    def first_ids(self, noun: Noun[Key, Value], listing: Listing) -> list[str]:
        """See RecordReader; no row is decoded."""
        return lists.first_ids(self, noun, listing)

    def jobs_among(self, keys: Collection[JobKey]) -> list[Job]:
        return [job for job in self._of_jobs(nouns.JOBS, keys) if job.key in keys]

    def summaries_among(self, keys: Collection[JobKey]) -> dict[JobKey, JobSummary]:
        found = self._of_jobs(nouns.JOB_SUMMARIES, keys)
        by_key = {JobKey(each.namespace, each.job_id): each for each in found}
        return {key: each for key, each in by_key.items() if key in keys}

    def open_allocations(self, key: JobKey, at_most: int) -> list[Allocation]:
        return self.select(nouns.ALLOCATIONS, _NOT_OVER, key, f"id LIMIT {int(at_most)}")

    def blocked_among(self, keys: Collection[JobKey]) -> dict[JobKey, Evaluation]:
        found = self._of_jobs(nouns.EVALUATIONS, keys, " AND status = 'blocked'")
        return {item.job_key: item for item in found if item.job_key in keys}

    def closed_nodes(self) -> list[Node]:
        return self.select(nouns.NODES, "is_draining = %s OR eligibility = 'ineligible'", (True,))

    def newest_steps_of(self, eval_ids: Collection[str]) -> dict[str, LifecycleStep]:
        if not eval_ids:
            return {}
        newest = (
            "SELECT eval_id, MAX(number) FROM lifecycle"  # noqa: S608 - our own text
            f" WHERE eval_id IN ({placeholders(len(eval_ids))}) GROUP BY eval_id"
        )
        steps = self.select(nouns.LIFECYCLE_STEPS, f"(eval_id, number) IN ({newest})", eval_ids)
        return {step.eval_id: step for step in steps}

    def lives_of(self, eval_ids: Collection[str]) -> dict[str, list[LifecycleStep]]:
        lives: dict[str, list[LifecycleStep]] = {}
        if eval_ids:
            where = f"eval_id IN ({placeholders(len(eval_ids))})"
            for step in self.select(nouns.LIFECYCLE_STEPS, where, eval_ids, "eval_id, number"):
                lives.setdefault(step.eval_id, []).append(step)
        return lives

    def recent_steps(self, evaluations: int) -> list[LifecycleStep]:
        return tallies.recent_steps(self, evaluations)

    def moved_lives(self, stretch: int, namespaces: Namespaces, at_most: int) -> MovedLives:
        return lately.moved_lives(self, stretch, namespaces, at_most)

    def lately(self, since: int, namespaces: Namespaces, at_most: int) -> Lately:
        """See LatelyReader; of an allocation only its tasks' times are decoded."""
        return lately.lately(self, since, namespaces, at_most)

    def newest_steps_of_pending(self, namespaces: Namespaces) -> dict[str, LifecycleStep]:
        return tallies.newest_steps_of_pending(self, namespaces)

    def evaluation_tally(self, namespaces: Namespaces) -> dict[str, int]:
        return tallies.evaluation_tally(self, namespaces)

    def open_tally(self, namespaces: Namespaces) -> dict[str, int]:
        return tallies.open_tally(self, namespaces)

    def open_statuses(self, namespaces: Namespaces) -> dict[str, str]:
        return tallies.open_statuses(self, namespaces)

    def blocked_ids(self, namespaces: Namespaces) -> set[str]:
        return tallies.blocked_ids(self, namespaces)

    def job_count(self, namespaces: Namespaces) -> int:
        return tallies.job_count(self, namespaces)

    def job_keys(self, namespaces: Namespaces) -> set[JobKey]:
        return tallies.job_keys(self, namespaces)

    def children_of(self, key: JobKey, at_most: int) -> list[Job]:
        return children.children_of(self, key, at_most)

    def spans_of(self, namespace: str, job_ids: Collection[str]) -> dict[str, Span]:
        """See RecordReader; no allocation is decoded."""
        return children.spans_of(self, namespace, job_ids)

    def launches_among(self, keys: Collection[JobKey]) -> dict[JobKey, PeriodicLaunch]:
        return children.launches_among(self, keys)

    def jobs_by_namespace(self, namespaces: Namespaces) -> dict[str, JobsFace]:
        return holders.jobs_by_namespace(self, namespaces)

    def pool_faces(self) -> dict[str, PoolFace]:
        """See RecordReader; no node is decoded."""
        return holders.pool_faces(self)

    def held_by_pool(self) -> dict[str, RoomHeld]:
        """See RecordReader; no allocation is decoded."""
        return holders.held_by_pool(self)

    def held_by_job(
        self, namespaces: Namespaces, at_most: int, pool: str = ""
    ) -> list[tuple[JobKey, RoomHeld]]:
        return holders.held_by_job(self, namespaces, at_most, pool)

    def node_tally(self) -> dict[str, int]:
        return tallies.node_tally(self)

    def node_faces(self) -> list[NodeFace]:
        """See RecordReader; no node is decoded."""
        return tallies.node_faces(self)

    def node_places(self, keys: Sequence[str], story_id: str = "") -> list[NodePlace]:
        return places.node_places(self, keys, story_id)

    def node_sums(self) -> dict[str, NodeSum]:
        return places.node_sums(self)

    def node_used(self) -> dict[str, NodeUsed]:
        """See RecordReader; of the heartbeats, which no index counts."""
        return places.node_used(self)

    def past_of_nodes(self, index: int, at: int) -> PastNodes:
        return past_places.past_of_nodes(self, index, at)

    def held_then(self, key: JobKey, index: int, at: int) -> dict[str, int]:
        return past_places.held_then(self, key, index, at)

    def held_places(self, key: JobKey) -> dict[str, str]:
        """See RecordReader; no allocation is decoded."""
        return places.held_places(self, key)

    def job_faces(self, namespaces: Namespaces) -> list[JobFace]:
        return tallies.job_faces(self, namespaces)

    def server_indexes_on(self, node_id: str) -> dict[str, int]:
        self._cursor.execute(_BODIES_ON, (node_id,))
        # Asked at every change of a node; whole rows would cost three to four times as much.
        told = [_SERVER_INDEX.decode(row[0]) for row in self._cursor.fetchall()]
        return {each.id: each.alloc_modify_index for each in told}

    def live_on(self, node_ids: Collection[str]) -> list[AllocFace]:
        return tallies.live_on(self, node_ids)

    def restarting_among(self, keys: Collection[JobKey], times: int) -> list[tuple[str, JobKey]]:
        return tallies.restarting_among(self, keys, times)

    def stories(
        self, wanted: StoryFilter, limit: int, after: tuple[Any, ...] = ()
    ) -> list[ListedStory]:
        return story_lists.page(self, wanted, after, limit)

    def story_tally(self, wanted: StoryFilter) -> dict[str, int]:
        """See RecordReader; no story is decoded."""
        return story_lists.tally(self, wanted)

    def running_stories(self) -> set[str]:
        """See RecordReader; nothing is decoded."""
        return story_lists.running(self)

    def progress_of(
        self, story_ids: Collection[str], namespaces: Namespaces = None
    ) -> dict[str, StoryProgress]:
        """See RecordReader; no evaluation is decoded."""
        return story_lists.progress(self, story_ids, namespaces)

    def story_figures(
        self, story_ids: Collection[str], namespaces: Namespaces = None
    ) -> dict[str, StoryFigures]:
        return story_figures.figures(self, story_ids, namespaces)

    def story_losses(self, story_id: str, namespaces: Namespaces = None) -> StoryLosses:
        return story_losses.losses(self, story_id, namespaces)

    def story_evaluations(
        self,
        story_id: str,
        limit: int = 0,
        after: tuple[int, str] | tuple[()] = (),
        namespaces: Namespaces = None,
    ) -> list[ToldEvaluation]:
        return story_lists.evaluations(self, story_id, after, limit, namespaces)

    def story_faces(self, story_id: str, namespaces: Namespaces = None) -> list[EvaluationFace]:
        """See RecordReader; nothing is decoded."""
        return story_lists.faces(self, story_id, namespaces)

    def evaluations_among(self, eval_ids: Collection[str]) -> list[Evaluation]:
        return story_lists.evaluations_among(self, eval_ids)

    def stories_among(self, story_ids: Collection[str]) -> list[Story]:
        return story_lists.stories_among(self, story_ids)

    def deployments_of_stories(self, story_ids: Collection[str]) -> list[Deployment]:
        return story_lists.deployments(self, story_ids)

    def ended_counts(self, spans: Spans, namespaces: Namespaces) -> list[int]:
        """See RecordReader; no evaluation is decoded."""
        return ended.counts(self, spans, namespaces)

    def ended_pairs(self, span: Pair, namespaces: Namespaces, at_most: int) -> list[Pair]:
        """See RecordReader; no evaluation is decoded."""
        return ended.pairs(self, span, namespaces, at_most)

    def row_counts(self, tables: Sequence[str]) -> list[int]:
        return tallies.row_counts(self, tables)

    def token_uses(self) -> dict[str, int]:
        return tallies.token_uses(self)

    def token_names(self, accessor_ids: Collection[str]) -> dict[str, str]:
        return tallies.token_names(self, accessor_ids)

    @property
    def oldest_event(self) -> int:
        return int(self.rows(statements.READ_OLDEST_EVENT, ())[0][0])

    def frames_after(self, index: int, limit: int) -> Sequence[EventFrame]:
        return event_log.frames_since(self.connection, index, limit)

    def frames_back(self, index: int, is_wanted: IsWanted) -> Iterator[EventFrame]:
        while True:
            rows = self.rows(statements.READ_EARLIER_EVENTS, (index, _FRAMES_AT_ONCE))
            if not rows:
                return
            for found, at, kind, body in rows:
                events = frame_codec.decode_rows(body, partial(is_wanted, kind))
                yield EventFrame(index=found, kind=kind, at=at, events=tuple(events))
            index = rows[-1][0] - 1

    def moments_of(self, indexes: Collection[int]) -> dict[int, int]:
        """See LogReader; no body is read."""
        if not indexes:
            return {}
        rows = self.rows(
            f'SELECT "index", at FROM event WHERE "index" IN ({placeholders(len(indexes))})',  # noqa: S608 - placeholders only
            tuple(indexes),
        )
        return {int(index): int(at) for index, at in rows}

    def _of_jobs(
        self, noun: Noun[Key, Value], keys: Collection[JobKey], condition: str = ""
    ) -> list[Value]:
        """Rows of jobs that have these ids, in any namespace: keys are few, ids rarely shared."""
        ids = sorted({key.job_id for key in keys})
        if not ids:
            return []
        return self.select(noun, f"job_id IN ({placeholders(len(ids))}){condition}", ids)
