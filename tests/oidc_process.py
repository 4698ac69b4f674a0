"""The provider of `tests.oidc_provider`, started as a process for the tests of a module."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest


class RunningProvider:
    """A provider at an address; `tell` changes what it says until the next `tell`."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.oidc_provider"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        self.address = self._process.stdout.readline().strip()

    def tell(self, **changes):
        httpx.post(f"{self.address}/control", json=changes).raise_for_status()

    def signed_in(self, address, person):
        """What the provider sends a browser back with: the path and query of its redirect."""
        answer = httpx.get(f"{address}&person={person}", follow_redirects=False)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def close(self):
        self._process.communicate("", timeout=60)


def fields_of(address):
    """The query of an address, each field once."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


@pytest.fixture(scope="module")
def provider_process():
    running = RunningProvider()
    yield running
    running.close()


@pytest.fixture
def provider(provider_process):
    """As it is at first."""
    provider_process.tell()
    return provider_process
