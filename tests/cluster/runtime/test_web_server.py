"""What the web server says of an answer, in a process of its own: it installs its event loop."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
from cluster.runtime.web_server import RESPONSES, name_all_statuses
name_all_statuses()
print(RESPONSES[429].decode(), RESPONSES[404].decode(), sep=", ")
"""


def test_every_status_that_we_answer_has_its_name():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "Too Many Requests, Not Found\n"
