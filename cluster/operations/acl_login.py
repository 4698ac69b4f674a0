"""Sign in with a token of elsewhere: verify it, see which rules match, make a token of ours.

In: an auth method and a signed token. Out: a new token with its secret, or `OperationRefused`.
In three steps, because the keys of the method may have to be fetched: find, prove, write.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.logins.claims import Claims, filled, mapped_claims, variables
from cluster.logins.errors import ClaimsUnreadable, IssuerUnreachable, LoginRefused
from cluster.logins.keys import public_keys
from cluster.logins.verify import verified_claims
from cluster.operations.acl_policies import NAME
from cluster.operations.acl_tokens import TokenMade, create_token
from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import compile_filter
from cluster.store.writer import DjangoStateStore
from scheduler.access.access import MANAGEMENT
from scheduler.access.caller import Caller
from scheduler.ports import IDSource, StateReader
from scheduler.state.nouns import (
    ACL_AUTH_METHODS,
    ACL_BINDING_RULES,
    ACL_POLICIES,
    ACL_ROLES,
)
from scheduler.structs.acl_auth import (
    AuthConfig,
    AuthMethod,
    AuthType,
    BindingRule,
    BindType,
    TokenLocality,
)
from scheduler.structs.acl_token import AclToken, RoleLink, TokenType


class NotProved(OperationRefused):
    """The token shown is not what the method asks for."""

    status = 401


class Bound(NamedTuple):
    """What matching rules give together."""

    is_management: bool = False
    policies: tuple[str, ...] = ()
    roles: tuple[RoleLink, ...] = ()


def login_method(reader: StateReader, name: str, signed: str) -> AuthMethod:
    """The method that somebody asks to sign in by, with a signed token."""
    missing = [
        f"missing {what}"
        for what, given in (("auth method name", name), ("login token", signed))
        if not given
    ]
    if missing:
        raise OperationRefused(f"invalid login request: {error_text(missing)}")
    method = reader.get(ACL_AUTH_METHODS, name)
    if method is None:
        raise OperationRefused(f'auth-method "{name}" not found')
    if method.type != AuthType.JWT:
        raise OperationRefused(f"unsupported auth-method type: {method.type}")
    return method


def prove(method: AuthMethod, signed: str, *, now: int) -> Claims:
    """What a signed token says to the rules of a method, once it is verified.

    May wait for the keys of the method, so it belongs on a thread without a transaction.
    """
    config = method.config or AuthConfig()
    try:
        said = verified_claims(signed, config, public_keys(config), now=now)
        return mapped_claims(said, config.claim_mappings, config.list_claim_mappings)
    except (IssuerUnreachable, LoginRefused) as error:
        raise NotProved(f"unable to validate provided token: {error}") from None
    except ClaimsUnreadable as error:
        raise OperationRefused(str(error)) from None


def token_for(
    store: DjangoStateStore,
    method: AuthMethod,
    claims: Claims,
    *,
    by: Caller,
    now: int,
    ids: IDSource,
) -> TokenMade:
    """A token of ours for somebody whose claims are proved: `by` is nobody yet."""
    bound = store.read(lambda reader: bound_by_rules(reader, method, claims))
    if not (bound.is_management or bound.policies or bound.roles):
        raise OperationRefused("no role or policy bindings matched")
    kind = TokenType.MANAGEMENT if bound.is_management else TokenType.CLIENT
    asked = AclToken(
        name=_token_name(method, claims),
        type=kind,
        policies=bound.policies,
        roles=bound.roles,
        global_=method.token_locality == TokenLocality.GLOBAL,
        expiration_ttl=method.max_token_ttl,
    )
    # What was proved gives the right to this one token.
    proved = replace(by, name=f"auth method {method.name}", access=MANAGEMENT)
    return create_token(store, asked, by=proved, now=now, ids=ids)


def bound_by_rules(reader: StateReader, method: AuthMethod, claims: Claims) -> Bound:
    """What the rules of a method give for these claims; what is not there is passed over."""
    policies: dict[str, None] = {}
    roles: dict[str, RoleLink] = {}
    for rule in _matching(reader.list_by(ACL_BINDING_RULES, "method", method.name), claims):
        if rule.bind_type == BindType.MANAGEMENT:
            return Bound(is_management=True)
        name = _bind_name(rule, claims)
        if rule.bind_type == BindType.POLICY and reader.get(ACL_POLICIES, name) is not None:
            policies[name] = None
        elif rule.bind_type == BindType.ROLE:
            for role in reader.list_by(ACL_ROLES, "name", name):
                roles[role.id] = RoleLink(id=role.id, name=role.name)
    return Bound(policies=tuple(policies), roles=tuple(roles.values()))


def _matching(rules: Iterable[BindingRule], claims: Claims) -> Iterable[BindingRule]:
    for rule in rules:
        try:
            if not rule.selector or compile_filter(rule.selector).wants(claims.as_item()):
                yield rule
        except OperationRefused:
            # It asks for what these claims do not have.
            continue


def _bind_name(rule: BindingRule, claims: Claims) -> str:
    said = f'"{rule.bind_type}" bind name for bind target'
    try:
        name = filled(rule.bind_name, variables(claims), str.lower)
    except ClaimsUnreadable as error:
        raise OperationRefused(f"cannot compute {said}: {error}") from None
    if not NAME.fullmatch(name):
        raise OperationRefused(f'computed {said} is invalid: "{name}"')
    return name


def _token_name(method: AuthMethod, claims: Claims) -> str:
    facts = variables(claims) | {
        "auth_method_type": method.type,
        "auth_method_name": method.name,
    }
    try:
        return filled(method.token_name_format, facts)
    except ClaimsUnreadable as error:
        raise OperationRefused(f"failed to generate token name: {error}") from None
