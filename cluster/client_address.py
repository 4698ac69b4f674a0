"""Where a request comes from.

In: a Django request. Out: an address as text. A proxy is asked only where the settings say that
every request comes through one.
"""

from django.conf import settings
from django.http import HttpRequest

_LONGEST = 64


def address_of(request: HttpRequest) -> str:
    """The address of whoever sends a request; "" when the server does not know."""
    if settings.SECURE_PROXY_SSL_HEADER is not None:
        forwarded: str = request.META.get("HTTP_X_FORWARDED_FOR", "")
        # The last one was added by the proxy itself, the others by anybody.
        if last := forwarded.rpartition(",")[2].strip():
            return last[:_LONGEST]
    return str(request.META.get("REMOTE_ADDR") or "")
