"""Who looks at a page, and what exists for them. Values only."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cluster.store.reader import DjangoStateReader
from scheduler.ports import StateReader


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks, at which moment, and which namespaces exist for them (None: all)."""

    name: str
    is_staff: bool
    now: int
    namespaces: frozenset[str] | None

    def sees(self, namespace: str) -> bool:
        """Whether rows of a namespace may be shown."""
        return self.namespaces is None or namespace in self.namespaces


class Absent(Exception):
    """A query found nothing that this viewer may see: the page is a 404."""


#: A page's query; raises Absent.
Query = Callable[[DjangoStateReader, Viewer], Mapping[str, Any]]


def crumbs(*steps: tuple[str, str]) -> list[dict[str, str]]:
    """A breadcrumb: words with their addresses, the last one without."""
    return [{"word": word, "url": url} for word, url in steps]


def own(reader: StateReader) -> DjangoStateReader:
    """The reader as what it is: pages read the database."""
    assert isinstance(reader, DjangoStateReader), "pages read the database"
    return reader
