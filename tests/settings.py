"""Settings of the tests: `cluster.settings` with a channel layer in memory."""

import os
import tempfile

os.environ.setdefault("BIVOUAC_DATA_DIR", tempfile.mkdtemp(prefix="bivouac-tests-"))

from cluster.settings import *  # noqa: F403

# A file, because Django never closes a connection to a database in memory, and tests change files.
DATABASES["default"]["TEST"] = {"NAME": str(BIVOUAC_DATA_DIR / "test.sqlite3")}  # noqa: F405 - from the settings

CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
