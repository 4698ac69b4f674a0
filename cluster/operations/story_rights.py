"""To whom a story is told that is of no namespace: it is about nodes, or about what operators did.

In: what somebody may read. Out: the kinds that exist for them. Those of a namespace ask `read-job`
there, and nothing of this (access.md 8).
"""

from collections.abc import Collection

from scheduler.access.access import Access
from scheduler.structs.story import Story, StoryKind

NODE_READ, OPERATOR_READ = "node:read", "operator:read"
#: What these are about has a right of its own, as the topics `Operator` and `Collection` have.
OF_OPERATORS = frozenset({StoryKind.COLLECTION, StoryKind.CONFIGURATION})


def level_of(story: Story) -> str:
    """Whose right to read a story of the cluster asks for: `node` or `operator`."""
    return "operator" if story.kind in OF_OPERATORS else "node"


def levels_of(access: Access) -> frozenset[str]:
    """Which of the two rights somebody has."""
    held = (("node", NODE_READ), ("operator", OPERATOR_READ))
    return frozenset(word for block, word in held if access.reads(block))


def hidden_kinds(levels: Collection[str]) -> frozenset[StoryKind]:
    """Of the cluster's stories, the kinds that do not exist for somebody with these rights."""
    hidden = frozenset[StoryKind]()
    if NODE_READ not in levels:
        hidden |= frozenset(StoryKind) - OF_OPERATORS
    return hidden if OPERATOR_READ in levels else hidden | OF_OPERATORS
