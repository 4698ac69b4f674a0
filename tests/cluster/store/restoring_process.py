"""Restores one backup after the other into a record, until it is killed.

In: the path of a SQLite record, those of backups. Out: a line whenever rows are being replaced.
"""

import os
import sys
from itertools import cycle
from pathlib import Path


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from cluster.store.audit_entries import Act, Actor, entry_of
    from cluster.store.backup import swap
    from tests.record_databases import database, sqlite_settings

    copy = swap._copy

    def telling(connection, model):
        copy(connection, model)
        if model._meta.db_table == "job":
            sys.stdout.write("swapping\n")
            sys.stdout.flush()

    swap._copy = telling
    with database(sqlite_settings(Path(sys.argv[1]))) as alias:
        for number, file in enumerate(cycle(sys.argv[2:])):
            swap.swap_record(
                Path(file),
                now=1_750_000_000_000_000_000,
                noted=lambda _contents, index, at=number: entry_of(
                    Actor(), Act("restore snapshot"), at=at, made_index=index
                ),
                alias=alias,
            )


if __name__ == "__main__":
    main()
