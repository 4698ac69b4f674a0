"""The tables of a record at one state of its migrations, whichever release wrote them.

In: a database, or the names of migrations. Out: models of that state, which may be older than the
code. Rows that must not come back with an old record are left out here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.apps.registry import Apps
from django.db import connections, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

Names = Mapping[str, Sequence[str]]

#: Signed-in browsers and login links end with the record they were of: what was ended or used up
#: after a backup must not come to life again. The event log tells of indexes that count no more.
LEFT_OUT = frozenset({"django_session", "one_time_login", "one_time_token", "event"})


class NewerRecord(Exception):
    """Written by a release that this one does not know; the message names what it misses."""


def applied_migrations(alias: str) -> dict[str, list[str]]:
    """By package, in no order of importance; empty where there is no record yet."""
    return _by_package(MigrationLoader(connections[alias]).applied_migrations)


def known_migrations() -> dict[str, list[str]]:
    """Those of this release."""
    return _by_package(MigrationLoader(None).disk_migrations)


def missing_migrations(names: Names) -> list[str]:
    """Those of the names that this release has not, as `package.name`."""
    known = known_migrations()
    return sorted(
        f"{package}.{name}"
        for package, of_package in names.items()
        for name in of_package
        if name not in known.get(package, ())
    )


def models_at(names: Names) -> list[type[models.Model]]:
    """The models of a state whose rows belong to a backup, by the names of their tables."""
    loader = MigrationLoader(None)
    apps: Apps = loader.project_state(_newest(loader, names)).apps
    found = {
        model._meta.db_table: model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    }
    return [model for table, model in sorted(found.items()) if table not in LEFT_OUT]


def migrate_to(alias: str, names: Names) -> None:
    """Bring a database that is not ahead of it to a state of the migrations."""
    executor = MigrationExecutor(connections[alias])
    executor.migrate(_newest(executor.loader, names))


def migrate_to_newest(alias: str) -> None:
    """Bring a database to the state of this release."""
    executor = MigrationExecutor(connections[alias])
    executor.migrate(executor.loader.graph.leaf_nodes())


def _newest(loader: MigrationLoader, names: Names) -> list[tuple[str, str]]:
    """Of each package what no other of its migrations builds on: an earlier one asks for less."""
    wanted = {(package, name) for package, of_package in names.items() for name in of_package}
    graph: Any = loader.graph
    return sorted(
        key
        for key in wanted & set(graph.nodes)
        if not any(child.key in wanted and child.key[0] == key[0] for child in
                   graph.node_map[key].children)
    )  # fmt: skip


def _by_package(migrations: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package, name in sorted(migrations):
        found.setdefault(package, []).append(name)
    return found
