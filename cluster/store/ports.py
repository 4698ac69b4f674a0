"""What pages, lists and the API ask of the record, beyond what the mind asks: parts and counts.

In: listings, keys, namespaces. Out: structs and plain numbers, by `cluster.store.record_reader`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from cluster.store.changed_lately import LatelyReader
from cluster.store.evaluation_face import EvaluationFace
from cluster.store.log_reader import LogReader
from cluster.store.lost_allocations import StoryLosses
from cluster.store.past_nodes import PastNodes
from cluster.store.used_by_nodes import NodeUsedReader
from scheduler.ports import StateReader
from scheduler.state.noun import AnyKey, AnyNoun, Noun
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job, JobSummary
from scheduler.structs.node import Node
from scheduler.structs.periodic_launch import PeriodicLaunch
from scheduler.structs.story import Story, StoryKind
from scheduler.structs.wire import Wire

Key = TypeVar("Key", bound=AnyKey)
Value = TypeVar("Value", bound=Wire)
Namespaces = Collection[str] | None  # None: all of them.
Names = Sequence[str]
Facets = dict[tuple[Any, ...], int]
Pair = tuple[int, int]  # Of instants, ns: the second is no more of a span.
Spans = Sequence[Pair]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows. `after` is inclusive: the position of the first row of the page."""

    prefix: str = ""
    namespaces: Namespaces = None
    after: tuple[Any, ...] = ()
    equals: Mapping[str, str | int] = {}  # Columns of the table that must have these values.
    #: Columns that must have one of these values; of none no row has one.
    among: Mapping[str, Sequence[str]] = {}
    limit: int = 0  # 0: all.
    reverse: bool = False
    by_id: bool = False  # By id (jobs: and namespace), whatever the natural order is.
    by_change: bool = False  # By the last change, and in one write by their keys. Of jobs only.
    #: Columns to order by before the natural order; instants are given as ns.
    sort: tuple[str, ...] = ()
    named: str = ""  # The first characters of the name or of the id. Of nodes and host volumes.
    words: tuple[str, ...] = ()  # In lower case; ids of jobs, names of nodes, paths hold all.
    of_job: JobKey | None = None  # Of stories, whose `equals` takes `is_running` as well.
    with_node: str = ""  # By id or name. Of stories only.
    since: int = 0  # Those that began at this instant, ns, or later. Of stories only.
    hidden_kinds: frozenset[StoryKind] = frozenset()  # As `StoryFilter` has it.


class NodeFace(NamedTuple):
    """What a list of many nodes needs of one."""

    id: str
    name: str
    status: str
    eligibility: str
    is_draining: bool
    #: Of one that is not ready, when its status changed last, ns; else 0.
    since: int = 0


class NodePlace(NamedTuple):
    """What a picture of all nodes needs of one: where it stands, and what it can give."""

    id: str
    name: str
    datacenter: str
    pool: str
    node_class: str
    status: str
    eligibility: str
    is_draining: bool
    cpu_mhz: int
    memory_mb: int
    #: The values of the keys that were asked for; empty where the node has none.
    labels: tuple[str, ...] = ()


class NodeSum(NamedTuple):
    """What allocations hold of a node until it is done with them."""

    cpu_mhz: int = 0
    memory_mb: int = 0
    allocations: int = 0


class JobFace(NamedTuple):
    """What is told of one of many jobs beside its counts."""

    namespace: str
    id: str
    type: str
    status: str
    is_stopped: bool
    #: The counts of its groups together; means nothing of jobs that run once on each node.
    wanted: int


class JobsFace(NamedTuple):
    """The jobs of a namespace, counted."""

    total: int = 0
    #: Of these, not dead.
    alive: int = 0


class PoolFace(NamedTuple):
    """The nodes of a pool, counted, and what they can give together."""

    nodes: int = 0
    ready: int = 0
    cpu_mhz: int = 0
    memory_mb: int = 0


class Span(NamedTuple):
    """When the first allocation of a job came, and when the last one changed; ns."""

    first: int
    last: int


class RoomHeld(NamedTuple):
    """What allocations hold until their nodes are done with them."""

    allocations: int = 0
    cpu_mhz: int = 0
    memory_mb: int = 0


class AllocFace(NamedTuple):
    """An allocation on a node that drains: whose it is, and whether it is still there."""

    id: str
    node_id: str
    name: str
    job_key: JobKey
    #: Whether an evaluation of its job places another one elsewhere.
    is_service: bool


class StoryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which stories: what is left open narrows nothing."""

    #: Those of the cluster have the namespace "".
    namespaces: Namespaces = None
    kinds: frozenset[StoryKind] = frozenset()
    #: Those of the cluster that are of these kinds are left out.
    hidden_kinds: frozenset[StoryKind] = frozenset()
    job: JobKey | None = None  # What it set going, and what it had part in.
    node_id: str = ""
    actor: str | None = None  # The name of whoever asked for it; "": nobody did.
    running: bool | None = None
    since: int = 0  # Not those that began, and gained no node, since this instant, ns.
    prefix: str = ""  # Of their ids.


class ListedStory(NamedTuple):
    """A story of a list; its place there is `place`."""

    story: Story
    is_running: bool

    @property
    def place(self) -> tuple[bool, int, str]:
        """What a page that begins with it is asked by."""
        return self.is_running, self.story.create_index, self.story.id


class StoryProgress(NamedTuple):
    """The evaluations of a story, counted."""

    #: By stored status; `deleted` counts the stubs of collected ones.
    by_status: dict[str, int]
    #: When the first was made, and when one changed last; ns, 0 without any.
    first: int
    last: int


class StoryFigures(NamedTuple):
    """What became of a story, undecided what it means; its newest deployment."""

    #: Allocations of its evaluations: by client status while they should run, and `failed` and
    #: `lost` ones whatever is wanted; the others that should not run are `stopped`.
    placed: dict[str, int]
    #: Of a drain that goes on: allocations that should still run on its nodes.
    left: int
    #: Its evaluations that wait for room, the oldest first, as far as one list may read.
    blocked: tuple[Evaluation, ...]
    deployment: Deployment | None
    #: Of one that placed nothing its few evaluations, once all have ended.
    ended: tuple[Evaluation, ...] = ()


class ToldEvaluation(NamedTuple):
    """An evaluation of a story."""

    evaluation: Evaluation
    #: It is the stub of a collected one.
    is_collected: bool


class RecordReader(StateReader, LatelyReader, LogReader, NodeUsedReader, Protocol):
    """The record at one index, for people: none of this costs more than what it gives.

    Lists are in order of creation (`create_index`, `id`), jobs of namespace and id, nodes of id.
    """

    def page(self, noun: Noun[Key, Value], listing: Listing) -> list[Value]:
        """The rows of a list, at most `limit` + 1: the one more begins the page that follows."""

    def walk(self, noun: Noun[Key, Value], listing: Listing) -> Iterator[Value]:
        """All rows of the list, read as they are asked for; `limit` of them are read at first."""

    def count(self, noun: Noun[Key, Value], listing: Listing) -> int:
        """How many rows the whole list has, from any `after` and `limit`."""

    def place_in(self, noun: Noun[Key, Value], listing: Listing, row: Value) -> tuple[Any, ...]:
        """Where a row stands in a list: what its `after` takes to begin with it."""

    def facets(self, noun: AnyNoun, columns: Names, listing: Listing, most: int = 0) -> Facets:
        """Rows of the whole list by their values in these columns; `most`: the first so many."""

    def first_ids(self, noun: AnyNoun, listing: Listing) -> list[str]:
        """The first ids of a list, in their own order; one more than `limit` if there are more."""

    def jobs_among(self, keys: Collection[JobKey]) -> list[Job]:
        """Those of these jobs that exist, in no order."""

    def summaries_among(self, keys: Collection[JobKey]) -> dict[JobKey, JobSummary]:
        """The counts beside those of these jobs that exist."""

    def open_allocations(self, key: JobKey, at_most: int) -> list[Allocation]:
        """Those of a job that run, should run, or still stop; the first by id."""

    def blocked_among(self, keys: Collection[JobKey]) -> dict[JobKey, Evaluation]:
        """By job, an evaluation of it that waits for room."""

    def closed_nodes(self) -> list[Node]:
        """Nodes that drain or are ineligible, in no order."""

    def newest_steps_of(self, eval_ids: Collection[str]) -> dict[str, LifecycleStep]:
        """The newest recorded step of each of these evaluations that has any, by its id."""

    def lives_of(self, eval_ids: Collection[str]) -> dict[str, list[LifecycleStep]]:
        """The recorded steps of each of these evaluations that has any, by number."""

    def recent_steps(self, evaluations: int) -> list[LifecycleStep]:
        """The steps of the newest so many evaluations, each life in its order."""

    def newest_steps_of_pending(self, namespaces: Namespaces) -> dict[str, LifecycleStep]:
        """The newest recorded step of each pending evaluation that has any, by its id."""

    def evaluation_tally(self, namespaces: Namespaces) -> dict[str, int]:
        """Evaluations by stored status; `deleted` counts the stubs of collected ones."""

    def open_tally(self, namespaces: Namespaces) -> dict[str, int]:
        """Evaluations that have not ended, by status."""

    def open_statuses(self, namespaces: Namespaces) -> dict[str, str]:
        """The status of each evaluation that has not ended, by its id."""

    def blocked_ids(self, namespaces: Namespaces) -> set[str]:
        """The ids of the evaluations that wait for room."""

    def job_count(self, namespaces: Namespaces) -> int:
        """Jobs, dead ones included."""

    def job_keys(self, namespaces: Namespaces) -> set[JobKey]:
        """The keys of all jobs."""

    def children_of(self, key: JobKey, at_most: int) -> list[Job]:
        """The jobs that a job has launched and that are kept, those made last first."""

    def spans_of(self, namespace: str, job_ids: Collection[str]) -> dict[str, Span]:
        """By id, when work of those of these jobs of a namespace that had any began and ended."""

    def launches_among(self, keys: Collection[JobKey]) -> dict[JobKey, PeriodicLaunch]:
        """What is kept of the launches of those of these jobs that launch by time."""

    def jobs_by_namespace(self, namespaces: Namespaces) -> dict[str, JobsFace]:
        """Jobs counted by namespace; namespaces without jobs are left out."""

    def pool_faces(self) -> dict[str, PoolFace]:
        """The pools that have nodes, by name."""

    def held_by_pool(self) -> dict[str, RoomHeld]:
        """What is held of the nodes of each pool that holds anything, by its name."""

    def held_by_job(
        self, namespaces: Namespaces, at_most: int, pool: str = ""
    ) -> list[tuple[JobKey, RoomHeld]]:
        """The jobs that hold most CPU, the largest first; of one pool, what they hold there."""

    def node_tally(self) -> dict[str, int]:
        """Nodes in all (`nodes`), those that drain (`draining`) or are lost (`lost`)."""

    def node_faces(self) -> list[NodeFace]:
        """All nodes, in no order."""

    def node_places(self, keys: Sequence[str], story_id: str = "") -> list[NodePlace]:
        """All nodes or a story's, in no order, with their values of keys as `meta.rack` is one."""

    def node_sums(self) -> dict[str, NodeSum]:
        """What is held of each node that anything was ever placed on, by its id."""

    def past_of_nodes(self, index: int, at: int) -> PastNodes:
        """How nodes stood at an index whose instant is `at`; collected work is not counted."""

    def held_then(self, key: JobKey, index: int, at: int) -> dict[str, int]:
        """By node, how many allocations of a job it held then; collected ones are not counted."""

    def held_places(self, key: JobKey) -> dict[str, str]:
        """The node of each allocation of a job that it still holds, by the allocation's id."""

    def job_faces(self, namespaces: Namespaces) -> list[JobFace]:
        """All jobs, in no order."""

    def server_indexes_on(self, node_id: str) -> dict[str, int]:
        """Every allocation of a node by id: when the server, not the node, last changed it."""

    def live_on(self, node_ids: Collection[str]) -> list[AllocFace]:
        """What has not ended on these nodes, in no order."""

    def restarting_among(self, keys: Collection[JobKey], times: int) -> list[tuple[str, JobKey]]:
        """Allocations of these jobs, by id, that do not run and were restarted so often."""

    def stories(
        self, wanted: StoryFilter, limit: int, after: tuple[Any, ...] = ()
    ) -> list[ListedStory]:
        """At most `limit` + 1 stories from the place `after` on: those that run, then the newest.

        One runs while an evaluation of it is open, its rollout goes on, or its nodes drain.
        """

    def story_tally(self, wanted: StoryFilter) -> dict[str, int]:
        """How many stories there are of each kind that has any."""

    def running_stories(self) -> set[str]:
        """The ids of the stories that run."""

    def progress_of(
        self, story_ids: Collection[str], namespaces: Namespaces = None
    ) -> dict[str, StoryProgress]:
        """The evaluations of each of these stories that has any, counted in one statement."""

    def story_figures(
        self, story_ids: Collection[str], namespaces: Namespaces = None
    ) -> dict[str, StoryFigures]:
        """What became of each of these stories, in a fixed number of statements."""

    def story_losses(self, story_id: str, namespaces: Namespaces = None) -> StoryLosses:
        """What a story of lost nodes took and what was placed because of it."""

    def story_evaluations(
        self,
        story_id: str,
        limit: int = 0,
        after: tuple[int, str] | tuple[()] = (),
        namespaces: Namespaces = None,
    ) -> list[ToldEvaluation]:
        """Evaluations of a story and stubs of collected ones, by creation; `limit` + 1 at most."""

    def story_faces(self, story_id: str, namespaces: Namespaces = None) -> list[EvaluationFace]:
        """All evaluations of a story, collected ones among them, by creation."""

    def evaluations_among(self, eval_ids: Collection[str]) -> list[Evaluation]:
        """Those of these evaluations that are there, by creation."""

    def stories_among(self, story_ids: Collection[str]) -> list[Story]:
        """Those of these stories that are there, by creation."""

    def deployments_of_stories(self, story_ids: Collection[str]) -> list[Deployment]:
        """The rollouts of these stories, by creation."""

    def ended_counts(self, spans: Spans, namespaces: Namespaces) -> list[int]:
        """How many evaluations ended in each of these spans, collected ones included."""

    def ended_pairs(self, span: Pair, namespaces: Namespaces, at_most: int) -> list[Pair]:
        """When each that ended in a span was made and ended; the newest first."""

    def row_counts(self, tables: Sequence[str]) -> list[int]:
        """How many rows each table has, in their order: for small ones, as all are counted."""

    def token_uses(self) -> Mapping[str, int]:
        """When API tokens were used last, ns, to the hour, by their accessor ids."""

    def token_names(self, accessor_ids: Collection[str]) -> dict[str, str]:
        """The names of those of these API tokens that are there, by their accessor ids."""
