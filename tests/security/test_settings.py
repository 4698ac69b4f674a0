"""Passwords in settings are in no message of a process that cannot start."""

import pytest

from tests.security.test_headers import run

CANARY = "canary-of-a-password"


@pytest.mark.parametrize(
    ("code", "environment"),
    [
        pytest.param(
            "import django; django.setup()\n"
            "from django.db import connection; connection.ensure_connection()",
            {"DATABASE_URL": f"postgresql://user:{CANARY}@127.0.0.1:1/x"},
            id="no-database",
        ),
        pytest.param(
            "import django; django.setup()",
            {"DATABASE_URL": f"mysql://user:{CANARY}@127.0.0.1/x"},
            id="another-database",
        ),
        pytest.param(
            "from cluster.celery import app\n"
            "app.connection().ensure_connection(max_retries=1, timeout=1)",
            {"REDIS_URL": f"redis://:{CANARY}@127.0.0.1:1/0"},
            id="no-redis",
        ),
        pytest.param(
            "import cluster.settings",
            {"BIVOUAC_PUBLIC_URL": f"https://user:{CANARY}@b.example"},
            id="address-with-password",
        ),
    ],
)
def test_a_password_is_in_no_complaint(code, environment, tmp_path):
    done = run(code, tmp_path, **environment)
    assert done.returncode != 0
    assert done.stderr
    assert CANARY not in done.stderr + done.stdout


FAILING_LINK = """
import django; django.setup()
from django.test import Client
client = Client(SERVER_NAME="localhost", raise_request_exception=False)
print(client.get("/login/once/canary-of-a-password").status_code)
"""


def test_a_login_link_that_fails_is_logged_without_its_secret(tmp_path):
    """The record has no tables here, so that looking the link up is a fault."""
    done = run(FAILING_LINK, tmp_path)
    assert done.stdout == "500\n", done.stderr
    assert "/login/once/..." in done.stderr
    assert CANARY not in done.stderr
