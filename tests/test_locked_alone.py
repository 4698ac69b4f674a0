"""The product runs with what `requirements.lock` installs, and misses none of the tests' tools."""

import os
import subprocess
import sys

from tests import locked_alone

#: Every module, and what libraries import only when they are first used.
EVERYTHING = """
import importlib, pkgutil
import django
django.setup()
for package in map(importlib.import_module, ("scheduler", "cluster", "dashboard", "bivouac")):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
from kombu.transport import resolve_transport
resolve_transport("redis")
import uvicorn.protocols.http.httptools_impl, uvicorn.protocols.websockets.websockets_impl
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        **locked_alone.environment(),
    }
    paths = environment["PYTHONPATH"], str(locked_alone.ROOT)
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_module_finds_what_it_imports():
    done = run(EVERYTHING)
    assert done.returncode == 0, done.stderr


def test_what_only_the_tests_ask_for_is_hidden():
    done = run("import hypothesis")
    assert "hypothesis is installed, but not by requirements.lock" in done.stderr
