"""The operations of namespaces, quotas, services, scaling, variables, search and access."""

from cluster.api.openapi.common_shapes import READ_META
from cluster.api.openapi.operation import (
    Operation,
    listed,
    nothing,
    read,
    removed,
    written,
)
from cluster.api.openapi.shapes import (
    FLAG,
    INSTANT,
    INTEGER,
    NULL,
    OBJECT,
    TEXT,
    Shape,
    array,
    either,
    fields,
    named,
    nullable,
    one_of,
    open_fields,
    sent,
    struct,
    struct_with,
    table,
)
from cluster.operations.quotas import QuotaUsage
from scheduler.structs.acl_auth import AuthMethod, BindingRule
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclRole, AclToken, RoleLink
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.task_group import ScalingPolicy
from scheduler.structs.variable import SealedVariable, VariableLock

_LIMIT = struct_with(
    "QuotaLimit",
    QuotaAmounts,
    {
        "IOPS": INTEGER,
        "SecretsMB": INTEGER,
        "Devices": NULL,
        "Networks": NULL,
        "NUMA": NULL,
        "Storage": fields({"VariablesMB": INTEGER, "HostVolumesMB": INTEGER}),
    },
)
_REGION_LIMIT = fields(
    {"Region": TEXT, "RegionLimit": _LIMIT, "VariablesLimit": INTEGER, "Hash": TEXT}
)
#: With `form=plain` as it is kept.
_QUOTA = either(
    struct_with("QuotaRead", QuotaSpec, {"Limits": array(_REGION_LIMIT), "Hash": TEXT}),
    struct(QuotaSpec),
)
_QUOTA_SENT = open_fields(
    {
        "Name": TEXT,
        "Description?": TEXT,
        "Limits?": either(
            array(open_fields({"Region?": TEXT, "RegionLimit?": sent(QuotaAmounts)})),
            sent(QuotaAmounts),
        ),
    }
)
_USAGE = either(
    named(
        "QuotaUsageRead",
        fields(
            {
                "Name": TEXT,
                "Used": table(_REGION_LIMIT),
                "Namespaces": array(TEXT),
                "CreateIndex": INTEGER,
                "ModifyIndex": INTEGER,
            }
        ),
    ),
    struct(QuotaUsage),
)
_SERVICES = array(
    fields(
        {
            "Namespace": TEXT,
            "Services": array(fields({"ServiceName": TEXT, "Tags": array(TEXT)})),
        }
    )
)
_POLICY_ROW = struct_with(
    "ScalingPolicyStub",
    ScalingPolicy,
    only=("ID", "Enabled", "Type", "Target", "CreateIndex", "ModifyIndex"),
)
_LOCK = {"Lock?": struct(VariableLock)}
_VARIABLE_ROW = struct_with("VariableStub", SealedVariable, _LOCK)
_VARIABLE = struct_with("VariableRead", SealedVariable, _LOCK | {"Items?": nullable(table(TEXT))})
_VARIABLE_SENT = open_fields(
    {
        "Namespace?": TEXT,
        "Path?": TEXT,
        "Items?": table(TEXT),
        "Lock?": open_fields({"ID?": TEXT, "TTL?": TEXT, "LockDelay?": TEXT}),
    }
)
_MATCH = fields({"ID": TEXT, "Scope?": array(TEXT)})
_ACL_POLICY = struct_with("AclPolicyRead", AclPolicy, {"RulesJSON": OBJECT})
_ACL_POLICY_ROW = struct_with("AclPolicyStub", AclPolicy, without=("Rules", "JobACL"))
_TOKEN_FIELDS: dict[str, Shape] = {
    "SecretID": TEXT,
    "Policies": nullable(array(TEXT)),
    "Roles": nullable(array(struct(RoleLink))),
}
_TOKEN = struct_with("AclTokenRead", AclToken, _TOKEN_FIELDS)
_OWN_TOKEN = either(_TOKEN, struct(AclToken))
_TOKEN_ROW = struct_with(
    "AclTokenStub",
    AclToken,
    {name: _TOKEN_FIELDS[name] for name in ("Policies", "Roles")},
    without=("SecretID", "ExpirationTTL"),
)
_TOKEN_SENT = open_fields(
    {
        "AccessorID?": TEXT,
        "SecretID?": TEXT,
        "Name?": TEXT,
        "Type": one_of("client", "management"),
        "Policies?": array(TEXT),
        "Roles?": array(open_fields({"ID?": TEXT, "Name?": TEXT})),
        "Global?": FLAG,
        "ExpirationTime?": nullable(INSTANT),
        "ExpirationTTL?": TEXT,
    }
)
_ONE_TIME = fields(
    {
        "OneTimeToken": fields(
            {
                "OneTimeSecretID": TEXT,
                "AccessorID": TEXT,
                "ExpiresAt": INSTANT,
                "CreateIndex": INTEGER,
                "ModifyIndex": INTEGER,
            }
        ),
        "Index": INTEGER,
    }
)
_METHOD_ROW = struct_with(
    "AuthMethodStub",
    AuthMethod,
    only=("Name", "Type", "Default", "Hash", "CreateIndex", "ModifyIndex"),
)
_RULE_ROW = struct_with(
    "BindingRuleStub",
    BindingRule,
    only=("ID", "Description", "AuthMethod", "Hash", "CreateIndex", "ModifyIndex"),
)
#: Leeways and lives may be sent as texts too, which the struct does not know.
_METHOD_SENT = open_fields({"Name": TEXT, "Type?": TEXT, "Config?": OBJECT, "Default?": FLAG})
_ROLE_SENT = open_fields(
    {
        "ID?": TEXT,
        "Name": TEXT,
        "Description?": TEXT,
        "Policies": array(open_fields({"Name": TEXT})),
    }
)
_SIGNED_IN = (401, 502)


def _search(path: str, match: Shape, body: dict[str, Shape], summary: str) -> Operation:
    answer = fields(
        READ_META | {"Matches": table(nullable(array(match))), "Truncations": table(FLAG)}
    )
    return written(path, open_fields(body), answer, summary)


OPERATIONS = (
    listed("namespaces", array(struct(Namespace)), "Namespaces"),
    read("namespace/{name}", struct(Namespace), "A namespace"),
    written("namespace/{name}", sent(Namespace), None, "Make a namespace, or replace it"),
    written("namespace", sent(Namespace), None, "Make a namespace, or replace it"),
    removed("namespace/{name}", None, "Delete a namespace"),
    listed("quotas", array(_QUOTA), "Quotas", "form"),
    read("quota/{name}", _QUOTA, "A quota", "form"),
    written("quota/{name}", _QUOTA_SENT, None, "Make a quota, or replace it"),
    written("quota", _QUOTA_SENT, None, "Make a quota, or replace it"),
    removed("quota/{name}", None, "Delete a quota"),
    listed("quota-usages", array(_USAGE), "What is used of quotas", "form"),
    read("quota/usage/{name}", _USAGE, "What is used of a quota", "form"),
    read("services", _SERVICES, "Names of services by namespace"),
    listed("service/{name}", array(struct(ServiceRegistration)), "Where a service is offered",
           "choose"),
    removed("service/{name}/{service_id}", None, "Delete a registration"),
    *nothing("service/{id}/{name}/{rest}", 400, "GET"),
    read("scaling/policies", array(_POLICY_ROW), "Scaling policies", "prefix", "filter", "job",
         "type"),
    read("scaling/policy/{policy_id}", struct(ScalingPolicy), "A scaling policy"),
    listed("vars", array(_VARIABLE_ROW), "Variables without their items"),
    read("var/{path}", _VARIABLE, "A variable"),
    written("var/{path}", _VARIABLE_SENT, _VARIABLE, "Write a variable, or its lock",
            )._replace(query=("cas", "lock-acquire", "lock-renew", "lock-release"),
                       refusals=(409,)),
    removed("var/{path}", None, "Delete a variable", "cas",
            )._replace(status=204, refusals=(409,)),
    *nothing("var/{path}", 400, "PATCH"),
    read("plugins", array(OBJECT), "Plugins; there are none", "type"),
    _search("search", TEXT, {"Prefix": TEXT, "Context": TEXT}, "Find by the beginning of an id"),
    _search("search/fuzzy", _MATCH, {"Text": TEXT, "Context": TEXT}, "Find by a part of a name"),
    listed("acl/policies", array(_ACL_POLICY_ROW), "Access policies"),
    read("acl/policy/self", array(_ACL_POLICY_ROW), "The policies of one's own token"),
    read("acl/policy/{name}", _ACL_POLICY, "An access policy"),
    written("acl/policy/{name}", sent(AclPolicy), None, "Make a policy, or replace it"),
    removed("acl/policy/{name}", None, "Delete a policy"),
    written("acl/bootstrap", open_fields({"BootstrapSecret?": TEXT}), _TOKEN,
            "Make the first management token")._replace(is_body_optional=True),
    listed("acl/tokens", array(_TOKEN_ROW), "Tokens without their secrets", "global"),
    written("acl/token", _TOKEN_SENT, _TOKEN, "Make a token"),
    read("acl/token/self", _OWN_TOKEN, "One's own token"),
    written("acl/token/onetime", None, _ONE_TIME, "A text that stands for one's token, once"),
    written("acl/token/onetime/exchange", open_fields({"OneTimeSecretID": TEXT}),
            fields({"Token": _TOKEN, "Index": INTEGER}), "The token behind such a text"),
    read("acl/token/{accessor}", _TOKEN, "A token"),
    written("acl/token/{accessor}", _TOKEN_SENT, _TOKEN, "Change a token"),
    removed("acl/token/{accessor}", None, "Take a token back"),
    listed("acl/roles", array(struct(AclRole)), "Roles"),
    written("acl/role", _ROLE_SENT, struct(AclRole), "Make a role"),
    read("acl/role/name/{name}", struct(AclRole), "A role by its name"),
    read("acl/role/{role_id}", struct(AclRole), "A role"),
    written("acl/role/{role_id}", _ROLE_SENT, struct(AclRole), "Replace a role"),
    removed("acl/role/{role_id}", None, "Delete a role"),
    *nothing("acl/role/{id}/{rest}", 400, "GET", "PUT", "DELETE"),
    listed("acl/auth-methods", array(_METHOD_ROW), "Ways to sign in"),
    written("acl/auth-method", _METHOD_SENT, struct(AuthMethod), "Make a way to sign in"),
    read("acl/auth-method/{name}", struct(AuthMethod), "A way to sign in"),
    written("acl/auth-method/{name}", _METHOD_SENT, struct(AuthMethod), "Change one"),
    removed("acl/auth-method/{name}", None, "Delete one"),
    listed("acl/binding-rules", array(_RULE_ROW), "What those get who sign in"),
    written("acl/binding-rule", sent(BindingRule), struct(BindingRule), "Make a rule"),
    read("acl/binding-rule/{name}", struct(BindingRule), "A rule"),
    written("acl/binding-rule/{name}", sent(BindingRule), struct(BindingRule), "Change a rule"),
    removed("acl/binding-rule/{name}", None, "Delete a rule"),
    written("acl/identity/client-introduction-token",
            open_fields({"NodeName?": TEXT, "NodePool?": TEXT, "TTL?": TEXT}),
            fields({"JWT": TEXT}), "Introduce a node")._replace(has_index=False),
    written("acl/login", open_fields({"AuthMethodName": TEXT, "LoginToken": TEXT}), _TOKEN,
            "A token for one of elsewhere")._replace(refusals=_SIGNED_IN, has_index=False),
    written("acl/oidc/auth-url",
            open_fields({"AuthMethodName": TEXT, "RedirectURI": TEXT, "ClientNonce?": TEXT}),
            fields({"AuthURL": TEXT}), "Where a browser signs in",
            )._replace(refusals=_SIGNED_IN, has_index=False),
    written("acl/oidc/complete-auth",
            open_fields(dict.fromkeys(("AuthMethodName", "RedirectURI", "State", "Code"), TEXT)
                        | dict.fromkeys(("ClientNonce?", "Iss?"), TEXT)),
            _TOKEN, "A token for the code that the browser brought",
            )._replace(refusals=_SIGNED_IN, has_index=False),
)  # fmt: skip
