"""`manage.py demo`: let a scenario happen in a running demo."""

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from cluster.demo.asking import NoDemo, Wish, ask, presence
from cluster.demo.scenarios import BY_NAME, SCENARIOS
from cluster.installation import typed_start, usual_demo_directory
from cluster.management.terminal import CommandWithExamples
from cluster.runtime.clock import RandomIDs
from cluster.runtime.embedded import running_redis_url

_EXAMPLES = """\
  manage.py demo drain
  manage.py demo clear
"""


class Command(CommandWithExamples):
    """Names the scenarios in its help."""

    epilog = _EXAMPLES

    help = (
        "Let a scenario happen in a demo that `"
        + typed_start("demo")
        + "` has started. "
        + " ".join(f"{scenario.name}: {scenario.shows}" for scenario in SCENARIOS)
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The name of a scenario, as the help lists them."""
        parser.add_argument("name", choices=[scenario.name for scenario in SCENARIOS])

    def handle(self, *_args: object, **options: object) -> None:
        """Ask, and say where to watch."""
        name = str(options["name"])
        wish = Wish(id=RandomIDs().next_id(), name=name, by="manage.py")
        try:
            redis_url = _redis_url()
            here = presence(redis_url)
            reply = ask(redis_url, wish)
        except NoDemo as error:
            raise CommandError(str(error)) from None
        if not reply.has_begun:
            raise CommandError(reply.text)
        # This command's settings may be of another port than those of the demo.
        site = (here.address if here else "") or settings.BIVOUAC_PUBLIC_URL
        self.stdout.write(f"{reply.text}\nWatch it: {site}{BY_NAME[name].path}")


def _redis_url() -> str:
    """Of the demo on this machine: its Redis has another port and password at each start."""
    for directory in (settings.BIVOUAC_DATA_DIR, usual_demo_directory()):
        url = running_redis_url(directory)
        if url and presence(url) is not None:
            return url
    return str(settings.BIVOUAC_REDIS_URL)
