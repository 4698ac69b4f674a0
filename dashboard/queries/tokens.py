"""API tokens, roles and join tokens for people: whose, what for, until when.

In: a reader, and who made what. Out: rows of lists. No secret is ever in the record, so none is
shown here; the page that makes one has it from the making.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.store.join_tokens import (
    UNLIMITED,
    JoinToken,
    list_join_tokens,
    nodes_by_join_token,
)
from cluster.store.ports import RecordReader
from cluster.store.token_uses import PRECISION
from dashboard.own_tokens import own_policies, owners, spans
from dashboard.people import Person
from dashboard.queries.access_tabs import access_tabs
from dashboard.viewer import Viewer, crumbs
from dashboard.wording import count_of, number, span
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES, ACL_TOKENS
from scheduler.structs.acl_token import AclRole, AclToken

#: The tone of a token that opens nothing any more.
_ENDED = "canceled"
_DAY = 86_400_000_000_000
#: From so many hours on an age is told in days.
_DAYS_FROM = 48
#: Nodes of a join token that are named.
_MOST_NODES = 12


class TokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list of tokens."""

    token: AclToken
    #: Tone, icon and word: in use, ends soon, never ends, ended.
    state: str
    word: str
    may: str
    owner: str
    #: When it was used last, to the hour.
    used: str


class JoinLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list of join tokens."""

    token: JoinToken
    state: str
    word: str
    uses: str
    #: Some that joined by it and are still there, by id and name; and how many more there are.
    nodes: tuple[tuple[str, str], ...]
    more: int


def tokens_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the list of all tokens; those worth a look come first."""
    held, used = owners(), reader.token_uses()
    lines = [_line(token, held, used, viewer.now) for token in reader.list_all(ACL_TOKENS)]
    order = {"failed": 0, "blocked": 1, "ready": 2, "canceled": 3}
    lines.sort(key=lambda each: (order[each.state], -each.token.create_time))
    watched = sum(each.state in {"failed", "blocked"} for each in lines)
    return {
        "tabs": access_tabs(reader, "/access/tokens/"),
        "tokens": lines,
        "watched": watched,
        "policy_names": [each.name for each in _policies(reader)],
        "roles": _roles(reader),
        "spans": span_choices(),
        "crumbs": crumbs(("Access", "/access/"), ("Tokens", "")),
    }


def own_tokens(
    reader: RecordReader, person: Person, accessors: Iterable[str], now: int
) -> dict[str, Any]:
    """What the own page says of the tokens of an account, and of making one."""
    found = (reader.get(ACL_TOKENS, accessor) for accessor in accessors)
    tokens = sorted(
        (token for token in found if token is not None), key=lambda each: -each.create_time
    )
    policies = own_policies(person)
    if person.is_management:
        policies = [each.name for each in _policies(reader)]
    used = reader.token_uses()
    lines = [_line(token, {}, used, now) for token in tokens]
    ended = sum(line.state == _ENDED for line in lines)
    return {
        "own_tokens": lines,
        "own_tokens_counted": _counted(len(lines) - ended, ended),
        "tokens_told": gettext("{tokens} yours.").format(
            tokens=count_of(len(lines) - ended, "{count} token is", "{count} tokens are")
        )
        if len(lines) > ended
        else "",
        "own_policies": policies,
        # Who may do everything rarely wants a token that names every policy there is.
        "own_chosen": not person.is_management,
        "spans": span_choices(),
    }


def _counted(open_ones: int, ended: int) -> str:
    told = [
        gettext("{count} open").format(count=number(open_ones)) if open_ones else "",
        gettext("{count} ended").format(count=number(ended)) if ended else "",
    ]
    return ", ".join(filter(None, told))


def span_choices() -> list[tuple[int, str]]:
    """Seconds and words of how long a token may live."""
    return [(each // 1_000_000_000, span(each)) for each in spans()]


def roles_page(reader: RecordReader, _viewer: Viewer, role_id: str = "") -> dict[str, Any]:
    """The context of the list of roles, with the one that is to be changed."""
    tokens = reader.list_all(ACL_TOKENS)
    return {
        "tabs": access_tabs(reader, "/access/roles/"),
        "typed": reader.get(ACL_ROLES, role_id) if role_id else None,
        "roles": [
            (role, sum(any(link.id == role.id for link in each.roles) for each in tokens))
            for role in _roles(reader)
        ],
        "policies": _policies(reader),
        "crumbs": crumbs(("Access", "/access/"), ("Roles", "")),
    }


def joins_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the list of join tokens, the open ones first."""
    nodes = nodes_by_join_token()
    lines = [_join(token, nodes.get(token.id, []), viewer.now) for token in list_join_tokens()]
    lines.sort(key=lambda each: (each.state != "ready", -each.token.created))
    return {
        "tabs": access_tabs(reader, "/access/join-tokens/"),
        "joins": lines,
        "open_count": sum(each.state == "ready" for each in lines),
        "crumbs": crumbs(("Access", "/access/"), (gettext("Join tokens"), "")),
    }


def used_told(used_at: int, now: int) -> str:
    """When a token was last used: uses are noted to the hour, so no more is said."""
    if not used_at:
        return gettext("no use noted")
    hours = (now - used_at) // PRECISION
    if hours < 1:
        return gettext("in the last hour")
    if hours < _DAYS_FROM:
        return gettext("{count} h ago").format(count=hours)
    return gettext("{count} d ago").format(count=number(hours // 24))


def _line(
    token: AclToken, held: Mapping[str, str], used: Mapping[str, int], now: int
) -> TokenLine:
    state, word = _state(token, now)
    may = "everything" if token.is_management else ", ".join(token.policies)
    roles = ", ".join(gettext("role {link}").format(link=link.name) for link in token.roles)
    return TokenLine(
        token=token,
        state=state,
        word=word,
        may=", ".join(part for part in (may, roles) if part) or "nothing",
        owner=held.get(token.accessor_id, ""),
        used=used_told(used.get(token.accessor_id, 0), now),
    )


def _state(token: AclToken, now: int) -> tuple[str, str]:
    if token.expiration_time and token.expiration_time <= now:
        return _ENDED, "ended"
    if not token.expiration_time:
        if token.is_management:
            return "failed", gettext("everything, for ever")
        return "blocked", gettext("never ends")
    return "ready", gettext("ends soon") if token.expiration_time - now < _DAY // 24 else "open"


def _join(token: JoinToken, nodes: list[tuple[str, str]], now: int) -> JoinLine:
    uses = gettext("without limit") if token.uses_left == UNLIMITED else number(token.uses_left)
    if token.expires and token.expires <= now:
        state, word = "canceled", "ended"
    elif token.uses_left == 0:
        state, word = "complete", gettext("used up")
    else:
        state, word = "ready", "open"
    return JoinLine(
        token=token,
        state=state,
        word=word,
        uses=uses,
        nodes=tuple(nodes[:_MOST_NODES]),
        more=max(0, len(nodes) - _MOST_NODES),
    )


def _policies(reader: RecordReader) -> list[Any]:
    return sorted(reader.list_all(ACL_POLICIES), key=lambda each: each.name)


def _roles(reader: RecordReader) -> list[AclRole]:
    return sorted(reader.list_all(ACL_ROLES), key=lambda each: each.name)
