"""A web process that serves does not stand still to look over all that it has loaded."""

import os
import subprocess
import sys

_SCRIPT = """
import gc
from cluster import asgi
from cluster.runtime.calm_collector import WEB_YOUNG
asgi._settle()
loaded = gc.get_freeze_count()
assert loaded > 100_000, loaded
assert len(gc.get_objects()) < loaded / 20
assert gc.get_threshold()[0] == WEB_YOUNG
# What comes later is looked at all the same.
class Kept: pass
from weakref import ref
a, b = Kept(), Kept()
a.other, b.other = b, a
gone = ref(a)
del a, b
gc.collect()
assert gone() is None
import threading
assert "trim memory" in {each.name for each in threading.enumerate()}
"""


def test_what_is_loaded_is_left_alone_once_it_serves():
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
