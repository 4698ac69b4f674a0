"""Named sets of capabilities, united by spelling and found by name or closest glob (access.md 2).

In: capabilities for names that may hold `*`. Out: the one set that speaks for a given name.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scheduler.access.capabilities import DENY

_ANY = "*"


class Grants(msgspec.Struct, frozen=True):
    """Capabilities by spelling. A denied spelling holds `deny` alone."""

    exact: Mapping[str, frozenset[str]] = {}
    globs: Mapping[str, frozenset[str]] = {}

    def of(self, name: str) -> frozenset[str]:
        """The set that speaks for a name: its own, else that of the closest glob, else none."""
        own = self.exact.get(name)
        if own is not None:
            return own
        if not self.globs:
            return frozenset()
        matching = [spec for spec in self.globs if matches(spec, name)]
        if not matching:
            return frozenset()
        return self.globs[closest(matching, name)]

    def anywhere(self, capability: str) -> bool:
        """Whether any spelling grants it."""
        return any(capability in granted for granted in self.sets())

    def sets(self) -> Iterable[frozenset[str]]:
        """Every granted set."""
        yield from self.exact.values()
        yield from self.globs.values()


def grants_of(granted: Iterable[tuple[str, Iterable[str]]]) -> Grants:
    """Unite what was granted under each spelling; a `deny` clears it and holds."""
    exact: dict[str, frozenset[str]] = {}
    globs: dict[str, frozenset[str]] = {}
    for name, capabilities in granted:
        sets = globs if _ANY in name else exact
        united = sets.get(name, frozenset()) | frozenset(capabilities)
        sets[name] = frozenset({DENY}) if DENY in united else united
    return Grants(exact, globs)


def closest(specs: Iterable[str], name: str) -> str:
    """Of several globs that match a name the nearest one; of equals the one that sorts last."""
    return min(
        sorted(specs, key=lambda spec: spec.encode(), reverse=True),
        key=lambda spec: len(name) - len(spec) + spec.count(_ANY),
    )


def matches(spec: str, name: str) -> bool:
    """Whether a glob, in which `*` stands for any run of characters, covers a name."""
    first, *middle = spec.split(_ANY)
    if not middle:
        return spec == name
    last = middle.pop()
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    start, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, start, end)
        if found < 0:
            return False
        start = found + len(part)
    return True
