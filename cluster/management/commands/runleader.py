"""`manage.py runleader`: hold the lease and lead, or stand by for it."""

from typing import Any

from django.core.management.base import BaseCommand

from cluster.runtime.leader_parts import run_leader


class Command(BaseCommand):
    """Takes no options: everything is a setting."""

    requires_system_checks = ()
    help = (
        "Run the leader: eval broker, blocked evaluations, watchers. Several may run; one leads,"
        " the others stand by and take over within seconds."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Run until SIGTERM or SIGINT."""
        run_leader()
