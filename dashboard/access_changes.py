"""What rights somebody would lose and gain, in words, where one `Access` takes another's place.

In: two compiled rights and the namespaces there are. Out: short texts, of what the record has
places for and of what the rules spell. Who bears the rights is not known here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.utils.translation import gettext

from dashboard.wording import one_of
from scheduler.access.access import EVERY_NAMESPACE, Access
from scheduler.access.capabilities import DENY, Level
from scheduler.access.grants import Grants

#: Stands for what a glob may cover and no rule names: no name may hold it.
_ANYTHING = "~"
_PATH = "\0"
_LEVELS: Mapping[str, frozenset[str]] = {
    Level.WRITE: frozenset({"read", "write"}),
    Level.READ: frozenset({"read"}),
    Level.LIST: frozenset({"list"}),
}
_OF_VARIABLES = ("list", "read", "write", "destroy")
Verbs = Sequence[tuple[str, tuple[str, ...]]]


class AccessChange(NamedTuple):
    """What is lost and gained; both empty: it is the same."""

    lost: tuple[str, ...]
    gained: tuple[str, ...]


def access_change(
    before: Access, after: Access, namespaces: Iterable[str], verbs: Verbs
) -> AccessChange:
    """`verbs`: what may be done in a namespace, and the capabilities of which one is enough."""
    if before == after:
        return AccessChange((), ())
    names = tuple(namespaces)
    return AccessChange(
        lost=tuple(_more(before, after, verbs, names)),
        gained=tuple(_more(after, before, verbs, names)),
    )


def _more(one: Access, other: Access, verbs: Verbs, namespaces: Sequence[str]) -> list[str]:
    """What `one` allows and `other` does not."""
    return [
        *_of_namespaces(one, other, verbs, namespaces),
        *_of_variables(one, other),
        *_of_names(one.node_pools, other.node_pools, gettext("node pool {name}: {rights}")),
        *_of_names(one.host_volumes, other.host_volumes, gettext("volume {name}: {rights}")),
        *_of_blocks(one, other),
    ]


def _of_namespaces(
    one: Access, other: Access, verbs: Verbs, namespaces: Iterable[str]
) -> list[str]:
    """Verbs by the places in which they are allowed, equal ones together."""
    places: dict[tuple[str, ...], list[str]] = {}
    named = {capability for _, capabilities in verbs for capability in capabilities}
    for place in _spelled(namespaces, one.namespaces, other.namespaces):
        name = _some(place)
        more = _granted(one.namespaces, name) - _granted(other.namespaces, name)
        words = tuple(
            gettext(word)
            for word, capabilities in verbs
            if one.allows(name, *capabilities) and not other.allows(name, *capabilities)
        )
        # Of several capabilities that one verb names, one is as good as another.
        if words or more - named:
            places.setdefault(words or (gettext("other rights"),), []).append(place)
    return [
        gettext("{verbs} in {places}").format(
            verbs=one_of(words, "and"), places=one_of([_told(place) for place in found], "and")
        )
        for words, found in places.items()
    ]


def _of_variables(one: Access, other: Access) -> list[str]:
    found = []
    for spelled in sorted({*one.variables, *other.variables}):
        namespace, _, path = spelled.partition(_PATH)
        place = (_some(namespace), _some(path))
        more = [
            right
            for right in _OF_VARIABLES
            if one.allows_variable(*place, right) and not other.allows_variable(*place, right)
        ]
        if more:
            found.append(
                gettext("variables {path} in {place}: {rights}").format(
                    path=path, place=_told(namespace), rights=one_of(more, "and")
                )
            )
    return found


def _of_names(one: Grants, other: Grants, told: str) -> list[str]:
    found = []
    for spelled in _spelled((), one, other):
        more = _granted(one, _some(spelled)) - _granted(other, _some(spelled))
        if more:
            found.append(told.format(name=spelled, rights=one_of(sorted(more), "and")))
    return found


def _of_blocks(one: Access, other: Access) -> list[str]:
    """Levels as rights are called elsewhere: `node:write`; then what operators may besides."""
    levels = [
        f"{block}:{right}"
        for block in sorted({*one.levels, *other.levels})
        for right in sorted(_allowed(one, block) - _allowed(other, block))
    ]
    operator = (one.operator | one.sentinel) - (other.operator | other.sentinel) - {DENY}
    return [*levels, *sorted(operator)]


def _allowed(access: Access, block: str) -> frozenset[str]:
    level = access.levels.get(block, "")
    # Of plugins `write` gives neither (access.md 2.4).
    if block == "plugin" and level == Level.WRITE:
        return frozenset({"write"})
    return _LEVELS.get(level, frozenset())


def _spelled(names: Iterable[str], *grants: Grants) -> list[str]:
    """Names in their order, then globs, those that speak most closely first."""
    exact = sorted({*names, *(name for each in grants for name in each.exact)})
    globs = {glob for each in grants for glob in each.globs}
    return [*exact, *sorted(globs, key=lambda glob: (-len(glob), glob))]


def _granted(grants: Grants, name: str) -> frozenset[str]:
    return grants.of(name) - {DENY}


def _some(spelled: str) -> str:
    """A name that the spelling covers; of a glob one that nobody may have given."""
    return spelled.replace("*", _ANYTHING)


def _told(place: str) -> str:
    return gettext("every other namespace") if place == EVERY_NAMESPACE else place
