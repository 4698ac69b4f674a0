"""A disk without room, for tests of what is written on it."""

import contextlib
import os
import subprocess

import pytest


@contextlib.contextmanager
def mounted(place):
    """A file system of 2 MiB at `place`."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(place)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place):
    with contextlib.suppress(OSError), (place / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
