"""What people group nodes by. In: meta and attributes of a node, a key. Out: its value."""

from collections.abc import Mapping


def label_of(meta: Mapping[str, str], attributes: Mapping[str, str], key: str) -> str:
    """The value of `meta.<name>` or `attr.<name>`; empty where a node has none."""
    kind, _, name = key.partition(".")
    return (meta if kind == "meta" else attributes).get(name, "")
