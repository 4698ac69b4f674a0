"""The same record and people as before the pages."""

from tests.dashboard.views.conftest import ids, migrated_file, node, store

__all__ = ["ids", "migrated_file", "node", "store"]
