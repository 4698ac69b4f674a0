"""A whole story: its evaluations, phases, figures and drawing, from one look at the record.

In: a reader, a story, an instant or an index of the past. Out: a Whole, from which page, frames
and files are told, so that they say the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, urlencode

import msgspec
from django.utils.translation import gettext

from cluster.store.evaluation_face import EvaluationFace
from cluster.store.ports import Namespaces, RecordReader
from dashboard.graphs.geometry import Graph
from dashboard.graphs.story import folded_in, story_graph
from dashboard.graphs.story_lanes import FoldedLanes, StoryDrawing
from dashboard.outcomes import waiting_for
from dashboard.stories.acts import as_of, held_by
from dashboard.stories.batches import WatchedRollout, phases_of
from dashboard.stories.crashes import crash_facts
from dashboard.stories.gathered import (
    ALL_READ,
    Gathered,
    gather,
    gather_past,
    stops_of,
)
from dashboard.stories.lane_choice import BY_HARM, BY_PLACE, WORST, LaneChoice
from dashboard.stories.lanes import Told, harm_lanes, rollout_lanes
from dashboard.stories.names import event_of, harm_of, is_act, title_of
from dashboard.stories.phase import RolloutPhase
from dashboard.stories.places import OF_NODES, StoryPlaces, place_lanes, places_of
from dashboard.stories.replay import PastMoment, Track, times_of, track_of
from dashboard.stories.rows import deployment_of, rollout_facts
from dashboard.stories.told import RolloutFacts, StoryFacts
from dashboard.wording import count_of, number, short_id
from scheduler.state.story_nouns import STORY_NODES
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.story import Story, StoryKind

#: What has happened so far happened before this.
_EVER = 2**63


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """All that is told of a story."""

    story: Story
    gathered: Gathered
    facts: StoryFacts
    lanes: Told
    #: The same as the drawing and the list show them.
    folded: FoldedLanes
    graph: Graph
    track: Track | None
    rollout: WatchedRollout | None = None
    phases: tuple[RolloutPhase, ...] = ()
    #: Names of the nodes that it names, by their ids, in its order.
    names: dict[str, str] = {}
    #: Where its nodes stand, if its lanes are by that.
    places: StoryPlaces | None = None
    #: The evaluation of which more is told beside the drawing.
    chosen: EvaluationFace | None = None

    @property
    def blocked(self) -> list[Evaluation]:
        """Those that wait for room and whose body is known, oldest first."""
        known = self.gathered.evaluations
        return [known[face.id] for face in self.gathered.waiting if face.id in known]


def whole_of(
    reader: RecordReader,
    story: Story,
    now: int,
    *,
    namespaces: Namespaces = None,
    at: int | None = None,
    how: LaneChoice = BY_HARM,
) -> Whole:
    """The story now, or `at` an index; of a story of many namespaces, what these may show."""
    if at is None:
        gathered = gather(reader, story, now, namespaces)
    else:
        gathered = gather_past(reader, story, at, namespaces)
    rollout = _rollout_of(reader, story, gathered)
    members = gathered.members()
    names = _node_names(reader, story)
    event = event_of(story, names)
    by_place = how.by == BY_PLACE and story.kind in OF_NODES
    places = places_of(reader, story) if by_place else None
    phases = _phases(rollout, gathered)
    if rollout is not None:
        told = rollout_lanes(phases, members, event, gathered.at)
    elif places is not None:
        told = place_lanes(places, gathered.faces, members)
    else:
        told = harm_lanes(harm_of(story), members)
    chosen = _chosen(gathered, how.chosen)
    drawing = StoryDrawing(
        key=graph_key(story.id, how),
        title=title_of(story, names).plain,
        description="",
        lanes=told.lanes,
        root=None if rollout is not None else event,
        selected=chosen.id if chosen is not None else "",
        opened=how.opened,
        address=_unfolding(how, at),
        selects=_selecting(how, at),
    )
    folded = drawing.folded()
    graph = story_graph(drawing, folded)
    facts = _facts(reader, gathered, told, rollout)
    return Whole(
        story=story,
        gathered=gathered,
        facts=facts,
        lanes=told,
        folded=folded,
        graph=msgspec.structs.replace(graph, description=_described(facts, told, graph)),
        track=_track(reader, story, gathered, phases, at),
        rollout=rollout,
        phases=tuple(phases),
        names=names,
        places=places,
        chosen=chosen,
    )


def _chosen(gathered: Gathered, wanted: str) -> EvaluationFace | None:
    """The one that is asked for; else the worst, where something waits or failed."""
    if not wanted:
        return None
    waits = failed = None
    for face in gathered.faces:
        if face.is_stub:
            continue
        if face.id == wanted:
            return face
        if face.status == "failed":
            failed = face
        elif face.status == "blocked" and waits is None:
            waits = face
    return waits or failed


def _node_names(reader: RecordReader, story: Story) -> dict[str, str]:
    reader.preload(nodes=story.node_ids)
    found = ((node_id, reader.node(node_id)) for node_id in story.node_ids)
    return {node_id: node.name if node else short_id(node_id) for node_id, node in found}


def _unfolding(how: LaneChoice, at: int | None) -> str:
    """The address of the page with a fold open, up to the fold."""
    fields = [f"by={how.by}"] if how.by else []
    fields += [] if how.chosen in ("", WORST) else [f"eval={quote(how.chosen)}"]
    fields += [] if at is None else [f"at={at}"]
    return f"?{'&'.join([*fields, 'open='])}"


def _selecting(how: LaneChoice, at: int | None) -> tuple[str, str]:
    """The address of the page with an evaluation selected, around its id; of a file none."""
    if not how.chosen:
        return "", ""
    fields = {"by": how.by, "open": how.opened, "at": "" if at is None else str(at)}
    told = urlencode({name: text for name, text in fields.items() if text})
    return f"?{told}&eval=" if told else "?eval=", "#story-chosen"


def graph_key(story_id: str, how: LaneChoice = BY_HARM) -> str:
    """The name of a story's drawing: one with a fold open, or with other lanes, is another."""
    return f"story-{story_id}/{how.text}" if how.text else f"story-{story_id}"


def counted(facts: StoryFacts, graph: Graph) -> str:
    """`26 evaluations, folded into 4 shapes`, beside the heading of the drawing."""
    told = count_of(facts.evaluations, "{count} evaluation", "{count} evaluations")
    folds = folded_in(graph)
    return (
        gettext("{told}, some of them folded into {shape}").format(
            told=told, shape=count_of(folds, "{count} shape", "{count} shapes")
        )
        if folds
        else told
    )


def _described(facts: StoryFacts, told: Told, graph: Graph) -> str:
    lanes = ", ".join(lane.title for lane in told.lanes)
    return f"{counted(facts, graph)}. {lanes}." if lanes else f"{counted(facts, graph)}."


def _rollout_of(reader: RecordReader, story: Story, gathered: Gathered) -> WatchedRollout | None:
    past = gathered.past
    rollout = _rollout_now(reader, story)
    if rollout is None or past is None:
        return rollout
    if rollout.deployment.create_index > past.index:
        return None
    return msgspec.structs.replace(
        rollout,
        deployment=_as_it_was(rollout.deployment, past),
        allocations=tuple(
            alloc for alloc in rollout.allocations if alloc.create_index <= past.index
        ),
    )


def _rollout_now(reader: RecordReader, story: Story) -> WatchedRollout | None:
    deployment = deployment_of(story, reader.deployments_of_stories([story.id]))
    if deployment is None:
        return None
    return WatchedRollout(
        deployment=deployment,
        allocations=tuple(reader.allocations_by_deployment(deployment.id)),
        at_once=_at_once(reader, deployment),
    )


def _as_it_was(deployment: Deployment, past: PastMoment | None) -> Deployment:
    if past is None or deployment.modify_index <= past.index:
        return deployment
    groups = {
        name: msgspec.structs.replace(group, require_progress_by=0, promoted=False)
        for name, group in deployment.task_groups.items()
    }
    running = msgspec.structs.replace(
        deployment, status=DeploymentStatus.RUNNING, status_description="", task_groups=groups
    )
    return as_of(running, past.index)


def _at_once(reader: RecordReader, deployment: Deployment) -> int:
    job = reader.job_version(deployment.job_key, deployment.job_version)
    if job is None:
        return 0
    sizes = [
        group.update.max_parallel if group.update is not None else 0
        for group in job.task_groups
        if group.name in deployment.task_groups
    ]
    return sum(sizes) if all(sizes) else 0


def _phases(rollout: WatchedRollout | None, gathered: Gathered) -> list[RolloutPhase]:
    if rollout is None:
        return []
    until = gathered.at if gathered.past is not None else _EVER
    return phases_of(rollout, gathered.evaluations, until=until)


def _facts(
    reader: RecordReader, gathered: Gathered, told: Told, rollout: WatchedRollout | None
) -> StoryFacts:
    counts = Counter(face.status for face in gathered.faces if not face.is_stub)
    blocked = gathered.waiting
    bodies = [gathered.evaluations[face.id] for face in blocked if face.id in gathered.evaluations]
    waits = [waiting_for(item) for item in bodies]
    lacking = {word for _, word in waits if word}
    done: dict[str, int] = {}
    for member in gathered.members() if gathered.is_whole else ():
        for word, count in member.work.items():
            done[word] = done.get(word, 0) + count
    story = gathered.story
    draining = _draining(reader, story) if gathered.past is None else 0
    facts = StoryFacts(
        evaluations=len(gathered.faces),
        running=counts["pending"],
        blocked=counts["blocked"],
        failed=counts["failed"],
        done=done,
        is_read=gathered.is_whole and not gathered.collected,
        waiting=sum(count for count, _ in waits) if len(bodies) == len(blocked) else 0,
        lacking=lacking.pop() if len(lacking) == 1 else "",
        jobs=len({(face.namespace, face.job_id) for face in gathered.faces}),
        began=story.create_time,
        rollout=_rollout_facts(rollout, told, gathered) if rollout is not None else None,
        draining=draining,
        nodes=max(story.node_count, len(story.node_ids)),
        collected=gathered.collected,
        is_drain=harm_of(story) == "drain",
        is_crash_loop=story.kind is StoryKind.CRASH_LOOP,
        is_act=is_act(story),
        crash=crash_facts(reader, gathered),
    )
    if facts.is_open:
        return facts
    ends = [story.create_time] if facts.is_act else []
    ends.append(max((face.modify_time for face in gathered.faces), default=0))
    ends += [step.at for step in gathered.newest.values()]
    if rollout is not None and gathered.faces:
        ends.append(rollout.deployment.modify_time)
    return msgspec.structs.replace(facts, ended=max(ends, default=0))


def _draining(reader: RecordReader, story: Story) -> int:
    if harm_of(story) != "drain":
        return 0
    draining = {node.id for node in reader.closed_nodes() if node.drain_strategy is not None}
    links = reader.list_by(STORY_NODES, "story", story.id)
    return sum(link.node_id in draining and link.current for link in links)


def _rollout_facts(rollout: WatchedRollout, told: Told, gathered: Gathered) -> RolloutFacts:
    facts = rollout_facts(rollout.deployment, gathered.story)
    batches = [row for row in told.rows if row.key.startswith("batch-")]
    begun = [row for row in batches if row.state != "to-come"]
    held = held_by(rollout.deployment)
    facts = msgspec.structs.replace(
        facts, batch=len(begun), batches=len(batches), paused_by=held.by if held else ""
    )
    if gathered.past is None:
        return facts
    healthy = sum(row.healthy for row in told.rows)
    return msgspec.structs.replace(
        facts, healthy=min(healthy, facts.wanted), canaries_waiting=0, unhealthy=0, deadline=0
    )


def _track(
    reader: RecordReader,
    story: Story,
    gathered: Gathered,
    phases: Sequence[RolloutPhase],
    at: int | None,
) -> Track | None:
    faces = gathered.faces if at is None else reader.story_faces(story.id, gathered.namespaces)
    lives = {}
    if len(faces) <= ALL_READ:
        lives = reader.lives_of([face.id for face in faces if not face.is_stub])
    moments = stops_of(faces, lives)
    if at is not None and phases:
        # The track is that of the whole story, whatever moment of it is shown.
        rollout = _rollout_now(reader, story)
        told = reader.story_evaluations(story.id, ALL_READ, namespaces=gathered.namespaces)
        known = {row.evaluation.id: row.evaluation for row in told}
        phases = phases_of(rollout, known, until=_EVER) if rollout is not None else phases
    begun = [
        (phase.since, phase.title.partition(" of ")[0]) for phase in phases if not phase.is_to_come
    ]
    failed = {phase.since: phase.tone for phase in phases if phase.tone == "failed"}
    problems = dict(_problems(faces)) | failed
    return track_of(moments, problems, begun or times_of(moments), at)


def _problems(faces: Iterable[EvaluationFace]) -> Iterator[tuple[int, str]]:
    """What went wrong, by index: what came to wait for room, what failed."""
    for face in faces:
        if face.is_stub:
            continue
        if face.status == "failed":
            yield face.modify_index, "failed"
        elif face.status == "blocked" or face.triggered_by in _WAITED:
            yield face.create_index, "blocked"


_WAITED = ("queued-allocs", "max-plan-attempts")


def past_told(whole: Whole) -> str:
    """What is not known any more of the moment that is shown."""
    gathered = whole.gathered
    if not gathered.unknown:
        return ""
    one = gathered.unknown == 1
    return (
        gettext("How {evaluation} stood then is not known any more: its steps were collected.")
        if one
        else gettext(
            "How {evaluation} stood then is not known any more: their steps were collected."
        )
    ).format(evaluation=count_of(gathered.unknown, "{count} evaluation", "{count} evaluations"))


def later_told(whole: Whole) -> str:
    """How many evaluations came after the moment that is shown."""
    later = whole.gathered.later
    return gettext("{later} more came later.").format(later=number(later)) if later else ""
