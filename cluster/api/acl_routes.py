"""The routes below `/v1/acl/` (access.md 3 to 6), beside those of plain nouns.

Out: patterns with their views; the second table is for callers whose token nobody looks at.
"""

from cluster.api import acl_auth, acl_policies, acl_roles, acl_sign_in, acl_tokens, keyring
from cluster.api.request import View

_SEGMENT = r"[^/]*"
_ANY = r"[\s\S]*"

#: In the order in which they are tried.
ACL_ROUTES: dict[str, dict[str, View]] = {
    r"acl/identity/client-introduction-token": {"PUT": keyring.introduce},
    # Before those whose last part is a name.
    r"acl/policy/self": {"GET": acl_policies.list_own_policies},
    r"acl/tokens": {"GET": acl_tokens.list_tokens},
    r"acl/token/self": {"GET": acl_tokens.read_own_token},
    r"acl/token/onetime": {"PUT": acl_tokens.write_one_time_token},
    r"acl/token": {"PUT": acl_tokens.write_token},
    rf"acl/token/(?P<accessor>{_SEGMENT})": {
        "GET": acl_tokens.read_token,
        "PUT": acl_tokens.write_token,
        "DELETE": acl_tokens.remove_token,
    },
    r"acl/roles": {"GET": acl_roles.list_roles},
    r"acl/role": {"PUT": acl_roles.write_role},
    rf"acl/role/name/(?P<name>{_SEGMENT})": {"GET": acl_roles.read_named_role},
    rf"acl/role/(?P<role_id>{_SEGMENT})": {
        "GET": acl_roles.read_role,
        "PUT": acl_roles.write_role,
        "DELETE": acl_roles.remove_role,
    },
    r"acl/auth-method": {"PUT": acl_auth.write_method},
    r"acl/binding-rule": {"PUT": acl_auth.write_rule},
    rf"acl/role/(?P<path>{_ANY})": dict.fromkeys(("GET", "PUT", "DELETE"), acl_roles.no_such_uri),
}

#: For everybody: what is sent is the proof.
OPEN_ACL_ROUTES: dict[str, dict[str, View]] = {
    r"acl/bootstrap": {"PUT": acl_tokens.start},
    r"acl/token/onetime/exchange": {"PUT": acl_tokens.exchange},
    r"acl/login": {"PUT": acl_sign_in.sign_in},
    r"acl/oidc/auth-url": {"PUT": acl_sign_in.begin},
    r"acl/oidc/complete-auth": {"PUT": acl_sign_in.complete},
}
