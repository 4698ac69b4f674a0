"""Who looks at a page, and what exists for them."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cluster.store.ports import RecordReader
from dashboard.rights import Opens, actions_in, node_actions, reads_everywhere
from scheduler.access.access import Access
from scheduler.access.caller import Caller
from scheduler.state.nouns import NAMESPACES


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks, at which moment, and which namespaces exist for them (None: all)."""

    name: str
    now: int
    #: What operations are given: who asks, with which rights.
    caller: Caller
    namespaces: frozenset[str] | None
    #: The namespace that lists and counts are narrowed to; "" for all that may be seen.
    chosen: str = ""
    #: False for an account that nobody has given anything yet.
    has_a_group: bool = True

    @property
    def access(self) -> Access:
        """The rights of this viewer."""
        return self.caller.access

    def sees(self, namespace: str) -> bool:
        """Whether rows of a namespace may be shown."""
        return self.namespaces is None or namespace in self.namespaces

    @property
    def looks_at(self) -> frozenset[str] | None:
        """The namespaces of lists and counts: the chosen one, else all that exist here."""
        return frozenset({self.chosen}) if self.chosen else self.namespaces

    def may_in(self, namespace: str) -> frozenset[str]:
        """The buttons of a namespace's things that work for this viewer."""
        return actions_in(self.access, namespace)

    @property
    def may_with_nodes(self) -> frozenset[str]:
        """What of nodes is shown and offered."""
        return node_actions(self.access)

    @property
    def opens(self) -> Opens:
        """The addresses that open for this viewer, by name."""
        return Opens(self.access)


def visible_namespaces(
    reader: RecordReader, access: Access, capability: str = "read-job"
) -> frozenset[str] | None:
    """The namespaces whose rows may be shown; None means all, those to come too.

    Reads the namespaces once, and nothing for those who see all.
    """
    if reads_everywhere(access, capability):
        return None
    return frozenset(
        each.name for each in reader.list_all(NAMESPACES) if access.allows(each.name, capability)
    )


class Absent(Exception):
    """A query found nothing that this viewer may see: the page is a 404."""


#: A page's query; raises Absent.
Query = Callable[[RecordReader, Viewer], Mapping[str, Any]]


def crumbs(*steps: tuple[str, str]) -> list[dict[str, str]]:
    """A breadcrumb: words with their addresses, the last one without."""
    return [{"word": word, "url": url} for word, url in steps]
