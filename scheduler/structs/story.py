"""A story: everything that one cause set going, named by what a person would call its root.

Written once, when it begins. How far it came is told by its evaluations, their stubs, deployments
and allocations, and stored nowhere again.
"""

from enum import StrEnum
from hashlib import blake2b

from scheduler.structs.identity import JobKey
from scheduler.structs.wire import Nanoseconds, Wire

#: Nodes that a story names; `node_count` tells how many there are.
NAMED_NODES = 20


class StoryKind(StrEnum):
    """What a person would say that happened."""

    #: A version was registered: its canaries, promotion, batches, failure and automatic revert.
    ROLLOUT = "rollout"
    #: A job or one allocation was stopped by hand, or a job was purged.
    STOP = "stop"
    DRAIN = "drain"
    #: Nodes fell silent, said that they go down, or were purged.
    LOSS = "loss"
    #: Nodes that were lost are there again.
    RETURN = "return"
    #: The lineage of one allocation name that fails again and again.
    CRASH_LOOP = "crash-loop"
    #: One job took the room of others.
    PREEMPTION = "preemption"
    SCALING = "scaling"
    DISPATCH = "dispatch"
    LAUNCH = "launch"
    #: Somebody asked to look again, or registered what was there already.
    EVALUATION = "evaluation"
    COLLECTION = "collection"
    CONFIGURATION = "configuration"
    #: A node joined, says something else of itself, or was opened for allocations.
    NODE_CHANGE = "node-change"


class Story(Wire, frozen=True):
    """What began, where, by whom and why."""

    id: str = ""
    kind: StoryKind = StoryKind.EVALUATION
    #: Empty when it concerns the cluster.
    namespace: str = ""
    job_id: str = ""
    #: Of a job that was launched or dispatched.
    parent_job_id: str = ""
    job_create_index: int = 0
    job_version: int = 0
    #: Of a crash loop, and where one allocation was stopped.
    alloc_name: str = ""
    #: The first of its nodes, at most `NAMED_NODES`.
    node_ids: tuple[str, ...] = ()
    node_count: int = 0
    #: What people call whoever asked for it; empty when nobody did.
    actor: str = ""
    #: What that one gave as reason.
    reason: str = ""
    #: What happened, in the record's words.
    text: str = ""
    #: The story that set this one going; empty when none did.
    parent_id: str = ""
    create_time: Nanoseconds = 0
    create_index: int = 0
    #: Of the newest node that joined it.
    modify_time: Nanoseconds = 0
    modify_index: int = 0

    @property
    def job_key(self) -> JobKey:
        """Whose story it is; without an id when it is of no single job."""
        return JobKey(self.namespace, self.job_id)


class StoryNode(Wire, frozen=True):
    """That a node has part in a story: for questions by node."""

    story_id: str = ""
    node_id: str = ""
    kind: StoryKind = StoryKind.NODE_CHANGE
    #: When it last fell silent, came back or began to drain in this story.
    at: Nanoseconds = 0
    index: int = 0
    #: It is the node's newest.
    current: bool = True


def story_id(*parts: object) -> str:
    """The id of the story that these parts name: whoever knows them knows it."""
    text = "\0".join(str(part) for part in parts).encode("utf-8", "replace")
    digits = blake2b(text, digest_size=16).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def story_of_action(action: str) -> str:
    """The story of all drains that one action began."""
    return story_id("drain", action, "")


def version_story_id(key: JobKey, create_index: int, version: int) -> str:
    """The id of the story that a version of a job began, whatever kind it is."""
    return story_id("version", *key, create_index, version)
