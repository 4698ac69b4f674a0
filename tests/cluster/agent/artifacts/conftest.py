"""The fixtures of this folder."""

from tests.file_server import repository, served  # noqa: F401
