"""A run with a skip that is not on the list fails, and says which."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONFTEST = """
from tests import allowed_skips

allowed_skips.ALLOWED = {"test_some.py::test_listed": "a reason"}


def pytest_configure(config):
    config.pluginmanager.register(allowed_skips.SkipWatch(config))
"""
KNOWN = """
import pytest

def test_listed():
    pytest.skip("known")

@pytest.mark.xfail(strict=True)
def test_fails():
    assert False
"""
UNKNOWN = """
import pytest

@pytest.mark.skipif(True, reason="no such tool")
def test_other():
    pass
"""
WHOLE_FILE = "import pytest\npytest.skip('nothing here', allow_module_level=True)\n"


def run(folder, texts, *options):
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in texts.items():
        (folder / f"test_{name}.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "-p no:django"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_listed_or_expected_to_fail_is_no_fault(tmp_path):
    ended = run(tmp_path, {"some": KNOWN})
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one-process", "two-workers"])
def test_a_run_with_another_skip_fails_and_names_it(tmp_path, options):
    ended = run(tmp_path, {"some": KNOWN, "other": UNKNOWN, "more": WHOLE_FILE}, *options)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "test_other.py::test_other: Skipped: no such tool" in ended.stdout
    assert "test_more.py: Skipped: nothing here" in ended.stdout
    assert "test_listed" not in ended.stdout
