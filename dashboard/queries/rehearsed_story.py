"""What a rehearsal found, told as a story: lanes, chain and sentence, marked as rehearsed.

In: a reader, a rehearsal's id, rights. Out: the context of `rehearsed_story.html`, in one read.
Evaluations of a rehearsal have no page: nothing of them is stored.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.rehearsal.result import Rehearsed
from cluster.rehearsal.scenario import (
    DispatchJob,
    DrainNodes,
    LoseNodes,
    PurgeNodes,
    RevertJob,
    RunJob,
    ScaleJob,
    Scenario,
    StopJob,
)
from cluster.store.evaluation_face import EvaluationFace
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.story import folded_in, story_graph
from dashboard.graphs.story_lanes import LaneEvent, StoryDrawing
from dashboard.queries.rehearsals import changes_told_of, kept_rehearsal
from dashboard.rehearsed import notes, sentence, sums
from dashboard.stories.batches import WatchedRollout, phases_of
from dashboard.stories.gathered import Gathered
from dashboard.stories.lane_links import plain_rows
from dashboard.stories.lanes import harm_lanes, rollout_lanes
from dashboard.stories.names import KINDS, KindWord
from dashboard.stories.phase import RolloutPhase
from dashboard.stories.told import StoryFacts
from dashboard.stories.tree import story_tree
from dashboard.viewer import crumbs
from dashboard.wording import clipped, count_of
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.structs.allocation import Allocation, DeploymentHealth
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.story import Story, StoryKind

_KIND_OF: dict[type, StoryKind] = {
    DrainNodes: StoryKind.DRAIN,
    LoseNodes: StoryKind.LOSS,
    PurgeNodes: StoryKind.LOSS,
    RunJob: StoryKind.ROLLOUT,
    RevertJob: StoryKind.ROLLOUT,
    DispatchJob: StoryKind.DISPATCH,
    ScaleJob: StoryKind.SCALING,
    StopJob: StoryKind.STOP,
}


def rehearsed_story(
    reader: StateReader, rehearsal_id: str, by: Caller, now: int, opened: str
) -> dict[str, Any] | None:
    """The context of the page; None where no rehearsal of this id has found anything."""
    kept = kept_rehearsal(reader, rehearsal_id, by)
    if kept is None or kept.found is None:
        return None
    row, scenario, result = kept.row, kept.scenario, kept.found
    told = changes_told_of(reader, scenario) if kept.may_tell else []
    title = "; ".join(told) or gettext("Changes to jobs that you may not read")
    kind = _kind_of(scenario)
    members = _members(result)
    cause = _cause(kind, scenario, result)
    phases = _phases(result)
    lanes = (
        rollout_lanes(phases, members, cause, result.read_at + result.lasts)
        if phases
        else harm_lanes(KINDS[kind].harm, members)
    )
    drawing = StoryDrawing(
        key=f"rehearsed-{row.id}",
        title=gettext("{title}, rehearsed").format(title=title),
        description="",
        lanes=lanes.lanes,
        root=None if phases else cause,
        opened=opened,
        address="?open=",
    )
    folded = drawing.folded()
    graph = story_graph(drawing, folded)
    counted = _counted(len(members), folded_in(graph))
    return {
        "row": row,
        "rehearsal": {"row": row, "found": result},
        "result": result,
        "story_title": title,
        "kind": _word(kind),
        "outcome": sentence(result),
        "sums": sums(result),
        "notes": notes(result),
        "facts": StoryFacts(evaluations=len(members)),
        "graph": msgspec.structs.replace(graph, description=f"{counted}."),
        "counted": counted,
        "tree": story_tree(folded),
        "lanes": plain_rows(lanes.rows),
        "lanes_are": (gettext("Phases"), gettext("Phase"))
        if phases
        else (gettext("Jobs, worst off first"), gettext("How they are")),
        "left_out": result.evaluations_left_out,
        "record_index": reader.index,
        "opened": opened,
        "now": now,
        "past": None,
        "crumbs": crumbs(
            (gettext("What if"), "/what-if/"),
            ("Rehearsal", f"/what-if/{row.id}/"),
            (gettext("As a story"), ""),
        ),
    }


def _counted(evaluations: int, folds: int) -> str:
    told = count_of(evaluations, "{count} evaluation", "{count} evaluations")
    if not folds:
        return told
    return gettext("{evaluations}, some of them folded into {shapes}").format(
        evaluations=told, shapes=count_of(folds, "{count} shape", "{count} shapes")
    )


def _phases(result: Rehearsed) -> list[RolloutPhase]:
    """Canaries, promotion and batches, as a real rollout has them; none of anything else."""
    if result.rollout is None:
        return []
    allocations = tuple(
        Allocation(
            id=each.id, name=each.name, task_group=each.task_group, eval_id=each.eval_id,
            create_index=each.create_index, create_time=each.create_time,
            deployment_status=DeploymentHealth(healthy=True, timestamp=each.healthy_at)
            if each.healthy_at
            else None,
        )
        for each in result.rollout.allocations
    )  # fmt: skip
    watched = WatchedRollout(
        deployment=result.rollout.deployment,
        allocations=allocations,
        at_once=result.rollout.at_once,
    )
    evaluations = {item.id: item for item in result.evaluations}
    return phases_of(watched, evaluations, until=result.read_at + result.lasts)


def _kind_of(scenario: Scenario) -> StoryKind:
    kinds = {_KIND_OF.get(type(change)) for change in scenario.changes}
    only = kinds.pop() if len(kinds) == 1 else None
    return only or StoryKind.CONFIGURATION


def _word(kind: StoryKind) -> KindWord:
    return KINDS[kind]


def _members(result: Rehearsed) -> Sequence[ChainMember]:
    gathered = Gathered(
        story=Story(),
        faces=tuple(_face(item) for item in result.evaluations),
        evaluations={item.id: item for item in result.evaluations},
        newest={},
        at=result.read_at + result.lasts,
    )
    return [msgspec.structs.replace(member, href="") for member in gathered.members()]


def _face(item: Evaluation) -> EvaluationFace:
    return EvaluationFace(
        item.id, item.namespace, item.job_id, item.triggered_by, item.status.value,
        item.previous_eval, item.create_index, item.modify_index, item.create_time,
        item.modify_time,
    )  # fmt: skip


def _cause(kind: StoryKind, scenario: Scenario, result: Rehearsed) -> LaneEvent:
    nodes = sum(bool(node.fate) for node in result.nodes)
    jobs = [
        change.job.id if isinstance(change, RunJob) else change.key.job_id
        for change in scenario.changes
        if isinstance(change, RunJob | ScaleJob | StopJob | DispatchJob | RevertJob)
    ]
    if nodes:
        of = count_of(nodes, "{count} node", "{count} nodes")
    else:
        of = (
            clipped(jobs[0], 16)
            if len(jobs) == 1
            else count_of(len(scenario.changes), "{count} change", "{count} changes")
        )
    word = KINDS[kind].word
    return LaneEvent(
        lines=(word, of, "rehearsed"),
        name=gettext("Cause: {word} of {of}, rehearsed").format(word=word, of=of),
    )
