"""The rules of one policy as read from its text, in the shape the public API shows them.

Levels are already expanded into capabilities; several blocks of one name stay apart, and `grants`
unites them (access.md 1.2, 2.2).
"""

from collections.abc import Iterable

from scheduler.access.capabilities import DENY, IMPLIED, OF_LEVEL
from scheduler.structs.wire import Wire, wire_names


class PathRule(Wire, frozen=True):
    """What may be done with the variables whose path matches."""

    path_spec: str = ""
    capabilities: tuple[str, ...] = ()


class VariablesRule(Wire, frozen=True):
    """The paths of one namespace block."""

    paths: tuple[PathRule, ...] = ()


class NamespaceRule(Wire, frozen=True):
    """A `namespace` block. The name may hold `*`."""

    name: str = ""
    policy: str = ""
    capabilities: tuple[str, ...] = ()
    variables: VariablesRule | None = None


class NamedRule(Wire, frozen=True):
    """A `node_pool` or `host_volume` block. The name may hold `*`."""

    name: str = ""
    policy: str = ""
    capabilities: tuple[str, ...] = ()


class LevelRule(Wire, frozen=True):
    """An `agent`, `node`, `quota` or `plugin` block: a level and nothing else."""

    policy: str = ""


class OperatorRule(Wire, frozen=True):
    """An `operator` or `sentinel` block."""

    policy: str = ""
    capabilities: tuple[str, ...] = ()


class PolicyRules(Wire, frozen=True, rename=wire_names(extra_keys="ExtraKeysHCL")):
    """All blocks of a policy. `raw` is the text they were read from."""

    namespaces: tuple[NamespaceRule, ...] = ()
    node_pools: tuple[NamedRule, ...] = ()
    host_volumes: tuple[NamedRule, ...] = ()
    agent: LevelRule | None = None
    node: LevelRule | None = None
    quota: LevelRule | None = None
    plugin: LevelRule | None = None
    operator: OperatorRule | None = None
    sentinel: OperatorRule | None = None
    raw: str = ""
    #: Keys nobody knows; refused when written, ignored in what is stored.
    extra_keys: tuple[str, ...] = ()


def expanded(block: str, level: str, capabilities: Iterable[str]) -> tuple[str, ...]:
    """The capabilities of a block: those listed, those of its level, those they bring along.

    In the order the public API shows them, repetitions kept.
    """
    listed = [*capabilities, *OF_LEVEL[block].get(level, ())]
    if block != "namespace":
        return tuple(listed)
    return (*listed, *(more for name in listed for more in IMPLIED.get(name, ())))


def expanded_path(capabilities: Iterable[str]) -> tuple[str, ...]:
    """The capabilities of a variables path: `deny` stands alone, `read` also lists."""
    listed = tuple(capabilities)
    if DENY in listed:
        return (DENY,)
    return (*listed, "list") if "read" in listed and "list" not in listed else listed
