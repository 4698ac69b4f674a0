"""Whether this machine lets tests mount directories in memory."""

import functools
import tempfile
from pathlib import Path

from cluster.agent.secret_mounts import secret_mounts


@functools.cache
def why_no_mounts() -> str:
    """Why they may not; "" where they may."""
    with tempfile.TemporaryDirectory() as directory:
        return secret_mounts(Path(directory)).why_not
