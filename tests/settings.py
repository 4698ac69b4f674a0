"""Settings of the tests: `cluster.settings` with a database of its own and quick passwords."""

import atexit
import os
import shutil
import tempfile


def _remove(directory: str, maker: int) -> None:
    # What was forked ends too, while its parent goes on.
    if os.getpid() == maker:
        shutil.rmtree(directory, ignore_errors=True)


if "BIVOUAC_DATA_DIR" not in os.environ:
    os.environ["BIVOUAC_DATA_DIR"] = tempfile.mkdtemp(prefix="bivouac-tests-")
    atexit.register(_remove, os.environ["BIVOUAC_DATA_DIR"], os.getpid())

from cluster.settings import *  # noqa: E402, F403 - reads the directory

# A file, because Django never closes a connection to a database in memory, and tests change files.
DATABASES["default"]["TEST"] = {"NAME": str(BIVOUAC_DATA_DIR / "test.sqlite3")}  # noqa: F405 - from the settings

#: Tests walk all addresses as fast as they can; those of the throttles say what they allow.
BIVOUAC_RATE = 0

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
