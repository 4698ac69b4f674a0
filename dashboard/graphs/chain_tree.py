"""A chain of evaluations as a nested list: the phone's view, and the `t` key's.

In: the layout's members. Out: branches, oldest first; links and causes apart, as a cause has a
dashed rail.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_places import ChainMember
from dashboard.texts import gettext
from dashboard.wording import number

#: Steps in from the left; what follows deeper down stands below each other, in the order it came.
DEEPEST = 16
#: Of a row in which each made the next alike, so many are told one by one.
LONGEST_ROW = 8


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation or event, and what it made."""

    title: str
    sub: str
    state: str
    icon: str
    href: str = ""
    links: tuple["Branch", ...] = ()
    causes: tuple["Branch", ...] = ()


def chain_tree(layout: ChainLayout) -> tuple[Branch, ...]:
    """The same chain as nested branches, oldest first."""
    members = sorted(layout.members.values(), key=lambda item: (item.created_at, item.id))
    children: dict[str, list[ChainMember]] = {}
    for member in members:
        parent = layout.parent_of(member)
        origin = parent if parent in layout.members else f"event:{member.event_key}"
        children.setdefault(origin, []).append(member)
    roots = [key for key in children if key.startswith("event:")]
    return tuple(_event_branch(key, children, layout.selected) for key in roots)


class _Row(msgspec.Struct, frozen=True):
    """Alike ones of which each made the next and nothing else: the last, and those before it."""

    last: ChainMember
    between: int


def _row_after(
    member: ChainMember, children: dict[str, list[ChainMember]], selected: str
) -> _Row | None:
    """The long row that follows this one; what is looked at ends it."""
    passed = {member.id}
    last, likeness = member, _alike(member)
    while len(below := children.get(last.id, [])) == 1:
        following = below[0]
        ends = following.id in passed or selected in (following.id, last.id)
        if ends or _alike(following) != likeness or not _is_linked(last, following):
            break
        passed.add(following.id)
        last = following
    return _Row(last, len(passed) - 2) if len(passed) > LONGEST_ROW else None


def _event_branch(key: str, children: dict[str, list[ChainMember]], selected: str) -> Branch:
    first = children[key][0]
    lines = first.event_lines or ("earlier", gettext("not in the record"))
    return Branch(
        title=" ".join(lines[:2]),
        sub=lines[2] if len(lines) > 2 else "",
        state="event",
        icon="event",
        links=_branches(children[key], children, frozenset(), selected),
    )


def _branches(
    members: Iterable[ChainMember],
    children: dict[str, list[ChainMember]],
    above: frozenset[str],
    selected: str,
) -> tuple[Branch, ...]:
    if len(above) < DEEPEST:
        return tuple(_branch(member, children, above, selected) for member in members)
    seen, found = set(above), []
    waiting = [*members][::-1]
    while waiting:
        member = waiting.pop()
        if member.id not in seen:
            seen.add(member.id)
            found.append(_alone(member))
            waiting += children.get(member.id, ())[::-1]
    return tuple(found)


def _branch(
    member: ChainMember,
    children: dict[str, list[ChainMember]],
    above: frozenset[str],
    selected: str,
) -> Branch:
    row = _row_after(member, children, selected)
    if row is not None:
        last = _branch(row.last, children, above | {member.id}, selected)
        title = gettext("{count} more like it").format(count=number(row.between))
        between = replace(
            _alone(member), title=title, sub=gettext("one after another"), href="", links=(last,)
        )
        return replace(_alone(member), links=(between,))
    below = [item for item in children.get(member.id, ()) if item.id not in above | {member.id}]
    path = above | {member.id}
    linked = [item for item in below if _is_linked(member, item)]
    caused = [item for item in below if not _is_linked(member, item)]
    return replace(
        _alone(member),
        links=_branches(linked, children, path, selected),
        causes=_branches(caused, children, path, selected),
    )


def _alone(member: ChainMember) -> Branch:
    return Branch(
        title=member.job,
        sub=", ".join(part for part in (member.trigger, member.outcome) if part),
        state=member.state,
        icon=member.icon or member.state,
        href=member.href,
    )


def _alike(member: ChainMember) -> tuple[str, ...]:
    return member.job, member.trigger, member.state, member.outcome


def _is_linked(parent: ChainMember, child: ChainMember) -> bool:
    return child.previous_eval == parent.id or child.id in (parent.next_eval, parent.blocked_eval)
