"""Builds the stand-in for the library of NVIDIA's driver, where there is a compiler."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("nvml_shim.c")


def why_no_compiler() -> str:
    """Why it cannot be built here; "" where it can."""
    return "" if shutil.which("gcc") else "no compiler for a stand-in of the driver's library"


def built(place: Path) -> Path:
    """The folder, with the library in it: for `LD_LIBRARY_PATH` of a process."""
    if why := why_no_compiler():
        pytest.skip(why)
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", place / "libnvidia-ml.so.1", SOURCE]
    subprocess.run(command, check=True)
    return place
