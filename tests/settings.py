"""Settings of the tests: `cluster.settings` with a database of its own and quick passwords."""

import os
import tempfile

os.environ.setdefault("BIVOUAC_DATA_DIR", tempfile.mkdtemp(prefix="bivouac-tests-"))

from cluster.settings import *  # noqa: F403

# A file, because Django never closes a connection to a database in memory, and tests change files.
DATABASES["default"]["TEST"] = {"NAME": str(BIVOUAC_DATA_DIR / "test.sqlite3")}  # noqa: F405 - from the settings

#: Tests walk all addresses as fast as they can; those of the throttles say what they allow.
BIVOUAC_RATE = 0

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
