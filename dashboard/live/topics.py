"""What can be followed, and by whom: the text of a topic to a Subscription.

A topic is `kind` or `kind:key`; `dashboard/panels.py` says which kinds there are and what their
keys name, `dashboard/rights.py` which right each asks for. What has a namespace is shown to those
who may see that namespace.
"""

from typing import NamedTuple

from cluster.jobspec.names import LONGEST_NAME
from cluster.operations.story_rights import levels_of
from cluster.store.ports import RecordReader
from dashboard.moves import WINDOWS
from dashboard.panels import FOLLOWED, Names
from dashboard.queries.events import EventsWish
from dashboard.queries.explain import is_asked
from dashboard.queries.job_lists import LISTS
from dashboard.queries.list_wish import key_fields, space_of
from dashboard.queries.story import may_see
from dashboard.rights import (
    LOOK,
    NODE_READ,
    QUOTA_READ,
    TOPICS,
    ListedPaths,
    Opens,
    actions_in,
    node_actions,
    scheduler_actions,
)
from dashboard.subscription import Subscription, topic_parts
from dashboard.viewer import visible_namespaces
from scheduler.access.access import Access
from scheduler.structs.identity import JobKey

#: More topics than any page needs.
MAX_TOPICS = 12
#: Characters of the longest namespace, the longest job id and what stands between.
MAX_KEY_LENGTH = 128 + 1 + LONGEST_NAME
#: Of a view of a list, whose expression may be long and is quoted.
MAX_LIST_LENGTH = 6_000
ALL = "*"


class BadTopic(ValueError):
    """The topic does not exist, or its subject is unknown."""


def parse_topics(text: str) -> tuple[tuple[str, str], ...]:
    """`a:1,b` to kinds and keys, each once. Raises BadTopic for too many or an unknown kind."""
    topics = [topic for topic in dict.fromkeys(text.split(",")) if topic]
    if not topics or len(topics) > MAX_TOPICS:
        raise BadTopic(f"name 1 to {MAX_TOPICS} topics")
    return tuple(_parsed(topic) for topic in topics)


def _parsed(topic: str) -> tuple[str, str]:
    kind, key = topic_parts(topic)
    names = FOLLOWED[kind].names if kind in FOLLOWED else None
    if names is None or len(key) > (MAX_LIST_LENGTH if names is Names.LIST else MAX_KEY_LENGTH):
        raise BadTopic(f"no such topic: {kind[:40]}")
    if names is Names.NAMESPACE:
        return kind, key or ALL
    if names is Names.WINDOW:
        space, _, window = (key or ALL).partition("/")
        if window not in WINDOWS:
            raise BadTopic(f"moves are not counted over {window[:10]}")
        return kind, f"{space}/{window}" if window else space
    if names is Names.EVENTS:
        return kind, _of_events(key or ALL)
    if names is Names.JOB and "/" not in key:
        raise BadTopic("a job is named namespace/id")
    # Frames are told apart by their topic: one under another name would belong to nobody.
    if names is Names.EXPLAINED and not is_asked(key.partition("/")[2]):
        raise BadTopic(f"{kind} cannot be asked for like that")
    if names is Names.LIST:
        return kind, _of_list(kind, key)
    if names not in (Names.NODES, Names.GOVERNANCE) and not key:
        raise BadTopic(f"{kind} needs an id")
    return kind, key


def _of_list(kind: str, key: str) -> str:
    if LISTS[kind].wish(key_fields(key)).key != key:
        raise BadTopic(f"{kind} cannot be asked for like that")
    return key


def _of_events(key: str) -> str:
    space, _, text = key.partition("/")
    if EventsWish.from_text(text).text != text:
        raise BadTopic("events cannot be asked for like that")
    return f"{space}/{text}" if text else space


class Looker(NamedTuple):
    """Whose page it is: rights, and the namespaces that may be shown (None: all)."""

    access: Access
    namespaces: frozenset[str] | None


def authorise(kind: str, key: str, looker: Looker, reader: RecordReader) -> Subscription:
    """What a person follows by a topic. Raises BadTopic where they may not.

    An unknown subject and one that may not be seen get the same answer, so that none can be
    probed.
    """
    right = TOPICS.get(kind)
    if right is None or not right.holds(looker.access):
        raise BadTopic(f"{kind} needs {right.word if right else 'a right that nobody has'}")
    names = FOLLOWED[kind].names
    if names in (Names.NODES, Names.NODE):
        return Subscription(kind, key, looker.namespaces, node_actions(looker.access))
    if names is Names.LIST:
        return _listed(kind, key, looker, reader)
    if names is Names.GOVERNANCE:
        return _governed(kind, key, looker)
    if names in (Names.NAMESPACE, Names.WINDOW, Names.EVENTS):
        narrowed = _narrowed(key.partition("/")[0], looker.namespaces)
        return Subscription(kind, key, narrowed, _counted(kind, looker.access))
    if names is Names.STORY:
        return _story(kind, key, looker, reader)
    namespace = _namespace_of(names, key, reader)
    if namespace is None or (looker.namespaces is not None and namespace not in looker.namespaces):
        raise BadTopic(f"{kind} {key} is unknown here")
    # One thing looks the same to all who have the same buttons, so that they share a group.
    return Subscription(
        kind, key, frozenset({namespace}), _offered(kind, looker.access, namespace)
    )


def _listed(kind: str, key: str, looker: Looker, reader: RecordReader) -> Subscription:
    """A view of a list: what is told of namespaces besides is of those that may be seen."""
    if LISTS[kind].is_by_path:
        # Who may list a path is no matter of namespaces.
        return Subscription(kind, key, None, paths=ListedPaths.of(looker.access))
    capability = LISTS[kind].capability
    if capability != LOOK.word:
        # A namespace that one chose for all pages may be one whose volumes are hidden: an empty
        # list, as on the page.
        seen = visible_namespaces(reader, looker.access, capability)
        return Subscription(kind, key, seen, node_actions(looker.access))
    space = space_of(key)
    if space and looker.namespaces is not None and space not in looker.namespaces:
        raise BadTopic(f"namespace {space} is unknown here")
    may = node_actions(looker.access)
    if LISTS[kind].has_cluster_rows:
        may |= levels_of(looker.access)
    return Subscription(kind, key, looker.namespaces, may)


def _governed(kind: str, key: str, looker: Looker) -> Subscription:
    hidden = looker.namespaces is not None and key not in looker.namespaces
    if kind == "namespaces" and key and hidden:
        raise BadTopic(f"namespace {key} is unknown here")
    may = frozenset({QUOTA_READ}) if looker.access.reads("quota") else frozenset()
    return Subscription(kind, key, looker.namespaces, may)


def _story(kind: str, key: str, looker: Looker, reader: RecordReader) -> Subscription:
    """One of a namespace, or of the cluster: then of what is in it, the looker's namespaces."""
    story = reader.story(key.partition("/")[0])
    levels = levels_of(looker.access)
    if story is None or not may_see(story, looker.namespaces, levels):
        raise BadTopic(f"{kind} {key} is unknown here")
    may = actions_in(looker.access, story.namespace) if story.namespace else frozenset()
    may |= node_actions(looker.access) & {NODE_READ}
    return Subscription(kind, key, looker.namespaces, may)


def _offered(kind: str, access: Access, namespace: str) -> frozenset[str]:
    """The buttons that live frames render."""
    if FOLLOWED[kind].names in (Names.JOB, Names.DEPLOYMENT):
        return actions_in(access, namespace) | levels_of(access)
    if kind == "allocation":
        return actions_in(access, namespace)
    if kind == "explain":
        return node_actions(access) & {NODE_READ}
    if kind == "evaluation" and "capsule" in Opens(access):
        return frozenset({"capsule"})
    return frozenset()


def _counted(kind: str, access: Access) -> frozenset[str]:
    """What a topic of namespaces shows beside them: counts of nodes, buttons of the scheduler."""
    if kind == "scheduler":
        return scheduler_actions(access)
    seen = node_actions(access) & {NODE_READ}
    if kind == "overview":
        return seen | levels_of(access)
    return seen if kind in ("navigation", "events") else frozenset()


def _narrowed(key: str, namespaces: frozenset[str] | None) -> frozenset[str] | None:
    if key == ALL:
        return namespaces
    if namespaces is not None and key not in namespaces:
        raise BadTopic(f"namespace {key} is unknown here")
    return frozenset({key})


def _namespace_of(names: Names, key: str, reader: RecordReader) -> str | None:
    if names is Names.JOB:
        namespace, _, job_id = key.partition("/")
        return namespace if reader.job(JobKey(namespace, job_id)) is not None else None
    if names is Names.DEPLOYMENT:
        deployment = reader.deployment(key)
        return deployment.namespace if deployment is not None else None
    if names is Names.ALLOCATION:
        alloc = reader.allocation(key)
        return alloc.namespace if alloc is not None else None
    if names is Names.EXPLAINED:
        key = key.partition("/")[0]
    row = reader.evaluation(key) or reader.evaluation_stub(key)
    return row.namespace if row is not None else None
