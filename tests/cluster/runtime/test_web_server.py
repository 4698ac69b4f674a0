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


BROKEN_OFF = """
from cluster.runtime.web_server import HonestRequest, PunctualFactory

class Line:
    is_aborted = False
    def abortConnection(self):
        self.is_aborted = True
    @property
    def transport(self):
        return self

def failed(has_begun):
    request = HonestRequest.__new__(HonestRequest)
    told = []
    request._response_started, request.channel = has_begun, Line()
    request.handle_reply = told.append
    request.handle_exception(RuntimeError("the agent is gone"))
    return request.channel.is_aborted, [each["status"] for each in told if "status" in each]

channel = PunctualFactory(None).buildProtocol(None)
print(failed(True), failed(False), channel.requestFactory is HonestRequest)
"""


def test_an_answer_that_has_begun_is_broken_off_when_the_application_fails():
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    told = subprocess.run(
        [sys.executable, "-c", BROKEN_OFF],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "(True, []) (False, [500]) True"
