"""Send evaluations that ended as traces: the process that the leader starts for it."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from cluster.runtime.trace_process import run


class Command(BaseCommand):
    """`manage.py runtraces`; the leader starts it where an endpoint is set."""

    help = "Send evaluations that ended as traces to BIVOUAC_OTLP_ENDPOINT; the leader starts it."
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Send until stopped."""
        if not settings.BIVOUAC_OTLP_ENDPOINT:
            raise CommandError("BIVOUAC_OTLP_ENDPOINT says where traces go; it is not set.")
        run()
