"""The same record and people as before the pages."""

from tests.dashboard.views.conftest import ids, node, store

__all__ = ["ids", "node", "store"]
