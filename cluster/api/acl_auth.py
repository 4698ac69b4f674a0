"""Auth methods and binding rules: how lists show them, and their writes (access.md 6)."""

from typing import Any

from django.http import HttpResponse

from cluster.api.body import Body
from cluster.api.encode import to_plain
from cluster.api.request import Call
from cluster.api.respond import answer_write
from cluster.operations.acl_auth_methods import (
    delete_auth_method,
    delete_binding_rule,
    put_auth_method,
    put_binding_rule,
)
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from scheduler.structs.acl_auth import AuthConfig, AuthMethod, BindingRule

_METHOD_STUB = ("Name", "Type", "Default", "Hash", "CreateIndex", "ModifyIndex")
_RULE_STUB = ("ID", "Description", "AuthMethod", "Hash", "CreateIndex", "ModifyIndex")
MISSING_NAME = "missing ACL auth-method name"
MISSING_ID = "missing ACL binding rule ID"


def method_stub(method: AuthMethod) -> dict[str, Any]:
    """What a list shows of a method: nothing of its configuration."""
    return _chosen(to_plain(method), _METHOD_STUB)


def rule_stub(rule: BindingRule) -> dict[str, Any]:
    """What a list shows of a rule."""
    return _chosen(to_plain(rule), _RULE_STUB)


async def write_method(call: Call, name: str | None = None) -> HttpResponse:
    """PUT /v1/acl/auth-method, PUT /v1/acl/auth-method/<name>: makes one or changes it."""
    require_management(call.caller)
    if name == "":
        raise OperationRefused(MISSING_NAME)
    body = call.body("ACLAuthMethod")
    if name is not None and body.text("Name") != name:
        raise OperationRefused("ACL auth-method name does not match request path")
    index, method = await call.write(put_auth_method, _method_of(body), ids=False)
    return answer_write(call.request, to_plain(method), index)


async def remove_method(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/acl/auth-method/<name>."""
    require_management(call.caller)
    if not name:
        raise OperationRefused(MISSING_NAME)
    index = await call.write(delete_auth_method, name, ids=False)
    return answer_write(call.request, None, index)


async def write_rule(call: Call, name: str | None = None) -> HttpResponse:
    """PUT /v1/acl/binding-rule makes one, PUT /v1/acl/binding-rule/<id> changes it."""
    require_management(call.caller)
    if name == "":
        raise OperationRefused(MISSING_ID)
    body = call.body("ACLBindingRule")
    if name is not None and body.text("ID") != name:
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


async def remove_rule(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/acl/binding-rule/<id>."""
    require_management(call.caller)
    if not name:
        raise OperationRefused(MISSING_ID)
    index = await call.write(delete_binding_rule, name, ids=False)
    return answer_write(call.request, None, index)


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
