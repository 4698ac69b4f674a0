"""What people group nodes by. In: keys; then meta and attributes of a node. Out: its values."""

from collections.abc import Callable, Mapping, Sequence

#: From meta and attributes to the values of the keys, empty where a node has none.
Labels = Callable[[Mapping[str, str], Mapping[str, str]], tuple[str, ...]]


def labels_of(keys: Sequence[str]) -> Labels:
    """The values of `meta.<name>` or `attr.<name>`, for node after node."""
    parted = [(kind == "meta", name) for kind, _, name in (key.partition(".") for key in keys)]

    def told(meta: Mapping[str, str], attributes: Mapping[str, str]) -> tuple[str, ...]:
        return tuple([(meta if own else attributes).get(name, "") for own, name in parted])

    return told
