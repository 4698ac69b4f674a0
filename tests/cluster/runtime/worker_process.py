"""A scheduler worker as a process of its own, without Celery: asks for work until it is killed.

Run as `python -m tests.cluster.runtime.worker_process`; the environment says which record.
"""

import os
import subprocess
import sys
from pathlib import Path

import django

ROOT = Path(__file__).parents[3]


def start_worker(data: Path, redis_url: str) -> subprocess.Popen[bytes]:
    """A worker on the record of a data directory."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "REDIS_URL": redis_url,
        "BIVOUAC_DATA_DIR": str(data),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.runtime.worker_process"], cwd=ROOT, env=environment
    )


def main() -> None:
    """Drain for ever."""
    django.setup()
    from cluster.runtime.drainer import Drainer

    drainer = Drainer()
    while True:
        drainer.drain()


if __name__ == "__main__":
    main()
