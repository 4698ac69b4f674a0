"""Settings of the tests: `cluster.settings` with a channel layer in memory."""

import os
import tempfile

os.environ.setdefault("BIVOUAC_DATA_DIR", tempfile.mkdtemp(prefix="bivouac-tests-"))

from cluster.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
