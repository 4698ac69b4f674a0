"""Writes one index after another and says so on its output, until it is killed.

In: the path of a SQLite record. Out: one line per committed write, its index.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from cluster.store.writer import DjangoStateStore
    from scheduler.state.events import WriteKind
    from tests.builders import make_allocation, make_node
    from tests.record_databases import database, sqlite_settings

    with database(sqlite_settings(Path(sys.argv[1]))) as alias:
        store = DjangoStateStore(alias)
        for number in range(1, 100_000):

            def work(change, number=number):
                change.put_node(make_node(number))
                for part in range(20):
                    alloc = make_allocation(
                        number=20 * number + part, node_id=make_node(number).id
                    )
                    change.put_allocation(alloc.changed(create_index=change.index))

            index, _ = store.write(WriteKind.PLAN_RESULT, work, now=number)
            sys.stdout.write(f"{index}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
