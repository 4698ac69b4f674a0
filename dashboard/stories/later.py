"""What came of a story: after a moment of its past, and which stories it set going.

In: a Whole, the stories that others of its parts have begun, what people did to its rollout. Out:
lines in the order of time; each is a fact of the record as it is now.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.store.evaluation_face import EvaluationFace
from dashboard.stories.acts import note_of
from dashboard.stories.names import KINDS, title_of
from dashboard.stories.whole import Whole
from dashboard.texts import plural
from dashboard.wording import count_of, number
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.story import Story, StoryKind, story_id, version_story_id

#: Of what came, so many lines are told.
MOST_LINES = 8
_OPEN = (EvalStatus.PENDING, EvalStatus.BLOCKED)


class LaterLine(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened; `at` is 0 where nobody knows when."""

    told: str
    at: int
    icon: str
    state: str = ""
    url: str = ""
    #: Said behind what is linked.
    rest: str = ""


def follow_up_ids(whole: Whole) -> list[str]:
    """The ids that stories would have which this one set going; not all of them began.

    Whose room a large one took is not asked: that would be an id for each of its evaluations.
    """
    story, key = whole.story, whole.story.job_key
    made = story.job_create_index
    faces = whole.gathered.faces if whole.gathered.is_whole else ()
    ids = [story_id("preemption", face.id) for face in faces]
    if story.kind is StoryKind.LOSS:
        ids.append(story_id("return", story.id))
    if whole.rollout is not None:
        version = story.job_version
        ids.append(version_story_id(key, made, version + 1))
        names = {alloc.name for alloc in whole.rollout.allocations}
        ids += [story_id("crash-loop", *key, made, version, name) for name in sorted(names)]
    return ids


def later_lines(
    whole: Whole, begun: Iterable[Story], deployment: Deployment | None
) -> list[LaterLine]:
    """What came after the moment that is shown, then the stories it set going; now these alone."""
    past = whole.gathered.past
    lines = [_follow_up(story) for story in begun if past is None or story.create_time > past.at]
    if past is not None:
        lines += _of_evaluations(whole)
        lines += _of_people(deployment, past.at)
        lines += _end(whole, deployment)
    return sorted(lines, key=lambda line: (not line.at, line.at))[:MOST_LINES]


def _follow_up(story: Story) -> LaterLine:
    return LaterLine(
        told=title_of(story).plain,
        at=story.create_time,
        icon=KINDS[story.kind].icon,
        url=f"/stories/{story.id}/",
        rest=gettext("is a story of its own."),
    )


def _of_evaluations(whole: Whole) -> Iterator[LaterLine]:
    then = {face.id: face.status for face in whole.gathered.faces if not face.is_stub}
    since = [face for face in whole.gathered.since if not face.is_stub]
    moved = [face for face in since if then.get(face.id) == EvalStatus.PENDING]
    ended = [face for face in moved if face.status not in _OPEN]
    if moved:
        told = count_of(
            len(ended),
            "{count} evaluation that was on the way ended.",
            "{count} evaluations that were on the way ended.",
        )
        if ended:
            yield _line(told, ended, "complete")
    waited = [face for face in since if then.get(face.id) == EvalStatus.BLOCKED]
    for status, words in _AFTER_WAITING:
        some = [face for face in waited if face.status == status]
        if some:
            yield _line(count_of(len(some), *words), some, status)
    born = [face for face in since if face.id not in then]
    for status, words in _PROBLEMS:
        some = [face for face in born if face.status == status]
        if some:
            first = min(some, key=lambda face: face.create_time)
            told = count_of(len(some), *words)
            yield LaterLine(told=told, at=first.create_time, icon=status, state=status)


def _line(told: str, faces: Sequence[EvaluationFace], state: str) -> LaterLine:
    """What was over with the last of them; of those that still wait nobody knows when."""
    at = 0 if state == EvalStatus.BLOCKED else max(face.modify_time for face in faces)
    return LaterLine(told=told, at=at, icon=state, state=state)


#: What became of those that waited for room, by how they stand now.
_AFTER_WAITING = (
    (
        "complete",
        plural(
            "{count} evaluation that waited for room ran again.",
            "{count} evaluations that waited for room ran again.",
        ),
    ),
    (
        "canceled",
        plural(
            "{count} evaluation that waited was taken over by a newer one.",
            "{count} evaluations that waited were taken over by newer ones.",
        ),
    ),
    (
        "failed",
        plural(
            "{count} evaluation that waited failed.", "{count} evaluations that waited failed."
        ),
    ),
    (
        "blocked",
        plural(
            "{count} evaluation still waits for room.",
            "{count} evaluations still wait for room.",
        ),
    ),
)
_PROBLEMS = (
    ("failed", plural("{count} more evaluation failed.", "{count} more evaluations failed.")),
    (
        "blocked",
        plural(
            "{count} more evaluation waits for room.", "{count} more evaluations wait for room."
        ),
    ),
)


def _of_people(deployment: Deployment | None, at: int) -> Iterator[LaterLine]:
    for act in deployment.acts if deployment is not None else ():
        if act.at > at:
            yield LaterLine(told=note_of(act), at=act.at, icon="user")


_ENDS = {
    DeploymentStatus.SUCCESSFUL: ("complete", gettext_noop("The rollout was done.")),
    DeploymentStatus.FAILED: ("failed", gettext_noop("The rollout failed.")),
    DeploymentStatus.CANCELLED: ("canceled", gettext_noop("The rollout was canceled.")),
}


def _end(whole: Whole, deployment: Deployment | None) -> Iterator[LaterLine]:
    past, since = whole.gathered.past, whole.gathered.since
    if deployment is not None and deployment.status in _ENDS:
        state, told = _ENDS[deployment.status]
        if past is not None and deployment.modify_time > past.at:
            yield LaterLine(told=gettext(told), at=deployment.modify_time, icon=state, state=state)
    elif since and not any(face.status in _OPEN for face in since):
        end = max((face.modify_time for face in since if not face.is_stub), default=0)
        if past is not None and end > past.at:
            told = gettext("The last of {count} evaluations ended.").format(
                count=number(len(since))
            )
            yield LaterLine(told=told, at=end, icon="complete", state="complete")
