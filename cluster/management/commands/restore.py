"""`manage.py restore`: put a backup in the record's place."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from cluster.installation import typed_start
from cluster.management.terminal import CommandWithExamples
from cluster.runtime.backups import is_shut, restore
from cluster.runtime.data_lock import CannotStart
from cluster.store.backup.archive import BadArchive
from cluster.store.backup.restore import RecordInTheWay
from cluster.store.backup.tables import NewerRecord

_EXAMPLES = """\
  manage.py restore /safe/monday.bivouac               where there is no record yet
  manage.py restore /safe/monday.bivouac --replace     stop `up` on every server machine first
"""

_SHUT = """\
What it keeps sealed does not open here: variables, addresses and secrets of webhooks, client
secrets of auth methods, keys that sign. It was sealed under another secret key. Before you start,
put the file `secret-key` of the data directory that the backup came from into
{place}, or set BIVOUAC_SECRET_KEY to what it was there."""


class Command(CommandWithExamples):
    """Parses the options of `restore`."""

    epilog = _EXAMPLES

    requires_system_checks = ()
    help = (
        "Put the backup in FILE in the place of the record. The cluster must stand still; agents"
        " and their tasks may run on, and are found again by the next `up`."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="also where there is a record: it is gone then (a SQLite file is kept beside)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Restore, or say why not."""
        try:
            done = restore(options["file"], replace=options["replace"], write=self.stdout.write)
        except (BadArchive, CannotStart, NewerRecord, RecordInTheWay) as error:
            raise CommandError(str(error)) from None
        except DatabaseError as error:
            raise CommandError(f"The database refused: {str(error).strip()}") from None
        self.stdout.write(
            f"The record of index {done.contents.index} is back; it goes on from {done.index}."
        )
        if done.kept is not None:
            self.stdout.write(f"What was there before is kept in {done.kept}")
        if is_shut():
            self.stdout.write(_SHUT.format(place=settings.BIVOUAC_DATA_DIR))
        self.stdout.write(
            f"Start with `{typed_start('up')}`: agents say anew what became of their tasks."
        )
