"""`manage.py backup`: the record in a file, while everything runs; or what such a file holds."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from cluster.management.terminal import CommandWithExamples
from cluster.runtime.backups import back_up
from cluster.store.backup.archive import BadArchive, Contents, made_at, read_contents
from cluster.store.backup.dump import NoRecord

_EXAMPLES = """\
  manage.py backup /safe/monday.bivouac
  manage.py backup --inspect /safe/monday.bivouac
"""


class Command(CommandWithExamples):
    """Parses the options of `backup`."""

    epilog = _EXAMPLES

    requires_system_checks = ()
    help = (
        "Write the whole record to FILE, as it is at one moment, while the cluster runs. The file"
        " fits SQLite and PostgreSQL; who reads it can read every job, so it is for its owner"
        " alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--inspect",
            action="store_true",
            help="write nothing: check FILE from end to end and say what it holds",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Write, or inspect."""
        file: Path = options["file"]
        try:
            contents = read_contents(file) if options["inspect"] else back_up(file)
        except (BadArchive, NoRecord) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}") from None
        except DatabaseError as error:
            raise CommandError(f"The record cannot be read: {str(error).strip()}") from None
        if options["inspect"]:
            for line in _lines(contents):
                self.stdout.write(line)
        else:
            self.stdout.write(
                f"{file}: {sum(contents.rows.values())} rows at index {contents.index}"
            )


def _lines(contents: Contents) -> list[str]:
    newest = ", ".join(
        f"{package} {max(names)}" for package, names in sorted(contents.migrations.items())
    )
    return [
        "Every checksum is right.",
        f"Version     {contents.version}",
        f"Made        {made_at(contents):%Y-%m-%d %H:%M:%S} UTC",
        f"Index       {contents.index}",
        f"Database    {contents.database}",
        f"Size        {contents.size} bytes, uncompressed",
        f"Migrations  {newest}",
        "Rows",
        *(f"  {table:<28}{count:>10}" for table, count in contents.rows.items() if count),
    ]
