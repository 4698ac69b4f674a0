"""The nouns of stories: what began, and which nodes have part in it.

In: their structs. Out: their declarations, which `nouns` takes into its list with all others.
"""

from scheduler.state.events import Topic
from scheduler.state.noun import Index, Noun, Owner
from scheduler.structs.story import Story, StoryNode

STORIES: Noun[str, Story] = Noun(
    struct=Story,
    topic=Topic.STORY,
    table="story",
    key=lambda story: story.id,
    key_columns=("id",),
    columns={
        "kind": lambda story: story.kind.value,
        "namespace": lambda story: story.namespace,
        "job_id": lambda story: story.job_id,
        "parent_job_id": lambda story: story.parent_job_id,
        "actor": lambda story: story.actor,
        "create_index": lambda story: story.create_index,
        "modify_index": lambda story: story.modify_index,
    },
    instants={
        "created_at": lambda story: story.create_time,
        "modified_at": lambda story: story.modify_time,
    },
    indexes={
        "job": Index(
            lambda story: story.job_key if story.job_id else None,
            ("namespace", "job_id"),
            "NOT (job_id = '')",
        )
    },
    creation=lambda story: (story.create_index, story.id),
    namespace=lambda story: story.namespace,
    table_index="stories",
)
#: By node and story.
STORY_NODES: Noun[tuple[str, str], StoryNode] = Noun(
    struct=StoryNode,
    topic=Topic.STORY_NODE,
    table="story_node",
    key=lambda link: (link.node_id, link.story_id),
    key_columns=("node_id", "story_id"),
    columns={
        "kind": lambda link: link.kind.value,
        "linked_index": lambda link: link.index,
        "is_current": lambda link: link.current,
    },
    instants={"linked_at": lambda link: link.at},
    indexes={
        "node": Index(lambda link: link.node_id, ("node_id",)),
        # One place only: the newest of each node.
        "current": Index(
            lambda link: link.node_id if link.current else None, ("node_id",), "is_current"
        ),
        "story": Index(lambda link: link.story_id, ("story_id",)),
    },
    owner=Owner(Topic.STORY, "story"),
)
