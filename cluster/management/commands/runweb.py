"""`manage.py runweb`: one web process: pages, `/v1`, agents and websockets."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from cluster.runtime.serving import expect_server


class Command(BaseCommand):
    """Parses the options of `runweb`."""

    requires_system_checks = ()
    help = "Serve pages, the API, agents and websockets until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--host", default=settings.BIVOUAC_HOST, help="BIVOUAC_HOST")
        parser.add_argument(
            "--port", type=int, default=settings.BIVOUAC_PORT, help="BIVOUAC_PORT, default 4646"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Serve until stopped."""
        expect_server()
        # Other commands need neither; the application begins to give signs of life once we serve.
        from cluster.asgi import application  # noqa: PLC0415 - after `expect_server`
        from cluster.runtime.web_server import serve  # noqa: PLC0415 - see above

        if not serve(application, options["host"], options["port"]):
            raise CommandError(f"Cannot listen on {options['host']}:{options['port']}.")
