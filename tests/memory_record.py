"""A record in memory that answers pages and lists as well: the plain form of `RecordReader`."""

from collections import Counter

from msgspec.structs import replace

from cluster.store.changed_lately import MovedLives
from cluster.store.evaluation_face import EvaluationFace
from cluster.store.listing import position
from cluster.store.lost_allocations import LostAlloc, ReplacedAlloc, StoryLosses, lost_at
from cluster.store.ports import (
    AllocFace,
    JobFace,
    ListedStory,
    NodeFace,
    RecordReader,
    StoryFigures,
    StoryFilter,
    StoryProgress,
    ToldEvaluation,
)
from cluster.store.story_figures import MOST_ENDED
from scheduler.state import nouns
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.identity import JobKey
from scheduler.structs.node import LOST, NodeEligibility

_BY_ID = {nouns.NODES: ("id",), nouns.JOBS: ("namespace", "id")}


class MemoryRecord(MemoryStateStore, RecordReader):
    """Every answer by looking at every row."""

    def page(self, noun, listing):
        found = self._listed(noun, listing)
        return found[: listing.limit + 1] if listing.limit else found

    def walk(self, noun, listing):
        return iter(self._listed(noun, listing))

    def count(self, noun, listing):
        return len(self._matching(noun, listing))

    def place_in(self, noun, listing, row):
        return position(noun, listing, row)

    def facets(self, noun, columns, listing, most=0):
        rows = self._matching(noun, listing)
        running = self.running_stories() if noun is STORIES else ()
        cells = [
            dict(zip(noun.column_names, noun.row(row, str), strict=True))
            | ({"is_running": row.id in running} if noun is STORIES else self._place(noun, row))
            for row in rows
        ]
        counts = Counter(tuple(each[name] for name in columns) for each in cells)
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return dict(ranked[: most or None])

    def _place(self, noun, row):
        if noun is not nouns.ALLOCATIONS:
            return {}
        node = self.node(row.node_id)
        return {
            "datacenter": node.datacenter if node else "",
            "node_pool": node.node_pool if node else "",
        }

    def _matching(self, noun, listing):
        equals = {**listing.equals}
        is_running = equals.pop("is_running", None)
        place = {
            name: equals.pop(name)
            for name in ("datacenter", "node_pool")
            if noun is nouns.ALLOCATIONS and name in equals
        }
        plain = replace(listing, equals=equals)
        wanted = StoryFilter(
            running=is_running, job=listing.of_job, hidden_kinds=listing.hidden_kinds
        )
        named = {node.id for node in self.nodes() if node.name == listing.with_node}
        rows = [
            row
            for row in self.list_all(noun)
            if _matches(noun, row, plain) and place.items() <= self._place(noun, row).items()
        ]
        if noun is not STORIES:
            return rows
        if listing.of_job and not _within(listing.of_job, listing.namespaces):
            return []
        return [
            row
            for row in rows
            if self._is_wanted(row, wanted)
            and (
                not listing.with_node
                or any(
                    self._is_wanted(row, StoryFilter(node_id=node))
                    for node in {listing.with_node, *named}
                )
            )
        ]

    def first_ids(self, noun, listing):
        ids = sorted(row.id for row in self.list_all(noun) if _matches(noun, row, listing))
        return ids[: listing.limit + 1]

    def _listed(self, noun, listing):
        fields = _BY_ID.get(noun, ("create_index", "id"))
        if listing.by_id:
            fields = ("id", "namespace") if noun is nouns.JOBS else ("id",)

        def place(row):
            return position(noun, listing, row) if listing.sort else tuple(
                getattr(row, field) for field in fields
            )  # fmt: skip

        def is_behind(row):
            here, start = place(row), listing.after
            return not start or (here <= start if listing.reverse else here >= start)

        rows = self._matching(noun, listing)
        return sorted(filter(is_behind, rows), key=place, reverse=listing.reverse)

    def jobs_among(self, keys):
        return [job for job in self.jobs() if job.key in keys]

    def summaries_among(self, keys):
        found = {key: self.get(nouns.JOB_SUMMARIES, key) for key in keys}
        return {key: summary for key, summary in found.items() if summary is not None}

    def launches_among(self, keys):
        found = {key: self.get(PERIODIC_LAUNCHES, key) for key in keys}
        return {key: launches for key, launches in found.items() if launches is not None}

    def children_of(self, key, at_most):
        like = [job for job in self.jobs() if (job.namespace, job.parent_id) == tuple(key)]
        return sorted(like, key=lambda job: (job.create_index, job.id), reverse=True)[:at_most]

    def server_indexes_on(self, node_id):
        return {alloc.id: alloc.alloc_modify_index for alloc in self.allocations_by_node(node_id)}

    def open_allocations(self, key, at_most):
        return [
            alloc
            for alloc in sorted(self.allocations_by_job(key), key=lambda alloc: alloc.id)
            if not alloc.is_client_terminal
        ][:at_most]

    def blocked_among(self, keys):
        return {item.job_key: item for item in self._open("blocked", None) if item.job_key in keys}

    def closed_nodes(self):
        return [
            node
            for node in self.nodes()
            if node.drain_strategy or node.scheduling_eligibility is NodeEligibility.INELIGIBLE
        ]

    def newest_steps_of(self, eval_ids):
        return {eval_id: steps[-1] for eval_id, steps in self.lives_of(eval_ids).items()}

    def lives_of(self, eval_ids):
        lives = {eval_id: list(self.lifecycle(eval_id)) for eval_id in eval_ids}
        return {eval_id: steps for eval_id, steps in lives.items() if steps}

    def recent_steps(self, evaluations):
        newest = list(self.evaluations())[-evaluations:]
        lives = self.lives_of(sorted(item.id for item in newest))
        return [step for steps in lives.values() for step in steps]

    def moved_lives(self, stretch, namespaces, at_most):
        every = list(self.evaluations())
        since = max((item.modify_time for item in every), default=0) - stretch
        found = [item for item in every if _within(item, namespaces)]
        moved = [item for item in found if item.modify_time >= since]
        moved.sort(key=lambda item: (item.modify_time, item.create_index, item.id), reverse=True)
        pending = [item for item in found if item.status is EvalStatus.PENDING]
        kept = {item.id for item in [*moved[:at_most], *pending[::-1][:at_most]]}
        stubs = [
            item for item in self.list_all(nouns.EVALUATION_STUBS)
            if _within(item, namespaces) and item.modify_time >= since
        ]  # fmt: skip
        lives = self.lives_of(sorted(kept))
        return MovedLives(
            [step for steps in lives.values() for step in steps],
            moved[at_most].modify_time if len(moved) > at_most else 0,
            len(stubs) if every else 0,
        )

    def newest_steps_of_pending(self, namespaces):
        return self.newest_steps_of([item.id for item in self._open("pending", namespaces)])

    def evaluation_tally(self, namespaces):
        found = [item for item in self.evaluations() if _within(item, namespaces)]
        stubs = [
            item for item in self.list_all(nouns.EVALUATION_STUBS) if _within(item, namespaces)
        ]
        return {**Counter(item.status.value for item in found), "deleted": len(stubs)}

    def open_tally(self, namespaces):
        return dict(Counter(self.open_statuses(namespaces).values()))

    def open_statuses(self, namespaces):
        return {
            item.id: item.status.value
            for status in ("pending", "blocked")
            for item in self._open(status, namespaces)
        }

    def blocked_ids(self, namespaces):
        return {item.id for item in self._open("blocked", namespaces)}

    def job_count(self, namespaces):
        return len(self.job_keys(namespaces))

    def job_keys(self, namespaces):
        return {job.key for job in self.jobs() if _within(job, namespaces)}

    def node_tally(self):
        faces = self.node_faces()
        return {
            "nodes": len(faces),
            "draining": sum(face.is_draining for face in faces),
            "lost": sum(face.status in LOST for face in faces),
        }

    def node_faces(self):
        return [
            NodeFace(
                node.id, node.name, node.status.value, node.scheduling_eligibility.value,
                is_draining=node.drain_strategy is not None,
                since=0 if node.status == "ready" else node.status_updated_at * 1_000_000_000,
            )
            for node in self.nodes()
        ]  # fmt: skip

    def job_faces(self, namespaces):
        return [
            JobFace(
                job.namespace, job.id, job.type, job.status, job.stop,
                sum(group.count for group in job.task_groups),
            )
            for job in self.jobs()
            if _within(job, namespaces)
        ]  # fmt: skip

    def live_on(self, node_ids):
        return [
            AllocFace(
                alloc.id, alloc.node_id, alloc.name, alloc.job_key, alloc.job_type == "service"
            )
            for node_id in node_ids
            for alloc in self.allocations_by_node(node_id)
            if not alloc.is_client_terminal
        ]

    def restarting_among(self, keys, times):
        return [
            (alloc.id, alloc.job_key)
            for key in keys
            for alloc in self.allocations_by_job(key)
            if alloc.client_status == "pending"
            and not alloc.is_server_terminal
            and sum(state.restarts for state in alloc.task_states.values()) >= times
        ]

    def stories(self, wanted, limit, after=()):
        running = self.running_stories()
        listed = [
            ListedStory(story, story.id in running)
            for story in self.list_all(STORIES)
            if self._is_wanted(story, wanted)
        ]
        rows = sorted(listed, key=lambda row: row.place, reverse=True)
        return [row for row in rows if not after or row.place <= after][: limit + 1]

    def story_tally(self, wanted):
        rows = [story for story in self.list_all(STORIES) if self._is_wanted(story, wanted)]
        return dict(Counter(story.kind.value for story in rows))

    def running_stories(self):
        drains = []
        for node in self.nodes():
            links = [
                link
                for link in self.list_by(STORY_NODES, "node", node.id)
                if link.kind == "drain" and node.drain_strategy
            ]
            drains += sorted(links, key=lambda link: link.index)[-1:]
        return {
            *(row.story_id for row in self.open_evaluations()),
            *(row.story_id for row in self.deployments() if row.is_active),
            *(link.story_id for link in drains),
        } - {""}

    def progress_of(self, story_ids, namespaces=None):
        found = {}
        for story_id in story_ids:
            told = self.story_evaluations(story_id, namespaces=namespaces)
            if told:
                counts = Counter(
                    "deleted" if row.is_collected else row.evaluation.status.value for row in told
                )
                first = min(row.evaluation.create_time for row in told)
                last = max(row.evaluation.modify_time for row in told)
                found[story_id] = StoryProgress(dict(counts), first, last)
        return found

    def story_losses(self, story_id, namespaces=None):
        story = self.get(STORIES, story_id)
        links = [link for link in self.list_by(STORY_NODES, "story", story_id) if story]
        lost = [
            LostAlloc.of(alloc)
            for link in links
            if link.kind == "loss"
            for alloc in self.allocations_by_node(link.node_id)
            if _within(alloc, namespaces)
            and alloc.create_index <= link.index
            and alloc.modify_index >= story.create_index
            and lost_at(alloc) >= story.create_time
        ]
        if not any(link.kind == "loss" for link in links):
            return StoryLosses((), (), is_cut=False)
        lost = [self._with_namesake(each, story.create_index) for each in lost]
        found = (self.allocation(each.next_id) for each in lost if each.next_id)
        placed = [
            ReplacedAlloc(alloc.id, alloc.create_index, alloc.create_time)
            for alloc in found
            if alloc is not None
        ]
        return StoryLosses(tuple(sorted(lost)), tuple(sorted(placed)), is_cut=False)

    def _with_namesake(self, lost, since):
        if lost.next_id or lost.job_type in ("system", "sysbatch"):
            return lost
        later = [
            (alloc.create_index, alloc.id)
            for alloc in self.allocations_by_job(JobKey(lost.namespace, lost.job_id))
            if alloc.name == lost.name and alloc.create_index > since
        ]
        return lost._replace(next_id=min(later)[1]) if later else lost

    def story_figures(self, story_ids, namespaces=None):
        found = {}
        for story_id in story_ids:
            rows = [
                row.evaluation
                for row in self.story_evaluations(story_id, namespaces=namespaces)
                if not row.is_collected
            ]
            placed = Counter(
                "stopped"
                if alloc.is_server_terminal and alloc.client_status not in ("failed", "lost")
                else alloc.client_status.value
                for row in rows
                for alloc in self.allocations_by_eval(row.id)
            )
            draining = [
                link.node_id
                for link in self.list_by(STORY_NODES, "story", story_id)
                if link.kind == "drain"
                and link.current
                and getattr(self.node(link.node_id), "drain_strategy", None)
            ]
            left = [
                alloc
                for node_id in draining
                for alloc in self.allocations_by_node(node_id)
                if _within(alloc, namespaces)
                and not alloc.is_server_terminal
                and alloc.client_status in ("pending", "running", "unknown")
            ]
            rollouts = [
                row
                for row in self.deployments()
                if row.story_id == story_id and _within(row, namespaces)
            ]
            blocked = tuple(row for row in rows if row.status is EvalStatus.BLOCKED)
            newest = rollouts[-1] if rollouts else None
            is_quiet = not (placed or left) and len(rows) <= MOST_ENDED
            ended = tuple(rows) if is_quiet and all(row.is_terminal for row in rows) else ()
            found[story_id] = StoryFigures(dict(placed), len(left), blocked, newest, ended)
        return found

    def story_evaluations(self, story_id, limit=0, after=(), namespaces=None):
        rows = [
            *(ToldEvaluation(row, is_collected=False) for row in self.evaluations()),
            *(
                ToldEvaluation(row, is_collected=True)
                for row in self.list_all(nouns.EVALUATION_STUBS)
            ),
        ]

        def place(row):
            return row.evaluation.create_index, row.evaluation.id

        wanted = [
            row
            for row in sorted(rows, key=place)
            if row.evaluation.story_id == story_id
            and _within(row.evaluation, namespaces)
            and (not after or place(row) >= after)
        ]
        return wanted[: limit + 1] if limit else wanted

    def _is_wanted(self, story, wanted):
        touching = {
            row.story_id
            for noun in (nouns.EVALUATIONS, nouns.EVALUATION_STUBS)
            for row in self.list_all(noun)
            if row.job_key == wanted.job
        }
        own = wanted.job in (story.job_key, JobKey(story.namespace, story.parent_job_id))
        nodes = {link.node_id for link in self.list_by(STORY_NODES, "story", story.id)}
        return (
            _within(story, wanted.namespaces)
            and (not wanted.kinds or story.kind in wanted.kinds)
            and (story.namespace or story.kind not in wanted.hidden_kinds)
            and (wanted.job is None or own or story.id in touching)
            and (not wanted.node_id or wanted.node_id in nodes)
            and wanted.actor in (None, story.actor)
            and wanted.running in (None, story.id in self.running_stories())
            and story.modify_time >= wanted.since
            and story.id.startswith(wanted.prefix)
        )

    def story_faces(self, story_id, namespaces=None):
        return [
            EvaluationFace(
                item.id,
                item.namespace,
                item.job_id,
                str(item.triggered_by),
                item.status.value,
                item.previous_eval,
                item.create_index,
                item.modify_index,
                item.create_time // 1000 * 1000,
                item.modify_time // 1000 * 1000,
                item.cause.kind.value if item.cause else "",
                item.cause.id if item.cause else "",
                is_stub=is_collected,
            )
            for item, is_collected in self.story_evaluations(story_id, namespaces=namespaces)
        ]

    def evaluations_among(self, eval_ids):
        found = [item for item in self.evaluations() if item.id in eval_ids]
        return sorted(found, key=lambda item: (item.create_index, item.id))

    def stories_among(self, story_ids):
        found = [item for item in self.list_all(STORIES) if item.id in story_ids]
        return sorted(found, key=lambda item: (item.create_index, item.id))

    def deployments_of_stories(self, story_ids):
        found = [item for item in self.deployments() if item.story_id in story_ids]
        return sorted(found, key=lambda item: (item.create_index, item.id))

    def ended_counts(self, spans, namespaces):
        ended = self.ended_pairs((0, 1 << 62), namespaces, 1 << 30)
        return [sum(since <= at < until for _, at in ended) for since, until in spans]

    def ended_pairs(self, span, namespaces, at_most):
        rows = (*self.list_all(nouns.EVALUATIONS), *self.list_all(nouns.EVALUATION_STUBS))
        pairs = [
            (row.create_time, row.modify_time) for row in rows
            if row.status.value in {"complete", "failed"} and _within(row, namespaces)
            and row.create_time and span[0] <= row.modify_time < span[1]
        ]  # fmt: skip
        return sorted(pairs, key=lambda pair: pair[1], reverse=True)[:at_most]

    def token_names(self, accessor_ids):
        return {}

    @property
    def oldest_event(self):
        return self._oldest_kept

    def frames_after(self, index, limit):
        return self.frames_since(index, limit)

    def frames_back(self, index, is_wanted):
        for frame in reversed(self.frames_since(self._oldest_kept - 1, self.index)):
            if frame.index <= index:
                names = (
                    (event, event.topic, event.namespace, event.key) for event in frame.events
                )
                wanted = tuple(e for e, *name in names if is_wanted(frame.kind, *name))
                yield replace(frame, events=wanted)

    def moments_of(self, indexes):
        frames = self.frames_since(self._oldest_kept - 1, self.index)
        return {frame.index: frame.at for frame in frames if frame.index in indexes}

    def _open(self, status, namespaces):
        rows = (item for item in self.open_evaluations() if _within(item, namespaces))
        return [item for item in rows if item.status is EvalStatus(status)]


def _within(row, namespaces):
    return namespaces is None or row.namespace in namespaces


def _matches(noun, row, listing):
    columns = dict(zip(noun.column_names, noun.row(row, str), strict=True))
    return (
        (noun is nouns.NODES or _within(row, listing.namespaces))
        and row.id.startswith(listing.prefix)
        and all(
            word in (row.name if noun is nouns.NODES else row.id).lower() for word in listing.words
        )
        and (
            not listing.named
            or row.id.startswith(listing.named)
            or row.name.startswith(listing.named)
        )
        and all(columns[column] == value for column, value in listing.equals.items())
    )
