"""What the first word of a node must say, and how.

In: a node as an agent describes it, and its secret. Out: nothing, or `OperationRefused`.
"""

import re

from cluster.jobspec.names import name_faults, node_names
from cluster.operations.errors import OperationRefused
from cluster.operations.node_pools import POOL_NAME
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.node import Node

_NODE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def check_registration(node: Node, secret: str) -> None:
    """Refuse a registration that lacks something, or that names what nobody may be called."""
    missing = [
        label
        for label, value in (
            ("node ID", node.id),
            ("datacenter", node.datacenter),
            ("node name", node.name),
            ("attributes", node.attributes),
            ("secret ID", secret),
        )
        if not value
    ]
    if missing:
        raise OperationRefused(f"missing {missing[0]} for client registration")
    if not _NODE_ID.fullmatch(node.id):
        raise OperationRefused("the node ID must be a UUID in lower case")
    if node.node_pool == ALL_NODE_POOLS:
        raise OperationRefused(f'node is not allowed to register in node pool "{ALL_NODE_POOLS}"')
    if node.node_pool and not POOL_NAME.fullmatch(node.node_pool):
        raise OperationRefused(f'invalid node pool: invalid name "{node.node_pool}"')
    faults = name_faults(node_names(node))
    if faults:
        raise OperationRefused("; ".join(fault.message for fault in faults))
