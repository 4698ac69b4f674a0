"""What a request proves itself with, and texts without it.

In: a Django request, texts that others gave. Out: its secrets, wherever it put them; the texts
with a mark where one stood.
"""

from collections.abc import Iterable

from django.http import HttpRequest

_HIDDEN = "(hidden)"
#: Shorter ones are no secrets, and stand in many words.
_SHORTEST = 8
_FIELDS = ("token", "secret", "password", "new_password1", "new_password2", "old_password")
_HEADERS = ("X-Nomad-Token", "X-Bivouac-Join-Token")


def secrets_of(request: HttpRequest) -> list[str]:
    """What a request proves itself with, wherever it may have put that, longest first."""
    headers = request.headers
    given = [
        *(headers.get(name, "") for name in _HEADERS),
        *headers.get("Authorization", "").split(),
        # Several headers of cookies come joined by commas.
        *(part for value in request.COOKIES.values() for part in value.split(",")),
        *(text for name in _FIELDS for text in request.GET.getlist(name)),
    ]
    found = {text.strip() for text in given if len(text.strip()) >= _SHORTEST}
    return sorted(found, key=len, reverse=True)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text with a mark where a secret stood."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text
