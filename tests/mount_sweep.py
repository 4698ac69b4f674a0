"""Takes away what agents of tests have mounted, so that their directories can be removed.

An agent keeps its mounts when it ends, as it must; a test that drops one leaves them behind.
"""

import os
from pathlib import Path

import pytest

from cluster.agent.secret_mounts import unmount_below


class MountSweep:
    """A plugin: each process of a session sweeps below its own directories at its end."""

    def __init__(self, config):
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self):
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is not None:
            unmount_below(factory.getbasetemp())
        unmount_below(Path(os.environ["BIVOUAC_DATA_DIR"]))
