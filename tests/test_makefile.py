"""Which Python the Makefile makes its environment with."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def python_of(*settings: str) -> str:
    """What `make` with these settings would take."""
    show = "chosen: ; @echo $(PYTHON)"
    made = subprocess.run(
        ["make", "--no-print-directory", "--eval", show, *settings, "chosen"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


def test_the_first_that_runs_and_can_make_an_environment_is_taken(tmp_path):
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert python_of(f"PYTHONS={tmp_path}/none {shim} {sys.executable}") == sys.executable
    assert python_of(f"PYTHONS={shim}") == ""


def test_what_is_asked_for_is_taken():
    assert python_of("PYTHON=python3.14") == "python3.14"


def test_the_distributions_python_comes_before_that_of_a_version_manager():
    listed = python_of("PYTHON=$(PYTHONS)").split()
    ours = [place for place in listed if place.startswith("/usr/bin/")]
    assert ours == listed[: len(ours)] == ["/usr/bin/python3.12", "/usr/bin/python3.11"]
