"""How people and programs sign in with a token of elsewhere, and what they are then given."""

from enum import StrEnum

from scheduler.structs.wire import Duration, Instant, Wire, wire_names


class AuthType(StrEnum):
    """What is shown at the door."""

    #: A signed token, brought along.
    JWT = "JWT"
    #: A browser is sent to a provider and comes back.
    OIDC = "OIDC"


class TokenLocality(StrEnum):
    """Of which regions the tokens are."""

    LOCAL = "local"
    GLOBAL = "global"


class BindType(StrEnum):
    """What a rule gives to whom it matches."""

    ROLE = "role"
    POLICY = "policy"
    MANAGEMENT = "management"


class AuthConfig(
    Wire,
    frozen=True,
    rename=wire_names(
        jwt_validation_pub_keys="JWTValidationPubKeys",
        jwks_url="JWKSURL",
        jwks_ca_cert="JWKSCACert",
        oidc_discovery_url="OIDCDiscoveryURL",
        oidc_client_id="OIDCClientID",
        oidc_client_secret="OIDCClientSecret",  # noqa: S106 - the name of a field
        oidc_enable_pkce="OIDCEnablePKCE",
        oidc_disable_user_info="OIDCDisableUserInfo",
        oidc_scopes="OIDCScopes",
        allowed_redirect_uris="AllowedRedirectURIs",
    ),
):
    """Where the keys of a method come from, and what its tokens must say."""

    #: 0: the usual leeway; below 0: none.
    expiration_leeway: Duration = 0
    not_before_leeway: Duration = 0
    clock_skew_leeway: Duration = 0
    #: Keys come from the first of these three that is given.
    jwt_validation_pub_keys: tuple[str, ...] = ()
    jwks_url: str = ""
    oidc_discovery_url: str = ""
    #: Certificates that sign those of the two addresses, in PEM; empty: those of the system.
    jwks_ca_cert: str = ""
    discovery_ca_pem: tuple[str, ...] = ()
    oidc_client_id: str = ""
    oidc_client_secret: str = ""
    oidc_enable_pkce: bool = False
    oidc_disable_user_info: bool = False
    oidc_scopes: tuple[str, ...] = ()
    #: Empty: any.
    bound_audiences: tuple[str, ...] = ()
    bound_issuer: tuple[str, ...] = ()
    allowed_redirect_uris: tuple[str, ...] = ()
    #: Empty: RS256.
    signing_algs: tuple[str, ...] = ()
    #: Claim, or JSON pointer to one, to the name that rules know it by.
    claim_mappings: dict[str, str] = {}
    list_claim_mappings: dict[str, str] = {}
    verbose_logging: bool = False


class AuthMethod(Wire, frozen=True):
    """A way to sign in."""

    name: str = ""
    type: str = ""
    token_locality: str = ""
    token_name_format: str = ""
    max_token_ttl: Duration = 0
    #: The one that is meant when none is named.
    default: bool = False
    config: AuthConfig | None = None
    create_time: Instant = 0
    modify_time: Instant = 0
    create_index: int = 0
    modify_index: int = 0


class BindingRule(Wire, frozen=True):
    """What those get who sign in by a method and whose claims match."""

    id: str = ""
    description: str = ""
    auth_method: str = ""
    #: An expression over `value` and `list`; empty: everybody.
    selector: str = ""
    bind_type: str = ""
    #: May hold `${value.x}`.
    bind_name: str = ""
    create_time: Instant = 0
    modify_time: Instant = 0
    create_index: int = 0
    modify_index: int = 0
