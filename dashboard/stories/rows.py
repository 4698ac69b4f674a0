"""Stories in lists: each told in a line, from counts alone.

In: stories, how many evaluations of each are in which state, the deployments of their jobs, what
was placed. Out: StoryLines. Of evaluations only those that wait for room are read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import (
    ListedStory,
    Namespaces,
    RecordReader,
    StoryFigures,
    StoryProgress,
)
from dashboard.labels import label_for
from dashboard.outcomes import OutcomeSentence, done_by, waiting_for
from dashboard.rollouts import progress_of
from dashboard.stories.batches import goes_back
from dashboard.stories.names import KINDS, KindWord, Title, harm_of, is_act, title_of
from dashboard.stories.told import RolloutFacts, StoryFacts, short_outcome, standing_of
from dashboard.wording import count_of, number
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.story import Story, StoryKind

_NEEDY = {"failed": "failed", "went-back": "failed", "held-up": "blocked"}


class Way(NamedTuple):
    """How far a story is, of how much; in words, which are no sentence."""

    done: int
    total: int
    told: str


class StoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """A story as a row of a list or a strip."""

    story: Story
    title: Title
    kind: KindWord
    facts: StoryFacts
    standing: str
    outcome: OutcomeSentence

    @property
    def is_running(self) -> bool:
        """The record says that something of it is still to come."""
        return self.facts.is_running

    @property
    def tone(self) -> str:
        """Where it needs somebody."""
        return _NEEDY.get(self.standing, "")

    @property
    def icon_tone(self) -> str:
        """Of the icon before it."""
        return label_for("story", self.standing).tone

    @property
    def way(self) -> Way:
        """Of its rollout what is healthy, else of its evaluations what has ended."""
        rollout = self.facts.rollout
        if rollout is not None:
            told = gettext("{healthy} of {wanted} healthy").format(
                healthy=number(rollout.healthy), wanted=number(rollout.wanted)
            )
            return Way(rollout.healthy, rollout.wanted, told)
        total = self.facts.evaluations
        ended = total - self.facts.running - self.facts.blocked
        told = gettext("{ended} of {evaluation} ended").format(
            ended=number(ended),
            evaluation=count_of(total, "{count} evaluation", "{count} evaluations"),
        )
        return Way(ended, total, told)

    @property
    def took(self) -> int:
        """How long it lasted, ns; 0 while it does."""
        return max(self.facts.ended - self.facts.began, 0) if self.facts.ended else 0


def lines_of(
    reader: RecordReader,
    listed: Sequence[ListedStory],
    namespaces: Namespaces,
    *,
    says_outcome: bool = True,
) -> list[StoryLine]:
    """A line for each, in so many reads whatever their number.

    Three where `says_outcome` is not asked for: how they stand is known, not what was placed.
    """
    ids = [row.story.id for row in listed]
    counts = reader.progress_of(ids, namespaces)
    # Of a rollout its deployment says it, unless something of it waits.
    asked = [
        row.story.id
        for row in listed
        if row.story.kind is not StoryKind.ROLLOUT
        or (row.story.id in counts and counts[row.story.id].by_status.get("blocked"))
    ]
    figures = reader.story_figures(asked, namespaces) if says_outcome else {}
    deployments = reader.deployments_of_stories(ids)
    first = {story.node_ids[0] for story, _ in listed if story.node_count == 1 and story.node_ids}
    reader.preload(nodes=first)
    names = {node_id: node.name for node_id in first if (node := reader.node(node_id))}
    return [
        line_of(
            row,
            counts.get(row.story.id),
            deployment_of(row.story, deployments),
            names,
            figures.get(row.story.id),
        )
        for row in listed
    ]


def line_of(
    row: ListedStory,
    progress: StoryProgress | None,
    deployment: Deployment | None,
    names: Mapping[str, str],
    figures: StoryFigures | None = None,
) -> StoryLine:
    """One story, from what was counted."""
    facts = _facts(row, progress or StoryProgress({}, 0, 0), deployment)
    if figures is not None:
        facts = _with_figures(facts, figures)
    return StoryLine(
        story=row.story,
        title=title_of(row.story, names),
        kind=KINDS[row.story.kind],
        facts=facts,
        standing=standing_of(facts),
        outcome=short_outcome(facts),
    )


def _with_figures(facts: StoryFacts, figures: StoryFigures) -> StoryFacts:
    """What its evaluations placed, what waits with them, and what a drain has still to move."""
    waits = [waiting_for(item) for item in figures.blocked]
    lacking = {word for _, word in waits if word}
    return msgspec.structs.replace(
        facts,
        placed=figures.placed,
        left=figures.left,
        done=_done(figures.ended),
        is_read=facts.is_read or len(figures.ended) == facts.evaluations,
        # Of a storm not every one is read.
        waiting=sum(count for count, _ in waits) if len(waits) == facts.blocked else 0,
        lacking=lacking.pop() if len(lacking) == 1 else "",
    )


def _done(ended: Sequence[Evaluation]) -> dict[str, int]:
    """What the plans of the few that were read did."""
    done: Counter[str] = Counter()
    for evaluation in ended:
        if evaluation.status is EvalStatus.COMPLETE:
            done.update(done_by(evaluation))
    return dict(done)


def _facts(row: ListedStory, progress: StoryProgress, deployment: Deployment | None) -> StoryFacts:
    story, counts = row.story, progress.by_status
    facts = StoryFacts(
        evaluations=sum(counts.values()),
        running=counts.get("pending", 0),
        blocked=counts.get("blocked", 0),
        failed=counts.get("failed", 0),
        began=story.create_time,
        rollout=rollout_facts(deployment, story) if deployment is not None else None,
        nodes=max(story.node_count, len(story.node_ids)),
        collected=counts.get("deleted", 0),
        is_running=row.is_running,
        is_drain=harm_of(story) == "drain",
        is_crash_loop=story.kind is StoryKind.CRASH_LOOP,
        is_act=is_act(story),
    )
    if facts.is_open or not facts.evaluations:
        return facts
    ended = max(progress.last, deployment.modify_time if deployment is not None else 0)
    return msgspec.structs.replace(facts, ended=ended)


def deployment_of(story: Story, deployments: Sequence[Deployment]) -> Deployment | None:
    """The first one of a story, in order of creation: a revert's comes after it."""
    return next((each for each in deployments if each.story_id == story.id), None)


def rollout_facts(deployment: Deployment, story: Story) -> RolloutFacts:
    """How far a deployment is, as its own counts say."""
    progress = progress_of(deployment)
    groups = deployment.task_groups.values()
    return RolloutFacts(
        status=deployment.status.value,
        version=deployment.job_version,
        wanted=sum(group.desired_total for group in groups),
        healthy=sum(min(group.healthy_allocs, group.desired_total) for group in groups),
        canaries_waiting=progress.waiting_canaries,
        unhealthy=sum(group.unhealthy_allocs for group in groups),
        deadline=progress.deadline,
        reverts=progress.reverts,
        went_back=goes_back(deployment),
        is_return=story.kind is StoryKind.ROLLOUT and deployment.job_version > story.job_version,
        description=deployment.status_description,
    )
