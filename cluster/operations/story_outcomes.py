"""What became of a story, told in numbers: how far it is, what waits and for what, when it ended.

In: stories of a list and a reader. Out: facts, derived anew at each look. Which words tell
them is not known here.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from cluster.store.ports import (
    ListedStory,
    Namespaces,
    RecordReader,
    StoryFigures,
    StoryProgress,
)
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.deployment import Deployment
from scheduler.structs.story import Story

_NOTHING = StoryProgress({}, 0, 0)
_NO_FIGURES = StoryFigures({}, 0, (), None)
#: Of what was placed and should run: there, or on its way.
_THERE = ("pending", "running", "complete", "unknown")


class StoryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One story, as far as it is."""

    is_running: bool
    began: int
    #: 0 while it runs; else when its last evaluation, or it itself, changed last, ns.
    ended: int = 0
    #: By stored status; `deleted`: collected, only their stubs are left.
    evaluations: dict[str, int] = {}
    #: What its evaluations placed: by client status while it should run, `stopped` what should
    #: not any more. Collected evaluations have taken theirs along.
    placed: dict[str, int] = {}
    #: Allocations that found no place yet, and by dimension or check what they wait for.
    waiting: int = 0
    waits_for: dict[str, int] = {}
    #: Still on a node that drains.
    left: int = 0
    #: Its newest rollout.
    deployment: Deployment | None = None

    @property
    def made(self) -> int:
        """Evaluations in all."""
        return sum(self.evaluations.values())

    @property
    def open(self) -> int:
        """Of these, not ended."""
        return self.evaluations.get("pending", 0) + self.evaluations.get("blocked", 0)

    @property
    def is_partial(self) -> bool:
        """Some of it was collected: what was placed is not all that was."""
        return "deleted" in self.evaluations

    @property
    def there(self) -> int:
        """Of what was placed: runs, has run to its end, or is about to start."""
        return sum(self.placed.get(word, 0) for word in _THERE)

    @property
    def wanted(self) -> int:
        """What it is about: allocations that have a place, and those that have none yet.

        Of a drain, those that have not left; they keep their place until there is another.
        """
        return self.there + max(self.waiting, self.left)

    @property
    def lasted(self) -> int:
        """From its beginning to its end, ns; 0 while it runs."""
        return max(0, self.ended - self.began) if self.ended else 0


def outcomes_of(
    reader: RecordReader, listed: Sequence[ListedStory], namespaces: Namespaces = None
) -> dict[str, StoryOutcome]:
    """The facts of each story of a list, as those who see these namespaces are told them."""
    ids = [row.story.id for row in listed]
    progress = reader.progress_of(ids, namespaces)
    figures = reader.story_figures(ids, namespaces)
    return {
        row.story.id: outcome(
            row.story,
            progress.get(row.story.id, _NOTHING),
            figures.get(row.story.id, _NO_FIGURES),
            is_running=row.is_running,
        )
        for row in listed
    }


def outcome(
    story: Story, progress: StoryProgress, figures: StoryFigures, *, is_running: bool
) -> StoryOutcome:
    """The outcome of a story from what was counted."""
    waits: Counter[str] = Counter()
    waiting = 0
    for evaluation in figures.blocked:
        for metric in evaluation.failed_task_groups.values():
            count = 1 + metric.coalesced_failures
            waiting += count
            waits[waits_for(metric)] += count
    return StoryOutcome(
        is_running=is_running,
        began=story.create_time,
        ended=0 if is_running else max(progress.last, story.modify_time),
        evaluations=progress.by_status,
        placed=figures.placed,
        waiting=waiting,
        waits_for=dict(waits.most_common()),
        left=figures.left,
        deployment=figures.deployment,
    )


def waits_for(metric: AllocMetric) -> str:
    """What most of the nodes lacked, in the record's words; a quota stands before them."""
    if metric.quota_exhausted:
        return f"quota {metric.quota_exhausted[0]}"
    for lacking in (metric.dimension_exhausted, metric.constraint_filtered):
        if lacking:
            return max(sorted(lacking), key=lambda name: lacking[name])
    return "nodes"
