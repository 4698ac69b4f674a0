"""What a target such as `${attr.kernel.name}` means on one node (placement.md 6.1).

In: the text of a target and a node. Out: its value, or None when the node does not have it.
"""

from collections.abc import Callable

from scheduler.structs.node import Node

_FIELDS: dict[str, Callable[[Node], str]] = {
    "${node.unique.id}": lambda node: node.id,
    "${node.unique.name}": lambda node: node.name,
    "${node.datacenter}": lambda node: node.datacenter,
    "${node.class}": lambda node: node.node_class,
    "${node.pool}": lambda node: node.node_pool or "default",
}


def is_literal(target: str) -> bool:
    """Whether a target is plain text, the same on every node."""
    return not target.startswith("${")


def resolve_target(target: str, node: Node) -> str | None:
    """The value of a target on a node; None when it has none.

    There is no partial interpolation: `${meta.a}-x` asks for the key `a}-x`, which nobody has.
    """
    return target_reader(target)(node)


def target_reader(target: str) -> Callable[[Node], str | None]:
    """The same as a function of the node alone, for reading one target on many nodes."""
    if is_literal(target):
        return lambda _: target
    if target in _FIELDS:
        return _FIELDS[target]
    if target.startswith("${attr."):
        key = _key(target, "${attr.")
        return lambda node: node.attributes.get(key)
    if target.startswith("${meta."):
        key = _key(target, "${meta.")
        return lambda node: node.meta.get(key)
    return lambda _: None


def _key(target: str, prefix: str) -> str:
    return target[len(prefix) :].removesuffix("}")
