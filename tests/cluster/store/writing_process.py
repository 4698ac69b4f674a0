"""Writes one index after another and says so on its output, until it is killed.

In: the path of a SQLite record or the directory of a PostgreSQL's socket, and how many write at
once. Out: one line per committed write, its index, once its writer has been told. It ends with the
first error.
"""

import asyncio
import os
import sys
from pathlib import Path


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from cluster.store.access import StoreAccess
    from tests.record_databases import database, postgres_settings_at, sqlite_settings

    place = Path(sys.argv[1])
    settings = postgres_settings_at(place, "record") if place.is_dir() else sqlite_settings(place)
    with database(settings) as alias:
        asyncio.run(write_on(StoreAccess(alias), at_once=int(sys.argv[2])))


async def write_on(access, *, at_once):
    async def one_after_another(start):
        for number in range(start, 100_000, at_once):
            index = await access.awrite_call(write_node, number)
            sys.stdout.write(f"{index}\n")
            sys.stdout.flush()

    await asyncio.gather(*(one_after_another(start) for start in range(1, at_once + 1)))


def write_node(store, number):
    """A node with 20 allocations; its index."""
    from scheduler.state.events import WriteKind
    from tests.builders import make_allocation, make_node

    def work(change):
        node = make_node(number)
        change.put_node(node)
        for part in range(20):
            alloc = make_allocation(number=20 * number + part, node_id=node.id)
            change.put_allocation(alloc.changed(create_index=change.index))

    return store.write(WriteKind.PLAN_RESULT, work, now=number)[0]


if __name__ == "__main__":
    main()
