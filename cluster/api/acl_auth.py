"""Auth methods, binding rules and signing in by a token of elsewhere (access.md 6)."""

import asyncio
from typing import Any

from django.http import HttpResponse

from cluster.api.acl_tokens import token_form
from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.paging import BY_ID, BY_NAME, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_row, watch_table
from cluster.operations.acl_auth_methods import (
    NO_RULE,
    delete_auth_method,
    delete_binding_rule,
    put_auth_method,
    put_binding_rule,
)
from cluster.operations.acl_login import login_method, prove, token_for
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_AUTH_METHODS, ACL_BINDING_RULES
from scheduler.structs.acl_auth import AuthConfig, AuthMethod, BindingRule

_METHOD_STUB = ("Name", "Type", "Default", "Hash", "CreateIndex", "ModifyIndex")
_RULE_STUB = ("ID", "Description", "AuthMethod", "Hash", "CreateIndex", "ModifyIndex")
_MISSING_NAME = "missing ACL auth-method name"
_MISSING_ID = "missing ACL binding rule ID"
_METHODS, _RULES = "acl_auth_methods", "acl_binding_rules"


async def list_methods(call: Call) -> HttpResponse:
    """GET /v1/acl/auth-methods: for everybody, because it is asked before one signs in."""
    listing = read_listing(call.query)

    def work(reader: StateReader) -> Found:
        stored = reader.list_all(ACL_AUTH_METHODS)
        wanted = (method for method in stored if method.name.startswith(listing.prefix))
        page = page_of(wanted, listing, BY_NAME)
        return Found(
            index=reader.table_index(_METHODS),
            body=[_chosen(to_plain(method), _METHOD_STUB) for method in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_METHODS))


async def read_method(call: Call, name: str) -> HttpResponse:
    """GET /v1/acl/auth-method/<name>."""
    require_management(call.caller)
    if not name:
        raise OperationRefused(_MISSING_NAME)

    def work(reader: StateReader) -> Found:
        method = reader.get(ACL_AUTH_METHODS, name)
        if method is None:
            index = reader.table_index(_METHODS)
            return Found(index=index, missing="ACL auth-method not found")
        return Found(index=method.modify_index, body=to_plain(method))

    return await answer_read(call, work, watch_row(_METHODS, name))


async def write_method(call: Call, name: str | None = None) -> HttpResponse:
    """PUT /v1/acl/auth-method, PUT /v1/acl/auth-method/<name>: makes one or changes it."""
    require_management(call.caller)
    if name == "":
        raise OperationRefused(_MISSING_NAME)
    body = call.body("ACLAuthMethod")
    if name is not None and body.text("Name") != name:
        raise OperationRefused("ACL auth-method name does not match request path")
    index, method = await call.write(put_auth_method, _method_of(body), ids=False)
    return answer_write(call.request, to_plain(method), index)


async def remove_method(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/acl/auth-method/<name>."""
    require_management(call.caller)
    if not name:
        raise OperationRefused(_MISSING_NAME)
    index = await call.write(delete_auth_method, name, ids=False)
    return answer_write(call.request, None, index)


async def list_rules(call: Call) -> HttpResponse:
    """GET /v1/acl/binding-rules."""
    require_management(call.caller)
    listing = read_listing(call.query)

    def work(reader: StateReader) -> Found:
        stored = reader.list_all(ACL_BINDING_RULES)
        wanted = (rule for rule in stored if rule.id.startswith(listing.prefix))
        page = page_of(wanted, listing, BY_ID)
        return Found(
            index=reader.table_index(_RULES),
            body=[_chosen(to_plain(rule), _RULE_STUB) for rule in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_RULES))


async def read_rule(call: Call, rule_id: str) -> HttpResponse:
    """GET /v1/acl/binding-rule/<id>."""
    require_management(call.caller)
    if not rule_id:
        raise OperationRefused(_MISSING_ID)

    def work(reader: StateReader) -> Found:
        rule = reader.get(ACL_BINDING_RULES, rule_id)
        if rule is None:
            return Found(index=reader.table_index(_RULES), missing=NO_RULE)
        return Found(index=rule.modify_index, body=to_plain(rule))

    return await answer_read(call, work, watch_row(_RULES, rule_id))


async def write_rule(call: Call, rule_id: str | None = None) -> HttpResponse:
    """PUT /v1/acl/binding-rule makes one, PUT /v1/acl/binding-rule/<id> changes it."""
    require_management(call.caller)
    if rule_id == "":
        raise OperationRefused(_MISSING_ID)
    body = call.body("ACLBindingRule")
    if rule_id is not None and body.text("ID") != rule_id:
        raise OperationRefused("ACL binding rule ID does not match request path")
    rule = BindingRule(
        id=body.text("ID"),
        description=body.text("Description"),
        auth_method=body.text("AuthMethod"),
        selector=body.text("Selector"),
        bind_type=body.text("BindType"),
        bind_name=body.text("BindName"),
    )
    index, stored = await call.write(put_binding_rule, rule)
    return answer_write(call.request, to_plain(stored), index)


async def remove_rule(call: Call, rule_id: str) -> HttpResponse:
    """DELETE /v1/acl/binding-rule/<id>."""
    require_management(call.caller)
    if not rule_id:
        raise OperationRefused(_MISSING_ID)
    index = await call.write(delete_binding_rule, rule_id, ids=False)
    return answer_write(call.request, None, index)


async def sign_in(call: Call) -> HttpResponse:
    """PUT /v1/acl/login: a token of ours for one that an auth method trusts."""
    body = call.body("ACLLoginRequest")
    name, signed = body.text("AuthMethodName"), body.text("LoginToken")
    method = await call.read(lambda reader: login_method(reader, name, signed))
    claims = await asyncio.to_thread(prove, method, signed, now=call.now)
    made = await call.write(token_for, method, claims)
    form = await call.read(lambda reader: token_form(reader, made.token, made.secret))
    return answer_write(call.request, form, 0)


def _chosen(form: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: form[name] for name in names}


def _method_of(body: Body) -> AuthMethod:
    config = body.nested("Config")
    return AuthMethod(
        name=body.text("Name"),
        type=body.text("Type"),
        token_locality=body.text("TokenLocality"),
        token_name_format=body.text("TokenNameFormat"),
        max_token_ttl=body.duration("MaxTokenTTL"),
        default=body.flag("Default"),
        config=None if config is None else _config_of(config),
    )


def _config_of(body: Body) -> AuthConfig:
    if body.nested("OIDCClientAssertion") is not None:
        raise OperationRefused("Config.OIDCClientAssertion is not built: use OIDCClientSecret")
    return AuthConfig(
        expiration_leeway=body.duration("ExpirationLeeway"),
        not_before_leeway=body.duration("NotBeforeLeeway"),
        clock_skew_leeway=body.duration("ClockSkewLeeway"),
        jwt_validation_pub_keys=body.list_of_texts("JWTValidationPubKeys"),
        jwks_url=body.text("JWKSURL"),
        jwks_ca_cert=body.text("JWKSCACert"),
        oidc_discovery_url=body.text("OIDCDiscoveryURL"),
        discovery_ca_pem=body.list_of_texts("DiscoveryCaPem"),
        oidc_client_id=body.text("OIDCClientID"),
        oidc_client_secret=body.text("OIDCClientSecret"),
        oidc_enable_pkce=body.flag("OIDCEnablePKCE"),
        oidc_disable_user_info=body.flag("OIDCDisableUserInfo"),
        oidc_scopes=body.list_of_texts("OIDCScopes"),
        bound_audiences=body.list_of_texts("BoundAudiences"),
        bound_issuer=body.list_of_texts("BoundIssuer"),
        allowed_redirect_uris=body.list_of_texts("AllowedRedirectURIs"),
        signing_algs=body.list_of_texts("SigningAlgs"),
        claim_mappings=body.texts("ClaimMappings"),
        list_claim_mappings=body.texts("ListClaimMappings"),
        verbose_logging=body.flag("VerboseLogging"),
    )
