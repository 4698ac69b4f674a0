"""Whether rights lie within others: nothing is allowed by the one that the other refuses.

Fewer policies may grant more: one that is left out may have been the one that refused, or that
spoke of a name more closely. In doubt the answer is no.
"""

from collections.abc import Iterable, Mapping

from scheduler.access.access import Access
from scheduler.access.capabilities import DENY, Level
from scheduler.access.grants import Grants

_ANY = "*"
_WITHIN: Mapping[str, frozenset[str]] = {
    Level.WRITE: frozenset({Level.WRITE, Level.READ}),
    Level.READ: frozenset({Level.READ}),
    Level.LIST: frozenset({Level.LIST}),
}
#: Levels that allow nothing.
_NOTHING = frozenset({"", Level.DENY, Level.SCALE})


def is_within(inner: Access, outer: Access) -> bool:
    """Whether everything that `inner` allows is allowed by `outer` as well."""
    if outer.is_management:
        return True
    return (
        not inner.is_management
        and _grants_within(inner.namespaces, outer.namespaces)
        and _grants_within(inner.node_pools, outer.node_pools)
        and _grants_within(inner.host_volumes, outer.host_volumes)
        and _levels_within(inner.levels, outer.levels)
        and _granted(inner.operator) <= _granted(outer.operator)
        and _granted(inner.sentinel) <= _granted(outer.sentinel)
        and _grants_within(_by_spelling(inner.variables), _by_spelling(outer.variables))
        and inner.own_variables <= outer.own_variables
    )


def _grants_within(inner: Grants, outer: Grants) -> bool:
    names = {*inner.exact, *outer.exact}
    if any(not _granted(inner.of(name)) <= _granted(outer.of(name)) for name in names):
        return False
    return all(_glob_within(glob, inner, outer) for glob in inner.globs)


def _glob_within(glob: str, inner: Grants, outer: Grants) -> bool:
    """Whether no name that the glob speaks for is spoken for more closely with fewer rights."""
    wanted = _granted(inner.globs[glob])
    if not wanted:
        return True
    if not wanted <= _granted(outer.globs.get(glob, frozenset())):
        return False
    return all(
        wanted <= _granted(others)
        for closer, others in outer.globs.items()
        if closer not in inner.globs
        and _closeness(closer) > _closeness(glob)
        and _may_meet(glob, closer)
    )


def _closeness(glob: str) -> tuple[int, bytes]:
    """The larger speaks before the smaller, whatever the name (`grants.closest`)."""
    return len(glob) - glob.count(_ANY), glob.encode()


def _may_meet(one: str, other: str) -> bool:
    """Whether some name may be covered by both: their beginnings and ends do not exclude it."""
    start, other_start = one.partition(_ANY)[0], other.partition(_ANY)[0]
    end, other_end = one.rpartition(_ANY)[2], other.rpartition(_ANY)[2]
    return (start.startswith(other_start) or other_start.startswith(start)) and (
        end.endswith(other_end) or other_end.endswith(end)
    )


def _levels_within(inner: Mapping[str, str], outer: Mapping[str, str]) -> bool:
    return all(
        level in _NOTHING or level in _WITHIN.get(outer.get(block, ""), frozenset())
        for block, level in inner.items()
    )


def _by_spelling(variables: Mapping[str, frozenset[str]]) -> Grants:
    # `deny` beside other capabilities denies nothing there, so the sets are taken as they are.
    return Grants(
        exact={name: given for name, given in variables.items() if _ANY not in name},
        globs={name: given for name, given in variables.items() if _ANY in name},
    )


def _granted(capabilities: Iterable[str]) -> frozenset[str]:
    return frozenset(capabilities) - {DENY}
