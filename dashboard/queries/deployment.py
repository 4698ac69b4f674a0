"""One rollout's page: its phases, groups, the evaluations that made its steps, what may be done.

In: a reader and a deployment's id. Out: the context of `deployment.html`, in eight reads whatever
its size. Evaluations are those that belong to it or placed an allocation of it, among the newest
`EVALUATIONS` of its job.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.utils.translation import gettext

from cluster.jobspec.diff import diff_jobs
from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.labels import label_for
from dashboard.outcomes import short_outcome
from dashboard.phases import PhaseFacts, phases_of
from dashboard.queries.allocations import index_of, number_of, state_of
from dashboard.queries.comparing import compared_url
from dashboard.queries.job_checks import checks_url
from dashboard.queries.listings import newest_of_job
from dashboard.queries.progress import state_of as evaluation_state
from dashboard.queries.progress import took
from dashboard.queries.rollout import comparison_url, told_acts, versions_of, ways_back
from dashboard.queries.rollout_origins import origins_of
from dashboard.rollout_words import sentence_of, standing_of, standing_word
from dashboard.rollouts import GroupProgress, RolloutProgress, progress_of
from dashboard.stories.names import title_of
from dashboard.subscription import Subscription, topic_text
from dashboard.versions import changes_named
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.why_waiting import why_it_waits
from dashboard.wording import count_of, number, one_of
from scheduler.state import nouns
from scheduler.structs.allocation import Allocation
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation, LifecycleStep
from scheduler.structs.job import Job
from scheduler.structs.task_group import TaskGroup

#: Of the job, read to find those of the rollout; and those that are shown.
EVALUATIONS, MAX_EVALUATIONS = 300, 50
#: Canaries and unhealthy allocations of a group that are shown.
MAX_CELLS = 60


class RolloutGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group: how far it is, and which of its allocations deserve a look."""

    progress: GroupProgress
    spec: TaskGroup | None
    cells: tuple[dict[str, Any], ...]
    hidden: int
    #: Lists of its allocations: all of this rollout, those that are well, those that are not.
    placed_url: str
    healthy_url: str
    unhealthy_url: str


class StepLine(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation, and what it did for the rollout."""

    evaluation: Evaluation
    state: str
    told: str
    why: str
    took: int


def deployment_page(reader: RecordReader, viewer: Viewer, *, deployment_id: str) -> dict[str, Any]:
    """The context of the page. Raises Absent."""
    deployment = reader.deployment(deployment_id)
    if deployment is None or not viewer.sees(deployment.namespace):
        raise Absent
    parts = _parts(reader, deployment, viewer.now)
    title = f"{deployment.job_id} v{deployment.job_version}"
    return {
        **parts,
        "crumbs": crumbs(("Deployments", "/deployments/"), (title, "")),
        "live_topics": topic_text("deployment", deployment.id),
        "namespace": deployment.namespace,
        "may": viewer.may_in(deployment.namespace),
    }


def deployment_panel(
    reader: RecordReader, subscription: Subscription, now: int
) -> Mapping[str, Any]:
    """Every part of it; `deployment` is None once it was collected."""
    deployment = reader.deployment(subscription.key)
    title = f"{deployment.job_id} v{deployment.job_version}" if deployment else "collected"
    context: dict[str, Any] = {
        "page_index": reader.index,
        "may": subscription.may,
        "crumbs": crumbs(("Deployments", "/deployments/"), (title, "")),
    }
    if deployment is None:
        return {**context, "deployment": None}
    return {**context, "namespace": deployment.namespace, **_parts(reader, deployment, now)}


def _parts(reader: RecordReader, deployment: Deployment, now: int) -> dict[str, Any]:
    progress = progress_of(deployment)
    versions = versions_of(reader, deployment)
    job = next((each for each in versions if each.version == deployment.job_version), None)
    allocs = reader.allocations_by_deployment(deployment.id)
    evaluations = _evaluations(reader, deployment, allocs)
    newest = reader.newest_steps_of([item.id for item in evaluations[:MAX_EVALUATIONS]])
    waiting = reader.blocked_among({deployment.job_key}) if deployment.is_active else {}
    facts = PhaseFacts(
        progress=progress, job=job, allocs=allocs, evaluations=evaluations,
        is_blocked=bool(waiting),
    )  # fmt: skip
    standing = standing_of(progress, now, is_blocked=bool(waiting))
    strong, rest = sentence_of(progress, standing)
    origin = origins_of(reader, [deployment])[deployment.id]
    return {
        "deployment": deployment,
        "rollout": progress,
        "standing": standing,
        "word": standing_word(standing),
        "origin": origin,
        "story_name": title_of(origin.story).plain if origin.story is not None else "",
        "strong": strong,
        "rest": rest,
        **_waits(waiting.get(deployment.job_key)),
        "phases": phases_of(facts),
        "groups": [_group_line(deployment, group, job, allocs) for group in progress.groups],
        "rules": _rules(progress, job),
        "steps": [
            _step_line(item, allocs, newest.get(item.id), now)
            for item in evaluations[:MAX_EVALUATIONS]
        ],
        "steps_count": len(evaluations),
        "steps_told": _steps_told(evaluations),
        "checks_url": checks_url(job),
        "compared_url": compared_url(deployment),
        **_changed(deployment, versions, job),
        **ways_back(deployment, versions),
        **told_acts(progress, versions),
    }


def _waits(blocked: Evaluation | None) -> dict[str, Any]:
    why = why_it_waits(blocked) if blocked is not None else ""
    return {"blocked": blocked, "blocked_why": why}


def _changed(deployment: Deployment, versions: Sequence[Job], job: Job | None) -> dict[str, Any]:
    """What this version changed, and where the two are compared."""
    before = next((each for each in versions if each.version < deployment.job_version), None)
    return {
        "job": job,
        "job_url": job_url(deployment.job_key),
        "before": before,
        "changed": changes_named(diff_jobs(before, job)) if before and job else "",
        "compare_url": comparison_url(deployment, before.version) if before else "",
    }


def _evaluations(
    reader: RecordReader, deployment: Deployment, allocs: Sequence[Allocation]
) -> list[Evaluation]:
    """Those that belong to it or placed for it, newest first."""
    made = {alloc.eval_id for alloc in allocs}
    found = reader.page(nouns.EVALUATIONS, newest_of_job(deployment.job_key, EVALUATIONS))
    return [item for item in found if item.deployment_id == deployment.id or item.id in made]


def _steps_told(evaluations: Sequence[Evaluation]) -> str:
    shown = min(len(evaluations), MAX_EVALUATIONS)
    if shown < len(evaluations):
        return gettext("the newest {shown} of {evaluations}").format(
            shown=number(shown), evaluations=number(len(evaluations))
        )
    return (
        gettext("{evaluation}, newest first").format(
            evaluation=count_of(shown, "{count} evaluation", "{count} evaluations")
        )
        if shown
        else ""
    )


def _group_line(
    deployment: Deployment, group: GroupProgress, job: Job | None, allocs: Sequence[Allocation]
) -> RolloutGroup:
    canaries = {*group.state.placed_canaries} if not group.state.promoted else set()
    worth = [
        alloc
        for alloc in allocs
        if alloc.task_group == group.name and (alloc.id in canaries or _is_unhealthy(alloc))
    ]
    worth.sort(key=lambda alloc: (not _is_unhealthy(alloc), number_of(alloc), alloc.id))
    return RolloutGroup(
        progress=group,
        spec=job.task_group(group.name) if job is not None else None,
        cells=tuple(_cell(alloc, is_canary=alloc.id in canaries) for alloc in worth[:MAX_CELLS]),
        hidden=max(len(worth) - MAX_CELLS, 0),
        placed_url=_listed_url(deployment, group.name),
        healthy_url=_listed_url(deployment, group.name, "DeploymentStatus.Healthy == true"),
        unhealthy_url=_listed_url(deployment, group.name, "DeploymentStatus.Healthy == false"),
    )


def _listed_url(deployment: Deployment, group: str, health: str = "") -> str:
    """The list of the job's allocations, narrowed to a group of the rollout."""
    terms = [f'DeploymentID == "{deployment.id}"', *([health] if health else [])]
    fields = {"group": group, "filter": " and ".join(terms)}
    return f"{job_url(deployment.job_key, tab='allocations')}&{urlencode(fields)}"


def _rules(progress: RolloutProgress, job: Job | None) -> list[dict[str, Any]]:
    """What each group's rollout goes by; groups with the same rules share an entry."""
    entries: dict[Any, dict[str, Any]] = {}
    for group in progress.groups:
        spec = job.task_group(group.name) if job is not None else None
        update = spec.update if spec is not None else None
        if update is None:
            continue
        state = group.state
        asks = bool(state.desired_canaries), state.auto_promote, state.auto_revert
        key = update.health_check, update.min_healthy_time, update.healthy_deadline, asks
        entry = entries.setdefault(
            (*key, state.progress_deadline), {"update": update, "state": state, "names": []}
        )
        entry["names"].append(group.name)
    return list(entries.values())


def _is_unhealthy(alloc: Allocation) -> bool:
    health = alloc.deployment_status
    return health is not None and health.healthy is False


def _cell(alloc: Allocation, *, is_canary: bool) -> dict[str, Any]:
    label = label_for("allocation", state_of(alloc))
    word = label.word
    health = alloc.deployment_status
    if _is_unhealthy(alloc):
        label, word = (
            label_for("allocation", "failed"),
            gettext("unhealthy, {word}").format(word=word),
        )
    elif health is not None and health.healthy:
        word = gettext("healthy, {word}").format(word=word)
        label = label_for("deployment", "canary") if not alloc.is_terminal else label
    return {
        "alloc": alloc,
        "label": label,
        "word": gettext("canary, {word}").format(word=word) if is_canary else word,
        "place": index_of(alloc),
    }


def _step_line(
    evaluation: Evaluation,
    allocs: Sequence[Allocation],
    newest: LifecycleStep | None,
    now: int,
) -> StepLine:
    placed = [alloc for alloc in allocs if alloc.eval_id == evaluation.id]
    groups = Counter(alloc.task_group for alloc in placed)
    parts = [
        gettext("{count} of {name}").format(count=number(count), name=name)
        for name, count in sorted(groups.items())
    ]
    told = one_of(parts, "and") if parts else ""
    outcome = short_outcome(evaluation)
    return StepLine(
        evaluation=evaluation,
        state=evaluation_state(evaluation, newest, now),
        told=gettext("{outcome} ({told} for this rollout)").format(outcome=outcome, told=told)
        if told
        else outcome,
        why=evaluation.cause.text if evaluation.cause is not None else "",
        took=took(evaluation, newest),
    )
