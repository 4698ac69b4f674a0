"""What anybody may ask about the tokens signed here, below `/.well-known/` (doors.md 10)."""

from django.urls import re_path

from cluster.api import keyring
from cluster.api.request import door

urlpatterns = [
    re_path(r"^jwks\.json\Z", door({"GET": keyring.public_keys}, asks_who=False)),
    re_path(
        r"^openid-configuration\Z", door({"GET": keyring.openid_configuration}, asks_who=False)
    ),
]
