"""Which story a new evaluation is part of: told by its links, else by what made it.

In: an open change and an evaluation that is written for the first time. Out: the id of its story,
which begins here where the evaluation is the first that came of its cause.
"""

from collections.abc import Callable

from scheduler.ports import Change
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.stories import (
    begin,
    drain_story,
    newest_story_of_node,
    version_story,
)
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import CauseKind, EvalTrigger, Evaluation
from scheduler.structs.story import Story, StoryKind, story_id, version_story_id


def story_of(change: Change, evaluation: Evaluation) -> str:
    """The story of an evaluation: the one it says, its parent's, or that of its cause."""
    if evaluation.story_id:
        return evaluation.story_id
    cause = evaluation.cause
    made_by = cause.id if cause is not None and cause.kind is CauseKind.EVALUATION else ""
    for parent_id in (evaluation.previous_eval, made_by):
        inherited = story_of_evaluation(change, parent_id) if parent_id else ""
        if inherited:
            return inherited
    return _ROOTS.get(evaluation.triggered_by, _by_hand)(change, evaluation)


def story_of_evaluation(change: Change, eval_id: str) -> str:
    """The story of a stored evaluation, or of what is left of it; empty when nobody knows."""
    found = change.evaluation(eval_id) or change.evaluation_stub(eval_id)
    return found.story_id if found else ""


def story_of_deployment(change: Change, deployment: Deployment, eval_id: str = "") -> str:
    """The story of a deployment's version, else of the evaluation whose plan made it.

    That of an automatic revert has none of its own: it goes on in that of what failed.
    """
    if deployment.story_id:
        return deployment.story_id
    key, version = deployment.job_key, deployment.job_version
    own = version_story_id(key, deployment.job_create_index, version)
    if change.get(STORIES, own) is not None:
        return own
    inherited = story_of_evaluation(change, eval_id) if eval_id else ""
    if inherited:
        return inherited
    job = change.job_version(key, version, deployment.job_create_index)
    if job is None:
        return ""
    return version_story(change, job, StoryKind.ROLLOUT, f"version {version} registered")


def preemption_story(change: Change, eval_id: str) -> str:
    """What an evaluation set going by taking the room of others."""
    winner = change.evaluation(eval_id)
    story = Story(
        id=story_id("preemption", eval_id),
        kind=StoryKind.PREEMPTION,
        namespace=winner.namespace if winner else "",
        job_id=winner.job_id if winner else "",
        text="room was taken from allocations of lower priority",
        parent_id=winner.story_id if winner else "",
    )
    return begin(change, story)


def _registered(change: Change, evaluation: Evaluation) -> str:
    job = change.job(evaluation.job_key)
    is_asked_for = evaluation.cause is not None and evaluation.cause.kind is CauseKind.OPERATOR
    if is_asked_for or job is None or job.job_modify_index != change.index:
        # Nothing is new: somebody wants it looked at again.
        return _by_hand(change, evaluation)
    kind = StoryKind.DISPATCH if job.dispatched else StoryKind.ROLLOUT
    return version_story(change, job, kind, _text(evaluation))


def _scaled(change: Change, evaluation: Evaluation) -> str:
    return _of_version(change, evaluation, StoryKind.SCALING)


def _launched(change: Change, evaluation: Evaluation) -> str:
    return _of_version(change, evaluation, StoryKind.LAUNCH)


def _of_version(change: Change, evaluation: Evaluation, kind: StoryKind) -> str:
    job = change.job(evaluation.job_key)
    if job is None:
        return _by_hand(change, evaluation)
    return version_story(change, job, kind, _text(evaluation))


def _deregistered(change: Change, evaluation: Evaluation) -> str:
    job = change.job(evaluation.job_key)
    if job is not None:
        return version_story(change, job, StoryKind.STOP, _text(evaluation))
    if evaluation.cause is not None and evaluation.cause.kind is CauseKind.ALLOCATION:
        stops = [
            story
            for story in change.list_by(STORIES, "job", evaluation.job_key)
            if story.kind is StoryKind.STOP
        ]
        if stops:
            return stops[-1].id
    return _of_job(change, evaluation, StoryKind.STOP)


def _drained(change: Change, evaluation: Evaluation) -> str:
    cause = evaluation.cause
    if cause is None or cause.kind is not CauseKind.DRAIN:
        return _by_hand(change, evaluation)
    return drain_story(change, cause.id)


def _stopped(change: Change, evaluation: Evaluation) -> str:
    return _of_job(change, evaluation, StoryKind.STOP, _allocation(change, evaluation))


def _stepped(change: Change, evaluation: Evaluation) -> str:
    deployment = change.deployment(evaluation.deployment_id)
    found = story_of_deployment(change, deployment) if deployment else ""
    return found or _by_hand(change, evaluation)


def _failed(change: Change, evaluation: Evaluation) -> str:
    """Of its rollout while that is under way, else of the lineage of its name."""
    alloc = _allocation(change, evaluation)
    if alloc is None:
        return _by_hand(change, evaluation)
    deployment = change.deployment(alloc.deployment_id) if alloc.deployment_id else None
    if deployment is not None and deployment.is_active and deployment.story_id:
        return deployment.story_id
    key, made, version = alloc.job_key, alloc.job_create_index, alloc.job_version
    story = Story(
        id=story_id("crash-loop", *key, made, version, alloc.name),
        kind=StoryKind.CRASH_LOOP,
        namespace=alloc.namespace,
        job_id=alloc.job_id,
        job_create_index=made,
        job_version=version,
        alloc_name=alloc.name,
        text=_text(evaluation),
        parent_id=version_story_id(key, made, version),
    )
    return begin(change, story)


def _reconnected(change: Change, evaluation: Evaluation) -> str:
    alloc = _allocation(change, evaluation)
    found = newest_story_of_node(change, alloc.node_id) if alloc is not None else ""
    return found or _by_hand(change, evaluation)


def _by_hand(change: Change, evaluation: Evaluation) -> str:
    return _of_job(change, evaluation, StoryKind.EVALUATION)


def _of_job(
    change: Change, evaluation: Evaluation, kind: StoryKind, alloc: Allocation | None = None
) -> str:
    """A story that begins with this very evaluation."""
    story = Story(
        id=story_id(kind.value, evaluation.id),
        kind=kind,
        namespace=evaluation.namespace,
        job_id=evaluation.job_id,
        alloc_name=alloc.name if alloc is not None else "",
        text=_text(evaluation),
    )
    return begin(change, story, is_new=True)


def _allocation(change: Change, evaluation: Evaluation) -> Allocation | None:
    cause = evaluation.cause
    return change.allocation(cause.id) if cause is not None else None


def _text(evaluation: Evaluation) -> str:
    return evaluation.cause.text if evaluation.cause is not None else ""


#: By trigger; what is not named here begins with itself.
_ROOTS: dict[str, Callable[[Change, Evaluation], str]] = {
    EvalTrigger.JOB_REGISTER: _registered,
    EvalTrigger.JOB_SCALING: _scaled,
    EvalTrigger.PERIODIC_JOB: _launched,
    EvalTrigger.JOB_DEREGISTER: _deregistered,
    EvalTrigger.NODE_DRAIN: _drained,
    EvalTrigger.ALLOC_STOP: _stopped,
    EvalTrigger.DEPLOYMENT_WATCHER: _stepped,
    EvalTrigger.ALLOC_FAILURE: _failed,
    EvalTrigger.RECONNECT: _reconnected,
}
