"""`manage.py login-link`: a new link that signs somebody in once, while Bivouac runs."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from cluster.management.terminal import CommandWithExamples, instant_json, instant_words, json_text
from cluster.runtime.clock import SystemClock
from cluster.runtime.data_lock import server_address
from cluster.runtime.welcome import ADMINISTRATOR, LOGIN_VALID_NS, UnknownUser, login_link_for

_EXAMPLES = """\
  manage.py login-link
  manage.py login-link --user kim --json
"""


class Command(CommandWithExamples):
    """Prints the link to the terminal, and nowhere else."""

    epilog = _EXAMPLES

    help = (
        "Print a link that signs a user in once, within 30 minutes, without a password. It opens"
        " the pages of the Bivouac that runs on this record; whoever has the link is that user."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """For whom, and how to print."""
        parser.add_argument(
            "--user", default=ADMINISTRATOR, help=f"an account (default: {ADMINISTRATOR})"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make and print it."""
        now, address = SystemClock().now(), server_address()
        try:
            link = login_link_for(options["user"], address, now=now)
        except UnknownUser as error:
            raise CommandError(str(error)) from None
        expires = now + LOGIN_VALID_NS
        if options["json"]:
            form = {"User": options["user"], "Link": link, "ExpirationTime": instant_json(expires)}
            self.stdout.write(json_text(form))
            return
        self.stdout.write(
            f"{link}\nSigns {options['user']} in once, until {instant_words(expires)}, while"
            f" Bivouac runs at {address}."
        )
