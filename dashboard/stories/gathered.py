"""A story as its pages read it: its evaluations, as they are or as they were at an index.

In: a reader and a story. Out: what is known of each evaluation. Of a large story only the columns
are read, and the bodies of those few that are drawn each for itself.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from django.utils.translation import gettext

from cluster.store.evaluation_face import EvaluationFace
from cluster.store.ports import Namespaces, RecordReader
from dashboard.chains import member_of, tombstone_of
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.lifecycle import STATE_OF
from dashboard.labels import label_for
from dashboard.outcomes import done_by, waiting_for
from dashboard.stories.batches import promotes
from dashboard.stories.replay import PastMoment
from dashboard.wording import count_of
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation, LifecycleStep
from scheduler.structs.story import Story

#: Of a story with more evaluations not every body is read.
ALL_READ = 500
#: As many bodies are read of a larger one.
SOME_READ = 80
#: What may be told of an evaluation only with its body, worst first.
_OPEN = (EvalStatus.BLOCKED, EvalStatus.PENDING, EvalStatus.FAILED)
#: Words on the arrow from what came before it, where no link was stored.
_ON_THE_ARROW: dict[str, str] = {
    EvalTrigger.QUEUED_ALLOCS: "again",
    EvalTrigger.NODE_UPDATE: "then",
    EvalTrigger.NODE_DRAIN: "then",
    EvalTrigger.JOB_REGISTER: "then",
}
_ENDED = ("complete", "failed", "canceled")


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """A story with what is known of its evaluations, in order of creation."""

    story: Story
    faces: tuple[EvaluationFace, ...]
    #: Bodies by id: all of a small story.
    evaluations: dict[str, Evaluation]
    #: The newest step of those that had not ended.
    newest: dict[str, LifecycleStep]
    #: When it is looked at, and whether that is the past.
    at: int
    past: PastMoment | None = None
    #: How many there are in the end, where that is more.
    later: int = 0
    #: Of the past: all of them as they are now, also those that came later.
    since: tuple[EvaluationFace, ...] = ()
    #: Evaluations of which it is not known any more how they stood then.
    unknown: int = 0
    #: Whose evaluations may be told; None: all.
    namespaces: Namespaces = None

    @property
    def is_whole(self) -> bool:
        """Every body is there."""
        return len(self.faces) <= ALL_READ

    @property
    def can_be_summed_up(self) -> bool:
        """What its plans did is known of each evaluation, not of a few alone."""
        return self.is_whole or len(self.evaluations) >= len(self.faces)

    @property
    def collected(self) -> int:
        """How many are left as stubs only."""
        return sum(face.is_stub for face in self.faces)

    @property
    def waiting(self) -> list[EvaluationFace]:
        """Those that wait for room, oldest first."""
        return [face for face in self.faces if face.status == "blocked" and not face.is_stub]

    def members(self) -> tuple[ChainMember, ...]:
        """As the drawing tells them."""
        return tuple(self.member(face) for face in self.faces)

    def member(self, face: EvaluationFace) -> ChainMember:
        """One of them, with its body or without."""
        evaluation = self.evaluations.get(face.id)
        if evaluation is None:
            return _faced(face)
        if face.is_stub:
            told = tombstone_of(evaluation)
        else:
            told = member_of(evaluation, newest=self.newest.get(face.id))
            told = msgspec.structs.replace(
                told,
                trigger=_made_by(evaluation, told.cause_text),
                cause_text=told.cause_text or _ON_THE_ARROW.get(evaluation.triggered_by, ""),
                outcome=outcome_words(evaluation, told.outcome),
                # Of a large story few are read: what these did is not what all did.
                work=_work(evaluation) if self.can_be_summed_up else {},
            )
        return msgspec.structs.replace(told, created_at=face.create_index)


def gather(
    reader: RecordReader, story: Story, now: int, namespaces: Namespaces = None
) -> Gathered:
    """The story as it is."""
    faces = reader.story_faces(story.id, namespaces)
    evaluations = _bodies(reader, story, faces, namespaces)
    running = [face.id for face in faces if not face.is_stub and face.status == "pending"]
    return Gathered(
        story=story,
        faces=tuple(faces),
        evaluations=evaluations,
        newest=reader.newest_steps_of(running[:SOME_READ]),
        at=now,
        namespaces=namespaces,
    )


def gather_past(
    reader: RecordReader, story: Story, index: int, namespaces: Namespaces = None
) -> Gathered:
    """The story as it was when the record had this index."""
    everyone = reader.story_faces(story.id, namespaces)
    born = [face for face in everyone if face.create_index <= index]
    evaluations = _bodies(reader, story, born, namespaces)
    # What has not changed since stands as it stood; of the others their steps tell.
    changed = [face.id for face in born if face.modify_index > index or face.is_stub]
    lives = reader.lives_of(changed)
    faces, newest, unknown = [], {}, 0
    for face in born:
        steps = [step for step in lives.get(face.id, ()) if step.index <= index]
        if face.modify_index <= index and not face.is_stub:
            faces.append(face)
        elif steps:
            newest[face.id] = steps[-1]
            faces.append(face._replace(status=_status_at(steps[-1])))
        else:
            # One that is kept and has no step yet was just made.
            unknown += face.is_stub or not lives.get(face.id)
            faces.append(face if face.is_stub else face._replace(status="pending"))
    at = max([story.create_time, *(_last_moment(face, index) for face in born)], default=0)
    at = max([at, *(step.at for step in newest.values())])
    return Gathered(
        story=story,
        faces=tuple(faces),
        evaluations={
            face.id: as_it_was(evaluations[face.id], face)
            for face in faces
            if face.id in evaluations
        },
        newest={key: step for key, step in newest.items() if _status_at(step) == "pending"},
        at=at,
        past=PastMoment(index, at),
        later=len(everyone) - len(born),
        since=tuple(everyone),
        unknown=unknown,
        namespaces=namespaces,
    )


def _bodies(
    reader: RecordReader, story: Story, faces: Sequence[EvaluationFace], namespaces: Namespaces
) -> dict[str, Evaluation]:
    """All of a small story, stubs too; of a large one those that are drawn each for itself."""
    if len(faces) <= ALL_READ:
        known = {face.id for face in faces}
        told = reader.story_evaluations(story.id, ALL_READ, namespaces=namespaces)
        return {row.evaluation.id: row.evaluation for row in told if row.evaluation.id in known}
    return {item.id: item for item in reader.evaluations_among(_worth_reading(faces))}


def stops_of(
    faces: Iterable[EvaluationFace], lives: Mapping[str, Sequence[LifecycleStep]]
) -> list[PastMoment]:
    """The commits of a story, in order: births, steps, and ends where the steps are not read."""
    known: dict[int, int] = {}
    for face in faces:
        known.setdefault(face.create_index, face.create_time)
        life = lives.get(face.id)
        steps = [step for step in life if step.index] if life else []
        for step in steps:
            known[step.index] = max(known.get(step.index, 0), step.at)
        if not steps and not face.is_stub:
            known[face.modify_index] = max(known.get(face.modify_index, 0), face.modify_time)
    return [PastMoment(index, at) for index, at in sorted(known.items()) if index]


def outcome_words(evaluation: Evaluation, plain: str) -> str:
    """What it did or waits for, in the few words that a node of a drawing has room for."""
    if evaluation.status is EvalStatus.BLOCKED:
        count, dimension = waiting_for(evaluation)
        told = count_of(count, "{count} waits", "{count} wait") if count else "waits"
        return gettext("{told} for {dimension}").format(told=told, dimension=dimension or "room")
    if evaluation.status is not EvalStatus.COMPLETE:
        return plain
    done = ", ".join(f"{count} {word}" for word, count in _work(evaluation).items())
    return ", ".join(part for part in (done, plain) if part) or gettext("nothing to do")


def _made_by(evaluation: Evaluation, words: str) -> str:
    """What made it, in the few words that leave room for what it did."""
    if promotes(evaluation):
        return "promoted"
    if evaluation.status is EvalStatus.BLOCKED:
        # What it waits for says it.
        return ""
    return words or evaluation.triggered_by


def _work(evaluation: Evaluation) -> dict[str, int]:
    return done_by(evaluation) if evaluation.status is EvalStatus.COMPLETE else {}


def _faced(face: EvaluationFace) -> ChainMember:
    """What the columns tell."""
    if not face.is_stub:
        # Most of a storm: each name less counts ten thousand times.
        label = label_for("evaluation", face.status)
        return ChainMember(
            id=face.id, job=face.job_id, state=label.tone, icon=label.icon,
            trigger=face.triggered_by, previous_eval=face.previous_eval,
            created_at=face.create_index, href=f"/evaluations/{face.id}/",
        )  # fmt: skip
    return ChainMember(
        id=face.id,
        job=face.job_id,
        state="deleted",
        icon="deleted",
        is_tombstone=True,
        outcome=gettext("collected, was {status}").format(status=face.status),
        previous_eval=face.previous_eval,
        created_at=face.create_index,
        href=f"/evaluations/{face.id}/",
    )


def _worth_reading(faces: Sequence[EvaluationFace]) -> list[str]:
    first = [face.id for face in faces[:3]]
    worst = sorted(
        (face for face in faces if face.status in _OPEN and not face.is_stub),
        key=lambda face: (_OPEN.index(EvalStatus(face.status)), face.create_index, face.id),
    )
    return list(dict.fromkeys([*first, *(face.id for face in worst)]))[:SOME_READ]


def _status_at(step: LifecycleStep) -> str:
    state = STATE_OF.get(step.step, "pending")
    return state if state in _ENDED or state == "blocked" else "pending"


def as_it_was(evaluation: Evaluation, face: EvaluationFace) -> Evaluation:
    """An evaluation with the status that its face had at a moment of the past."""
    if evaluation.status.value == face.status:
        return evaluation
    # What a run found is not known while it still ran.
    return evaluation.changed(
        status=EvalStatus(face.status),
        next_eval="",
        blocked_eval="",
        plan_annotations=None,
        queued_allocations=evaluation.queued_allocations if face.status == "blocked" else {},
    )


def _last_moment(face: EvaluationFace, index: int) -> int:
    return face.modify_time if face.modify_index <= index else face.create_time
