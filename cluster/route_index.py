"""Finds the view of a path among those routes only that begin with the path's first word.

In: routes in order, and the prefix they are mounted at. Out: what Django would find, which tries
them all one after another; None where it is to be asked.
"""

import re
from collections.abc import Sequence

from django.urls import ResolverMatch, URLPattern
from django.urls.resolvers import RegexPattern

#: The plain word that a pattern begins with; nothing but a slash or the end may follow it.
_HEAD = re.compile(r"\^([a-z0-9_-]+)(?:/|\\Z)")


class RouteIndex:
    """Routes by the first word of the paths they can match; those of any word are under each."""

    def __init__(self, prefix: str, routes: Sequence[URLPattern]) -> None:
        self._prefix = prefix
        heads = [_head_of(route) for route in routes]
        self._by_word = {
            word: [
                route for route, head in zip(routes, heads, strict=True) if head in {word, None}
            ]
            for word in {*heads}
        }

    def resolve(self, path: str) -> ResolverMatch | None:
        """The first route that matches a path; None when none of them does."""
        if not path.startswith(self._prefix):
            return None
        rest = path[len(self._prefix) :]
        routes = self._by_word.get(rest.partition("/")[0])
        for route in routes or ():
            found: ResolverMatch | None = route.resolve(rest)
            if found is not None:
                return found
        return None


def _head_of(route: URLPattern) -> str | None:
    assert isinstance(route.pattern, RegexPattern), "the API's routes are regular expressions"
    found = _HEAD.match(str(route.pattern))
    return found[1] if found else None
