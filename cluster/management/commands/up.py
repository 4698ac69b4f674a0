"""`manage.py up`: start Bivouac on this machine."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from cluster.management.terminal import CommandWithExamples
from cluster.runtime.data_lock import CannotStart
from cluster.runtime.embedded import NoRedis
from cluster.runtime.supervisor import UpOptions, report, run_up

_EXAMPLES = """\
  manage.py up                                     everything on this machine; Ctrl-C stops it
  manage.py up --no-agent --workers 4              a server beside nodes that are elsewhere
  BIVOUAC_PORT=5646 manage.py up                   on another port
"""


class Command(CommandWithExamples):
    """Parses the options of `up`."""

    epilog = _EXAMPLES

    requires_system_checks = ()
    help = (
        "Start Redis, web server, leader, scheduler workers, plan applier and one local agent;"
        " print a login link, the API address and a token; show health; stop all on Ctrl-C."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--no-agent", action="store_true", help="start no local agent")
        parser.add_argument(
            "--demo",
            action="store_true",
            help="join the demo's simulated fleet, with scenarios on the page Now",
        )
        parser.add_argument(
            "--workers",
            type=int,
            default=settings.BIVOUAC_WORKERS,
            help="scheduler worker processes (BIVOUAC_WORKERS, default 2)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run until stopped."""
        try:
            run_up(
                UpOptions(
                    agent=not options["no_agent"],
                    workers=options["workers"],
                    demo=options["demo"],
                ),
                report(sys.stdout),
            )
        except (CannotStart, NoRedis) as error:
            raise CommandError(str(error)) from None
