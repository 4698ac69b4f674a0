"""What can be followed, and by whom: topic text to Subscription, user to namespaces.

A topic is `kind` or `kind:key`. Namespaced kinds name their namespace (`evaluations:default`, `*`
for all one may see); kinds that name one thing by id take their namespace from the record.
"""

from typing import Any, Literal

import msgspec

from scheduler.ports import StateReader
from scheduler.structs.identity import JobKey

Kind = Literal[
    "overview", "jobs", "job", "evaluations", "evaluation", "chain", "timeline", "tidy",
    "allocations", "allocation", "nodes", "node", "drains", "navigation",
]  # fmt: skip

#: The key is a namespace, or `*`.
LISTS: frozenset[str] = frozenset({"overview", "jobs", "evaluations", "allocations", "navigation"})
#: Nodes belong to no namespace: whoever may sign in may see them.
CLUSTER_WIDE: frozenset[str] = frozenset({"nodes", "node", "drains"})
#: Kinds whose key is an id.
BY_ID: frozenset[str] = frozenset(
    {"evaluation", "chain", "timeline", "tidy", "allocation", "node"}
)
#: More topics than any page needs.
MAX_TOPICS = 12
MAX_TOPIC_LENGTH = 300
ALL = "*"


class BadTopic(ValueError):
    """The topic does not exist, or its subject is unknown."""


class Subscription(msgspec.Struct, frozen=True):
    """One thing to follow, as one person may see it. Equal subscriptions share one group."""

    kind: str
    key: str
    #: The namespaces whose rows may be shown; None for all.
    namespaces: frozenset[str] | None

    @property
    def topic(self) -> str:
        """As the browser names it."""
        return f"{self.kind}:{self.key}" if self.key else self.kind

    def shows(self, namespace: str) -> bool:
        """Whether a row of this namespace may appear. Rows without namespace may."""
        return not namespace or self.namespaces is None or namespace in self.namespaces


def readable_namespaces(user: Any) -> frozenset[str] | None:
    """The namespaces whose rows a person may see; None means all.

    Staff see all. Others see `default` and what their groups named `namespace:<name>` open. Reads
    the database once; callers keep the answer for the life of a socket.
    """
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return frozenset()
    if user.is_staff or user.is_superuser:
        return None
    names = user.groups.filter(name__startswith="namespace:").values_list("name", flat=True)
    return frozenset({"default", *(name.removeprefix("namespace:") for name in names)})


def parse_topics(text: str) -> tuple[tuple[str, str], ...]:
    """`a:1,b` to kinds and keys, each once. Raises BadTopic for too many or an unknown kind."""
    topics = [topic for topic in dict.fromkeys(text.split(",")) if topic]
    if not topics or len(topics) > MAX_TOPICS:
        raise BadTopic(f"name 1 to {MAX_TOPICS} topics")
    return tuple(_parsed(topic) for topic in topics)


def _parsed(topic: str) -> tuple[str, str]:
    kind, _, key = topic.partition(":")
    known = LISTS | CLUSTER_WIDE | BY_ID | {"job"}
    if kind not in known or len(topic) > MAX_TOPIC_LENGTH:
        raise BadTopic(f"no such topic: {kind[:40]}")
    if kind in LISTS:
        return kind, key or ALL
    if kind == "job" and "/" not in key:
        raise BadTopic("a job is named namespace/id")
    if kind in BY_ID and not key:
        raise BadTopic(f"{kind} needs an id")
    return kind, key


def authorise(
    kind: str, key: str, namespaces: frozenset[str] | None, reader: StateReader
) -> Subscription:
    """The subscription of a person who may see `namespaces`. Raises BadTopic where they may not.

    An unknown subject and one that may not be seen get the same answer, so that none can be
    probed.
    """
    if kind in CLUSTER_WIDE:
        return Subscription(kind, key, namespaces)
    if kind in LISTS:
        return Subscription(kind, key, _narrowed(key, namespaces))
    namespace = _namespace_of(kind, key, reader)
    if namespace is None or (namespaces is not None and namespace not in namespaces):
        raise BadTopic(f"{kind} {key} is unknown here")
    # One thing looks the same to all who may see it, so that they share a group.
    return Subscription(kind, key, frozenset({namespace}))


def _narrowed(key: str, namespaces: frozenset[str] | None) -> frozenset[str] | None:
    if key == ALL:
        return namespaces
    if namespaces is not None and key not in namespaces:
        raise BadTopic(f"namespace {key} is unknown here")
    return frozenset({key})


def _namespace_of(kind: str, key: str, reader: StateReader) -> str | None:
    if kind == "job":
        namespace, _, job_id = key.partition("/")
        return namespace if reader.job(JobKey(namespace, job_id)) is not None else None
    if kind == "allocation":
        alloc = reader.allocation(key)
        return alloc.namespace if alloc is not None else None
    row = reader.evaluation(key) or reader.evaluation_stub(key)
    return row.namespace if row is not None else None
