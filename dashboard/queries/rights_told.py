"""What somebody may do, in words: places and verbs, then what belongs to no namespace.

In: a `Person`. Out: the rows of `_rights.html` and of the list beside it, each with where it comes
from. The same rows stand on everybody's own page and on the form of a group.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext, gettext_noop

from dashboard.models import OPENS
from dashboard.people import (
    GroupGrant,
    Person,
    PersonOfGroup,
)
from dashboard.rights import (
    ENTER_ADMIN,
    EVERYTHING,
    READ_NODES,
    READ_OPERATOR,
    WRITE_NODES,
    WRITE_OPERATOR,
    Right,
)
from dashboard.wording import count_of, one_of
from scheduler.access.access import EVERY_NAMESPACE, Access
from scheduler.access.capabilities import DENY
from scheduler.access.grants import closest, matches

#: A verb of the table, and the capabilities of which any one is enough.
VERBS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (gettext_noop("Look"), ("read-job",)),
    (gettext_noop("Submit"), ("submit-job", "register-job")),
    (gettext_noop("Scale"), ("submit-job", "scale-job")),
    (gettext_noop("Stop"), ("submit-job", "deregister-job", "purge-job")),
    (gettext_noop("Restart"), ("alloc-lifecycle",)),
    (gettext_noop("Output"), ("read-logs", "read-fs")),
    (gettext_noop("Terminal"), ("alloc-exec",)),
    (gettext_noop("Without isolation"), ("submit-privileged-job",)),
)
_RUNS, _LOOKS = VERBS[1][1], VERBS[0][1]
#: What belongs to no namespace.
CLUSTER: tuple[tuple[str, Right], ...] = (
    (gettext_noop("Look at nodes and drains"), READ_NODES),
    (gettext_noop("Drain nodes, open and close them"), WRITE_NODES),
    (gettext_noop("Look at the scheduler's settings, leases and quotas"), READ_OPERATOR),
    (gettext_noop("Change the scheduler's settings"), WRITE_OPERATOR),
    (gettext_noop("Enter the admin"), ENTER_ADMIN),
    (gettext_noop("Give rights: accounts, groups, policies, tokens"), EVERYTHING),
)


class RightsPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table: a namespace or a glob of them."""

    where: str
    #: By verb, in the order of `VERBS`.
    may: tuple[bool, ...]
    comes_from: str
    #: How many jobs are there, in words; "" where that is not asked, or not theirs to know.
    jobs: str = ""


class ClusterRight(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list."""

    told: str
    word: str
    has: bool
    #: Whether it comes with another line.
    follows: bool = False
    #: The groups that have it, where this person has not.
    groups: str = ""


def rights_table(person: Person, jobs: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The context of `_rights.html`; `jobs`: how many each namespace has, where it is told."""
    places = _places(person, jobs)
    return {
        "is_management": person.is_management,
        "verbs": [gettext(word) for word, _ in VERBS],
        "places": places,
        "places_told": _told(person, len(places)),
        "has_origin": True,
    }


def cluster_rights(access: Access, groups: Sequence[PersonOfGroup]) -> list[ClusterRight]:
    """What belongs to no namespace, and for what is missing the groups that have it."""
    lines = []
    for told, right in CLUSTER:
        having = [name for name, person in groups if right.holds(person.access)]
        lines.append(
            ClusterRight(
                told=gettext(told),
                word=right.word,
                has=right.holds(access),
                follows=right is ENTER_ADMIN,
                groups=one_of(having) if having else "",
            )
        )
    return lines


def rights_sentence(person: Person) -> str:
    """The strong clause of the page."""
    if person.is_management:
        return gettext("You may do everything.")
    access = person.access
    if not person.has_a_group:
        return gettext("You are in no group yet, so you see nothing.")
    running, looking = _spelled(access, _RUNS), _spelled(access, _LOOKS)
    rest = [name for name in looking if name not in running]
    words = []
    if running:
        told = _places_told(access, running, _RUNS, said=())
        words.append(gettext("run jobs in {running}").format(running=told))
    if rest:
        told = _places_told(access, rest, _LOOKS, said=running)
        words.append(gettext("look at {looking}").format(looking=told))
    if WRITE_NODES.holds(access):
        words.append(gettext("change nodes"))
    return (
        gettext("You may {words}.").format(words=one_of(words, "and"))
        if words
        else gettext("Your groups grant nothing here.")
    )


def _spelled(access: Access, capabilities: tuple[str, ...]) -> list[str]:
    """Names, then globs, the closest first, under which one of the capabilities is granted."""
    return [name for name in _spellings(access) if _allows(access, name, capabilities)]


def _spellings(access: Access) -> list[str]:
    globs = sorted(access.namespaces.globs, key=lambda glob: (-len(glob), glob))
    return [*sorted(access.namespaces.exact), *globs]


def _places_told(
    access: Access, names: Sequence[str], capabilities: tuple[str, ...], *, said: Sequence[str]
) -> str:
    """Places in words, with those that a glob among them covers and another rule takes out."""
    outside = [
        name
        for name in _spellings(access)
        if name not in names
        and name not in said
        and not _allows(access, name, capabilities)
        and any(matches(glob, name) for glob in names if "*" in glob)
    ]
    is_alone = not said and len(names) == 1
    told = one_of([_spoken(name, is_alone=is_alone) for name in names], "and")
    if not outside:
        return told
    return gettext("{places} but {outside}").format(places=told, outside=one_of(outside))


def _places(person: Person, jobs: Mapping[str, int] | None) -> list[RightsPlace]:
    access = person.access
    if person.is_management:
        return []
    # The closest first, as they are looked up; what covers every other namespace is last.
    spellings = _spellings(access)
    held = _held(access, jobs or {})
    return [
        RightsPlace(
            where=_spoken(name, is_alone=len(spellings) == 1),
            may=tuple(_allows(access, name, capabilities) for _, capabilities in VERBS),
            comes_from=_origin(person, access, name),
            jobs=count_of(held.get(name, 0), "{count} job", "{count} jobs")
            if jobs is not None and _allows(access, name, _LOOKS)
            else "",
        )
        for name in spellings
    ]


def _held(access: Access, jobs: Mapping[str, int]) -> Counter[str]:
    """How many jobs stand under each spelling: under the one that speaks for their namespace."""
    held: Counter[str] = Counter()
    for namespace, count in jobs.items():
        globs = [glob for glob in access.namespaces.globs if matches(glob, namespace)]
        if namespace in access.namespaces.exact:
            held[namespace] += count
        elif globs:
            held[closest(globs, namespace)] += count
    return held


def _spoken(name: str, *, is_alone: bool = False) -> str:
    if name == EVERY_NAMESPACE:
        return gettext("every namespace") if is_alone else gettext("every other namespace")
    return name


def _allows(access: Access, spelled: str, capabilities: tuple[str, ...]) -> bool:
    """Of a spelling itself, which may hold `*`."""
    sets = access.namespaces.globs if "*" in spelled else access.namespaces.exact
    return any(capability in sets.get(spelled, ()) for capability in capabilities)


def _origin(person: Person, access: Access, spelled: str) -> str:
    naming = [grant for grant in _ordered(person.grants) if _names(grant, spelled)]
    if not _allows(access, spelled, tuple(_every(access, spelled))):
        denying = [grant.name for grant in naming if _denies(grant, spelled)]
        if denying:
            return gettext("refused by policy {denying}; a refusal wins").format(
                denying=one_of(denying, "and")
            )
    told = [
        gettext("group {group}, policy {grant}").format(group=grant.group, grant=grant.name)
        for grant in naming
    ]
    opened = f"{OPENS}{spelled}"
    return "; ".join(
        [
            *told,
            *(
                [gettext("group {opened}").format(opened=opened)]
                if opened in person.groups
                else []
            ),
        ]
    )


def _every(access: Access, spelled: str) -> Iterable[str]:
    sets = access.namespaces.globs if "*" in spelled else access.namespaces.exact
    return (capability for capability in sets.get(spelled, ()) if capability != DENY)


def _names(grant: GroupGrant, spelled: str) -> bool:
    return any(rule.name == spelled for rule in grant.rules.namespaces)


def _denies(grant: GroupGrant, spelled: str) -> bool:
    return any(
        rule.name == spelled and DENY in rule.capabilities for rule in grant.rules.namespaces
    )


def _ordered(grants: Iterable[GroupGrant]) -> list[GroupGrant]:
    return sorted(grants, key=lambda grant: (grant.group, grant.name))


def _told(person: Person, places: int) -> str:
    policies = len({grant.name for grant in person.grants})
    if person.is_management or not places:
        return ""
    return gettext("{place}, worked out from {policies} of {group}").format(
        place=count_of(places, "{count} place", "{count} places"),
        policies=count_of(policies, "{count} policy", "{count} policies"),
        group=count_of(len(person.groups), "{count} group", "{count} groups"),
    )
