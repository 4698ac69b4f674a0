"""A Redis server of its own for what talks through one."""

import subprocess
import time

import pytest
import redis

from cluster.celery import app
from cluster.runtime.embedded import free_port, redis_executable
from tests.store_fixtures import sqlite_store

__all__ = ["sqlite_store"]


@pytest.fixture
def redis_url(tmp_path):
    """The address of an empty server that ends with the test."""
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    server = subprocess.Popen(
        [redis_executable(), "--port", str(port), "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    client = redis.Redis.from_url(url)
    try:
        _until_it_answers(client)
        yield url
    finally:
        client.close()
        server.kill()
        server.wait()


@pytest.fixture
def wakes_nobody(redis_url, monkeypatch):
    """Wake-ups go where the requests go, and wake nobody."""
    monkeypatch.setattr(app.conf, "broker_url", redis_url)
    # Celery's own way to forget its connections, which were made for another address.
    app._after_fork()
    yield
    app._after_fork()


def _until_it_answers(client):
    for _ in range(500):
        try:
            client.ping()
        except redis.ConnectionError:
            time.sleep(0.01)
        else:
            return
    pytest.fail("redis-server did not come up")
