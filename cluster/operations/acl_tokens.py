"""Make, change and take back tokens.

In: a store and a token as its maker describes it. Out: the token as it is stored, and for a new
one its secret, which nobody can ask for again. Everything wrong is named at once.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from django.conf import settings
from msgspec.structs import replace

from cluster.jobspec.durations import duration_text
from cluster.jobspec.problems import error_text
from cluster.operations.acl_policies import NAME
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from cluster.store.tokens import find_token, hash_of_secret, new_secret
from cluster.store.writer import DjangoStateStore
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource
from scheduler.state.nouns import ACL_BOOTSTRAP, ACL_ROLES, ACL_TOKENS, BOOTSTRAP_KEY
from scheduler.structs.acl_token import AclBootstrap, AclToken, RoleLink, TokenType

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LONGEST_NAME = 256
_SECOND = 1_000_000_000


class TokenLimits(NamedTuple):
    """How long tokens that expire may live, ns."""

    shortest: int
    longest: int


class TokenMade(msgspec.Struct, frozen=True):
    """A new token, the secret that opens doors with it, and the index of the write."""

    token: AclToken
    secret: str
    index: int


def token_limits() -> TokenLimits:
    """As the settings say."""
    return TokenLimits(
        settings.BIVOUAC_TOKEN_MIN_TTL * _SECOND, settings.BIVOUAC_TOKEN_MAX_TTL * _SECOND
    )


def create_token(
    store: DjangoStateStore,
    asked: AclToken,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    secret: str = "",
) -> TokenMade:
    """Store a new token; accessor and secret are made when none is given."""
    require_management(by)
    token = replace(
        asked, accessor_id=asked.accessor_id or ids.next_id(), create_time=asked.create_time or now
    )
    if token.expiration_ttl and not token.expiration_time:
        token = replace(token, expiration_time=token.create_time + token.expiration_ttl)
    if secret and find_token(store, secret) is not None:
        raise OperationRefused("the SecretID is that of another token")
    secret, limits = secret or new_secret(), token_limits()

    def work(change: Change) -> AclToken:
        linked = replace(token, roles=_linked(change, token.roles))
        _refuse([*_problems(linked), *_problems_of_expiry(linked, limits)])
        return put_new_token(change, linked, secret)

    index, stored = store.write(ACL_TOKENS.upserted, work, now=now, by=by)
    return TokenMade(token=stored, secret=secret, index=index)


def put_new_token(change: Change, token: AclToken, secret: str) -> AclToken:
    """Put a token with its secret; the first one of a manager starts access control."""
    stored = replace(token, create_index=change.index, modify_index=change.index)
    change.put(ACL_TOKENS, stored)
    change.put_secret(ACL_TOKENS, stored.accessor_id, hash_of_secret(secret))
    if stored.is_management and change.get(ACL_BOOTSTRAP, BOOTSTRAP_KEY) is None:
        change.put(ACL_BOOTSTRAP, AclBootstrap(reset_index=change.index))
    return stored


def update_token(
    store: DjangoStateStore, asked: AclToken, *, by: Caller, now: int
) -> tuple[int, AclToken]:
    """Replace name, type, policies and roles of a token; the index of the write, and the token.

    Secret, creation and expiry stay as they are; `asked` must repeat the stored span of life, and
    an expiry other than the stored one is refused.
    """
    require_management(by)

    def work(change: Change) -> AclToken:
        stored = change.get(ACL_TOKENS, asked.accessor_id)
        if stored is None:
            raise OperationRefused(f"cannot find token {asked.accessor_id}")
        changed = replace(
            stored,
            name=asked.name,
            type=asked.type,
            policies=asked.policies,
            roles=_linked(change, asked.roles),
            modify_index=change.index,
        )
        _refuse([*_problems(changed), *_problems_of_change(stored, asked)])
        change.put(ACL_TOKENS, changed)
        return changed

    return store.write(ACL_TOKENS.upserted, work, now=now, by=by)


def delete_tokens(
    store: DjangoStateStore, accessors: Sequence[str], *, by: Caller, now: int
) -> int:
    """Take tokens back, all or none; the index of the write."""
    require_management(by)

    def work(change: Change) -> None:
        missing = [name for name in accessors if change.get(ACL_TOKENS, name) is None]
        if missing:
            raise OperationRefused(f"Cannot delete nonexistent tokens: {', '.join(missing)}")
        for accessor in accessors:
            change.delete(ACL_TOKENS, accessor)

    return store.write(ACL_TOKENS.deleted, work, now=now, by=by)[0]


def _linked(change: Change, links: Iterable[RoleLink]) -> tuple[RoleLink, ...]:
    """Links to roles that exist, by id or else by name, each once, with both filled in."""
    linked: dict[str, RoleLink] = {}
    for link in links:
        if link.id:
            role = change.get(ACL_ROLES, link.id)
        else:
            role = next(iter(change.list_by(ACL_ROLES, "name", link.name)), None)
        if role is None:
            raise OperationRefused(f"cannot find role {link.id or link.name}")
        linked[role.id] = RoleLink(id=role.id, name=role.name)
    return tuple(linked.values())


def _refuse(problems: list[str]) -> None:
    if problems:
        raise OperationRefused(f"token 0 invalid: {error_text(problems)}")


def _problems(token: AclToken) -> list[str]:
    problems = []
    if len(token.name) > _LONGEST_NAME:
        problems.append("token name too long")
    if not token.name.isprintable():
        problems.append("token name holds characters that cannot be printed")
    problems += [
        f"invalid policy name {name!r}" for name in token.policies if not NAME.fullmatch(name)
    ]
    has_rules = bool(token.policies or token.roles)
    if token.type not in set(TokenType):
        problems.append("token type must be client or management")
    elif token.type == TokenType.CLIENT and not has_rules:
        problems.append("client token missing policies or roles")
    elif token.type == TokenType.MANAGEMENT and has_rules:
        problems.append("management token cannot be associated with policies or roles")
    return problems


def _problems_of_expiry(token: AclToken, limits: TokenLimits) -> list[str]:
    problems = []
    if token.expiration_ttl < 0:
        span = duration_text(token.expiration_ttl)
        problems.append(f"token expiration TTL '{span}' should not be negative")
    if not token.expiration_time:
        return problems
    life = token.expiration_time - token.create_time
    if life < 0:
        problems.append("expiration time cannot be before create time")
    if life < limits.shortest:
        problems.append(_beyond("less", limits.shortest, life))
    elif life > limits.longest:
        problems.append(_beyond("more", limits.longest, life))
    return problems


def _beyond(word: str, limit: int, life: int) -> str:
    return (
        f"expiration time cannot be {word} than {duration_text(limit)} in the future"
        f" (was {duration_text(life)})"
    )


def _problems_of_change(stored: AclToken, asked: AclToken) -> list[str]:
    problems = []
    if asked.global_ != stored.global_:
        problems.append("cannot toggle global mode")
    if asked.expiration_ttl != stored.expiration_ttl:
        problems.append("cannot update expiration TTL")
    if asked.expiration_time not in {0, stored.expiration_time}:
        problems.append("cannot update expiration time")
    return problems
