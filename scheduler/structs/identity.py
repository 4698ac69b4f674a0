"""The names of things: identifiers and the index. Text and numbers with a meaning."""

from typing import NamedTuple, NewType

NodeID = NewType("NodeID", str)
EvalID = NewType("EvalID", str)
AllocID = NewType("AllocID", str)
DeploymentID = NewType("DeploymentID", str)

#: The number of a committed write. One counter for the whole cluster, without gaps.
StateIndex = NewType("StateIndex", int)

DEFAULT_NAMESPACE = "default"
DEFAULT_NODE_POOL = "default"
#: The pool of every node. Never stored on a node.
ALL_NODE_POOLS = "all"


class JobKey(NamedTuple):
    """What names a job: ids repeat across namespaces."""

    namespace: str
    job_id: str
