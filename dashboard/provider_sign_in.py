"""Sign-in by a provider, as Django sees it: a backend that knows who comes back with a code.

In: a code, and what the session remembered of the way there. Out: an account. The settings say
which provider; it is asked anew each time, because its addresses and keys may change.
"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from cluster.logins.errors import IssuerUnreachable
from cluster.logins.provider import Ask, Provider, claims_of_code, provider_of
from dashboard.acts import note_groups_given
from dashboard.provider_people import Entrance, entrance_for
from scheduler.structs.acl_auth import AuthConfig

BACK = "/login/provider/back"


class ProviderBackend(ModelBackend):
    """Accounts that the provider of the settings signs in."""

    def authenticate(  # type: ignore[override] # other credentials than a password
        self, request: HttpRequest, *, nonce: str, code_verifier: str
    ) -> Any:
        """The account of who came back. Raises IssuerUnreachable, LoginRefused, AccountRefused.

        These pass through Django, which would take them for wrong guesses of a password.
        """
        config, code = provider_config(), request.GET["code"]
        ask = Ask(back_address(), nonce, code_verifier)
        now = request.clock.now()  # type: ignore[attr-defined]  # set by request_context
        claims = claims_of_code(provider_of(config), config, ask, code, now=now)
        entrance = entrance_for(claims)
        request.entrance = entrance  # type: ignore[attr-defined] # ours, for this request alone
        if entrance.given or entrance.taken:
            note_groups_given(request, entrance.user, _told(entrance))
        return entrance.user


def is_on() -> bool:
    """Whether there is sign-in by a provider."""
    return bool(settings.BIVOUAC_OIDC_ISSUER)


def provider_config() -> AuthConfig:
    """What the settings say of the provider, and of us as its client. Raises IssuerUnreachable."""
    return AuthConfig(
        oidc_discovery_url=settings.BIVOUAC_OIDC_ISSUER,
        discovery_ca_pem=_certificates(settings.BIVOUAC_OIDC_CA_FILE),
        oidc_client_id=settings.BIVOUAC_OIDC_CLIENT_ID,
        oidc_client_secret=settings.BIVOUAC_OIDC_CLIENT_SECRET,
        oidc_enable_pkce=True,
        oidc_scopes=tuple(settings.BIVOUAC_OIDC_SCOPES),
    )


def the_provider() -> Provider:
    """The provider of the settings. Raises IssuerUnreachable."""
    return provider_of(provider_config())


def back_address() -> str:
    """Where it sends people back to: what one registers there."""
    return f"{settings.BIVOUAC_PUBLIC_URL}{BACK}"


def _certificates(file: str) -> tuple[str, ...]:
    try:
        return (Path(file).read_text(),) if file else ()
    except (OSError, ValueError):
        raise IssuerUnreachable(f"the certificates in {file} cannot be read") from None


def _told(entrance: Entrance) -> str:
    changes = [*(f"+{name}" for name in entrance.given), *(f"-{name}" for name in entrance.taken)]
    return " ".join(changes)
