"""`manage.py openapi`: the API as an OpenAPI 3.1 document, on standard output."""

from typing import Any

from django.core.management.base import BaseCommand

from cluster.api.openapi.serve import document_text
from cluster.api.urls import urlpatterns


class Command(BaseCommand):
    """Write the document that `/v1/openapi.json` serves."""

    help = "Write the API as an OpenAPI 3.1 document to standard output."
    requires_system_checks: list[str] = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Make the document anew, from the routes of this release."""
        self.stdout.write(document_text(urlpatterns).decode(), ending="")
