"""What a process tells of its machine is so, and nothing secret of its environment is in it."""

import os
import socket
from pathlib import Path

import psutil
import pytest

from cluster.agent.task_environment import DENIED
from cluster.host_facts import REDACTED, host_facts, redacted


def test_it_tells_of_this_machine(monkeypatch):
    monkeypatch.setenv("A_PLAIN_VALUE", "seen")
    monkeypatch.setenv("BIVOUAC_JOIN_TOKEN", "hush")
    told = host_facts()
    assert os.uname().release in told["OS"]
    assert socket.gethostname() in told["OS"]
    assert {"name": "lo", "address": "127.0.0.1", "netmask": "255.0.0.0", "state": "up"} in told[
        "Network"
    ]
    assert told["Hosts"] == Path("/etc/hosts").read_text()
    assert told["Environment"]["A_PLAIN_VALUE"] == "seen"
    assert "hush" not in str(told)
    assert set(told["Environment"]) == set(os.environ)
    for place, sizes in told["Disk"].items():
        assert sizes["DiskMB"] == psutil.disk_usage(place).total // 2**20
        assert 0 <= sizes["UsedMB"] <= sizes["DiskMB"]


@pytest.mark.parametrize(
    "name",
    [
        *sorted(DENIED), "BIVOUAC_SECRET_KEY", "BIVOUAC_ROOT_KEY", "DATABASE_URL", "REDIS_URL",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "PGPASSWORD", "MYSQL_PASSWD", "github_token", "API_KEY", "KEY", "SENTRY_DSN", "HTTP_AUTH",
        "GPG_PASSPHRASE", "SESSION_COOKIE", "AWS_CREDENTIALS_FILE", "SSH_PRIVATE_FILE",
    ],
)  # fmt: skip
def test_what_is_secret_by_its_name_is_left_out(name):
    assert redacted({name: "hush"}) == {name: REDACTED}


@pytest.mark.parametrize(
    "value", ["http://me:hush@proxy.example:3128", "a postgres://hush@db/x b", "amqp://u:p@[::1]/"]
)
def test_an_address_that_tells_how_to_sign_in_is_left_out(value):
    assert redacted({"HTTP_PROXY": value}) == {"HTTP_PROXY": REDACTED}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("KEYBOARD", "us"),
        ("HTTP_PROXY", "http://proxy.example:3128"),
        ("MAILTO", "someone@example.org"),
        ("ODD", "http://[broken"),
    ],
)
def test_the_rest_is_told(name, value):
    assert redacted({name: value}) == {name: value}
