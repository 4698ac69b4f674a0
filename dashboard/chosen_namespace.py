"""The namespace that a person has chosen for lists and counts: kept with the session.

In: a request. Out: its name, or "" for all. An address that names one itself (`?namespace=team`,
`?namespace=*`) is shown so to whoever opens it, and changes nobody's choice.
"""

from django.http import HttpRequest

from cluster.store.ports import RecordReader
from dashboard.viewer import Viewer
from scheduler.state.nouns import NAMESPACES

FIELD = "namespace"
#: Pages whose address may name it.
_SHARED = frozenset(
    {"now", "jobs", "evaluations", "allocations", "deployments", "stories", "variables", "volumes"}
)
_LONGEST = 128
#: More are chosen on the page of namespaces.
MOST_SPACES = 50
_ALL = "*"


async def chosen_namespace(request: HttpRequest) -> str:
    """What the address asks for, else what was chosen; whether one may see it is not asked."""
    match = request.resolver_match
    asked = request.GET.get(FIELD, "") if match and match.url_name in _SHARED else ""
    wished = asked or await request.session.aget(FIELD, "")
    return "" if wished == _ALL else str(wished)[:_LONGEST]


async def choose(request: HttpRequest, namespace: str) -> None:
    """Keep a choice; "" for all."""
    await request.session.aset(FIELD, namespace[:_LONGEST])


def spaces_of(reader: RecordReader, viewer: Viewer) -> list[str]:
    """The names that one can choose from, the first ones of many; in one read at most."""
    names = viewer.namespaces
    if names is None:
        names = frozenset(each.name for each in reader.list_all(NAMESPACES))
    return sorted(names)[:MOST_SPACES]
