"""What a new record holds, as its first write: the default namespace, the built-in node pools."""

from scheduler.ports import Change
from scheduler.state.nouns import NAMESPACES, NODE_POOLS
from scheduler.structs.identity import ALL_NODE_POOLS, DEFAULT_NAMESPACE, DEFAULT_NODE_POOL
from scheduler.structs.job import Namespace
from scheduler.structs.node import NodePool


def seed_record(change: Change) -> None:
    """Put the rows every cluster starts with."""
    index = change.index
    change.put(
        NAMESPACES,
        Namespace(
            name=DEFAULT_NAMESPACE,
            description="Default shared namespace",
            create_index=index,
            modify_index=index,
        ),
    )
    for name, description in (
        (ALL_NODE_POOLS, "Node pool with all nodes in the cluster."),
        (DEFAULT_NODE_POOL, "Default node pool."),
    ):
        change.put(
            NODE_POOLS,
            NodePool(name=name, description=description, create_index=index, modify_index=index),
        )
