"""What a caller may do: a value compiled from policies, asked by every operation (access.md 2).

In: the rules of policies, or nothing for a manager. Out: yes or no for one capability in one
place. Who the caller is, and how a refusal is worded, is not known here.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scheduler.access.capabilities import DENY, Level
from scheduler.access.grants import Grants, closest, grants_of, matches
from scheduler.access.rules import PolicyRules

EVERY_NAMESPACE = "*"
#: Stands between namespace and path in the names of variables rules; in neither of them.
_BETWEEN = "\0"
_STRENGTH = {Level.DENY: 4, Level.WRITE: 3, Level.READ: 2, Level.LIST: 1}
#: Blocks that know a level and no names.
_LEVELLED = ("agent", "node", "operator", "sentinel", "quota", "plugin")


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of one caller. Without anything given, none."""

    #: Passes every check.
    is_management: bool = False
    namespaces: Grants = Grants()
    node_pools: Grants = Grants()
    host_volumes: Grants = Grants()
    #: Block to the strongest level given, for the blocks that have one.
    levels: Mapping[str, str] = {}
    operator: frozenset[str] = frozenset()
    sentinel: frozenset[str] = frozenset()
    #: By namespace, a NUL, and path. `deny` does not clear here, and denies nothing by itself.
    variables: Mapping[str, frozenset[str]] = {}
    #: Variables a running task may read and list without any policy: namespace, NUL, path.
    own_variables: frozenset[str] = frozenset()
    #: A running task: it finds services, whatever it was granted.
    is_workload: bool = False

    def allows(self, namespace: str, *capabilities: str) -> bool:
        """Whether one of the capabilities is granted in a namespace; `*`: in any of them."""
        if self.is_management:
            return True
        if namespace == EVERY_NAMESPACE:
            return any(self.namespaces.anywhere(capability) for capability in capabilities)
        granted = self.namespaces.of(namespace)
        return any(capability in granted for capability in capabilities)

    def allows_everywhere(self, *capabilities: str) -> bool:
        """Whether one of the capabilities is granted in every namespace there may ever be."""
        if self.is_management:
            return True
        return EVERY_NAMESPACE in self.namespaces.globs and all(
            not granted.isdisjoint(capabilities) for granted in self.namespaces.sets()
        )

    @property
    def has_globs(self) -> bool:
        """Whether rules for namespaces may speak of some that they do not name."""
        return not self.is_management and bool(self.namespaces.globs)

    def namespaces_among(self, names: Iterable[str], *capabilities: str) -> frozenset[str] | None:
        """Those in which one of the capabilities is granted, and those a policy names so.

        None: all there may be.
        """
        if self.allows_everywhere(*capabilities):
            return None
        candidates = {*names, *self.namespaces.exact}
        return frozenset(name for name in candidates if self.allows(name, *capabilities))

    def knows_namespace(self, namespace: str) -> bool:
        """Whether anything at all is granted in a namespace; `*`: in any of them."""
        if self.is_management:
            return True
        if namespace == EVERY_NAMESPACE:
            return any(granted and DENY not in granted for granted in self.namespaces.sets())
        granted = self.namespaces.of(namespace)
        return bool(granted) and DENY not in granted

    def allows_pool(self, pool: str, capability: str) -> bool:
        """Whether a capability is granted on a node pool: `read`, `write` or `delete`."""
        return self.is_management or capability in self.node_pools.of(pool)

    def has_any_pool(self) -> bool:
        """Whether anything is granted on any node pool."""
        return self.is_management or any(
            granted and DENY not in granted for granted in self.node_pools.sets()
        )

    def allows_host_volume(self, volume: str, *capabilities: str) -> bool:
        """Whether one of the capabilities is granted on a host volume."""
        if self.is_management:
            return True
        granted = self.host_volumes.of(volume)
        return any(capability in granted for capability in capabilities)

    def reads(self, block: str) -> bool:
        """Whether the level of `agent`, `node`, `operator` or `quota` lets the caller look."""
        return self.is_management or self.levels.get(block) in {Level.READ, Level.WRITE}

    def writes(self, block: str) -> bool:
        """Whether the level of `agent`, `node`, `operator` or `quota` lets the caller change."""
        return self.is_management or self.levels.get(block) == Level.WRITE

    def lists_plugins(self) -> bool:
        """Whether plugins may be listed; the level `write` alone does not say so."""
        return self.is_management or self.levels.get("plugin") in {Level.LIST, Level.READ}

    def reads_plugins(self) -> bool:
        """Whether single plugins may be read; the level `write` alone does not say so."""
        return self.is_management or self.levels.get("plugin") == Level.READ

    def allows_operator(self, capability: str) -> bool:
        """Whether an operator capability is granted; the level `write` stands for all of them."""
        return self.writes("operator") or capability in self.operator

    def allows_variable(self, namespace: str, path: str, capability: str) -> bool:
        """Whether a capability is granted on a variable.

        An exact rule speaks before what a task may read of its own, that before any glob.
        """
        if self.is_management:
            return True
        name = namespace + _BETWEEN + path
        if name in self.variables:
            return capability in self.variables[name]
        if name in self.own_variables:
            return capability in {"read", "list"}
        matching = [spec for spec in self.variables if "*" in spec and matches(spec, name)]
        return bool(matching) and capability in self.variables[closest(matching, name)]

    def has_any_variable(self, namespace: str) -> bool:
        """Whether some rule speaks of variables of the namespace."""
        return self.is_management or any(
            namespace == EVERY_NAMESPACE or matches(name.partition(_BETWEEN)[0], namespace)
            for name in (*self.variables, *self.own_variables)
        )


MANAGEMENT = Access(is_management=True)
NOBODY = Access()


def access_of(policies: Iterable[PolicyRules], own_variables: Iterable[str] = ()) -> Access:
    """The rights that several policies give together."""
    rules = tuple(policies)
    levels: dict[str, str] = {}
    for policy in rules:
        for block in _LEVELLED:
            given = getattr(policy, block)
            if given is not None:
                levels[block] = max(levels.get(block, ""), given.policy, key=_strength)
    return Access(
        namespaces=grants_of(
            (item.name, item.capabilities) for policy in rules for item in policy.namespaces
        ),
        node_pools=grants_of(
            (item.name, item.capabilities) for policy in rules for item in policy.node_pools
        ),
        host_volumes=grants_of(
            (item.name, item.capabilities) for policy in rules for item in policy.host_volumes
        ),
        levels=levels,
        operator=_united(
            policy.operator.capabilities for policy in rules if policy.operator is not None
        ),
        sentinel=_united(
            policy.sentinel.capabilities for policy in rules if policy.sentinel is not None
        ),
        variables=_variables(rules),
        own_variables=frozenset(own_variables),
    )


def variable_name(namespace: str, path: str) -> str:
    """How `own_variables` names a variable."""
    return namespace + _BETWEEN + path


def _strength(level: str) -> int:
    return _STRENGTH.get(level, 0)  # type: ignore[call-overload,no-any-return] # words compare equal to levels


def _united(granted: Iterable[Iterable[str]]) -> frozenset[str]:
    """The union; one `deny` leaves nothing else."""
    united = frozenset(capability for some in granted for capability in some)
    return frozenset({DENY}) if DENY in united else united


def _variables(rules: Iterable[PolicyRules]) -> dict[str, frozenset[str]]:
    united: dict[str, frozenset[str]] = {}
    for policy in rules:
        for item in policy.namespaces:
            for path in item.variables.paths if item.variables else ():
                name = variable_name(item.name, path.path_spec)
                united[name] = united.get(name, frozenset()) | frozenset(path.capabilities)
    return united
