"""Write and delete auth methods and the rules that say what they give.

In: a store, a method or a rule. Out: it as it is stored, or `OperationRefused` that names what is
wrong. Nobody is signed in here.
"""

from msgspec.structs import replace

from cluster.jobspec.durations import duration_text
from cluster.jobspec.problems import error_text
from cluster.logins.verify import ALGORITHMS
from cluster.operations.acl_policies import LONGEST_DESCRIPTION, NAME
from cluster.operations.acl_tokens import token_limits
from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import READ_FAILED, compile_filter
from cluster.operations.rights import require_management
from cluster.seals import SealBroken, opened_secret, sealed_secret
from scheduler.access.caller import Caller
from scheduler.ports import Change, IDSource, StateStore
from scheduler.state.nouns import ACL_AUTH_METHODS, ACL_BINDING_RULES
from scheduler.structs.acl_auth import (
    AuthConfig,
    AuthMethod,
    AuthType,
    BindingRule,
    BindType,
    TokenLocality,
)

#: In place of a secret in what is shown; sent back, it leaves the secret as it is.
REDACTED = "redacted"
NO_METHOD = "ACL auth method not found"
NO_RULE = "ACL binding rule not found"
USUAL_NAME_FORMAT = "${auth_method_type}-${auth_method_name}"


def put_auth_method(
    store: StateStore, asked: AuthMethod, *, by: Caller, now: int
) -> tuple[int, AuthMethod]:
    """Create the method, or change the one of its name; the index of the write, and the method.

    Of a stored one, what is empty in `asked` stays; `default` is taken as it is given.
    """
    require_management(by)

    def work(change: Change) -> AuthMethod:
        stored = change.get(ACL_AUTH_METHODS, asked.name)
        method = _merged(asked, stored)
        problems = _problems(method)
        if problems:
            raise OperationRefused(f"auth method 0 invalid: {error_text(problems)}")
        if method.default:
            _require_only_default(change, method)
        method = replace(
            method,
            create_time=now if stored is None else stored.create_time,
            modify_time=now,
            create_index=change.index if stored is None else stored.create_index,
            modify_index=change.index,
        )
        change.put(ACL_AUTH_METHODS, method)
        return method

    return store.write(ACL_AUTH_METHODS.upserted, work, now=now, by=by)


def delete_auth_method(store: StateStore, name: str, *, by: Caller, now: int) -> int:
    """Delete a method; the index of the write. Its rules stay, and give nobody anything."""
    require_management(by)

    def work(change: Change) -> None:
        if change.get(ACL_AUTH_METHODS, name) is None:
            raise OperationRefused(NO_METHOD)
        change.delete(ACL_AUTH_METHODS, name)

    return store.write(ACL_AUTH_METHODS.deleted, work, now=now, by=by)[0]


def put_binding_rule(
    store: StateStore, asked: BindingRule, *, by: Caller, now: int, ids: IDSource
) -> tuple[int, BindingRule]:
    """Create the rule, or change the one of its id; the index of the write, and the rule.

    Of a stored one, method, kind and name stay where `asked` leaves them empty; description and
    selector are replaced.
    """
    require_management(by)
    new_id = "" if asked.id else ids.next_id()

    def work(change: Change) -> BindingRule:
        stored = change.get(ACL_BINDING_RULES, asked.id) if asked.id else None
        if asked.id and stored is None:
            raise OperationRefused(f"cannot find binding rule {asked.id}")
        rule = asked
        if stored is not None:
            if asked.auth_method not in {"", stored.auth_method}:
                raise OperationRefused(
                    "cannot update auth method for binding rule, create a new rule instead"
                )
            rule = replace(
                asked,
                auth_method=stored.auth_method,
                bind_type=asked.bind_type or stored.bind_type,
                bind_name=asked.bind_name or stored.bind_name,
            )
        problems = _problems_of_rule(rule)
        if problems:
            raise OperationRefused(f"binding rule 0 invalid: {error_text(problems)}")
        if change.get(ACL_AUTH_METHODS, rule.auth_method) is None:
            raise OperationRefused(f"ACL auth method {rule.auth_method} not found")
        rule = replace(
            rule,
            id=rule.id or new_id,
            create_time=now if stored is None else stored.create_time,
            modify_time=now,
            create_index=change.index if stored is None else stored.create_index,
            modify_index=change.index,
        )
        change.put(ACL_BINDING_RULES, rule)
        return rule

    return store.write(ACL_BINDING_RULES.upserted, work, now=now, by=by)


def delete_binding_rule(store: StateStore, rule_id: str, *, by: Caller, now: int) -> int:
    """Delete a rule; the index of the write."""
    require_management(by)

    def work(change: Change) -> None:
        if change.get(ACL_BINDING_RULES, rule_id) is None:
            raise OperationRefused(NO_RULE)
        change.delete(ACL_BINDING_RULES, rule_id)

    return store.write(ACL_BINDING_RULES.deleted, work, now=now, by=by)[0]


def _merged(asked: AuthMethod, stored: AuthMethod | None) -> AuthMethod:
    asked = replace(asked, config=_sealed(asked.config, stored))
    if stored is None:
        return replace(asked, token_name_format=asked.token_name_format or USUAL_NAME_FORMAT)
    return replace(
        asked,
        type=asked.type or stored.type,
        token_locality=asked.token_locality or stored.token_locality,
        token_name_format=asked.token_name_format or stored.token_name_format,
        max_token_ttl=asked.max_token_ttl or stored.max_token_ttl,
        config=asked.config or stored.config,
    )


def _sealed(config: AuthConfig | None, stored: AuthMethod | None) -> AuthConfig | None:
    """The configuration with its secret as the record keeps it."""
    if config is None:
        return None
    kept = stored.config.oidc_client_secret if stored and stored.config else ""
    given = config.oidc_client_secret
    if given == REDACTED or (kept and given == _opened(kept)):
        return replace(config, oidc_client_secret=kept)
    return replace(config, oidc_client_secret=sealed_secret(given))


def _opened(kept: str) -> str | None:
    try:
        return opened_secret(kept)
    except SealBroken:
        return None


def _require_only_default(change: Change, method: AuthMethod) -> None:
    for other in change.list_all(ACL_AUTH_METHODS):
        if other.default and other.name != method.name:
            raise OperationRefused(f"default method already exists: {other.name}")


def _problems(method: AuthMethod) -> list[str]:
    problems = []
    if not NAME.fullmatch(method.name):
        problems.append(f"invalid name '{method.name}'")
    if method.token_locality not in set(TokenLocality):
        problems.append(f"invalid token locality '{method.token_locality}'")
    if method.type not in set(AuthType):
        problems.append(f"invalid token type '{method.type}'")
    limits = token_limits()
    if not limits.shortest <= method.max_token_ttl <= limits.longest:
        problems.append(
            f"invalid MaxTokenTTL value '{duration_text(method.max_token_ttl)}' (should be between"
            f" {duration_text(limits.shortest)} and {duration_text(limits.longest)})"
        )
    return [*problems, *_problems_of_config(method)]


def _problems_of_config(method: AuthMethod) -> list[str]:
    config = method.config
    if config is None:
        return ["invalid config: missing auth method Config"]
    wrong = _missing_for_jwt(config) if method.type == AuthType.JWT else _missing_for_oidc(config)
    wrong += [
        f"unsupported signing algorithm: {name}"
        for name in config.signing_algs
        if name not in ALGORITHMS
    ]
    if not wrong:
        return []
    return [f"invalid config: {wrong[0] if len(wrong) == 1 else error_text(wrong)}"]


def _missing_for_jwt(config: AuthConfig) -> list[str]:
    if config.oidc_discovery_url or config.jwks_url or config.jwt_validation_pub_keys:
        return []
    sources = "OIDCDiscoveryURL, or JWKS URL, or JWTValidationPubKeys"
    return [f"JWT auth method requires either {sources} set"]


def _missing_for_oidc(config: AuthConfig) -> list[str]:
    needed = {
        "OIDCDiscoveryURL": config.oidc_discovery_url,
        "OIDCClientID": config.oidc_client_id,
    }
    return [f"missing {name}" for name, value in needed.items() if not value]


def _problems_of_rule(rule: BindingRule) -> list[str]:
    problems = []
    if not rule.auth_method:
        problems.append("auth method is missing")
    if not rule.bind_type:
        problems.append("bind type is missing")
    elif rule.bind_type not in set(BindType):
        problems.append(f'unsupported bind type: "{rule.bind_type}"')
    elif rule.bind_type == BindType.MANAGEMENT and rule.bind_name:
        problems.append("bind name should be empty")
    elif rule.bind_type != BindType.MANAGEMENT and not rule.bind_name:
        problems.append("bind name is missing")
    if len(rule.description) > LONGEST_DESCRIPTION:
        problems.append(f"description longer than {LONGEST_DESCRIPTION}")
    if rule.selector:
        try:
            compile_filter(rule.selector)
        except OperationRefused as error:
            problems.append(f"selector is invalid: {str(error).removeprefix(READ_FAILED)}")
    return problems
