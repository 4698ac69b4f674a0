"""Drawings of evaluations, chains and stories that the real control plane has made.

Each scenario of `tests/vectors/chains` is played in memory, on virtual time, with ids that are
counted, so that the same is drawn every time. What is drawn is what the pages draw.
"""

import hashlib
import re
import uuid
from collections.abc import Callable
from functools import cache

import msgspec

from dashboard.graphs.geometry import Graph
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.queries.chain import chain_page
from dashboard.queries.evaluation import evaluation_page
from dashboard.queries.story_files import picture
from dashboard.stories.whole import whole_of
from dashboard.viewer import Viewer
from scheduler.state.story_nouns import STORIES
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.story import StoryKind
from tests.callers import MANAGER
from tests.conformance.chain_player import play
from tests.conformance.test_chains import load
from tests.memory_record import MemoryRecord

#: A page's drawing links to other pages; one in a document leads nowhere.
_LINK = re.compile(r' href="(?:/|#phase-)[^"]*"')


class DigestIDs:
    """Ids that look like those of a cluster, the same ones in every play."""

    def __init__(self) -> None:
        self._issued = 0

    def next_id(self) -> str:
        self._issued += 1
        digest = hashlib.sha256(str(self._issued).encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))


class PlayedRecord(MemoryRecord):
    """A record in memory that answers pages, as the player asks for one."""

    def begin_batch(self) -> None:
        """Nothing is kept open between batches."""

    def snapshot_at(self, _index: int):
        return self.snapshot()


class Play(msgspec.Struct, frozen=True):
    """A scenario that was played, and who looks at it."""

    record: PlayedRecord
    viewer: Viewer

    def evaluation(self, trigger: EvalTrigger) -> Evaluation:
        """The newest that this made."""
        return [each for each in self.record.evaluations() if each.triggered_by == trigger][-1]

    def life(self, trigger: EvalTrigger) -> Graph:
        page = evaluation_page(self.record, self.viewer, self.evaluation(trigger).id)
        return page["life"]

    def chain(self, trigger: EvalTrigger) -> Graph:
        page = chain_page(
            self.record, self.viewer, eval_id=self.evaluation(trigger).id, view="graph"
        )
        return page["graph"]

    def story(self, kind: StoryKind) -> Graph:
        """The newest of a kind."""
        found = [each for each in self.record.list_all(STORIES) if each.kind is kind]
        newest = max(found, key=lambda each: each.create_index)
        return whole_of(self.record, newest, self.viewer.now, namespaces=None).graph


@cache
def played(name: str) -> Play:
    ids = DigestIDs()
    world = play(load(name), PlayedRecord(), ids).world
    now = world.clock.now()
    return Play(world.store, Viewer(name="kim", caller=MANAGER, now=now, namespaces=None))


#: The life of one evaluation: scenario, and what had made it.
LIVES = {
    "decided": ("reschedule-service-once", EvalTrigger.JOB_REGISTER),
    "waiting": ("drain-no-capacity", EvalTrigger.QUEUED_ALLOCS),
    "delayed": ("reschedule-service-once", EvalTrigger.ALLOC_RESCHEDULE),
    "refused": ("plan-rejected", EvalTrigger.JOB_REGISTER),
    "given-back": ("failed-follow-up", EvalTrigger.JOB_REGISTER),
}
#: The chain of one evaluation.
CHAINS = {
    "chain-waiting": ("drain-no-capacity", EvalTrigger.NODE_DRAIN),
    "chain-refused": ("plan-rejected", EvalTrigger.JOB_REGISTER),
    "chain-later": ("disconnect-lost", EvalTrigger.NODE_UPDATE),
    "chain-follow-up": ("failed-follow-up", EvalTrigger.JOB_REGISTER),
}
#: Everything that one cause set going.
TOLD = {
    "story-node-miss": ("seed-node-miss", StoryKind.LOSS),
    "story-canary": ("seed-canary", StoryKind.ROLLOUT),
    "story-flapping": ("seed-flapping", StoryKind.LOSS),
    "story-preemption": ("preempt-by-system", StoryKind.PREEMPTION),
    "story-drain": ("drain-several-jobs", StoryKind.DRAIN),
}


def played_drawings(alone: Callable[[Graph], str]) -> dict[str, str]:
    """Every file by its name: pictures, and the stories as Mermaid text beside them."""
    files = {}
    for name, (scenario, trigger) in LIVES.items():
        files[f"{name}.svg"] = alone(played(scenario).life(trigger))
    for name, (scenario, trigger) in CHAINS.items():
        files[f"{name}.svg"] = _LINK.sub("", picture(played(scenario).chain(trigger), ""))
    for name, (scenario, kind) in TOLD.items():
        graph = played(scenario).story(kind)
        files[f"{name}.svg"] = _LINK.sub("", picture(graph, ""))
        files[f"{name}.mmd"] = graph_mermaid(graph, says_states=True)
    return files
